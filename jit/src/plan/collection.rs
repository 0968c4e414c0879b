//! The data that an engine collects, and the code that collecting needs.

use std::sync::Arc;

use wprof_profiler::{self as profiler, FunctionProfile, Profile};

use super::{Checks, Interesting, Metric, SmallLoop, Tracing};
use crate::CompileError;
use crate::cfg::Cfg;
use crate::events::EventModel;
use crate::module::ModuleInfo;
use crate::options::CompilerOptions;

/// The data that an engine collects about all functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collection {
    /// Data that instance counters count.
    pub counters: Instrumentation,
    /// Counted event kinds, each with a counter of the store.
    pub events: Vec<EventModel>,
    /// How events are counted.
    pub counting: Counting,
    /// The kind, an index into `events`, that has a budget, checked at entries and loop headers.
    pub metered: Option<u32>,
    /// Whether the budget is checked as Wasmtime checks fuel: at the entries of all functions, leaves too, and at loop
    /// headers, but not where a call returns.
    pub checks_as_fuel: bool,
    /// The interesting paths, if paths are counted and only some are of interest.
    pub interesting: Option<Interesting>,
    /// A profile of the module, whose counts determine the placement of counters and increments. Without it, the
    /// profile of the interesting paths does; without either, or in functions that it does not contain, the static
    /// estimate and the module's branch hints do.
    pub weights: Option<Arc<Profile>>,
    /// How execution is traced, if it is.
    pub tracing: Option<Tracing>,
    /// Whether traces include data references.
    pub references: bool,
    /// Whether calling contexts are counted.
    pub contexts: bool,
    /// Whether calling contexts are distinguished by functions only, not by call sites.
    pub merges_sites: bool,
    /// Whether allocations are counted, in calling contexts: see [`ModuleInfo::allocators`].
    pub allocations: bool,
    /// If each calling context counts paths separately: the maximum number of paths of a function for which its call
    /// records have a cell per path.
    pub flow_contexts: Option<u64>,
    /// Whether the callees of indirect calls are counted, per call site.
    pub call_targets: bool,
    /// Metrics measured along paths and in calling contexts, ascending.
    pub metrics: Vec<Metric>,
    /// Where code checks whether to move to another version, if there are two.
    pub checks: Option<Checks>,
    /// Whether the code runs in bursts only.
    pub in_bursts: bool,
    /// Whether burst code records events in order.
    pub records_bursts: bool,
}

impl Collection {
    /// Returns the loops of a function that may be unrolled with deferred counts: none if every round is reported, or
    /// in bursts.
    pub(super) fn loops(&self, info: &ModuleInfo, cfg: &Cfg) -> Result<Vec<SmallLoop>, CompileError> {
        let is_told = self.tracing.is_some() || !self.metrics.is_empty() || self.in_bursts;
        let is_plain = self.is_off() && !self.checks.is_some_and(|checks| checks.unroll);
        if is_plain || is_told || self.counting == Counting::PerInstruction {
            return Ok(Vec::new());
        }
        let metered = self.metered.filter(|_| self.is_checked_at_stops());
        let metered = metered.map(|kind| (kind, &self.events[kind as usize]));
        Ok(SmallLoop::all(info, cfg, metered)?)
    }

