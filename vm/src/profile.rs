//! Profiles of instances: raw counters become counts.
//!
//! Input: an instance's counters, the plans they were placed by, and the frames that ended, or stand, in the middle
//! of a block. Output: a [`Profile`], pure data.
//! Invariant: exact at every moment at which host code runs: after the program, after a trap, and inside a host
//! function that the program called.
//! Source: algorithms.md section 1.

use std::sync::Arc;

use hashbrown::HashMap;
use wprof_jit::cfg::{Block, Cfg, End, Target, ops_executed};
use wprof_jit::compile::Origin;
use wprof_jit::events::EventModel;
use wprof_jit::plan::{FunctionPlan, Plan};
use wprof_profiler::{
    BlockId, BlockProfile, CodeRange, CodeStats, CounterCost, EdgeCounts, EdgeId, EdgeKind, EdgePlan,
    EdgeProfile, EventTotal, FigureKind, FunctionProfile, HostCalls, Profile, UnfinishedExit, propagate,
};

use crate::runtime::instance::InstanceData;
use crate::runtime::store::StoreOpaque;
use crate::{AsContext, Error, ErrorKind, Instance, ProfilingConfig, Result};

impl Instance {
    /// What its functions have executed so far. Host calls and totals of events are those of the whole store.
    ///
    /// The profile's runs are left to the caller, who knows what was run.
    ///
    /// # Errors
    /// If the engine does not profile edges.
    pub fn profile(&self, store: impl AsContext) -> Result<Profile> {
        let store = &store.as_context().0.opaque;
        let index = store.index(self.0);
        let instance = &store.instances[index as usize];
        let module = &instance.module;
        if store.engine().config().profiling == ProfilingConfig::Off {
            return Err(not_profiled("the engine does not profile"));
        }
        let exits = exits_by_func(store, index);
        let versions = module.inner().plans();
        let functions = versions
            .iter()
            .map(|(func, version)| function(instance, *func, version, exits.get(func)))
            .filter_map(Result::transpose)
            .collect::<Result<Vec<_>>>()?;
        let counters = versions.iter().map(|(_, v)| u64::from(v.plan.counters(&v.cfg))).sum();
        let compiled = versions.len() as u64;
        let code = CodeStats { functions: module.info().defined_funcs().into(), compiled, counters };
        let program = module.name().unwrap_or_default().to_string();
        let module_hash = module.hash();
        let host_calls = host_calls(store);
        let events = event_totals(store)?;
        let mut profile = Profile { program, module_hash, runs: Vec::new(), code, functions, host_calls, events };
        profile.normalize();
        Ok(profile)
    }

    /// How often each block of each compiled function began, by function index. With [`Collect::Blocks`] these are
    /// the counters themselves.
    ///
    /// # Errors
    /// If the engine does not profile.
    ///
    /// [`Collect::Blocks`]: crate::Collect::Blocks
    pub fn block_counts(&self, store: impl AsContext) -> Result<Vec<(u32, Vec<u64>)>> {
        let store = &store.as_context().0.opaque;
        let index = store.index(self.0);
        let instance = &store.instances[index as usize];
        let exits = exits_by_func(store, index);
        let counts = |(func, version): (u32, Arc<FunctionPlan>)| match version.plan {
            Plan::Blocks => Ok((func, counters(instance, &version))),
            _ => Ok((func, edge_counts(instance, func, &version, exits.get(&func))?.blocks)),
        };
        instance.module.inner().plans().into_iter().map(counts).collect()
    }

    /// How many counters its functions have, and how many increments they have executed.
    pub fn counter_cost(&self, store: impl AsContext) -> CounterCost {
        let store = &store.as_context().0.opaque;
        let instance = &store.instances[store.index(self.0) as usize];
        let versions = instance.module.inner().plans();
        let costs = versions.iter().map(|(_, version)| cost(&counters(instance, version)));
        costs.fold(CounterCost::default(), CounterCost::plus)
    }
}

/// Frames that ended or stand in the middle of a block, by place.
type Exits = Vec<(Origin, u64)>;

fn exits_by_func(store: &StoreOpaque, index: u32) -> HashMap<u32, Exits> {
    let mut all = store.live_unfinished(index);
    for (&origin, &count) in &store.instances[index as usize].unfinished {
        *all.entry(origin).or_default() += count;
    }
    let mut by_func: HashMap<u32, Exits> = HashMap::new();
    for (origin, count) in all {
        by_func.entry(origin.func).or_default().push((origin, count));
    }
    by_func
}

fn counters(instance: &InstanceData, version: &FunctionPlan) -> Vec<u64> {
    let layout = instance.module.inner().layout();
    let range = version.first_counter..version.first_counter + version.plan.counters(&version.cfg);
    range.map(|i| instance.vmctx.counter(layout.counter(i))).collect()
}

