//! Plans: what is counted in a function, and where.
//!
//! Input: a function and a [`Collection`], the data that its engine collects. Output: a [`FunctionPlan`], which all
//! versions of the function share: each version turns it into probes of its block graph, and readers of the counters
//! interpret them by it.

mod allocations;
mod block_effect;
mod chase;
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
mod vector_loop;

use std::sync::Arc;

use wprof_profiler::{self as profiler, BlockPlan, EdgeId, EdgePlan, EdgeWeights, PathPlan, VertexPlan};

pub use block_effect::Bound;
pub use chase::Chase;
pub(crate) use chase::chases;
pub use checks::{Checks, EntryChecks, FunctionChecks};
pub use collection::{Collection, Counting, Instrumentation};
pub use contexts::{ContextSite, FunctionContexts};
pub use events::FunctionEvents;
pub use expected::{Expected, likely_edges};
pub use interesting::{Interesting, PreferentialPaths};
pub use metrics::{FunctionMetrics, Metric};
pub use placement::{Inner, Placed, Placement};
pub use prefix_counts::PrefixCounts;
pub use probe::{Follow, PathCells, Probe, Probes};
pub use round_path::{RoundCell, RoundPath};
pub use small_loop::SmallLoop;
pub use split::{Part, Place, Position, SplitCfg};
pub use strip::{ROUNDS as ROUNDS_OF_STRIP, Strip, VECTORS as VECTORS_OF_STRIP};
pub use system_event::SystemEvent;
pub use targets::{CELLS_PER_SITE, FunctionTargets};
pub use trace::{FunctionTrace, Moment, Tracing};
pub(crate) use trip_count::TripCounts;
pub use trip_count::{Countdown, GoesOn, Order};
pub use vector_loop::{VectorLoop, Vectors};

use crate::CompileError;
use crate::abi::path_row;
use crate::cfg::Cfg;
use crate::code::NoVectors;
use crate::limits::MAX_DENSE_PATHS;
use crate::module::{Allocator, ModuleInfo};
use interesting::plan_paths;

/// The meaning of the counters of one compiled function.
#[derive(Clone, Debug)]
pub enum Plan {
    /// No counters.
    Off,
    /// Counter k of the function counts chord k of the plan.
    Chords(EdgePlan),
    /// Counter k of the function counts edge k of the plan; these counts determine only block counts.
    Vertex(VertexPlan),
    /// Counter k of the function counts path k of the plan, if it [`is_dense`]; otherwise the instance has a path
    /// table, and some of its rows are among the counters: see [`path_row`].
    Paths(Box<PathPlan>),
    /// Counter k of the function counts the interesting path of cell k of the plan; the instance's table counts other
    /// paths.
    Preferential(Box<PreferentialPaths>),
    /// Counter k of the function counts block k of the plan, where EXIT represents the calls.
    BlockCounters(BlockPlan),
    /// Counter k of the function counts block k of the CFG.
    Blocks,
    /// Counter k of the function counts edge k of the CFG.
    Edges,
}

impl Plan {
    /// Returns the number of counters.
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

