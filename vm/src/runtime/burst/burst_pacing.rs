//! The pace of bursts: what the phases take by the time-stamp counter, and the lengths that keep them to a budget.

use wprof_profiler::{BurstBudget, BurstLengths, Overhead, Phase};

use crate::arch;

/// Measures phases. The runtime's work for a burst belongs to it, before its first check and behind its last one.
#[derive(Debug)]
pub struct Pace {
    budget: BurstBudget,
    /// When the phase began that runs.
    since: u64,
    /// The last phase without a burst.
    between: Phase,
}

impl Pace {
    /// The first phase begins.
    pub fn new(budget: Overhead) -> Pace {
        Pace { budget: BurstBudget::new(budget), since: arch::cycles(), between: Phase::default() }
    }

    /// A burst was lost, and the time until the next one begins anew.
    pub fn begin_anew(&mut self) {
        self.since = arch::cycles();
    }

    /// A burst begins, for which a check fired at `now`, after so many checks.
    pub fn begin_burst(&mut self, checks: u64, now: u64) {
        let checks = u32::try_from(checks).unwrap_or(u32::MAX);
        self.between = Phase { checks, time: now.wrapping_sub(self.since) };
        self.since = now;
    }

    /// A burst has ended; gives the lengths that hold from now on.
    pub fn end_burst(&mut self, lengths: BurstLengths) -> BurstLengths {
        let now = arch::cycles();
        let burst = Phase { checks: lengths.instrumented, time: now.wrapping_sub(self.since) };
        self.since = now;
        BurstLengths::new(self.budget.checks_between(self.between, burst), lengths.instrumented)
    }
}