fn cost(counters: &[u64]) -> CounterCost {
    let increments = counters.iter().fold(0, |sum: u64, &c| sum.saturating_add(c));
    CounterCost { counters: counters.len() as u64, increments }
}

fn edge_counts(
    instance: &InstanceData,
    func: u32,
    version: &FunctionPlan,
    exits: Option<&Exits>,
) -> Result<EdgeCounts> {
    let shape = version.cfg.shape();
    let all;
    let plan = match &version.plan {
        Plan::Chords(plan) => plan,
        Plan::Edges => {
            all = EdgePlan::every_edge(&shape);
            &all
        }
        Plan::Blocks | Plan::Off => return Err(not_profiled("the engine does not count edges")),
    };
    let exits: Vec<(BlockId, u64)> =
        exits.into_iter().flatten().map(|&(o, n)| (BlockId(o.block), n)).collect();
    propagate(&shape, plan, &counters(instance, version), &exits)
        .map_err(|e| Error::from(e).context(format_args!("profile of function {func}")))
}

/// The profile of one function; `None` if it did not run.
fn function(
    instance: &InstanceData,
    func: u32,
    version: &FunctionPlan,
    exits: Option<&Exits>,
) -> Result<Option<FunctionProfile>> {
    let counts = edge_counts(instance, func, version, exits)?;
    if counts.entries == 0 {
        return Ok(None);
    }
    let (cfg, info) = (&version.cfg, instance.module.info());
    let body = info.body(func);
    let exits = exits.into_iter().flatten().map(|&(origin, count)| {
        let executed = ops_executed(info, cfg, origin.block, origin.offset)?;
        let block = BlockId(origin.block);
        Ok(UnfinishedExit { block, offset: origin.offset, ops_executed: executed, count })
    });
    Ok(Some(FunctionProfile {
        index: func,
        name: instance.module.func_name(func).map(str::to_string),
        code: CodeRange { start: body.start as u32, end: body.end as u32 },
        fingerprint: cfg.shape().fingerprint(),
        kind: FigureKind::Exact,
        blocks: cfg.blocks.iter().map(block_profile).collect(),
        edges: edge_profiles(cfg, &counts),
        exits: exits.collect::<Result<_>>()?,
        cost: cost(&counters(instance, version)),
    }))
}

fn block_profile(block: &Block) -> BlockProfile {
    BlockProfile { code: CodeRange { start: block.start, end: block.limit }, ops: block.ops }
}

fn edge_profiles(cfg: &Cfg, counts: &EdgeCounts) -> Vec<EdgeProfile> {
    let shape = cfg.shape();
    let kinds = cfg.blocks.iter().flat_map(|block| (0..block.edges.len()).map(|edge| edge_kind(block, edge)));
    let edges = (0..).map(EdgeId).map(|e| shape.edge(e));
    kinds
        .zip(edges)
        .zip(&counts.edges)
        .map(|((kind, edge), &count)| EdgeProfile { from: edge.from, to: edge.to, kind, count })
        .collect()
}

fn edge_kind(block: &Block, edge: usize) -> EdgeKind {
    match &block.how {
        End::Jump if block.edges[edge].target == Target::Exit => EdgeKind::Return,
        End::Jump | End::Trap => EdgeKind::Jump,
        End::Branch if edge == 0 => EdgeKind::Taken,
        End::Branch => EdgeKind::NotTaken,
        End::TailCall => EdgeKind::TailCall,
        End::Switch(table) => match table.iter().position(|&e| e as usize == edge) {
            Some(case) if case + 1 < table.len() => EdgeKind::Case(case as u32),
            _ => EdgeKind::Default,
        },
    }
}

fn host_calls(store: &StoreOpaque) -> Vec<HostCalls> {
    let hosts = store.hosts.iter().map(|host| host.head());
    let named =
        hosts.filter(|head| head.calls() > 0).filter_map(|head| Some((head.name.clone()?, head.calls())));
    let row = |((module, name), count)| HostCalls { module, name, count, kind: FigureKind::Exact };
    named.map(row).collect()
}

fn event_totals(store: &StoreOpaque) -> Result<Vec<EventTotal>> {
    let total = |(kind, model): (u32, &EventModel)| {
        let (name, count) = (model.name.clone(), store.event_count(kind)?);
        Ok(EventTotal { name, count, kind: FigureKind::Exact })
    };
    (0..).zip(&store.engine().collection().events).map(total).collect()
}

fn not_profiled(what: &str) -> Error {
    Error::new(ErrorKind::Type, format_args!("{what}: use Engine::with_profiling and Collect::Edges"))
}
