//! What a profile is of: everything that runs, or samples.

use std::time::Duration;

use wprof_jit::plan::{Checks, Instrumentation};
use wprof_profiler::{Allowance, BurstLengths, Overhead};

/// What is collected by an exact profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Collect {
    /// The count of every control-flow edge, with counters only on the chords of a spanning tree.
    #[default]
    Edges,
    /// The same with a counter on every edge: the simplest way, for comparison.
    AllEdges,
    /// The count of every acyclic path: of every way from an entry or loop header to the next loop round or exit. Edges
    /// follow from them.
    Paths,
    /// The count of every block, with counters on the fewest edges that tell them: never dearer, seldom cheaper, and
    /// the profile knows no branches.
    Blocks,
    /// The same with counters in the fewest blocks that tell the others (Knuth & Stevenson 1973), for comparison.
    BlockCounters,
    /// The same with a counter in each block: the simplest way, for comparison.
    AllBlocks,
}

/// Whether and what an engine profiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProfilingConfig {
    /// Nothing: plain code.
    #[default]
    Off,
    /// Everything is counted, always.
    Exact(Collect),
    /// Paths are counted in short bursts, at hardly any cost (Hirzel & Chilimbi 2001).
    Adaptive(Adaptive),
}

/// How a program is sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Adaptive {
    /// How long bursts are, and the time between them, in checks. They grow only where nothing but checks says when a
    /// burst begins, and without a budget.
    pub lengths: BurstLengths,
    /// Where code checks whether a burst begins.
    pub checks: Checks,
    /// What makes a burst begin.
    pub trigger: Trigger,
    /// How much of the processor time profiling may take: bursts, code for them, reading what they have seen. What is not
    /// afforded is put off. The number of checks between two bursts follows from what they are measured to take, so it
    /// is not the same in each run. What checks cost is not counted. Better versions of hot functions are not either:
    /// each must be expected to repay what it takes, and all together take at most 2%.
    ///
    /// By default, where lengths are the default ones and checks begin bursts, it is 1% and 5 ms, and never more than 2%
    /// of what the program has had so far. With other lengths, or without background compilation, there is no limit.
    pub budget: Option<Overhead>,
    /// Whether code for bursts is optimised. By default it is, unless few checks are in bursts, as by the default
    /// lengths, and nothing is measured along paths: then it hardly matters how fast it is, and it is compiled in a
    /// fifth of the time. What counts is [`Adaptive::lengths`], not what they are changed to later.
    pub optimized: Option<bool>,
}

/// At most one check in so many is in a burst whose code is not optimised: if that takes twice the time, that of the
/// program grows by two parts in a thousand.
const SELDOM: u64 = 500;

impl Adaptive {
    /// What profiling may take, if that is limited. Whoever asks for certain lengths wants a sample of that size.
    pub(crate) fn allowance(&self) -> Option<Allowance> {
        let is_default = self.lengths == BurstLengths::default() && self.trigger == Trigger::Checks;
        self.budget.map(Allowance::of).or_else(|| is_default.then(Allowance::default))
    }

    /// Whether code for bursts is optimised, which may measure.
    pub(crate) fn is_optimized(&self, measures: bool) -> bool {
        let BurstLengths { checking, instrumented, .. } = self.lengths;
        let is_seldom = u64::from(instrumented) * SELDOM <= u64::from(checking) + u64::from(instrumented);
        let is_counted = self.trigger == Trigger::Checks && self.budget.is_none();
        self.optimized.unwrap_or(measures || !is_seldom || !is_counted)
    }
}

/// What makes a burst begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trigger {
    /// The number of checks since the last one, of [`Adaptive::lengths`]: deterministic, whatever else the machine
    /// does.
    #[default]
    Checks,
    /// The time: a timer makes the next check begin a burst each time that this long has passed, which goes on for a
    /// hundredth of that, and at least for the checks in a burst of [`Adaptive::lengths`]. What takes long for what it
    /// does is seen more often than it runs.
    Time(Duration),
}

impl ProfilingConfig {
    /// What this is to the compiler.
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
