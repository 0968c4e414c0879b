//! Plans: what is counted in a function, and where.
//!
//! Input: a function and a [`Collection`], what its engine collects. Output: a [`FunctionPlan`], which all versions of
//! the function share: each turns it into probes of its block graph, and whoever reads counters reads them by it.

mod allocations;
mod block_effect;
mod checks;
mod collection;
mod contexts;
mod counters;
mod events;
mod expected;
mod interesting;
mod metrics;
mod placement;
mod prefix_counts;
mod probe;
mod references;
mod round_path;
mod small_loop;
mod split;
mod strip;
mod system_event;
mod targets;
mod trace;
mod trip_count;

use std::sync::Arc;

use wprof_profiler::{self as profiler, BlockPlan, EdgeId, EdgePlan, EdgeWeights, PathPlan, VertexPlan};

pub use block_effect::Bound;
pub use checks::{Checks, EntryChecks, FunctionChecks};
pub use collection::{Collection, Counting, Instrumentation};
pub use contexts::{ContextSite, FunctionContexts};
pub use events::FunctionEvents;
pub use expected::{Expected, likely_edges};
pub use interesting::{Interesting, PreferentialPaths};
pub use metrics::{FunctionMetrics, Metric};
pub use placement::{Inner, Placed, Placement};
pub use prefix_counts::PrefixCounts;
pub use probe::{PathCells, Probe, Probes};
pub use round_path::{RoundCell, RoundPath};
pub use small_loop::SmallLoop;
pub use split::{Part, Place, Position, SplitCfg};
pub use strip::{ROUNDS as ROUNDS_OF_STRIP, Strip};
pub use system_event::SystemEvent;
pub use targets::{CELLS_PER_SITE, FunctionTargets};
pub use trace::{FunctionTrace, Moment, Tracing};
pub(crate) use trip_count::TripCounts;
pub use trip_count::{Countdown, GoesOn, Order};

use crate::CompileError;
use crate::abi::path_row;
use crate::cfg::Cfg;
use crate::limits::MAX_DENSE_PATHS;
use crate::module::{Allocator, ModuleInfo};
use interesting::plan_paths;

/// Which counters mean what in one compiled function.
#[derive(Clone, Debug)]
pub enum Plan {
    /// No counters.
    Off,
    /// Counter k of the function counts chord k of the plan.
    Chords(EdgePlan),
    /// Counter k of the function counts edge k of the plan; only the counts of blocks follow.
    Vertex(VertexPlan),
    /// Counter k of the function counts path k of the plan, if it [`is_dense`]; else the instance has a table, of which
    /// rows are among the counters: see [`path_row`].
    Paths(Box<PathPlan>),
    /// Counter k of the function counts the interesting path of cell k of the plan; others are in the instance's table.
    Preferential(Box<PreferentialPaths>),
    /// Counter k of the function counts block k of the plan, where EXIT stands for the calls.
    BlockCounters(BlockPlan),
    /// Counter k of the function counts block k of the CFG.
    Blocks,
    /// Counter k of the function counts edge k of the CFG.
    Edges,
}

impl Plan {
    /// Number of counters.
    pub fn counters(&self, cfg: &Cfg) -> u32 {
        match self {
            Plan::Off => 0,
            Plan::Chords(plan) => plan.counted.len() as u32,
            Plan::Vertex(plan) => plan.counted.len() as u32,
            Plan::Paths(plan) if is_dense(plan) => plan.numbering.paths() as u32,
            Plan::Paths(_) => 0,
            Plan::Preferential(paths) => paths.counters(),
            Plan::BlockCounters(plan) => plan.counted.len() as u32,
            Plan::Blocks => cfg.blocks.len() as u32,
            Plan::Edges => cfg.blocks.iter().map(|b| b.edges.len() as u32).sum(),
        }
    }

    /// Gives the loops all of whose rounds are one path a counter for it, and forgets others, if paths are counted;
    /// in call records, if paths are counted there: so many bytes behind their start, with a cell for each path up to
    /// so many.
    fn count_rounds(&self, cfg: &Cfg, loops: &mut Vec<SmallLoop>, in_records: Option<(u32, u64)>) {
        let Some(paths) = self.paths() else { return };
        let shape = cfg.shape();
        let is_few = match in_records {
            Some((_, most)) => paths.numbering.paths() <= most,
            None => matches!(self, Plan::Paths(plan) if is_dense(plan)),
        };
        let mut next = match (self, in_records) {
            (_, Some(_)) => 1,
            (Plan::Preferential(paths), _) => paths.counters(),
            _ => path_row::COUNT * path_row::words(1),
        };
        loops.retain_mut(|found| {
            let id = found.round_path(cfg, shape, &paths.numbering);
            found.path = id.map(|id| {
                let place = if is_few { id as u32 } else { next };
                let in_record = |(behind, _)| RoundCell::Record(behind + 8 * place);
                RoundPath { id, cell: in_records.map_or(RoundCell::Counter(place), in_record) }
            });
            next += u32::from(found.path.is_some());
            found.countdown = None;
            found.path.is_some()
        });
    }

