//! How seldom bursts must be so that they keep to a budget.
//!
//! Input: how many checks each phase had, and what it took. Output: how many checks are to lie between two bursts.
//! A burst of b checks takes e longer than they would take in checking code, where one takes t. So with n checks between two
//! bursts the overhead is e of n t + b t + e, and is the budget's share s for n = e (1 - s) / (s t) - b.
//! Both e and t are running means that one outlier, such as a page fault or a wait, moves only a little.
//! Source: the cost model of Hirzel & Chilimbi 2001, section 2.2, solved for the sampling rate. What checks cost where no
//! burst runs is not in it.

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
    /// What a burst takes beyond that.
    extra: Mean,
}

/// There are at least so many checks between two bursts for each check of a burst, whatever the budget.
const LEAST: f64 = 10.0;

/// There are at most so many: then there still is a burst now and then.
const MOST: f64 = 1e9;

impl BurstBudget {
    /// Nothing has run yet.
    pub fn new(most: Overhead) -> BurstBudget {
        BurstBudget { share: most.as_f64(), check: Mean::default(), extra: Mean::default() }
    }

    /// Learns of the time between two bursts and of the burst behind it; gives the number of checks until the next one.
    pub fn checks_between(&mut self, between: Phase, burst: Phase) -> u32 {
        let check = self.check.add(between.time as f64 / f64::from(between.checks.max(1)));
        let own = f64::from(burst.checks.max(1));
        let extra = self.extra.add((burst.time as f64 - own * check).max(0.0));
        let checks = extra * (1.0 - self.share) / (self.share * check) - own;
        checks.clamp(LEAST * own, MOST.max(LEAST * own)) as u32
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
