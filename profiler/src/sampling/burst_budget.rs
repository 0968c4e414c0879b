//! How seldom bursts must be so that they keep to a budget.
//!
//! Input: how many checks each phase had, and what it took. Output: how many checks are to lie between two bursts. A
//! burst takes b, with the way into it and out of it, and a check between bursts t. So with n checks between two
//! bursts these take b of n t + b, which is the budget's share s for n = b (1 - s) / (s t). That is more than bursts
//! cost, as the program gets on in them, too; but how much it would take otherwise is not known of single bursts:
//! loops of very different cost follow one another, and the difference of two means is mostly what tells these apart.
//! Both b and t are running means that one outlier, such as a page fault or a wait, moves only a little.
//! The first [`COLD`] bursts, of new code and empty caches, say nothing of later ones.
//! Source: the cost model of Hirzel & Chilimbi 2001, section 2.2, solved for the sampling rate. What checks cost
//! where no burst runs is not in it.

use std::str::FromStr;

/// A share of the time of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overhead {
    /// In millionths.
    pub millionths: u32,
}

impl Overhead {
    /// As a number from 0 to 1.
    pub fn as_f64(self) -> f64 {
        f64::from(self.millionths) / 1e6
    }
}

/// Percent, such as `2%` or `0.5%`.
impl FromStr for Overhead {
    type Err = String;

    fn from_str(text: &str) -> Result<Overhead, String> {
        let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let fits = |percent: &f64| (0.01..=50.0).contains(percent);
        let percent = percent.filter(fits).ok_or("give a share from 0.01% to 50%, such as 2%")?;
        Ok(Overhead { millionths: (percent * 1e4).round() as u32 })
    }
}

/// A time in which the program was in one version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phase {
    /// How many checks it came to.
    pub checks: u32,
    /// How long that took, in any unit.
    pub time: u64,
}

/// Keeps bursts to a budget.
#[derive(Clone, Debug)]
pub struct BurstBudget {
    share: f64,
    /// What a check takes between bursts.
    check: Mean,
    /// What a burst takes.
    burst: Mean,
    /// How many bursts there were.
    ended: u32,
}

/// After so many the hottest code has been in several.
const COLD: u32 = 16;

/// There are at least so many checks between two bursts for each check of a burst, whatever the budget.
const LEAST: f64 = 10.0;

/// There are at most so many: then there still is a burst now and then.
const MOST: f64 = 1e9;

impl BurstBudget {
    /// Nothing has run yet.
    pub fn new(most: Overhead) -> BurstBudget {
        BurstBudget { share: most.as_f64(), check: Mean::default(), burst: Mean::default(), ended: 0 }
    }

    /// Learns of the time between two bursts and of the burst behind it; gives the number of checks until the next one.
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

/// A running mean that forgets.
#[derive(Clone, Copy, Debug, Default)]
struct Mean(Option<f64>);

/// How much a sample weighs.
const WEIGHT: f64 = 0.125;

/// A sample so many times the mean counts as so many.
const OUTLIER: f64 = 4.0;

impl Mean {
    /// The mean with one more sample; never quite nothing.
    fn add(&mut self, sample: f64) -> f64 {
        let sample = sample.max(1e-3);
        let mean = self.0.map_or(sample, |mean| mean + WEIGHT * (sample.min(OUTLIER * mean) - mean));
        *self.0.insert(mean)
    }
}