    /// What each edge does to the path register, if paths are counted.
    pub fn paths(&self) -> Option<&PathPlan> {
        match self {
            Plan::Paths(plan) => Some(plan),
            Plan::Preferential(paths) => Some(&paths.plan.paths),
            _ => None,
        }
    }
}

/// Whether each path of a function has a counter of its own.
pub fn is_dense(plan: &PathPlan) -> bool {
    plan.numbering.paths() <= MAX_DENSE_PATHS
}

/// What call records of a function have behind the callee slots, for its paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordCells {
    /// So many cells: one for each path, then for each metric one for each path.
    Counters(u32),
    /// The number of path 0 in the record, by which paths are counted in rows (see [`path_row::first_in`]); then a
    /// cell for each loop whose rounds are one path.
    Number {
        /// How many such loops there are.
        rounds: u32,
    },
}

impl RecordCells {
    /// How many words that is.
    pub fn words(self) -> u32 {
        match self {
            RecordCells::Counters(cells) => cells,
            RecordCells::Number { rounds } => 1 + rounds,
        }
    }
}

/// What all versions of a function share: its blocks, and how to read its counters.
#[derive(Clone, Debug)]
pub struct FunctionPlan {
    /// The function's blocks.
    pub cfg: Arc<Cfg>,
    /// What its counters count.
    pub plan: Plan,
    /// Index of its first counter in the instance's counter array.
    pub first_counter: u32,
    /// Where its events are counted, if any are.
    pub events: Option<FunctionEvents>,
    /// What it writes into the trace, if there is one.
    pub trace: Option<FunctionTrace>,
    /// Loops that are unrolled in optimised code.
    pub loops: Vec<SmallLoop>,
    /// Loops that are checked once in several rounds there.
    pub strips: Vec<Strip>,
    /// How often an earlier run came along each prefix of a path, if paths are counted and there is one.
    pub prefixes: Option<PrefixCounts>,
    /// Its calls, if calling contexts are counted.
    pub contexts: Option<FunctionContexts>,
    /// What it says of its arguments and its result, if it is an allocator and allocations are counted.
    pub allocator: Option<Allocator>,
    /// Its indirect calls, if their callees are counted.
    pub targets: Option<FunctionTargets>,
    /// Where it stops to measure, if anything is measured.
    pub metrics: Option<FunctionMetrics>,
    /// How many counters each path of its own has, if paths have any: one, and one for each metric.
    pub counters_of_path: u32,
    /// If its paths are counted in each calling context of their own: up to how many it has, call records have a cell
    /// for each.
    pub flow_contexts: Option<u64>,
    /// Where it is checked, if there are two versions.
    pub checks: Option<FunctionChecks>,
    /// Whether this is of its code for bursts.
    pub in_bursts: bool,
    /// Whether that records what happens, in order.
    pub records_bursts: bool,
}

impl FunctionPlan {
    /// Plans function `func` as `collection` wants it; its counters start at index `first_counter`.
    ///
    /// # Errors
    /// If the function exceeds a limit.
    pub fn new(
        info: &ModuleInfo,
        func: u32,
        collection: &Collection,
        first_counter: u32,
    ) -> Result<FunctionPlan, CompileError> {
        let cfg = Arc::new(crate::cfg::build(info, func)?);
        let loops = collection.loops(info, &cfg)?;
        let plan = FunctionPlan::with_loops(info, func, collection, first_counter, (cfg, loops))?;
        let strips = plan.stripped_loops(info, collection)?;
        Ok(FunctionPlan { strips, ..plan })
    }

    /// The same for baseline code, which unrolls nothing: if counters do not depend on loops, it knows of none.
    ///
    /// # Errors
    /// As [`FunctionPlan::new`].
    pub fn baseline(
        info: &ModuleInfo,
        func: u32,
        collection: &Collection,
        first_counter: u32,
    ) -> Result<FunctionPlan, CompileError> {
        if !collection.is_off() {
            return FunctionPlan::new(info, func, collection, first_counter);
        }
        let cfg = Arc::new(crate::cfg::build(info, func)?);
        FunctionPlan::with_loops(info, func, collection, first_counter, (cfg, Vec::new()))
    }

