//! The option `--rate`: how often the program's position is sampled.

use anyhow::{Result, ensure};

use super::collect::Measurements;

/// The default number of samples per second.
const USUAL: u32 = 1000;

/// The maximum: at a higher rate a program would do little else.
const MOST: u32 = 100_000;

/// The number of samples per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleRate {
    /// No samples.
    Off,
    /// This many samples per second.
    Hertz(u32),
}

impl SampleRate {
    /// Parses a number, or `off`.
    ///
    /// # Errors
    /// Returns an error if the text has another form.
    pub fn parse(text: &str) -> Result<SampleRate, String> {
        let rate = text.parse().ok().filter(|rate| (1..=MOST).contains(rate));
        match text {
            "off" => Ok(SampleRate::Off),
            _ => rate.map(SampleRate::Hertz).ok_or_else(|| format!("give from 1 to {MOST}, or off")),
        }
    }
}

/// Returns the rate at which threads are sampled. By default they are sampled with every profile that need not be
/// deterministic.
///
/// # Errors
/// Returns an error if the rate contradicts other options.
pub fn choose(asked: Option<SampleRate>, counted: &Measurements) -> Result<Option<u32>> {
    match asked {
        None if counted.is_on() && !counted.deterministic => Ok(Some(USUAL)),
        None | Some(SampleRate::Off) => Ok(None),
        Some(SampleRate::Hertz(rate)) => {
            ensure!(counted.is_on(), "--rate needs a profile: leave out --rate, or --profile off");
            ensure!(
                !counted.deterministic,
                "--rate samples time, but --deterministic excludes time: leave out one of them"
            );
            Ok(Some(rate))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_numbers_or_off() {
        let parsed = ["1", "20000", "off"].map(SampleRate::parse);
        assert_eq!(parsed, [Ok(SampleRate::Hertz(1)), Ok(SampleRate::Hertz(20_000)), Ok(SampleRate::Off)]);
        assert!(["0", "100001", "1kHz", ""].iter().all(|text| SampleRate::parse(text).is_err()));
    }

    #[test]
    fn a_run_that_is_to_be_the_same_each_time_has_no_samples() {
        let counted = |deterministic| Measurements {
            profiling: wprof::ProfilingConfig::Exact(wprof::Collect::Edges),
            deterministic,
            ..Measurements::default()
        };
        assert_eq!(choose(None, &counted(false)).unwrap(), Some(USUAL));
        assert_eq!(choose(None, &counted(true)).unwrap(), None);
        assert_eq!(choose(None, &Measurements::default()).unwrap(), None);
        assert_eq!(choose(Some(SampleRate::Off), &counted(false)).unwrap(), None);
        assert!(choose(Some(SampleRate::Hertz(5)), &counted(true)).is_err());
        assert!(choose(Some(SampleRate::Hertz(5)), &Measurements::default()).is_err());
    }
}
