//! A profile: execution counts in terms of code offsets. Pure data.
//!
//! Input: exact counts and the shape of each function that ran. Output: the profile itself, merged, written, exported.
//! Invariant: [`Profile::verify`]; lists are sorted, graphs are valid, and exact counts obey the flow law.
//! A profile identifies its module by hash, so that it is never applied to another.
//! Oracle: `tests/it/profile.rs`, which counts logged walks.

mod call_edges;
mod call_target;
mod density;
mod distribution;
mod event_total;
mod flow;
mod function;
mod function_counts;
mod hot;
mod merge;
mod names;
mod parts;
mod paths;
mod rank;
mod residual;
mod run;
mod shares;
mod skipped;
mod supergraph;
mod thread;
mod verify;

use serde::{Deserialize, Serialize};

pub use call_target::CallTarget;
pub use density::{Density, Group, MetricView, Spread};
pub use distribution::PathDistribution;
pub use event_total::EventTotal;
pub use function::{BlockProfile, CodeRange, EdgeKind, EdgeProfile, FunctionProfile};
pub use function_counts::FunctionCounts;
pub use hot::{HotBlock, HotLoop, LoopProfile};
pub use merge::MergeError;
pub use parts::{CodeShift, Joining, ModulePart};
pub use paths::{HotPath, PathProfile};
pub use rank::{Predictor, Suspect, TestGain, order_tests, suspects};
pub use residual::{PathEnd, Residual, ResidualError, UntestedPath};
pub use run::{Ending, Run};
pub use shares::{Share, Shares, Unseen};
pub use skipped::{SkippedBursts, SkippedIn};
pub use supergraph::{BlockPart, MarkedCall, MarkedCalls, Supergraph, Supergraphs};
pub use thread::{ThreadFunction, ThreadProfile};
pub use verify::InvalidProfile;

use crate::{
    Accuracy, AllocationProfile, BranchOutcome, CfgError, Collector, ContextTree, CounterCosts,
    ExtendedProfile, FigureKind, Metric, PlacementCosts, Rate, TimeProfile, Timeline,
};

/// The profile of one module, or of a component with several, over one run, or over several merged ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The program's display name: a file name.
    pub program: String,
    /// A hash of everything that the code depends on; the caller chooses a hash function and keeps to it.
    pub module_hash: [u8; 32],
    /// The profiled runs, ascending.
    pub runs: Vec<Run>,
    /// Figures about the code.
    pub code: CodeStats,
    /// The functions that ran, ascending by index.
    pub functions: Vec<FunctionProfile>,
    /// Calls to functions of the host, ascending by name.
    pub host_calls: Vec<HostCalls>,
    /// Totals of the counted event kinds, ascending by name.
    pub events: Vec<EventTotal>,
    /// The metrics measured along paths, or derived from them, ascending by name: the columns of the paths' figures.
    pub metrics: Vec<Metric>,
    /// The calling contexts of the whole store, if they were counted.
    pub contexts: Option<ContextTree>,
    /// Number of bursts behind the sampled figures, if there are any: their number of independent samples.
    pub bursts: Option<u64>,
    /// What bursts could not count, if there is anything: it is in no other figure.
    pub skipped: Option<SkippedBursts>,
    /// The expected agreement of the functions' instructions, if sampled, with the complete profile.
    pub accuracy: Option<Accuracy>,
    /// Callees of indirect calls, ascending by caller and call site, if counted separately. They also follow
    /// from calling contexts.
    pub call_targets: Vec<CallTarget>,
    /// The most frequent extended paths, if bursts have counted any.
    pub extended: Option<ExtendedProfile>,
    /// Sampled time of the whole store, if a timer has sampled it. It is independent of how other figures
    /// were obtained, and is added to none.
    pub time: Option<TimeProfile>,
    /// The figures of each thread, ascending by number, if the program may start threads.
    pub threads: Vec<ThreadProfile>,
    /// The work of the garbage collector, if the program could create objects.
    pub collector: Option<Collector>,
    /// Allocations of the whole store, if they were counted, except that objects are the instance's; the tree's figures
    /// contain them by calling context.
    pub allocations: Option<AllocationProfile>,
    /// Outcomes of a simulated predictor, if there was one, ascending by place.
    pub branches: Vec<BranchOutcome>,
    /// The history of the code during the run, if recorded; of one run only.
    pub timeline: Option<Timeline>,
    /// Paths across calls, if these were counted: `functions` has the counts of the functions that calls were inlined
    /// into, and of those that were inlined, as if nothing had been.
    pub supergraphs: Option<Supergraphs>,
    /// The core modules, if the profile is of a component with several: function indices and code offsets count through all
    /// of them, in this order. Empty for one module.
    pub parts: Vec<ModulePart>,
}

/// Figures about the module's code, executed or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeStats {
    /// Functions of the module that have a body.
    pub functions: u64,
    /// Functions that were compiled and ran.
    pub compiled: u64,
    /// Counters placed in the compiled functions.
    pub counters: u64,
}

