//! The ratio of the medians of two paired samples, with a bootstrap confidence interval.
//!
//! Input: pairs, each measured in one round. Output: the ratio, with a percentile interval of the medians of resampled
//! pairs (Efron & Tibshirani, *An Introduction to the Bootstrap*, 1993, chapter 13). Pairs are resampled as a whole,
//! so that a disturbance of both members, such as a neighbour on the machine, cancels as far as it can. Oracle:
//! samples of known distributions, in the tests below. The random numbers have a fixed seed: the same pairs have the
//! same interval.

use crate::random::Random;

/// A ratio with its confidence bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower bound.
    pub low: f64,
    /// The ratio of the medians.
    pub ratio: f64,
    /// The upper bound.
    pub high: f64,
}

/// Number of resamples.
const DRAWS: usize = 2000;

/// Returns the ratio of the median of the second members to that of the first, with its interval at `confidence`, a
/// fraction of 1.
///
/// # Panics
/// Panics if there are no pairs.
pub fn ratio_of_medians(pairs: &[(f64, f64)], confidence: f64) -> Interval {
    let ratio = ratio_in(pairs.to_vec());
    let mut random = Random(0x5eed);
    let mut drawn: Vec<f64> = (0..DRAWS)
        .map(|_| ratio_in((0..pairs.len()).map(|_| pairs[random.below(pairs.len())]).collect()))
        .collect();
    drawn.sort_by(f64::total_cmp);
    let tail = (1.0 - confidence) / 2.0;
    let at = |share: f64| drawn[((share * DRAWS as f64) as usize).min(DRAWS - 1)];
    Interval { low: at(tail).min(ratio), ratio, high: at(1.0 - tail).max(ratio) }
}

fn ratio_in(pairs: Vec<(f64, f64)>) -> f64 {
    let (before, after): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    ratio(median(before), median(after))
}

/// Returns the ratio of the second figure to the first; 1 if both are zero.
pub fn ratio(before: f64, after: f64) -> f64 {
    if before == after { 1.0 } else { after / before }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a number between 0 and 1.
    fn uniform(random: &mut Random) -> f64 {
        (random.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a normal deviate (Box & Muller).
    fn normal(random: &mut Random) -> f64 {
        let (radius, angle) = (1.0 - uniform(random), uniform(random));
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    /// Returns pairs whose members share a drift and have noise of `noise` each, skewed as times are.
    fn pairs(random: &mut Random, ratio: f64, noise: f64, rounds: usize) -> Vec<(f64, f64)> {
        let mut pair = || {
            let drift = 1.0 + 0.2 * uniform(random);
            let [before, after] = [(); 2].map(|()| drift * (noise * normal(random)).exp());
            (before, ratio * after)
        };
        (0..rounds).map(|_| pair()).collect()
    }

    /// Returns in how many of 300 experiments `holds` is true of the 95% interval.
    fn experiments(ratio: f64, noise: f64, holds: impl Fn(Interval) -> bool) -> usize {
        let mut random = Random(1);
        (0..300).filter(|_| holds(ratio_of_medians(&pairs(&mut random, ratio, noise, 15), 0.95))).count()
    }

    #[test]
    fn the_interval_has_the_true_ratio_as_often_as_it_claims() {
        for ratio in [1.0, 1.3] {
            let times = experiments(ratio, 0.05, |i| i.low <= ratio && ratio <= i.high);
            assert!((276..=300).contains(&times), "{times} of 300 for {ratio}");
        }
    }

    #[test]
    fn a_difference_is_found_that_is_larger_than_the_noise_and_none_where_there_is_none() {
        assert!(experiments(1.5, 0.02, |i| i.low > 1.0) == 300);
        assert!(experiments(1.0, 0.02, |i| i.low > 1.0 || i.high < 1.0) <= 24);
    }

    #[test]
    fn more_rounds_make_it_narrower_and_the_same_pairs_have_the_same() {
        let width = |rounds| {
            let pairs = pairs(&mut Random(7), 1.1, 0.05, rounds);
            let found = ratio_of_medians(&pairs, 0.95);
            assert_eq!(found, ratio_of_medians(&pairs, 0.95));
            found.high - found.low
        };
        assert!(width(200) < width(20) / 2.0, "{} {}", width(200), width(20));
    }

    #[test]
    fn a_single_pair_is_its_ratio() {
        assert_eq!(ratio_of_medians(&[(2.0, 3.0)], 0.99), Interval { low: 1.5, ratio: 1.5, high: 1.5 });
        assert_eq!(ratio_of_medians(&[(0.0, 0.0)], 0.99).ratio, 1.0);
        assert_eq!(ratio_of_medians(&[(0.0, 1.0)], 0.99).low, f64::INFINITY);
    }
}