    /// If paths are counted, assigns a counter to each loop whose rounds are all one path, and drops the other loops.
    /// If call records count paths, the counters are in these: they start so many bytes behind the record's start, with
    /// a cell per path up to the given number of paths.
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
        let starts = paths.numbering.starts().map(|(edge, block)| (block, edge)).collect();
        loops.retain_mut(|found| {
            let id = found.round_path(cfg, shape, &paths.numbering, &starts);
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

    /// Returns the updates of the path register by edge, if paths are counted.
    pub fn paths(&self) -> Option<&PathPlan> {
        match self {
            Plan::Paths(plan) => Some(plan),
            Plan::Preferential(paths) => Some(&paths.plan.paths),
            _ => None,
        }
    }
}

/// Reports whether each path of a function has its own counter.
pub fn is_dense(plan: &PathPlan) -> bool {
    plan.numbering.paths() <= MAX_DENSE_PATHS
}

/// The path data of a function's call records, behind the callee slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordCells {
    /// So many cells: one per path, then for each metric one per path.
    Counters(u32),
    /// The number of path 0 in the record, under which rows count paths (see [`path_row::first_in`]); then a
    /// cell per loop whose rounds are one path.
    Number {
        /// Number of such loops.
        rounds: u32,
    },
}

impl RecordCells {
    /// Returns the number of words.
    pub fn words(self) -> u32 {
        match self {
            RecordCells::Counters(cells) => cells,
            RecordCells::Number { rounds } => 1 + rounds,
        }
    }
}

/// The data that all versions of a function share: its blocks, and the interpretation of its counters.
#[derive(Clone, Debug)]
pub struct FunctionPlan {
    /// The function's blocks.
    pub cfg: Arc<Cfg>,
    /// The meaning of its counters.
    pub plan: Plan,
    /// Index of its first counter in the instance's counter array.
    pub first_counter: u32,
    /// Where its events are counted, if any are.
    pub events: Option<FunctionEvents>,
    /// Its trace writes, if there is a trace.
    pub trace: Option<FunctionTrace>,
    /// Loops that optimised code unrolls.
    pub loops: Vec<SmallLoop>,
    /// Loops that optimised code checks once per several rounds.
    pub strips: Vec<Strip>,
    /// Loops that optimised code may vectorise, if nothing is counted in it.
    pub vectors: Vec<VectorLoop>,
    /// The loops of the function, and of callees inlined in it, that turned out not to be vectorised, by the byte offset
    /// in the module of their first instruction, with the reasons.
    pub not_vectorized: Vec<(u32, NoVectors)>,
    /// Execution counts from an earlier run of each prefix of a path, if paths are counted and such a run exists.
    pub prefixes: Option<PrefixCounts>,
    /// Its calls, if calling contexts are counted.
    pub contexts: Option<FunctionContexts>,
    /// Its argument and result roles, if it is an allocator and allocations are counted.
    pub allocator: Option<Allocator>,
    /// Its indirect calls, if their callees are counted.
    pub targets: Option<FunctionTargets>,
    /// Where it stops measuring, if anything is measured.
    pub metrics: Option<FunctionMetrics>,
    /// Number of counters per path: one, and one per metric.
    pub counters_of_path: u32,
    /// If each calling context counts its paths separately: the maximum number of paths for which call records have a
    /// cell per path.
    pub flow_contexts: Option<u64>,
    /// Where it is checked, if there are two versions.
    pub checks: Option<FunctionChecks>,
    /// Whether the plan is for its burst code.
    pub in_bursts: bool,
    /// Whether its burst code records events in order.
    pub records_bursts: bool,
}

impl FunctionPlan {
    /// Plans function `func` for `collection`; its counters start at index `first_counter`.
    ///
    /// # Errors
    /// Fails if the function exceeds a limit.
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
        let has_strips = collection.checks.is_none_or(|checks| checks.unroll);
        let is_possible = collection.is_off() && !collection.in_bursts && has_strips;
        let vectors = if is_possible { VectorLoop::all(info, &plan.cfg, &plan.loops)? } else { Vec::new() };
        Ok(FunctionPlan { strips, vectors, ..plan })
    }

    /// Returns the plan in which these loops, of the function or of callees, are not vectorised: see
    /// [`FunctionPlan::not_vectorized`]. Left out are loops of few rounds, of which a later profile may say otherwise.
    #[must_use]
    pub fn without_vectors(mut self, refused: &[(u32, NoVectors)]) -> FunctionPlan {
        let is_known = |&&(_, why): &&(u32, NoVectors)| why != NoVectors::FewRounds;
        self.not_vectorized.extend(refused.iter().filter(is_known));
        for found in &mut self.vectors {
            let start = self.cfg.blocks[found.header as usize].start;
            let why = self.not_vectorized.iter().find(|&&(at, _)| at == start);
            found.refused = why.map(|&(_, why)| why);
        }
        self
    }

