//! Predicts from a sample alone how far it agrees with the complete profile.
//!
//! Input: the instructions of each item, such as a function, in single bursts, in the order of the bursts; and its
//! instructions in the whole sample. Output: the expected [`overlap`](crate::overlap) of the sample with the profile of
//! the whole run, and the share of the run that is of items which the sample lacks.
//!
//! Theory. Let `x(i, b)` be the instructions of item `i` in burst `b`, `m(b)` those of the burst, `M` those of all `B`
//! bursts. The overlap is `1 - sum |q(i) - p(i)| / 2`, with `p(i)` the item's share of the run and `q(i)` its share of
//! `M`. This is a ratio estimate, whose error is, to the first order, the mean of the residuals
//! `e(i, b) = x(i, b) - q(i) m(b)`. So its variance is `(1 - r) B s(i)² / M²`, where `s(i)²` is the variance of the
//! residuals and `r` the share of the run that was sampled: nothing is left to chance where all is.
//!
//! Bursts come at fixed intervals. Such a systematic sample takes its part of each phase, so that a slow change of the
//! program is no error. Hence `s(i)²` is from successive differences, `sum (e(i, b + 1) - e(i, b))² / (2 (n - 1))` over
//! the `n` bursts that were read. Errors are sums over many bursts, so normal: the mean of their size is
//! `sqrt(2 / pi)` standard deviations. Items that no burst has seen have together about the share of those that exactly
//! one has seen, and the overlap lacks half of that, too.
//!
//! The theory does not cover a program whose rounds keep step with the bursts, and bursts that miss what they should
//! see. And a program that stays with something for about as long as it is from burst to burst has fewer surprises
//! than its bursts show, which see nothing of what lies between them: its overlap is then higher than predicted.
//! Source: Cochran, *Sampling Techniques*, 1977, sections 2.6 and 6.4; for successive differences von Neumann et al.,
//! *Annals of Mathematical Statistics* 12, 1941, and Wolter, *JASA* 79, 1984; for what was not seen Good, *Biometrika*
//! 40, 1953. Oracle: programs whose phases are known, in `tests/it/accuracy.rs` and `bench-wasm/tests/accuracy.rs`.

use serde::{Deserialize, Serialize};

use crate::Rate;

/// The fewest bursts of which anything is predicted: with fewer, the real overlap is often some points from the expected
/// one.
const FEWEST_BURSTS: u64 = 100;

/// The fewest pairs of successive bursts that were read from which anything is predicted: of large trees not all are.
const FEWEST_PAIRS: u64 = 32;

/// The expected agreement of a sample with the complete profile. Integers, so that sums of samples do not depend on
/// their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accuracy {
    /// The instructions of the sample.
    ops: u64,
    /// The sum of the squares of the instructions that each of the added samples is expected to have in wrong places.
    squares: u128,
    /// As many instructions of the sample as stand for the items that it lacks.
    unseen: u64,
}

impl Accuracy {
    /// Returns the accuracy of a sample of `ops` instructions with this overlap, and this share of what was not seen,
    /// both from 0 to 1.
    pub fn new(ops: u64, overlap: f64, unseen: f64) -> Self {
        let part = |share: f64| (share.clamp(0.0, 1.0) * ops as f64).round() as u64;
        let of_all = |part: u64| part.min(ops);
        Self { ops, squares: u128::from(of_all(part(1.0 - overlap))).pow(2), unseen: of_all(part(unseen)) }
    }

    /// Returns the expected overlap with the complete profile, from 0 to 1.
    pub fn overlap(self) -> f64 {
        1.0 - (self.squares as f64).sqrt() / self.ops.max(1) as f64
    }

    /// Returns the expected share of the run that is of items which are not in the sample, from 0 to 1.
    pub fn unseen(self) -> f64 {
        self.unseen as f64 / self.ops.max(1) as f64
    }