    fn with_loops(
        info: &ModuleInfo,
        func: u32,
        collection: &Collection,
        first_counter: u32,
        (cfg, mut loops): (Arc<Cfg>, Vec<SmallLoop>),
    ) -> Result<FunctionPlan, CompileError> {
        let expected = Expected::new(info, collection, &cfg);
        let plan = plan(&cfg, collection, &expected, &loops);
        let contexts = collection.contexts.then(|| FunctionContexts::new(info, &cfg)).transpose()?;
        let allocator = info.allocators.get(&func).copied().filter(|_| collection.allocations);
        let in_records = contexts.as_ref().zip(collection.flow_contexts);
        let in_records = in_records.map(|(contexts, most)| (contexts.behind(), most));
        plan.count_rounds(&cfg, &mut loops, in_records);
        let prefixes = plan.paths().and_then(|paths| {
            let shape = cfg.shape();
            Some(PrefixCounts::new(shape, paths, collection.earlier(func, shape)?.paths.as_ref()?))
        });
        let events = match collection.events.is_empty() {
            true => None,
            false => Some(FunctionEvents::new(info, &cfg, collection, &expected, &loops)?),
        };
        if collection.in_bursts {
            loops = collection.loops_in_bursts(info, &cfg)?;
        }
        let trace = |tracing| FunctionTrace::new(info, &cfg, tracing, collection.references, &expected);
        let trace = collection.tracing.map(trace).transpose()?;
        let targets = collection.call_targets.then(|| FunctionTargets::new(info, &cfg)).transpose()?;
        let checks = collection.checks.map(|checks| FunctionChecks::new(info, &cfg, checks)).transpose()?;
        let in_bursts = collection.in_bursts;
        let is_measured = !collection.metrics.is_empty();
        let has_paths = collection.counters == Instrumentation::Paths;
        let metrics = is_measured.then(|| FunctionMetrics::new(info, &cfg, has_paths)).transpose()?;
        let counters_of_path = 1 + collection.metrics.len() as u32;
        Ok(FunctionPlan {
            cfg,
            plan,
            first_counter,
            events,
            trace,
            loops,
            strips: Vec::new(),
            prefixes,
            contexts,
            allocator,
            targets,
            metrics,
            counters_of_path,
            flow_contexts: collection.flow_contexts,
            checks,
            in_bursts,
            records_bursts: collection.records_bursts,
        })
    }

    /// The loops whose checks of several rounds are counted at once: in checking code, which has no other probes in them.
    fn stripped_loops(&self, info: &ModuleInfo, collection: &Collection) -> Result<Vec<Strip>, CompileError> {
        let unrolls = collection.checks.is_some_and(|checks| checks.unroll);
        let (Some(checks), true) = (&self.checks, unrolls && collection.is_off() && !self.in_bursts) else {
            return Ok(Vec::new());
        };
        Ok(Strip::all(info, &self.cfg, &checks.headers, &self.loops)?)
    }

    /// Where the probes of the plan stand.
    pub fn placement(&self) -> Placement {
        let mut to = Placement::new(&self.cfg);
        to.in_bursts = self.in_bursts;
        let elsewhere = self.flow_contexts.map(|_| self.record_path_cells());
        self.plan.place(self.first_counter, elsewhere, &mut to);
        if let Some(events) = &self.events {
            events.place(&mut to);
        }
        if let Some(trace) = &self.trace {
            trace.place(&mut to);
        }
        if let Some(contexts) = &self.contexts {
            contexts.place(&mut to);
        }
        if let Some(allocator) = &self.allocator {
            allocator.place(&self.cfg, &mut to);
        }
        if let Some(targets) = &self.targets {
            targets.place(self.first_target_cell(), &mut to);
        }
        if let Some(metrics) = &self.metrics {
            metrics.place(&mut to);
        }
        if self.in_bursts && self.contexts.is_some() {
            let boring = self.checks.as_ref().map_or(&[][..], |checks| &checks.boring);
            to.count_ops(&self.cfg, boring);
        }
        if self.records_bursts {
            to.record_bursts();
        }
        to
    }

    /// What a round of each of its `loops` adds to counters, where it is added for several.
    pub fn rounds(&self) -> Vec<Probes> {
        if self.loops.is_empty() {
            return Vec::new();
        }
        let mut placement = self.placement();
        let mut added = |found: &SmallLoop| {
            let (block, edge) = found.latch;
            found.added_by_round(placement.edge(block, edge), self.first_counter)
        };
        self.loops.iter().map(&mut added).collect()
    }

    /// What each round that a frame in `block` owes adds to counters: see [`BlockGraph::unrolled`](crate::graph::BlockGraph::unrolled).
    pub fn owed(&self, block: u32) -> Probes {
        let around = self.loops.iter().position(|found| found.blocks.contains(&block));
        around.map_or_else(Probes::new, |around| self.rounds().swap_remove(around))
    }