    /// Plans baseline code, which unrolls nothing: if counters do not depend on loops, the plan contains no loops.
    ///
    /// # Errors
    /// Same as [`FunctionPlan::new`].
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
        let contexts = collection
            .contexts
            .then(|| FunctionContexts::new(info, &cfg, collection.merges_sites))
            .transpose()?;
        let allocator = info.allocators.get(&func).copied().filter(|_| collection.allocations);
        let in_records = contexts.as_ref().zip(collection.flow_contexts);
        let in_records = in_records.map(|(contexts, most)| (contexts.behind(), most));
        plan.count_rounds(&cfg, &mut loops, in_records);
        let prefixes = plan.paths().and_then(|paths| {
            let shape = cfg.shape();
            Some(PrefixCounts::new(shape, paths, collection.earlier(func, shape)?.paths()?))
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
            vectors: Vec::new(),
            not_vectorized: Vec::new(),
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

    /// Returns the loops whose checks of several rounds are counted at once: in checking code, which has no other
    /// probes there.
    fn stripped_loops(&self, info: &ModuleInfo, collection: &Collection) -> Result<Vec<Strip>, CompileError> {
        let unrolls = collection.checks.is_some_and(|checks| checks.unroll);
        let (Some(checks), true) = (&self.checks, unrolls && collection.is_off() && !self.in_bursts) else {
            return Ok(Vec::new());
        };
        Ok(Strip::all(info, &self.cfg, &checks.headers, &self.loops)?)
    }

    /// Returns the places of the plan's probes.
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

    /// Returns the counter updates per round of each of its `loops`, where they are deferred.
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

    /// Returns the counter updates per owed round of a frame in `block`: see
    /// [`BlockGraph::unrolled`](crate::graph::BlockGraph::unrolled).
    pub fn owed(&self, block: u32) -> Probes {
        let around = self.loops.iter().position(|found| found.blocks.contains(&block));
        around.map_or_else(Probes::new, |around| self.rounds().swap_remove(around))
    }

    /// Returns the number of counters from `first_counter` on: counts and measurements, the cells of its
    /// indirect calls, and one heat counter.
    pub fn counters(&self) -> u32 {
        self.heat_counter() - self.first_counter + 1
    }

    /// Returns the index of the first cell of its indirect calls.
    pub fn first_target_cell(&self) -> u32 {
        self.first_counter + self.own_counters()
    }

    /// Returns the number of counters for counts and, behind these, for measurements along paths.
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

    /// Reports whether its counters begin with rows of the path table.
    pub fn has_path_rows(&self) -> bool {
        let Plan::Paths(plan) = &self.plan else { return false };
        match self.flow_contexts {
            Some(most) => plan.numbering.paths() > most,
            None => !is_dense(plan),
        }
    }

    /// Returns the path of the rounds of the loop around a block, if that loop is unrolled and paths are counted.
    pub fn round_path(&self, block: u32) -> Option<RoundPath> {
        self.loops.iter().find(|found| found.blocks.contains(&block))?.path
    }

    /// Returns the number of its loops that have a dedicated counter for their round path.
    fn extra_counters(&self) -> u32 {
        self.loops.iter().filter(|found| found.path.is_some()).count() as u32
    }

    /// Returns the path data of each of its call records, behind the callee slots.
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

    /// Returns the place of its path counts if each calling context counts separately.
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

    /// Returns the index of its heat counter.
    pub(crate) fn heat_counter(&self) -> u32 {
        self.first_target_cell() + self.targets.as_ref().map_or(0, FunctionTargets::cells)
    }
}

/// Plans a function's counters by the expected counts.
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

/// Returns the weights that determine counter placement: the expected executions of the updates on each edge.
pub fn edge_weights(shape: &profiler::Cfg, expected: &Expected, loops: &[SmallLoop]) -> EdgeWeights {
    unrolled_weights(shape, expected, loops.iter().map(|found| (found.latch_id, found.copies)))
}

/// Returns these weights, given the latches and the number of copies of their loops.
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