    /// Returns the accuracy of the sum of two samples, whose errors are independent; saturates.
    #[must_use]
    pub fn merged(self, other: Self) -> Self {
        let ops = self.ops.saturating_add(other.ops);
        let squares = self.squares.saturating_add(other.squares).min(u128::from(ops).pow(2));
        Self { ops, squares, unseen: self.unseen.saturating_add(other.unseen) }
    }

    /// Reports whether both shares are possible.
    pub(crate) fn is_valid(self) -> bool {
        self.squares <= u128::from(self.ops).pow(2) && self.unseen <= self.ops
    }
}

/// Sums over the bursts that were read, from which the accuracy of a sample follows.
#[derive(Clone, Debug, Default)]
pub struct BurstSpread {
    items: Vec<Item>,
    /// The instructions of the last burst.
    last: f64,
    /// The sum of the squares of the differences between the instructions of successive bursts.
    squares: f64,
    bursts: u64,
}

/// The sums of one item.
#[derive(Clone, Copy, Debug, Default)]
struct Item {
    /// Its instructions in the last burst.
    last: f64,
    /// The sum of the squares of the differences of successive bursts.
    squares: f64,
    /// The sum of the products of these differences with those of whole bursts.
    products: f64,
    /// The number of bursts that saw it.
    seen: u64,
    /// Its instructions in the last burst that saw it.
    at_last: u64,
}

impl BurstSpread {
    /// Adds the next burst, given the instructions of each item in it.
    pub fn add(&mut self, ops: &[u64]) {
        let all = ops.iter().map(|&ops| ops as f64).sum::<f64>();
        if ops.len() > self.items.len() {
            self.items.resize(ops.len(), Item::default());
        }
        let (is_first, change) = (self.bursts == 0, all - self.last);
        for (number, item) in self.items.iter_mut().enumerate() {
            let ops = ops.get(number).copied().unwrap_or(0);
            let own_change = ops as f64 - item.last;
            if !is_first {
                item.squares += own_change * own_change;
                item.products += own_change * change;
            }
            item.last = ops as f64;
            if ops > 0 {
                (item.seen, item.at_last) = (item.seen + 1, ops);
            }
        }
        if !is_first {
            self.squares += change * change;
        }
        (self.last, self.bursts) = (all, self.bursts + 1);
    }

    /// Predicts the accuracy of the sample that has `totals` by item and comes from `bursts` bursts, which saw this
    /// share of the run; `None` if too few bursts were read.
    pub fn accuracy(&self, totals: &[u64], bursts: u64, rate: Rate) -> Option<Accuracy> {
        let pairs = self.bursts.saturating_sub(1);
        let all = totals.iter().map(|&ops| ops as f64).sum::<f64>();
        if bursts.max(self.bursts) < FEWEST_BURSTS || pairs < FEWEST_PAIRS || all == 0.0 {
            return None;
        }
        let left = 1.0 - rate.as_f64().clamp(0.0, 1.0);
        // The part of the run that the bursts that were read stand for.
        let each = bursts.max(self.bursts) as f64 / self.bursts as f64;
        let deviation = |item: &Item, total: u64| {
            let share = total as f64 / all;
            let squares = item.squares - 2.0 * share * item.products + share * share * self.squares;
            let of_burst = squares.max(0.0) / (2.0 * pairs as f64);
            (left * bursts as f64 * of_burst).sqrt() / all
        };
        let with_totals = || self.items.iter().zip(totals.iter().copied());
        let deviations: f64 = with_totals().map(|(item, total)| deviation(item, total)).sum();
        let once = with_totals().filter(|(item, total)| item.seen == 1 && item.at_last == *total);
        let once: f64 = once.map(|(_, total)| total as f64).sum();
        let unseen = (left * each * once / all).min(1.0);
        let error = (deviations * (2.0 / std::f64::consts::PI).sqrt() + unseen) / 2.0;
        let ops = totals.iter().copied().fold(0, u64::saturating_add);
        Some(Accuracy::new(ops, 1.0 - error, unseen))
    }
}
