//! The processor time that profiling may take, given the time that the program has had.
//!
//! Nobody knows how long a program will run; the best guess is as long again as it has run so far. The allowance
//! therefore grows with the program's time: by a [`share`](Allowance::share) of it, and by a sum at the
//! [`start`](Allowance::start), since the first samples tell the most and their code must be compiled. A short
//! program must not pay that sum in full: at most [`most`](Allowance::most) of its time is granted.
//!
//! Example: with 1%, 5 ms and at most 2%, a program that has had 50 ms may have been profiled for 1 ms, one of 500 ms
//! for 10 ms, and one of 10 s for 105 ms.

use std::time::Duration;

use crate::Overhead;

/// The processor time that may be spent on profiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Share of the program's time.
    pub share: Overhead,
    /// One-time addition.
    pub start: Duration,
    /// Upper bound of both together, as a share of the program's time.
    pub most: Overhead,
}

impl Default for Allowance {
    fn default() -> Self {
        let percent = |percent: u32| Overhead { millionths: 10_000 * percent };
        Allowance { share: percent(1), start: Duration::from_millis(5), most: percent(2) }
    }
}

impl Allowance {
    /// Grants a share of the time, without an addition at the start.
    pub fn share_only(share: Overhead) -> Allowance {
        Allowance { share, start: Duration::ZERO, most: share }
    }

    /// Returns how much may have been spent after the program has had `had`.
    pub fn granted(&self, had: Duration) -> Duration {
        let usual = had.mul_f64(self.share.as_f64()).saturating_add(self.start);
        usual.min(had.mul_f64(self.most.as_f64()))
    }
}
