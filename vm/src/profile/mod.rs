//! Profiles of instances: raw counters become counts.
//!
//! Input: an instance's counters, the plans that placed them, and the frames that ended, or currently are, in the
//! middle of a block. Output: a [`Profile`], pure data.
//! Invariant: the profile is exact at every moment at which host code runs: after the program, after a trap, and inside
//! a host function that the program called.
//! Source: Ball & Larus 1994, sections 3.2 and 3.3.

mod columns;
mod contexts;
mod ended;
mod modules;
mod paths;
mod skipped;
mod time;
mod timeline;

use std::sync::Arc;

use hashbrown::HashMap;
use wprof_jit::cfg::{Block, Cfg, End, Target, ops_executed};
use wprof_jit::compile::Origin;
use wprof_jit::events::EventModel;
use wprof_jit::module::ModuleInfo;
use wprof_jit::plan::{FunctionPlan, Interesting, Plan, Probe};
use wprof_jit::reoptimize::Policy;
use wprof_profiler::{
    BlockCounts, BlockId, BlockProfile, CallTarget, CodeRange, CodeStats, Collector, CounterCost, EdgeCounts,
    EdgeId, EdgeKind, EdgePlan, EdgeProfile, EventTotal, ExtendedPaths, FigureKind, FunctionCounts,
    FunctionProfile, HostCalls, Path, PathPlan, PathProfile, Profile, UnfinishedExit, propagate,
    propagate_block_counters, propagate_blocks,
};

use crate::module::ModuleInner;
use crate::runtime::control::host_calls::HostHead;
use crate::runtime::counts::metrics::Measured;
use crate::runtime::counts::running_time::nanoseconds;
use crate::runtime::counts::unfinished::{Stop, Stopped};
use crate::runtime::instances::instance::InstanceData;
use crate::runtime::instances::items::Items;
use crate::runtime::instances::loaded::{self, LoadedModule};
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::{Error, ErrorKind, Module, Result};
use columns::Columns;
pub use modules::{Instances, of_module};
use paths::{Counted, InContexts, PathsOfRecords};

/// Returns the callees of the indirect calls of an instance's functions so far: see
/// [`Instance::call_targets`](crate::Instance).
pub fn call_targets(store: &StoreOpaque, index: u32) -> Vec<CallTarget> {
    let module = ModuleInner::from_loaded(&store.items.instance(index).module);
    let (plans, kind) = match store.observed.burst_rate() {
        Some(rate) => (module.burst_plans(), FigureKind::Sampled { rate }),
        None => (module.plans(), FigureKind::Exact),
    };
    plans.iter().flat_map(|(_, plan)| store.items.call_targets(index, plan, kind)).collect()
}

/// Returns the execution count of each block of each compiled function of an instance, by function index.
///
/// # Errors
/// Fails if the engine does not profile.
pub fn block_counts(store: &StoreOpaque, index: u32) -> Result<Vec<(u32, Vec<u64>)>> {
    let instance = store.items.instance(index);
    let plans = ModuleInner::from_loaded(&instance.module).plans();
    let exits = exits_by_func(store, index);
    let in_contexts = contexts::paths_in_contexts(store, index, &plans, &exits);
    let counts = |(func, version): (u32, Arc<FunctionPlan>)| {
        let stopped = (exits.get(&func), &in_contexts);
        let counts = Counts::read(instance, (func, &version), stopped, &mut Columns::new(store))?;
        Ok((func, counts.ok_or_else(not_profiled)?.blocks()))
    };
    plans.into_iter().map(counts).collect()
}

/// Returns the number of counters of an instance's functions and their cost: see
/// [`Instance::counter_cost`](crate::Instance).
pub fn counter_cost(store: &StoreOpaque, index: u32) -> CounterCost {
    let instance = store.items.instance(index);
    let versions = ModuleInner::from_loaded(&instance.module).plans();
    let costs = versions.iter().map(|(_, version)| cost(version, &instance.counters(version)));
    costs.fold(CounterCost::default(), CounterCost::plus)
}

