//! Plans: what is counted in a function, and by which counters.

use wprof_profiler::{
    self as profiler, EdgeId, EdgePlan, EdgeWeights, PathPlan, PathStep, Profile, VertexPlan,
};

use crate::cfg::Cfg;

/// Maximum number of paths of a function with a counter per path; with more paths, the counts are in the table.
const MAX_DENSE_PATHS: u64 = 1 << 14;

/// The kind of profile that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Collected {
    /// How often each branch went each way.
    Edges,
    /// How often each acyclic path ran.
    Paths,
    /// How often each block ran.
    Blocks,
}

/// The counting plan of a function.
#[derive(Clone, Debug)]
pub enum FunctionPlan {
    /// Counter k counts edge k of the plan; the counts of all edges follow.
    Edges(EdgePlan),
    /// Counter k counts edge k of the plan; only the counts of blocks follow.
    Blocks(VertexPlan),
    /// Counter k counts path k if there are few paths; otherwise the table holds the counts.
    Paths(Box<PathPlan>),
}

/// The action on crossing an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Increments this counter of the function.
    Count(u32),
    /// Adds to the path register.
    Add(i64),
    /// Sets the path register.
    Set(i64),
    /// Counts the path whose number is the register plus `add`, and sets the register for the next path.
    Finish {
        /// The difference between the path's number and the register.
        add: i64,
        /// The initial value of the register for the path that begins.
        restart: Option<i64>,
    },
}

impl FunctionPlan {
    /// Plans by the counts of an earlier run, if that run's profile knows the function.
    pub fn new(cfg: &Cfg, collected: Collected, weights: Option<&Profile>) -> FunctionPlan {
        let shape = cfg.shape();
        let earlier = weights.and_then(|profile| profile.function(cfg.func));
        let weights = earlier.and_then(|function| EdgeWeights::of_profile(&shape, function));
        let weights = weights.unwrap_or_else(|| EdgeWeights::estimate(&shape));
        match collected {
            Collected::Edges => FunctionPlan::Edges(EdgePlan::new(&shape, &weights)),
            Collected::Blocks => FunctionPlan::Blocks(VertexPlan::unmarked(&shape, &weights)),
            Collected::Paths => FunctionPlan::Paths(Box::new(PathPlan::new(&shape, &weights))),
        }
    }

    /// Returns the number of counters.
    pub fn counters(&self) -> u64 {
        match self {
            FunctionPlan::Edges(plan) => plan.counted.len() as u64,
            FunctionPlan::Blocks(plan) => plan.counted.len() as u64,
            FunctionPlan::Paths(plan) if is_dense(plan) => plan.numbering.paths(),
            FunctionPlan::Paths(_) => 0,
        }
    }

    /// Returns the number of places that count.
    pub fn places(&self) -> u64 {
        match self {
            FunctionPlan::Paths(plan) => plan.places(),
            _ => self.counters(),
        }
    }

    /// Returns the probe of each edge.
    pub fn probes(&self, edges: usize) -> Vec<Option<Probe>> {
        let counted = |counted: &[EdgeId]| {
            let mut probes = vec![None; edges];
            counted.iter().zip(0..).for_each(|(edge, k)| probes[edge.index()] = Some(Probe::Count(k)));
            probes
        };
        match self {
            FunctionPlan::Edges(plan) => counted(&plan.counted),
            FunctionPlan::Blocks(plan) => counted(&plan.counted),
            FunctionPlan::Paths(plan) => plan.steps.iter().map(|step| of_step(*step)).collect(),
        }
    }

    /// Returns the initial value of the path register, if paths are counted.
    pub fn entry(&self) -> Option<i64> {
        match self {
            FunctionPlan::Paths(plan) => Some(plan.entry),
            _ => None,
        }
    }

    /// Reports whether paths are counted in the table.
    pub fn is_sparse(&self) -> bool {
        matches!(self, FunctionPlan::Paths(plan) if !is_dense(plan))
    }

    /// Returns the part of the plan that does not follow from the graph: the counted edges, or the register's value
    /// where paths stop.
    pub fn kept(&self) -> Kept {
        match self {
            FunctionPlan::Edges(plan) => Kept::Counted(plan.counted.iter().map(|edge| edge.0).collect()),
            FunctionPlan::Blocks(plan) => Kept::Counted(plan.counted.iter().map(|edge| edge.0).collect()),
            FunctionPlan::Paths(plan) => Kept::Queries(plan.queries.clone()),
        }
    }

    /// Restores the plan of a graph from its stored part.
    pub fn restored(shape: &profiler::Cfg, collected: Collected, kept: Kept) -> Option<FunctionPlan> {
        let edges = |counted: Vec<u32>| counted.into_iter().map(EdgeId).collect();
        Some(match (collected, kept) {
            (Collected::Edges, Kept::Counted(counted)) => {
                FunctionPlan::Edges(EdgePlan { counted: edges(counted) })
            }
            (Collected::Blocks, Kept::Counted(counted)) => {
                FunctionPlan::Blocks(VertexPlan { counted: edges(counted) })
            }
            (Collected::Paths, Kept::Queries(queries)) => {
                // The numbers of paths follow from the graph; how the register is computed no longer matters.
                let mut plan = PathPlan::new(shape, &EdgeWeights::estimate(shape));
                plan.queries = queries;
                FunctionPlan::Paths(Box::new(plan))
            }
            _ => return None,
        })
    }
}

/// The stored part of a plan; see [`FunctionPlan::kept`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Kept {
    /// The edge of each counter.
    Counted(Vec<u32>),
    /// For each block, the amount to add to the register there.
    Queries(Vec<i64>),
}

fn is_dense(plan: &PathPlan) -> bool {
    plan.numbering.paths() <= MAX_DENSE_PATHS
}

fn of_step(step: PathStep) -> Option<Probe> {
    match step {
        PathStep::Stay => None,
        PathStep::Add(add) => Some(Probe::Add(add)),
        PathStep::Set(value) => Some(Probe::Set(value)),
        PathStep::Finish { add, restart } => Some(Probe::Finish { add, restart }),
    }
}
