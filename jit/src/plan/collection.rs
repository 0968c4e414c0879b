//! What an engine collects, and what its code has to do for that.

use std::sync::Arc;

use wprof_profiler::{self as profiler, FunctionProfile, Profile};

use super::{Checks, Interesting, Metric, SmallLoop, Tracing};
use crate::CompileError;
use crate::cfg::Cfg;
use crate::events::EventModel;
use crate::module::ModuleInfo;
use crate::options::CompilerOptions;

/// What an engine collects of all functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collection {
    /// What is counted by counters of the instance.
    pub counters: Instrumentation,
    /// Kinds of events that are counted, each by a counter of the store.
    pub events: Vec<EventModel>,
    /// How events are counted.
    pub counting: Counting,
    /// The kind, an index into `events`, of which there is a budget: it is checked at entries and loop headers.
    pub metered: Option<u32>,
    /// Which paths are interesting, if any, where paths are counted.
    pub interesting: Option<Interesting>,
    /// A profile of the module, by whose counts counters and increments are placed; without it by that of the
    /// interesting paths; without either, or in functions that it does not know, by the static estimate, and the
    /// module's branch hints.
    pub weights: Option<Arc<Profile>>,
    /// How everything that runs is traced, if it is.
    pub tracing: Option<Tracing>,
    /// Whether traces have data references too.
    pub references: bool,
    /// Whether calling contexts are counted.
    pub contexts: bool,
    /// Whether allocations are counted, in calling contexts: see [`ModuleInfo::allocators`].
    pub allocations: bool,
    /// If paths are counted in each calling context of their own: up to how many a function has, its call records
    /// have a cell for each.
    pub flow_contexts: Option<u64>,
    /// Whether the callees of indirect calls are counted, by call site.
    pub call_targets: bool,
    /// What is measured along paths and in calling contexts, ascending.
    pub metrics: Vec<Metric>,
    /// Where code checks whether to go on in another version, if there are two.
    pub checks: Option<Checks>,
    /// Whether this is of code that runs in bursts only.
    pub in_bursts: bool,
    /// Whether such code records what happens in them, in order.
    pub records_bursts: bool,
}

impl Collection {
    /// The loops of a function that may be unrolled, with what they count put off: none if every round is told of, or
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

    /// The loops that code for bursts copies only to have as many checks as checking code: those that this unrolls.
    /// It runs too seldom to be worth more code for countdowns, which take none off.
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

    /// By kind of events, the metric of its lengths, if they are measured.
    pub fn lengths(&self) -> Vec<Option<u32>> {
        let of = |name: &str| {
            let is_its = |metric: &Metric| matches!(metric, Metric::Lengths(kind) if kind == name);
            self.metrics.iter().position(is_its).map(|number| number as u32)
        };
        self.events.iter().map(|model| of(&model.name)).collect()
    }

    /// Whether a budget is checked wherever code may be stopped, not before one instruction only.
    pub(super) fn is_checked_at_stops(&self) -> bool {
        self.metered.is_some() && !matches!(self.counting, Counting::Before(_))
    }

    /// How many kinds of events call records have: all, where calling contexts are counted.
    pub fn events_in_records(&self) -> u32 {
        if self.contexts { self.events.len() as u32 } else { 0 }
    }

    /// What an earlier run says of a function of this shape: that of the weights, or of the interesting paths.
    pub fn earlier(&self, func: u32, shape: &profiler::Cfg) -> Option<&FunctionProfile> {
        let interesting = self.interesting.as_ref().map(|interesting| &interesting.profile);
        let function = self.weights.as_ref().or(interesting)?.function(func);
        function.filter(|function| function.fingerprint == shape.fingerprint())
    }

    /// Whether nothing is collected.
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
    /// Each block adds its own: the simple way, for comparison.
    PerBlock,
    /// Each instruction adds its own, and checks the budget, so that the program stops at the very instruction that
    /// exceeds it. Slow.
    PerInstruction,
    /// By chords, and the budget is checked at one place only: before the instruction at this byte of the module, where
    /// the program stops if as much has happened as the budget allows. So a software instruction counter names an
    /// instant of a run, and finding it again costs no more than counting. Source: Ball 1994, section 5, after
    /// Mellor-Crummey & LeBlanc 1989.
    Before(u32),
}

/// What is counted by a version of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Instrumentation {
    /// Nothing.
    #[default]
    Off,
    /// Edges, by counters on the chords of a maximum spanning tree (Ball & Larus 1994, section 3.2).
    Chords,
    /// Blocks, by counters on as few edges as tell their counts (Ball & Larus 1994, section 3.3).
    Vertex,
    /// Paths, by a register that makes up their numbers (Ball & Larus 1996). Edges follow.
    Paths,
    /// Blocks, by counters in as few blocks as tell the counts of all (Knuth & Stevenson 1973), for comparison.
    BlockCounters,
    /// Blocks, each by its own counter: the simple way, for comparison.
    Blocks,
    /// Edges, each by its own counter: the simplest way, the oracle of [`Instrumentation::Chords`].
    Edges,
}

impl CompilerOptions {
    /// The same for code that collects. Where more than totals is collected, the embedder can always interrupt.
    #[must_use]
    pub fn collecting(self, collection: &Collection) -> CompilerOptions {
        let is_profiled = collection.counters != Instrumentation::Off;
        let traced = collection.tracing.is_some();
        let events_in_records = collection.events_in_records();
        let first = (!collection.events.is_empty() && events_in_records == 0).then_some(0);
        CompilerOptions {
            // A check can be made to fire.
            polls: (self.polls || is_profiled || traced) && collection.checks.is_none(),
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