/// Returns the profile of an instance, including skipped bursts, sampled time and the time line if available; for contexts see
/// [`of_instance`].
pub fn with_timeline(store: &StoreOpaque, index: u32, has_contexts: bool) -> Result<Profile> {
    let module = ModuleInner::from_loaded(&store.items.instance(index).module);
    let mut profile = of_instance(store, index, module.hash(), has_contexts)?;
    profile.time = time::of_instance(store, index);
    profile.skipped = skipped::of_instance(store, index, &profile);
    profile.timeline = timeline::of_store(store, module);
    profile.normalize();
    Ok(profile)
}

/// Returns the profile of instance number `index` of a store, without skipped bursts, sampled time and time line: see
/// [`Instance::profile`]. Calling contexts can only be read in host code that wasm has called, or when no wasm code
/// runs.
fn of_instance(
    store: &StoreOpaque,
    index: u32,
    module_hash: [u8; 32],
    has_contexts: bool,
) -> Result<Profile> {
    let instance = store.items.instance(index);
    let module = Module::from_loaded(&instance.module);
    let rate = store.observed.burst_rate();
    if store.engine().collection().is_off() && rate.is_none() && store.observed.samples.ring().is_none() {
        return Err(not_profiled());
    }
    let kind = rate.map_or(FigureKind::Exact, |rate| FigureKind::Sampled { rate });
    let (versions, mut exits) = match kind {
        FigureKind::Exact => (module.inner().plans(), exits_by_func(store, index)),
        _ => {
            let versions = module.inner().burst_plans();
            let cut = cut_by_func(instance, &versions);
            (versions, cut)
        }
    };
    let in_contexts = contexts::paths_in_contexts(store, index, &versions, &exits);
    let mut columns = Columns::new(store);
    let mut functions = Vec::with_capacity(versions.len());
    for (func, version) in &versions {
        let stopped = (exits.get(func), &in_contexts);
        functions.extend(function(instance, (*func, version), stopped, (kind, &mut columns))?);
    }
    if kind != FigureKind::Exact {
        let stopped = (&versions[..], &mut exits, &in_contexts);
        ended::add(store, index, stopped, &mut functions, (kind, &mut columns))?;
    }
    let call_targets =
        versions.iter().flat_map(|(_, version)| store.items.call_targets(index, version, kind)).collect();
    let counters = versions.iter().map(|(_, version)| placed(version)).sum();
    let compiled = module.ran() as u64;
    let code = CodeStats { functions: module.info().defined_funcs().into(), compiled, counters };
    let program = module.name().unwrap_or_default().to_string();
    let host_calls = host_calls(store);
    let events = event_totals(store)?;
    let paths = paths_of_records(store, instance, &versions, (&exits, &in_contexts))?;
    let runs = Vec::new();
    let contexts = match has_contexts {
        true => contexts::context_tree(store, index, paths)?,
        false => None,
    };
    let metrics = columns.metrics();
    let mut profile = Profile {
        program,
        module_hash,
        runs,
        code,
        functions,
        host_calls,
        events,
        metrics,
        contexts,
        bursts: store.observed.bursts.as_ref().map(|bursts| bursts.counts().independent()),
        skipped: None,
        accuracy: store.observed.accuracy(index),
        call_targets,
        extended: instance.extended.as_ref().map(ExtendedPaths::profile),
        time: None,
        threads: Vec::new(),
        collector: collector(store),
        branches: store.observed.metrics.simulations().branches(index, instance.module.info()),
        allocations: store.observed.allocations.as_ref().map(|all| all.profile(index)),
        timeline: None,
        supergraphs: None,
        parts: Vec::new(),
    };
    profile.normalize();
    match &store.engine().collection().interesting {
        Some(Interesting { profile: tests, counted: false, .. }) => {
            let untested = profile.residual(tests).map_err(Error::msg)?;
            Ok(profile.only(&untested))
        }
        _ => Ok(profile),
    }
}

/// Returns the work of the store's garbage collector, if it has objects.
fn collector(store: &StoreOpaque) -> Option<Collector> {
    let statistics = store.collected.objects.statistics_of_collections()?;
    Some(Collector {
        collections: statistics.collections,
        paused_ns: nanoseconds(statistics.paused),
        longest_ns: nanoseconds(statistics.longest_pause),
        live: statistics.live,
    })
}

/// Returns the observations of bursts so far about the code of instance number `index` of a store, for its module's
/// reoptimizer; `None` if unavailable. It lacks the module's hash, which takes long for large modules.
fn sampled(store: &StoreOpaque, index: u32) -> Option<Profile> {
    of_instance(store, index, [0; 32], false).ok()
}

