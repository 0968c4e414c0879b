//! The processor time that profiling may take of a program that has had so much.
//!
//! Nobody knows how long a program will run; the best guess is as long again as it has run so far. So what may be
//! spent grows with what the program has had: by a [`share`](Allowance::share) of it, and by a sum at the
//! [`start`](Allowance::start), since the first samples tell most and their code must be made. A short program must not
//! pay that sum whole: never more than [`most`](Allowance::most) of its time is granted.
//!
//! Example: 1% and 5 ms, at most 2%. A program that has had 50 ms may have been profiled for 1 ms, one of 500 ms for
//! 10 ms, and one of 10 s for 105 ms.

use std::time::Duration;

use crate::Overhead;

/// How much may be spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Of all the time that the program has had.
    pub share: Overhead,
    /// Once, besides.
    pub start: Duration,
    /// Both together, of the time that the program has had.
    pub most: Overhead,
}

impl Default for Allowance {
    fn default() -> Self {
        let percent = |percent: u32| Overhead { millionths: 10_000 * percent };
        Allowance { share: percent(1), start: Duration::from_millis(5), most: percent(2) }
    }
}

impl Allowance {
    /// A share of the time, and nothing at the start.
    pub fn of(share: Overhead) -> Allowance {
        Allowance { share, start: Duration::ZERO, most: share }
    }

    /// What may have been spent when the program has had so much.
    pub fn granted(&self, had: Duration) -> Duration {
        let usual = had.mul_f64(self.share.as_f64()).saturating_add(self.start);
        usual.min(had.mul_f64(self.most.as_f64()))
    }
}
