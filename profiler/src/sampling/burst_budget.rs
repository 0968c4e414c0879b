//! Adapts the frequency of bursts to a budget.
//!
//! Input: the checks in each phase, and the time it took. Output: the number of checks between two bursts. A burst
//! takes b, including entry and exit, and a check between bursts takes t. With n checks between two bursts, bursts
//! take b of n t + b, which equals the budget's share s for n = b (1 - s) / (s t). This overstates the cost of
//! bursts, as the program advances in them, too; but how long that progress would take otherwise is unknown for
//! single bursts: loops of very different cost follow one another, and the difference of two means mostly reflects
//! these.
//! Both b and t are running means, which a single outlier, such as a page fault or a wait, moves only a little.
//! The first [`COLD`] bursts, with new code and empty caches, are not representative of later ones.
//! Source: the cost model of Hirzel & Chilimbi 2001, section 2.2, solved for the sampling rate. The cost of checks
//! while no burst runs is not included.

use std::str::FromStr;

/// A share of a program's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overhead {
    /// The share in millionths.
    pub millionths: u32,
}

impl Overhead {
    /// Returns the share as a number from 0 to 1.
    pub fn as_f64(self) -> f64 {
        f64::from(self.millionths) / 1e6
    }
}

/// Parses a percentage, such as `2%` or `0.5%`.
impl FromStr for Overhead {
    type Err = String;

    fn from_str(text: &str) -> Result<Overhead, String> {
        let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let fits = |percent: &f64| (0.01..=50.0).contains(percent);
        let percent = percent.filter(fits).ok_or("give a share from 0.01% to 50%, such as 2%")?;
        Ok(Overhead { millionths: (percent * 1e4).round() as u32 })
    }
}

/// A period in which the program ran in one version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phase {
    /// Number of checks.
    pub checks: u32,
    /// Duration, in any unit.
    pub time: u64,
}

/// Controller that keeps bursts within a budget.
#[derive(Clone, Debug)]
pub struct BurstBudget {
    share: f64,
    /// Time per check between bursts.
    check: Mean,
    /// Time per burst.
    burst: Mean,
    /// Number of bursts that have ended.
    ended: u32,
}

/// Number of initial bursts that are ignored; after them the hottest code has been in several.
const COLD: u32 = 16;

/// Least number of checks between two bursts per check of a burst, whatever the budget.
const LEAST: f64 = 10.0;

/// Greatest number of checks between two bursts, so that bursts never stop altogether.
const MOST: f64 = 1e9;

impl BurstBudget {
    /// Creates the controller of a program that has not run yet.
    pub fn new(most: Overhead) -> BurstBudget {
        BurstBudget { share: most.as_f64(), check: Mean::default(), burst: Mean::default(), ended: 0 }
    }

    /// Records the phase between two bursts and the burst after it; returns the number of checks until the next
    /// burst.
    pub fn checks_between(&mut self, between: Phase, burst: Phase) -> u32 {
        self.ended = self.ended.saturating_add(1);
        if self.ended <= COLD {
            return between.checks;
        }
        let check = self.check.add(between.time as f64 / f64::from(between.checks.max(1)));
        let took = self.burst.add(burst.time as f64);
        let least = LEAST * f64::from(burst.checks.max(1));
        (took * (1.0 - self.share) / (self.share * check)).clamp(least, MOST.max(least)) as u32
    }
}

/// An exponentially weighted running mean.
#[derive(Clone, Copy, Debug, Default)]
struct Mean(Option<f64>);

/// Weight of a new sample.
const WEIGHT: f64 = 0.125;

/// Outlier bound: a sample counts at most as this multiple of the mean.
const OUTLIER: f64 = 4.0;

impl Mean {
    /// Adds a sample and returns the mean, which is always above 0.
    fn add(&mut self, sample: f64) -> f64 {
        let sample = sample.max(1e-3);
        let mean = self.0.map_or(sample, |mean| mean + WEIGHT * (sample.min(OUTLIER * mean) - mean));
        *self.0.insert(mean)
    }
}
