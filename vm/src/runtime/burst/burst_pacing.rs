//! The pace of bursts: the duration of the phases by the time-stamp counter, and the lengths that keep them
//! within a budget.

use wprof_profiler::{BurstBudget, BurstLengths, Overhead, Phase};

use crate::arch;

/// Measures phases. The runtime's work for a burst counts as part of it, before its first check and after its
/// last one.
#[derive(Debug)]
pub struct Pace {
    budget: BurstBudget,
    /// The start of the current phase.
    since: u64,
    /// The last phase between bursts.
    between: Phase,
}

impl Pace {
    /// Begins the first phase.
    pub fn new(budget: Overhead) -> Pace {
        Pace { budget: BurstBudget::new(budget), since: arch::cycles(), between: Phase::default() }
    }

    /// Restarts the phase between bursts, because a burst was lost.
    pub fn begin_anew(&mut self) {
        self.since = arch::cycles();
    }

    /// Begins a burst, whose check fired at `now`, after `checks` checks.
    pub fn begin_burst(&mut self, checks: u64, now: u64) {
        let checks = u32::try_from(checks).unwrap_or(u32::MAX);
        self.between = Phase { checks, time: now.wrapping_sub(self.since) };
        self.since = now;
    }

    /// Ends a burst, and returns the lengths to use from now on.
    pub fn end_burst(&mut self, lengths: BurstLengths) -> BurstLengths {
        let now = arch::cycles();
        let burst = Phase { checks: lengths.instrumented, time: now.wrapping_sub(self.since) };
        self.since = now;
        BurstLengths::new(self.budget.checks_between(self.between, burst), lengths.instrumented)
    }
}