    /// Returns the loops that burst code copies only to encounter as many checks as checking code: the loops that
    /// checking code unrolls. Burst code runs too rarely for countdowns to justify more code, and they remove no
    /// checks.
    pub(super) fn loops_in_bursts(
        &self,
        info: &ModuleInfo,
        cfg: &Cfg,
    ) -> Result<Vec<SmallLoop>, CompileError> {
        match self.checks {
            Some(Checks { unroll: true, .. }) => {
                let mut loops = SmallLoop::all(info, cfg, None)?;
                loops.iter_mut().for_each(|found| found.countdown = None);
                Ok(loops)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Returns the metric of bulk-operation lengths by event kind, if measured.
    pub fn lengths(&self) -> Vec<Option<u32>> {
        let of = |name: &str| {
            let is_its = |metric: &Metric| matches!(metric, Metric::Lengths(kind) if kind == name);
            self.metrics.iter().position(is_its).map(|number| number as u32)
        };
        self.events.iter().map(|model| of(&model.name)).collect()
    }

    /// Reports whether a budget is checked wherever code may be stopped, not before one instruction only.
    pub(super) fn is_checked_at_stops(&self) -> bool {
        self.metered.is_some() && !matches!(self.counting, Counting::Before(_))
    }

    /// Returns the number of event kinds in call records: all of them if calling contexts are counted.
    pub fn events_in_records(&self) -> u32 {
        if self.contexts { self.events.len() as u32 } else { 0 }
    }

    /// Returns the profile of a function of this shape from an earlier run: the weights' or the interesting paths'.
    pub fn earlier(&self, func: u32, shape: &profiler::Cfg) -> Option<&FunctionProfile> {
        let interesting = self.interesting.as_ref().map(|interesting| &interesting.profile);
        let function = self.weights.as_ref().or(interesting)?.function(func);
        function.filter(|function| function.fingerprint == shape.fingerprint())
    }

    /// Reports whether nothing is collected.
    pub fn is_off(&self) -> bool {
        let counts = self.counters != Instrumentation::Off || !self.events.is_empty() || self.contexts;
        !counts && self.tracing.is_none()
    }
}

/// How events are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counting {
    /// By increments on the chords of a maximum spanning tree.
    #[default]
    Chords,
    /// Each block adds its own events: the simple way, for comparison.
    PerBlock,
    /// Each instruction adds its own events and checks the budget, so that the program stops at exactly the instruction
    /// that exceeds it. Slow.
    PerInstruction,
    /// By chords, with a single budget check before the instruction at this byte of the module, where the program stops
    /// once the count reaches the budget. A software instruction counter thus names an instant of a run, and finding it
    /// again costs no more than counting. Source: Ball 1994, section 5, after Mellor-Crummey & LeBlanc 1989.
    Before(u32),
}

/// What a version of a function counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Instrumentation {
    /// Nothing.
    #[default]
    Off,
    /// Edges, by counters on the chords of a maximum spanning tree (Ball & Larus 1994, section 3.2).
    Chords,
    /// Blocks, by counters on a minimal set of edges that determines their counts (Ball & Larus 1994, section 3.3).
    Vertex,
    /// Paths, by a register that accumulates their numbers (Ball & Larus 1996). Path counts determine edge counts.
    Paths,
    /// Blocks, by counters in a minimal set of blocks that determines all counts (Knuth & Stevenson 1973), for
    /// comparison.
    BlockCounters,
    /// Blocks, each with its own counter: the simple way, for comparison.
    Blocks,
    /// Edges, each with its own counter: the simplest way, the oracle of [`Instrumentation::Chords`].
    Edges,
}

impl CompilerOptions {
    /// Adapts the options to code that collects. If it collects more than totals, the embedder can always interrupt it.
    #[must_use]
    pub fn collecting(self, collection: &Collection) -> CompilerOptions {
        let is_profiled = collection.counters != Instrumentation::Off;
        let traced = collection.tracing.is_some();
        let events_in_records = collection.events_in_records();
        let first = (!collection.events.is_empty() && events_in_records == 0).then_some(0);
        CompilerOptions {
            // The runtime can make a check fire, by a signal, so polls are not needed.
            polls: match collection.checks {
                Some(_) => self.explicit_traps,
                None => self.polls || is_profiled || traced,
            },
            checked: collection.checks.is_some(),
            precise: !collection.is_off() && !collection.in_bursts,
            capture_state: matches!(collection.counting, Counting::PerInstruction | Counting::Before(_)),
            frames_hold_vmctx: is_profiled || collection.contexts,
            metered: collection.metered,
            pinned: collection.metered.or(first).filter(|_| !traced),
            traced,
            references: traced && collection.references,
            logs_references: collection.records_bursts && collection.references,
            contexts: collection.contexts,
            allocations: collection.allocations,
            events_in_records,
            metrics: collection.metrics.len() as u32,
            reads_metrics: collection.metrics.iter().any(Metric::is_read),
            lengths: collection.lengths(),
            flow_contexts: collection.flow_contexts.is_some(),
            predicts: collection.metrics.contains(&Metric::Mispredictions),
            cache: collection.metrics.iter().find_map(Metric::cache),
            ..self
        }
    }
}