/// Handles the end of a round of bursts, given the number of bursts begun: orders reoptimization of the module's
/// functions that are newly hot or have changed their behaviour. Returns the number of bursts at the end of the next
/// round.
pub fn look_for_hot_code(store: &mut StoreOpaque, module: &Arc<dyn LoadedModule>, begun: u64) -> u64 {
    let sampled = first_of(&store.items, module).and_then(|index| Some((index, sampled(store, index)?)));
    let functions = sampled.as_ref().map_or(0, |(_, profile)| profile.functions.len());
    let next = |policy: &Policy| policy.next_round(begun, functions);
    let next = store.engine().reoptimization().map_or(u64::MAX, next);
    if let Some((index, profile)) = sampled {
        let instance = store.items.instance_mut(index);
        instance.advice = Module::from_loaded(module).inner().advise(&profile, instance.advice.as_deref());
    }
    next
}

/// Returns the current profile of the first instance of a module, with the time line.
pub fn so_far(store: &StoreOpaque, module: &Arc<dyn LoadedModule>) -> Option<Profile> {
    with_timeline(store, first_of(&store.items, module)?, false).ok()
}

/// Returns the number of the first instance of a module.
fn first_of(items: &Items, module: &Arc<dyn LoadedModule>) -> Option<u32> {
    let is_of = |instance: &InstanceData| loaded::same(&instance.module, module);
    items.instances().iter().position(is_of).map(|index| index as u32)
}

/// The frames of a function that ended or currently are in the middle of a block.
#[derive(Default)]
pub struct Exits {
    /// Number of frames, by place.
    pub frames: HashMap<Stop, Stopped>,
    /// Uncounted rounds of loops.
    pub owed: Vec<Owed>,
}

/// Rounds of the loop around a block that frames have made but not counted.
pub struct Owed {
    block: u32,
    rounds: u64,
    /// The call record of the frames, if call records count paths.
    record: Option<u64>,
}

impl Owed {
    /// Returns the path of the rounds with their number, and the address of the call record that counts them.
    pub fn in_record(&self, version: &FunctionPlan) -> Option<(u64, Counted)> {
        let path = version.round_path(self.block)?;
        Some((self.record?, (path.id, vec![self.rounds])))
    }
}

impl Exits {
    fn add(&mut self, stop: Stop, stopped: Stopped) {
        let origin = stop.origin;
        let place = Stop { origin: Origin { rounds: 0, path: None, ..origin }, ..stop };
        self.frames.entry(place).or_default().add(stopped);
        if origin.rounds > 0 {
            let rounds = stopped.count * u64::from(origin.rounds);
            self.owed.push(Owed { block: origin.block, rounds, record: stop.record });
        }
    }
}

fn exits_by_func(store: &StoreOpaque, index: u32) -> HashMap<u32, Exits> {
    let mut all = store.live_unfinished(index);
    for (&stop, &stopped) in &store.items.instance(index).unfinished {
        all.entry(stop).or_default().add(stopped);
    }
    let mut by_func: HashMap<u32, Exits> = HashMap::new();
    for (stop, stopped) in all {
        by_func.entry(stop.origin.func).or_default().add(stop, stopped);
    }
    by_func
}

/// Returns the paths that bursts have cut at checks, as frames that stopped before the check's block, except
/// empty ones.
fn cut_by_func(instance: &InstanceData, versions: &[(u32, Arc<FunctionPlan>)]) -> HashMap<u32, Exits> {
    let mut by_func: HashMap<u32, Exits> = HashMap::new();
    for (&(func, block, register), &stopped) in &instance.cut {
        let found = versions.binary_search_by_key(&func, |(func, _)| *func);
        let Ok(version) = found.map(|found| &versions[found].1) else { continue };
        let Some(plan) = version.plan.paths() else { continue };
        let prefix = plan.numbering.prefix(BlockId(block), plan.prefix_sum(BlockId(block), Some(register)));
        let has_any = |path: &Path| !path.edges.is_empty() || stopped.measured != Measured::default();
        if prefix.as_ref().is_some_and(has_any) {
            let offset = version.cfg.blocks[block as usize].start - 1;
            let origin = Origin { func, frame: 0, block, rounds: 0, path: None, offset };
            let stop = Stop { origin, path: Some(register), record: None };
            by_func.entry(func).or_default().add(stop, stopped);
        }
    }
    by_func
}

