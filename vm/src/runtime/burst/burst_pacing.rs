//! The pace of bursts: the duration of the phases by the time-stamp counter, and what a policy decides from it.

use wprof_profiler::{BurstLengths, BurstPolicy, BurstSite, Phase};

use crate::arch;

/// Measures phases. The runtime's work for a burst counts as part of it, before its first check and after its
/// last one.
#[derive(Debug)]
pub struct PhaseTimer {
    policy: Box<dyn BurstPolicy>,
    /// The start of the current phase.
    since: u64,
    /// The last phase between bursts.
    between: Phase,
}

impl PhaseTimer {
    /// Begins the first phase.
    pub fn new(policy: Box<dyn BurstPolicy>) -> PhaseTimer {
        PhaseTimer { policy, since: arch::cycles(), between: Phase::default() }
    }

    /// Decides whether a burst begins that is due. One that does not restarts the phase.
    pub fn begins(&mut self, site: BurstSite) -> bool {
        let begins = self.policy.begins(site);
        if !begins {
            self.begin_anew();
        }
        begins
    }

    /// Restarts the phase between bursts, because a burst was skipped.
    pub fn begin_anew(&mut self) {
        self.since = arch::cycles();
    }

    /// Begins a burst, whose check fired at `now`, after `checks` checks.
    pub fn begin_burst(&mut self, checks: u64, now: u64) {
        let checks = u32::try_from(checks).unwrap_or(u32::MAX);
        self.between = Phase { checks, time: now.wrapping_sub(self.since) };
        self.since = now;
    }

    /// Ends a burst, and returns the lengths to use from now on, if they change.
    pub fn end_burst(&mut self, lengths: BurstLengths) -> Option<BurstLengths> {
        let now = arch::cycles();
        let burst = Phase { checks: lengths.instrumented, time: now.wrapping_sub(self.since) };
        self.since = now;
        let checks = self.policy.after(self.between, burst)?;
        Some(BurstLengths::new(checks.max(1), lengths.instrumented))
    }
}