/// Calls of a host function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCalls {
    /// Module it was imported from.
    pub module: String,
    /// Name it was imported by.
    pub name: String,
    /// Number of calls.
    pub count: u64,
    /// The kind of the count: exact, sampled, or other.
    pub kind: FigureKind,
    /// Real time in the function itself, in nanoseconds, if measured, without the code that it calls back.
    #[serde(skip)]
    pub time_ns: Option<u64>,
}

impl HostCalls {
    /// Returns the sort key of host calls.
    fn key(&self) -> (&str, &str) {
        (&self.module, &self.name)
    }

    /// Adds calls of the same function; the time is known if both times are.
    fn add(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.kind = self.kind.merged(other.kind);
        self.time_ns = self.time_ns.zip(other.time_ns).map(|(ours, theirs)| ours.saturating_add(theirs));
    }
}

impl Profile {
    /// Sorts all lists as [`verify`](Self::verify) requires, and merges exits at one place, calls of one host function
    /// and those of one call target. Functions with equal indices and events with equal names are left for `verify` to
    /// reject.
    pub fn normalize(&mut self) {
        self.runs.sort();
        self.functions.sort_by_key(|function| function.index);
        self.functions.iter_mut().for_each(FunctionProfile::normalize);
        self.events.sort_by(|a, b| a.name.cmp(&b.name));
        self.host_calls.sort_by(|a, b| a.key().cmp(&b.key()));
        self.host_calls.dedup_by(|next, kept| {
            let same = next.key() == kept.key();
            if same {
                kept.add(next);
            }
            same
        });
        self.call_targets.sort_by(|a, b| a.key().cmp(&b.key()));
        self.call_targets.dedup_by(CallTarget::merge_into);
        self.branches.sort_by_key(|branch| (branch.function, branch.offset));
        self.branches.dedup_by(|next, kept| {
            let is_same = (next.function, next.offset) == (kept.function, kept.offset);
            if is_same {
                kept.add(next);
            }
            is_same
        });
        self.skipped.iter_mut().for_each(SkippedBursts::normalize);
        self.extended.iter_mut().for_each(ExtendedProfile::normalize);
        self.timeline.iter_mut().for_each(Timeline::normalize);
        let graphs = self.supergraphs.iter_mut().flat_map(|graphs| &mut graphs.functions);
        graphs.for_each(|graph| graph.function.normalize());
    }

    /// Returns the profile of the function with this index, if it ran.
    pub fn function(&self, index: u32) -> Option<&FunctionProfile> {
        let found = self.functions.binary_search_by_key(&index, |function| function.index);
        found.ok().map(|position| &self.functions[position])
    }

    /// Returns the sampled share, if figures are sampled.
    pub fn sampled(&self) -> Option<Rate> {
        let functions = self.functions.iter().map(|function| function.kind);
        let contexts = self.contexts.iter().map(|contexts| contexts.kind);
        functions.chain(contexts).find_map(FigureKind::rate)
    }

    /// Reports whether sampled time says more than the counts of code: there are samples, and enough of them, or nothing
    /// is counted exactly. A few samples of a short run may all have found the engine, or one function.
    pub fn is_led_by_time(&self) -> bool {
        const FEW_SAMPLES: u64 = 5;
        let samples = self.time.as_ref().map_or(0, |time| time.total().samples);
        let is_exact = self.functions.iter().any(|function| function.kind == FigureKind::Exact);
        samples >= FEW_SAMPLES || samples > 0 && !is_exact
    }

    /// Returns the time in host functions, in nanoseconds, if it was measured for all of them; saturates.
    pub fn host_time_ns(&self) -> Option<u64> {
        let mut times = self.host_calls.iter().map(|calls| calls.time_ns);
        times.try_fold(0_u64, |sum, time| Some(sum.saturating_add(time?)))
    }

    /// Returns the calls of all functions of the module; saturates.
    pub fn calls(&self) -> u64 {
        self.functions.iter().map(FunctionProfile::calls).fold(0, u64::saturating_add)
    }

    /// Returns the executed instructions; saturates.
    pub fn ops(&self) -> u64 {
        self.functions.iter().map(FunctionProfile::ops).fold(0, u64::saturating_add)
    }

    /// Returns the cost of counting, beside that of one counter per block and one per edge, in the functions that ran.
    pub fn counter_costs(&self) -> CounterCosts {
        self.functions
            .iter()
            .map(FunctionProfile::counter_costs)
            .fold(CounterCosts::default(), CounterCosts::plus)
    }

    /// Returns the cost that each placement of counters would have had in the functions that ran with counted edges.
    ///
    /// # Errors
    /// Fails if a function has no graph, which [`verify`](Self::verify) rejects.
    pub fn placement_costs(&self) -> Result<PlacementCosts, CfgError> {
        let mut costs = self.functions.iter().map(FunctionProfile::placement_costs);
        costs.try_fold(PlacementCosts::default(), |sum, costs| Ok(sum.plus(costs?)))
    }
}