/// Returns the number of increments of optimised code for these counts: one per several rounds at an unrolled loop's
/// latch.
fn cost(version: &FunctionPlan, counts: &[u64]) -> CounterCost {
    let keys: u64 = paths::rows(version, counts).map(|row| row[0]).fold(0, u64::saturating_add);
    let mut increments: Vec<u64> = counts.to_vec();
    for (found, round) in version.loops.iter().zip(version.rounds()) {
        for probe in round {
            if let Probe::Count { counter, .. } = probe {
                let latch = &mut increments[(counter - version.first_counter) as usize];
                *latch = latch.div_ceil(found.copies.into());
            }
        }
    }
    let increments = increments.into_iter().fold(0, u64::saturating_add).saturating_sub(keys);
    CounterCost { counters: counts.len() as u64, increments }
}

/// Returns the number of places where a function counts.
fn placed(version: &FunctionPlan) -> u64 {
    version.plan.paths().map_or_else(|| version.plan.counters(&version.cfg).into(), PathPlan::places)
}

/// Adds, to counters at the function's entry, the calls that ended in the prologue before they were counted.
fn add_overflowed(instance: &InstanceData, func: u32, version: &FunctionPlan, counters: &mut [u64]) {
    let in_prologue = |origin: &Origin| {
        origin.func == func && origin.block == 0 && origin.offset < version.cfg.blocks[0].start
    };
    let calls: u64 =
        instance.overflowed.iter().filter(|(origin, _)| in_prologue(origin)).map(|(_, n)| n).sum();
    let is_at_entry = |index: usize| match &version.plan {
        Plan::Blocks => index == 0,
        // EXIT represents the calls.
        Plan::BlockCounters(plan) => [0, version.cfg.blocks.len()].contains(&plan.counted[index].index()),
        _ => false,
    };
    (0..).zip(counters).filter(|(index, _)| is_at_entry(*index)).for_each(|(_, counter)| *counter += calls);
}

/// Adds the rounds of unrolled loops that their frames have not counted.
fn add_owed(exits: Option<&Exits>, version: &FunctionPlan, counters: &mut [u64]) {
    for &Owed { block, rounds, .. } in exits.iter().flat_map(|e| &e.owed) {
        for probe in version.owed(block) {
            if let Probe::Count { counter, by } = probe {
                counters[(counter - version.first_counter) as usize] += rounds * u64::from(by);
            }
        }
    }
}

/// The interpretation of one function's counters.
enum Counts {
    Edges(EdgeCounts),
    Paths(EdgeCounts, PathProfile),
    Blocks(BlockCounts),
}

impl Counts {
    /// Reads the counts; `None` if nothing is counted.
    fn read(
        instance: &InstanceData,
        (func, version): (u32, &FunctionPlan),
        (exits, in_contexts): (Option<&Exits>, &InContexts),
        columns: &mut Columns<'_>,
    ) -> Result<Option<Counts>> {
        let (shape, mut counters) = (version.cfg.shape(), instance.counters(version));
        add_overflowed(instance, func, version, &mut counters);
        add_owed(exits, version, &mut counters);
        let context = |e: Error| e.context(format_args!("profile of function {func}"));
        if let Some(plan) = version.plan.paths() {
            let in_contexts = in_contexts.get(&func).map_or(&[][..], Vec::as_slice);
            let counted = (&counters[..], in_contexts);
            let read = paths::read(instance, (func, version, plan), counted, exits, columns).map_err(context);
            return read.map(|(counts, paths)| Some(Counts::Paths(counts, paths)));
        }
        let frames = exits.iter().flat_map(|e| &e.frames);
        let exits: Vec<(BlockId, u64)> =
            frames.map(|(stop, stopped)| (BlockId(stop.origin.block), stopped.count)).collect();
        let counts = match &version.plan {
            Plan::Off | Plan::Paths(_) | Plan::Preferential(_) => return Ok(None),
            Plan::Chords(plan) => propagate(shape, plan, &counters, &exits).map(Counts::Edges),
            Plan::Edges => {
                propagate(shape, &EdgePlan::every_edge(shape), &counters, &exits).map(Counts::Edges)
            }
            Plan::Vertex(plan) => propagate_blocks(shape, plan, &counters, &exits).map(Counts::Blocks),
            Plan::BlockCounters(plan) => {
                propagate_block_counters(shape, plan, &counters, &exits).map(Counts::Blocks)
            }
            // Only calls lead to the entry.
            Plan::Blocks => Ok(Counts::Blocks(BlockCounts { entries: counters[0], blocks: counters })),
        };
        counts.map(Some).map_err(|e| context(e.into()))
    }