    /// How many counters it takes from `first_counter` on: those of what it counts and measures, the cells of its
    /// indirect calls, and one for heat.
    pub fn counters(&self) -> u32 {
        self.heat_counter() - self.first_counter + 1
    }

    /// Index of the first cell of its indirect calls.
    pub fn first_target_cell(&self) -> u32 {
        self.first_counter + self.own_counters()
    }

    /// How many counters it has for what it counts, and behind these for what it measures along paths.
    pub fn own_counters(&self) -> u32 {
        let counters = self.plan.counters(&self.cfg);
        match &self.plan {
            Plan::Paths(_) if self.has_path_rows() => {
                let rows = path_row::COUNT * path_row::words(self.counters_of_path);
                rows + if self.flow_contexts.is_some() { 0 } else { self.extra_counters() }
            }
            Plan::Paths(_) if self.flow_contexts.is_some() => 0,
            Plan::Paths(_) => counters * self.counters_of_path,
            _ => counters + self.extra_counters(),
        }
    }

    /// Whether its counters begin with rows of the table of paths.
    pub fn has_path_rows(&self) -> bool {
        let Plan::Paths(plan) = &self.plan else { return false };
        match self.flow_contexts {
            Some(most) => plan.numbering.paths() > most,
            None => !is_dense(plan),
        }
    }

    /// The path of the rounds of the loop around a block, if that is unrolled and paths are counted.
    pub fn round_path(&self, block: u32) -> Option<RoundPath> {
        self.loops.iter().find(|found| found.blocks.contains(&block))?.path
    }

    /// How many of its loops have a counter for their round path that nothing else counts with.
    fn extra_counters(&self) -> u32 {
        self.loops.iter().filter(|found| found.path.is_some()).count() as u32
    }

    /// What each of its call records has behind the callee slots.
    pub fn record_cells(&self) -> RecordCells {
        match &self.plan {
            Plan::Paths(_) if self.flow_contexts.is_some() && self.has_path_rows() => {
                RecordCells::Number { rounds: self.extra_counters() }
            }
            Plan::Paths(plan) if self.flow_contexts.is_some() => {
                RecordCells::Counters(plan.numbering.paths() as u32 * self.counters_of_path)
            }
            _ => RecordCells::Counters(0),
        }
    }

    /// Where its paths are counted, if in each calling context of their own.
    fn record_path_cells(&self) -> PathCells {
        let behind = self.contexts.as_ref().map_or(0, FunctionContexts::behind);
        match self.record_cells() {
            RecordCells::Counters(cells) => {
                PathCells::Record { first: behind, paths: cells / self.counters_of_path }
            }
            RecordCells::Number { .. } => {
                PathCells::Rows { first: self.first_counter, in_record: Some(behind) }
            }
        }
    }

    /// Index of the counter of its heat.
    pub(crate) fn heat_counter(&self) -> u32 {
        self.first_target_cell() + self.targets.as_ref().map_or(0, FunctionTargets::cells)
    }
}

/// The plan of a function's counters, by what is expected.
fn plan(cfg: &Cfg, collection: &Collection, expected: &Expected, loops: &[SmallLoop]) -> Plan {
    let instrumentation = collection.counters;
    match instrumentation {
        Instrumentation::Off => return Plan::Off,
        Instrumentation::Blocks => return Plan::Blocks,
        Instrumentation::Edges => return Plan::Edges,
        _ => {}
    }
    let shape = cfg.shape();
    if instrumentation == Instrumentation::BlockCounters {
        return Plan::BlockCounters(BlockPlan::cheapest(shape, &expected.block_weights(shape)));
    }
    let weights = edge_weights(shape, expected, loops);
    match instrumentation {
        Instrumentation::Paths => plan_paths(shape, &weights, collection.interesting.as_ref(), cfg.func),
        Instrumentation::Vertex => Plan::Vertex(VertexPlan::unmarked(shape, &weights)),
        _ => Plan::Chords(EdgePlan::new(shape, &weights)),
    }
}

/// The weights by which counters are placed: how often an edge is expected to do what stands on it.
pub fn edge_weights(shape: &profiler::Cfg, expected: &Expected, loops: &[SmallLoop]) -> EdgeWeights {
    unrolled_weights(shape, expected, loops.iter().map(|found| (found.latch_id, found.copies)))
}

/// The same, given the latches and how often their loops are copied.
fn unrolled_weights(
    shape: &profiler::Cfg,
    expected: &Expected,
    latches: impl Iterator<Item = (EdgeId, u32)>,
) -> EdgeWeights {
    let mut weights = expected.edge_weights(shape).as_slice().to_vec();
    for (latch, copies) in latches {
        weights[latch.index()] /= f64::from(copies);
    }
    EdgeWeights::from_vec(weights)
}
