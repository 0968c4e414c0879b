//! The options that shape what `--collect cache` and `--collect energy` simulate.

use anyhow::{Result, ensure};
use clap::Args;
use wprof::Metric;
use wprof_profiler::{AccessEnergy, CacheShape};

use crate::help;
use crate::sizes;

/// The simulated cache, and what its accesses take.
#[derive(Clone, Debug, Default, Args)]
pub struct CacheArgs {
    /// Set the data cache that `--collect cache` simulates: size, ways, bytes per line
    ///
    /// A second level may follow after a slash, as in `32K,8,64/1M,16,64`; its misses are then measured as well
    /// [default: 32K,8,64]
    #[arg(long, value_name = "SIZE,WAYS,LINE", value_parser = levels)]
    #[arg(help_heading = help::PROFILE, hide_short_help = true)]
    cache: Option<Levels>,
    /// With --collect energy: set the energy of an access to each level, in picojoules [default: 20,100,2000]
    #[arg(long, value_name = "FIRST,SECOND,MEMORY", value_parser = costs)]
    #[arg(help_heading = help::PROFILE, hide_short_help = true)]
    energy: Option<AccessEnergy>,
}

/// The levels of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Levels {
    first: CacheShape,
    second: Option<CacheShape>,
}

impl CacheArgs {
    /// Returns the metrics of misses.
    pub fn misses(&self) -> impl Iterator<Item = Metric> {
        let Levels { first, second } = self.cache.unwrap_or_default();
        [Metric::CacheMisses(first)].into_iter().chain(second.map(Metric::SecondLevelMisses))
    }

    /// Returns the metric of energy, and the metrics that it follows from.
    pub fn energy(&self) -> impl Iterator<Item = Metric> {
        self.misses().chain([Metric::Energy(self.energy.unwrap_or(AccessEnergy::USUAL))])
    }

    /// Checks that what is shaped is simulated: a cache, and energy with it.
    ///
    /// # Errors
    /// Returns an error if an option would do nothing.
    pub fn check(&self, has_cache: bool, has_energy: bool) -> Result<()> {
        ensure!(
            self.cache.is_none() || has_cache || has_energy,
            "--cache sets the simulated cache, but nothing simulates one: add --collect cache, or leave out --cache"
        );
        ensure!(
            self.energy.is_none() || has_energy,
            "--energy sets the energy of accesses, but energy is not measured: add --collect energy, or leave out --energy"
        );
        Ok(())
    }
}

impl Default for Levels {
    fn default() -> Self {
        Self { first: CacheShape::USUAL, second: None }
    }
}

/// Parses `SIZE,WAYS,LINE`, or two of these with a slash between them.
fn levels(text: &str) -> Result<Levels, String> {
    let (first, second) = match text.split_once('/') {
        Some((first, second)) => (first, Some(shape(second)?)),
        None => (text, None),
    };
    Ok(Levels { first: shape(first)?, second })
}

/// Parses `SIZE,WAYS,LINE`.
fn shape(text: &str) -> Result<CacheShape, String> {
    let figures: Vec<u64> = text.split(',').map(sizes::parse).collect::<Result<_, _>>()?;
    let figures: Vec<u32> = figures.into_iter().filter_map(|figure| u32::try_from(figure).ok()).collect();
    match figures[..] {
        [bytes, ways, line] => CacheShape::new(bytes, ways, line).map_err(|error| error.to_string()),
        _ => Err("give SIZE,WAYS,LINE such as 32K,8,64, or two levels such as 32K,8,64/1M,16,64".to_owned()),
    }
}

/// Parses `FIRST,SECOND,MEMORY`.
fn costs(text: &str) -> Result<AccessEnergy, String> {
    let figures: Result<Vec<u32>, _> = text.split(',').map(|figure| figure.trim().parse()).collect();
    match figures.as_deref() {
        Ok(&[first, second, memory]) => Ok(AccessEnergy { first, second, memory }),
        _ => Err("give FIRST,SECOND,MEMORY in whole picojoules such as 20,100,2000".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_have_one_level_or_two() {
        let usual = CacheShape::USUAL;
        assert_eq!(levels("32k,8,64"), Ok(Levels { first: usual, second: None }));
        let second = CacheShape::new(1 << 20, 16, 64).ok();
        assert_eq!(levels("32K,8,64/1M,16,64"), Ok(Levels { first: usual, second }));
        for text in
            ["", "32K,8", "32K,8,64,1", "30K,8,64", "99999999999,8,64", "32K,8,x", "32K,8,64/", "/32K,8,64"]
        {
            assert!(levels(text).is_err(), "{text}");
        }
    }

    #[test]
    fn energy_has_a_figure_for_each_level() {
        assert_eq!(costs("20,100,2000"), Ok(AccessEnergy::USUAL));
        for text in ["", "1,2", "1,2,3,4", "-1,2,3", "1.5,2,3", "a,b,c"] {
            assert!(costs(text).is_err(), "{text}");
        }
    }
}
