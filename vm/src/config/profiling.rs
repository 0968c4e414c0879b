//! Profiling: exact counts of everything, or samples.

use std::time::Duration;

use wprof_jit::plan::{Checks, Instrumentation};
use wprof_profiler::{Allowance, BurstLengths, Overhead};

/// The figures that an exact profile collects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Collect {
    /// The count of every control-flow edge, with counters only on the chords of a spanning tree.
    #[default]
    Edges,
    /// The count of every control-flow edge, with a counter on every edge: the simplest method, for comparison.
    AllEdges,
    /// The count of every acyclic path, from an entry or loop header to the next iteration or exit. Edge counts
    /// follow from them.
    Paths,
    /// The count of every block, with counters on the fewest edges that determine them. It never costs more than
    /// edge counts and seldom costs less, and the profile contains no branches.
    Blocks,
    /// The count of every block, with counters in the fewest blocks that determine the others (Knuth & Stevenson
    /// 1973), for comparison.
    BlockCounters,
    /// The count of every block, with a counter in each block: the simplest method, for comparison.
    AllBlocks,
}

/// Whether an engine profiles, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProfilingConfig {
    /// No profile: plain code.
    #[default]
    Off,
    /// Everything is counted, at all times.
    Exact(Collect),
    /// Paths are counted in short bursts, at hardly any cost (Hirzel & Chilimbi 2001).
    Adaptive(Adaptive),
}

/// How an adaptive profile samples a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Adaptive {
    /// The length of bursts, and the time between them, in checks. They grow only if checks alone begin bursts
    /// and there is no budget.
    pub lengths: BurstLengths,
    /// The places where code checks whether a burst begins.
    pub checks: Checks,
    /// The event that begins a burst.
    pub trigger: Trigger,
    /// The share of the CPU time that profiling may take: bursts, compiling burst code, reading the counts. What
    /// the budget does not afford is postponed. The number of checks between two bursts follows from the measured
    /// cost of bursts, so it differs between runs. The cost of checks is not included, and neither are better
    /// versions of hot functions: each must be expected to repay its compilation, and all together take at most
    /// 2%.
    ///
    /// The default, with default lengths and checks as the trigger, is 1% and 5 ms, and never more than 2% of the
    /// program's CPU time so far. With other lengths, or without background compilation, there is no limit.
    pub budget: Option<Overhead>,
    /// Whether burst code is optimised. By default it is, unless few checks are in bursts, as with the default
    /// lengths, and nothing is measured along paths: then its speed hardly matters, and without optimisation it
    /// is compiled in a fifth of the time. The default depends on [`Adaptive::lengths`], not on later changes of
    /// the lengths.
    pub optimized: Option<bool>,
}

/// Burst code is not optimised by default only if at most one check in this many is in a burst: even if such code
/// takes twice the time, the program takes two parts in a thousand longer.
const SELDOM: u64 = 500;

impl Adaptive {
    /// Returns the limit of what profiling may take, if there is one. A user who sets lengths wants a sample of
    /// that size, without a limit.
    pub(crate) fn allowance(&self) -> Option<Allowance> {
        let is_default = self.lengths == BurstLengths::default() && self.trigger == Trigger::Checks;
        self.budget.map(Allowance::share_only).or_else(|| is_default.then(Allowance::default))
    }

    /// Returns whether burst code is optimised. `measures` tells whether it measures along paths.
    pub(crate) fn is_optimized(&self, measures: bool) -> bool {
        let BurstLengths { checking, instrumented, .. } = self.lengths;
        let is_seldom = u64::from(instrumented) * SELDOM <= u64::from(checking) + u64::from(instrumented);
        let is_counted = self.trigger == Trigger::Checks && self.budget.is_none();
        self.optimized.unwrap_or(measures || !is_seldom || !is_counted)
    }
}

/// The event that begins a burst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trigger {
    /// A number of checks since the last burst, given by [`Adaptive::lengths`]: deterministic, whatever else the
    /// machine does.
    #[default]
    Checks,
    /// Time: after each such period a timer makes the next check begin a burst, which lasts a hundredth of the
    /// period, and at least the number of checks in a burst of [`Adaptive::lengths`]. Code that takes long for
    /// what it does is sampled more often than it runs.
    Time(Duration),
}

impl ProfilingConfig {
    /// Returns the compiler's instrumentation for this configuration.
    #[doc(hidden)]
    pub fn instrumentation(self) -> Instrumentation {
        match self {
            ProfilingConfig::Off | ProfilingConfig::Adaptive(_) => Instrumentation::Off,
            ProfilingConfig::Exact(Collect::Edges) => Instrumentation::Chords,
            ProfilingConfig::Exact(Collect::AllEdges) => Instrumentation::Edges,
            ProfilingConfig::Exact(Collect::Paths) => Instrumentation::Paths,
            ProfilingConfig::Exact(Collect::Blocks) => Instrumentation::Vertex,
            ProfilingConfig::Exact(Collect::BlockCounters) => Instrumentation::BlockCounters,
            ProfilingConfig::Exact(Collect::AllBlocks) => Instrumentation::Blocks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_for_bursts_is_optimised_unless_they_are_seldom_and_only_count() {
        let seldom = Adaptive::default();
        assert!(!seldom.is_optimized(false) && seldom.is_optimized(true));
        let by_length = |checking, instrumented| {
            let lengths = BurstLengths::new(checking, instrumented);
            Adaptive { lengths, ..seldom }.is_optimized(false)
        };
        assert!(by_length(1000, 50) && by_length(4989, 10) && !by_length(4990, 10));
        assert!(by_length(1, BurstLengths::FOREVER) && !by_length(BurstLengths::FOREVER, 1));
        let trigger = Trigger::Time(Duration::from_millis(1));
        assert!(Adaptive { trigger, ..seldom }.is_optimized(false));
        assert!(Adaptive { budget: "2%".parse().ok(), ..seldom }.is_optimized(false));
        assert!(!Adaptive { optimized: Some(false), ..seldom }.is_optimized(true));
    }
}