    /// Reports whether the function ran. Bursts may have counted no call of a function that stays in a loop.
    fn any(&self) -> bool {
        match self {
            Counts::Edges(counts) | Counts::Paths(counts, _) => counts.blocks.iter().any(|&count| count > 0),
            Counts::Blocks(counts) => counts.entries > 0,
        }
    }

    fn blocks(self) -> Vec<u64> {
        match self {
            Counts::Edges(counts) | Counts::Paths(counts, _) => counts.blocks,
            Counts::Blocks(counts) => counts.blocks,
        }
    }

    fn into_profile(self) -> FunctionCounts {
        match self {
            Counts::Edges(counts) => FunctionCounts::Edges(counts.edges),
            Counts::Paths(counts, paths) => FunctionCounts::Paths(counts.edges, paths),
            Counts::Blocks(counts) => FunctionCounts::Blocks(counts),
        }
    }

    /// Returns the cost of counting.
    fn cost(&self, version: &FunctionPlan, counters: &[u64]) -> CounterCost {
        match (self, version.plan.paths()) {
            (Counts::Paths(counts, _), Some(plan)) => plan.cost(counts),
            _ => cost(version, counters),
        }
    }
}

/// Returns the paths of each call record.
fn paths_of_records(
    store: &StoreOpaque,
    instance: &InstanceData,
    versions: &[(u32, Arc<FunctionPlan>)],
    (exits, in_contexts): (&HashMap<u32, Exits>, &InContexts),
) -> Result<PathsOfRecords> {
    let mut all = PathsOfRecords::new();
    let Some(records) = store.observed.records().filter(|_| store.observed.has_flow()) else {
        return Ok(all);
    };
    // The profile states the subtracted amounts once, with the functions' paths.
    let mut columns = Columns::new(store);
    for (func, version) in versions {
        let Plan::Paths(plan) = &version.plan else { continue };
        let counted = in_contexts.get(func).map_or(&[][..], Vec::as_slice);
        let frames = exits.get(func).into_iter().flat_map(|exits| &exits.frames);
        let record = |stop: &Stop| records.record_at(stop.record?);
        let stopped = frames.filter_map(|(stop, stopped)| Some((record(stop)?, *stop, *stopped)));
        let stopped: Vec<_> = stopped.collect();
        let counted = (counted, stopped.as_slice());
        paths::add_of_records(instance, (version, plan), counted, &mut columns, &mut all)?;
    }
    Ok(all)
}

