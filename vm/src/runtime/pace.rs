//! The pace of bursts: what the phases take by the time-stamp counter, and the lengths that keep them to a budget.

use wprof_profiler::{BurstBudget, BurstLengths, Overhead, Phase};

use crate::arch;

/// Measures phases.
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

    /// A burst begins after as many checks as it was to.
    pub fn begin_burst(&mut self, lengths: BurstLengths) {
        self.between = self.end_phase(lengths.checking);
    }

    /// A burst has ended; gives the lengths that hold from now on.
    pub fn end_burst(&mut self, lengths: BurstLengths) -> BurstLengths {
        let burst = self.end_phase(lengths.instrumented);
        BurstLengths { checking: self.budget.checks_between(self.between, burst), ..lengths }
    }

    fn end_phase(&mut self, checks: u32) -> Phase {
        let now = arch::cycles();
        let time = now.wrapping_sub(std::mem::replace(&mut self.since, now));
        Phase { checks, time }
    }
}