/// Returns the profile of one function; `None` if it did not run, or is not counted.
fn function(
    instance: &InstanceData,
    (func, version): (u32, &FunctionPlan),
    (exits, in_contexts): (Option<&Exits>, &InContexts),
    (kind, columns): (FigureKind, &mut Columns<'_>),
) -> Result<Option<FunctionProfile>> {
    let counts = Counts::read(instance, (func, version), (exits, in_contexts), columns)?.filter(Counts::any);
    let Some(counts) = counts else { return Ok(None) };
    let (cfg, info) = (&version.cfg, instance.module.info());
    let exits = exits.iter().flat_map(|e| &e.frames);
    let exits = exits.map(|(stop, stopped)| unfinished_exit(info, cfg, stop.origin, stopped.count));
    let cost = counts.cost(version, &instance.counters(version));
    Ok(Some(FunctionProfile {
        kind,
        exits: exits.collect::<Result<_>>()?,
        cost,
        counts: counts.into_profile(),
        ..idle(&Module::from_loaded(&instance.module), cfg)
    }))
}

impl Module {
    /// Returns the profile of a function that did not run: its blocks and edges, with all counts 0.
    ///
    /// # Errors
    /// Fails if the function exceeds a limit of the compiler.
    ///
    /// # Panics
    /// Panics if the function has no body in this module.
    pub fn idle_function(&self, func: u32) -> Result<FunctionProfile> {
        Ok(idle(self, &wprof_jit::cfg::build(self.info(), func)?))
    }
}

/// Returns the profile of a function before it runs.
fn idle(module: &Module, cfg: &Cfg) -> FunctionProfile {
    let (body, shape) = (module.info().body(cfg.func), cfg.shape());
    FunctionProfile {
        index: cfg.func,
        name: module.func_name(cfg.func).map(str::to_string),
        code: CodeRange { start: body.start as u32, end: body.end as u32 },
        fingerprint: shape.fingerprint(),
        kind: FigureKind::Exact,
        blocks: cfg.blocks.iter().map(block_profile).collect(),
        edges: edge_profiles(cfg, shape),
        exits: Vec::new(),
        cost: CounterCost::default(),
        counts: FunctionCounts::Edges(vec![0; shape.edge_count()]),
    }
}

/// Returns the exit of frames that stopped at an instruction.
///
/// # Errors
/// Fails if the bytes differ from the validated ones.
pub fn unfinished_exit(info: &ModuleInfo, cfg: &Cfg, at: Origin, count: u64) -> Result<UnfinishedExit> {
    let ops_executed = ops_executed(info, cfg, at.block, at.offset)?;
    Ok(UnfinishedExit { block: BlockId(at.block), offset: at.offset, ops_executed, count })
}

fn block_profile(block: &Block) -> BlockProfile {
    BlockProfile { code: CodeRange { start: block.start, end: block.limit }, ops: block.ops }
}

fn edge_profiles(cfg: &Cfg, shape: &wprof_profiler::Cfg) -> Vec<EdgeProfile> {
    let kinds = cfg.blocks.iter().flat_map(|block| (0..block.edges.len()).map(|edge| edge_kind(block, edge)));
    let edge = |(kind, edge)| {
        let wprof_profiler::Edge { from, to } = shape.edge(edge);
        EdgeProfile { from, to, kind }
    };
    kinds.zip((0..).map(EdgeId)).map(edge).collect()
}

fn edge_kind(block: &Block, edge: usize) -> EdgeKind {
    match &block.how {
        End::Jump if block.edges[edge].target == Target::Exit => EdgeKind::Return,
        End::Jump | End::Trap => EdgeKind::Jump,
        End::Call(_) | End::Throw(..) => {
            let (first, catches) = block.how.catches();
            let catch = edge.checked_sub(first).map(|handler| catches[handler].tag);
            catch.map_or(EdgeKind::Jump, |tag| tag.map_or(EdgeKind::CatchAll, EdgeKind::Catch))
        }
        End::Branch | End::NullBranch | End::CastBranch if edge == 0 => EdgeKind::Taken,
        End::Branch | End::NullBranch | End::CastBranch => EdgeKind::NotTaken,
        End::TailCall => EdgeKind::TailCall,
        End::Switch(table) => match table.iter().position(|&e| e as usize == edge) {
            Some(case) if case + 1 < table.len() => EdgeKind::Case(case as u32),
            _ => EdgeKind::Default,
        },
    }
}

fn host_calls(store: &StoreOpaque) -> Vec<HostCalls> {
    let called = store.items.hosts().iter().map(|host| host.head()).filter(|head| head.calls() > 0);
    let row = |head: &HostHead| {
        let (module, name) = head.name.clone()?;
        let time_ns = store.observed.host_clock().map(|clock| clock.nanoseconds(head.ticks()));
        Some(HostCalls { module, name, count: head.calls(), kind: FigureKind::Exact, time_ns })
    };
    called.filter_map(row).collect()
}

fn event_totals(store: &StoreOpaque) -> Result<Vec<EventTotal>> {
    let total = |(kind, model): (u32, &EventModel)| {
        let (name, count) = (model.name.clone(), store.event_count(kind)?);
        Ok(EventTotal { name, count, kind: FigureKind::Exact })
    };
    (0..).zip(&store.engine().collection().events).map(total).collect()
}

fn not_profiled() -> Error {
    Error::new(ErrorKind::Type, "the engine does not profile: use Engine::with_profiling")
}
