//! Plans: what is counted in a function, and by which counters.
//!
//! **Rows.** A function with too many paths for a counter each has rows among its counters: [`ROW_COUNTERS`] each, a key and
//! a count. The key selects the row, which belongs to the key that was counted there last; when another takes it, the
//! table gets the count. The key is the path's number, below the number of the call record. Interesting paths have rows of
//! their own: their preferential numbers select them.
//! Source: Vaswani 2007, section 3.2.3 (preferential numbers); rows are the engine's.

use wprof_profiler::{
    self as profiler, BlockId, EdgeId, EdgePlan, EdgeWeights, Emit, FunctionProfile, PathPlan, PathStep,
    PreferentialPlan, Profile, TraceMethod, VertexPlan,
};

use crate::Error;
use crate::cfg::Cfg;
use crate::layout::Records;
use crate::module::Source;
use crate::trace::FunctionTrace;

/// Maximum number of paths of a function with a counter per path; with more paths, the counts are in the table.
const MAX_DENSE_PATHS: u64 = 1 << 14;
/// Maximum number of paths of a function of which each call record has a figure per path.
const MAX_PATHS_OF_RECORD: u64 = 64;
/// Number of rows of a function whose rows a hash selects.
pub const ROWS: u32 = 1 << 7;
/// The most rows of a function with interesting paths.
const MOST_ROWS: u32 = 1 << 16;
/// Number of counters that a row takes: its key, and its count.
pub const ROW_COUNTERS: u32 = 2;

/// The kind of profile that is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Collected {
    /// The number of times each branch went each way.
    #[default]
    Edges,
    /// The number of times each acyclic path ran.
    Paths,
    /// The number of times each block ran.
    Blocks,
    /// The number of times each block ran, with a counter in each: the simplest way, for comparison. Counts are not exact where
    /// frames stop.
    EveryBlock,
    /// The number of times each acyclic path ran in each calling context.
    Flow,
    /// Nothing in functions: only what is counted besides.
    Nothing,
    /// The exact sequence of blocks, in at most as many bytes of memory as [`Options`](crate::Options) allow; nothing is
    /// counted.
    Trace,
}

impl Collected {
    /// Reports whether what is counted in functions depends on where frames stop.
    pub fn tracks(self) -> bool {
        !matches!(self, Collected::EveryBlock | Collected::Nothing)
    }

    /// Reports whether functions have path registers.
    pub fn has_paths(self) -> bool {
        matches!(self, Collected::Paths | Collected::Flow)
    }
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
    /// Rows hold the counts of interesting paths, and the table those of most others.
    Preferential(Box<Preferential>),
    /// Figure k of each call record counts path k if there are few paths; otherwise the table holds the counts.
    Flow(Box<PathPlan>),
    /// Counter k counts block k of so many.
    EveryBlock(u32),
    /// Nothing is counted.
    Nothing,
    /// The bits that edges write into a trace.
    Trace(Box<FunctionTrace>),
}

/// The counting of a function's paths, with interesting ones distinguished.
#[derive(Clone, Debug)]
pub struct Preferential {
    /// The effect of each edge on the register: the preferential number is in its upper half, the path's number in the lower.
    pub paths: PathPlan,
    /// Number of rows, a power of two: the low bits of the preferential number select one.
    pub rows: u32,
}

/// The profiles of earlier runs by which counters are placed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Earlier<'a> {
    /// By its counts probes are placed.
    pub weights: Option<&'a Profile>,
    /// Its paths are interesting.
    pub interesting: Option<&'a Profile>,
}

impl<'a> Earlier<'a> {
    /// Returns the profile by which counters are placed.
    pub fn placing(self) -> Option<&'a Profile> {
        self.weights.or(self.interesting)
    }

    /// Reports whether plans depend on an earlier run.
    pub fn is_any(&self) -> bool {
        self.weights.is_some() || self.interesting.is_some()
    }
}

/// The way to find the row of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// By a hash of the key; there are [`ROWS`] rows.
    Hashed,
    /// By the preferential number in the upper half of the register; there are so many rows.
    Preferential(u32),
}

/// The action on crossing an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Increments this counter of the function.
    Count(u32),
    /// Adds to the sum of a kind of events.
    Event(u32, i64),
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
    /// Appends so many low bits of a value to the trace.
    Emit {
        /// The value.
        value: u32,
        /// Number of bits.
        bits: u8,
    },
}

impl From<Emit> for Probe {
    fn from(Emit { value, bits, .. }: Emit) -> Probe {
        Probe::Emit { value, bits }
    }
}

impl FunctionPlan {
    /// Plans by what earlier runs did, if their profiles know the function.
    ///
    /// # Errors
    /// Returns an error if the bytes differ from those that were validated.
    pub fn new(
        source: &Source<'_>,
        cfg: &Cfg,
        collected: Collected,
        earlier: Earlier<'_>,
    ) -> Result<FunctionPlan, Error> {
        if collected == Collected::Trace {
            let (body, weights) = (source.body(cfg.func), earlier.weights);
            let trace = FunctionTrace::new(cfg, &body, source.first_defined(), weights)?;
            return Ok(FunctionPlan::Trace(Box::new(trace)));
        }
        Ok(FunctionPlan::counting(cfg, collected, earlier))
    }

    /// Plans what is counted.
    fn counting(cfg: &Cfg, collected: Collected, earlier: Earlier<'_>) -> FunctionPlan {
        let shape = cfg.shape();
        let ran = earlier.placing().and_then(|profile| profile.function(cfg.func));
        let weights = ran.and_then(|function| EdgeWeights::of_profile(&shape, function));
        let weights = weights.unwrap_or_else(|| EdgeWeights::estimate(&shape));
        match collected {
            Collected::Edges => FunctionPlan::Edges(EdgePlan::new(&shape, &weights)),
            Collected::Blocks => FunctionPlan::Blocks(VertexPlan::unmarked(&shape, &weights)),
            Collected::Paths => {
                let plan = PathPlan::new(&shape, &weights);
                let interesting = interesting(cfg.func, &shape, earlier.interesting);
                preferential(&shape, &weights, &plan, &interesting)
                    .unwrap_or_else(|| FunctionPlan::Paths(Box::new(plan)))
            }
            Collected::Flow => FunctionPlan::Flow(Box::new(PathPlan::new(&shape, &weights))),
            Collected::EveryBlock => FunctionPlan::EveryBlock(cfg.blocks.len() as u32),
            Collected::Nothing | Collected::Trace => FunctionPlan::Nothing,
        }
    }

    /// Returns the number of counters.
    pub fn counters(&self) -> u64 {
        match self {
            FunctionPlan::Edges(plan) => plan.counted.len() as u64,
            FunctionPlan::Blocks(plan) => plan.counted.len() as u64,
            FunctionPlan::Paths(plan) if is_dense(plan) => plan.numbering.paths(),
            FunctionPlan::EveryBlock(blocks) => u64::from(*blocks),
            FunctionPlan::Paths(_) | FunctionPlan::Preferential(_) | FunctionPlan::Flow(_) => {
                u64::from(ROW_COUNTERS * self.rows().map_or(0, Rows::count))
            }
            FunctionPlan::Nothing | FunctionPlan::Trace(_) => 0,
        }
    }

    /// Returns the number of places that count.
    pub fn places(&self) -> u64 {
        match self {
            FunctionPlan::Trace(plan) => plan.places(),
            _ => self.paths().map_or_else(|| self.counters(), PathPlan::places),
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
            FunctionPlan::Paths(_) | FunctionPlan::Preferential(_) | FunctionPlan::Flow(_) => {
                self.paths().into_iter().flat_map(|plan| &plan.steps).map(|step| of_step(*step)).collect()
            }
            FunctionPlan::Trace(plan) => (0..edges).map(|edge| plan.on_edge(edge).map(Probe::from)).collect(),
            FunctionPlan::EveryBlock(_) | FunctionPlan::Nothing => vec![None; edges],
        }
    }

    /// Returns the initial value of the path register, if paths are counted.
    pub fn entry(&self) -> Option<i64> {
        self.paths().map(|plan| plan.entry)
    }

    /// Returns the plan of paths, if they are counted.
    pub fn paths(&self) -> Option<&PathPlan> {
        match self {
            FunctionPlan::Paths(plan) | FunctionPlan::Flow(plan) => Some(plan),
            FunctionPlan::Preferential(plan) => Some(&plan.paths),
            _ => None,
        }
    }

    /// Returns the sum of the prefix that led to a block; see [`PathPlan::prefix_sum`].
    pub fn prefix_sum(&self, block: BlockId, register: u64) -> u64 {
        let sum = self.paths().map_or(0, |plan| plan.prefix_sum(block, Some(register)));
        match self {
            FunctionPlan::Preferential(_) => sum & NUMBER,
            _ => sum,
        }
    }

    /// Returns how rows are found, if the function has rows.
    pub fn rows(&self) -> Option<Rows> {
        match self {
            FunctionPlan::Preferential(plan) => Some(Rows::Preferential(plan.rows)),
            FunctionPlan::Paths(_) | FunctionPlan::Flow(_) if self.is_sparse() => Some(Rows::Hashed),
            _ => None,
        }
    }

    /// Returns the plan of the trace, if the function is traced.
    pub fn trace(&self) -> Option<&FunctionTrace> {
        match self {
            FunctionPlan::Trace(plan) => Some(plan),
            _ => None,
        }
    }

    /// Reports whether paths are counted in the table.
    pub fn is_sparse(&self) -> bool {
        match self {
            FunctionPlan::Paths(plan) => !is_dense(plan),
            FunctionPlan::Preferential(_) => true,
            FunctionPlan::Flow(plan) => plan.numbering.paths() > MAX_PATHS_OF_RECORD,
            _ => false,
        }
    }

    /// Returns the number of paths that each call record counts in figures.
    pub fn paths_of_record(&self) -> u32 {
        match self {
            FunctionPlan::Flow(plan) if !self.is_sparse() => plan.numbering.paths() as u32,
            _ => 0,
        }
    }

    /// Returns the offset of the callee slots in call records of the function.
    pub fn slots(&self, records: &Records) -> u32 {
        records.host_slots() + 8 * self.paths_of_record()
    }

    /// Returns the part of the plan that does not follow from the graph: the counted edges, or the register's value
    /// where paths stop, which is asked for only in blocks with sites.
    pub fn kept(&self, has_site: impl Fn(u32) -> bool) -> StoredPlan {
        match self {
            FunctionPlan::Edges(plan) => {
                StoredPlan::Counted(plan.counted.iter().map(|edge| edge.0).collect())
            }
            FunctionPlan::Blocks(plan) => {
                StoredPlan::Counted(plan.counted.iter().map(|edge| edge.0).collect())
            }
            FunctionPlan::Paths(plan) | FunctionPlan::Flow(plan) => {
                StoredPlan::Queries(asked(plan, has_site))
            }
            FunctionPlan::Preferential(plan) => {
                StoredPlan::Preferential(asked(&plan.paths, has_site), plan.rows)
            }
            FunctionPlan::Trace(plan) => {
                let (method, emits) = plan.kept();
                StoredPlan::Emits(method, emits)
            }
            FunctionPlan::EveryBlock(_) | FunctionPlan::Nothing => StoredPlan::Counted(Vec::new()),
        }
    }

    /// Restores the plan of a graph from its stored part.
    ///
    /// # Errors
    /// Returns an error if the stored part is not of the graph.
    pub fn restored(
        source: &Source<'_>,
        cfg: &Cfg,
        collected: Collected,
        kept: StoredPlan,
    ) -> Result<FunctionPlan, Error> {
        const DIFFERENT: Error = Error::BadCounters("their description does not fit");
        if let (Collected::Trace, StoredPlan::Emits(method, emits)) = (collected, &kept) {
            let trace = FunctionTrace::new(cfg, &source.body(cfg.func), source.first_defined(), None)?;
            let trace = trace.restored((*method, emits.clone())).ok_or(DIFFERENT)?;
            return Ok(FunctionPlan::Trace(Box::new(trace)));
        }
        FunctionPlan::counting_restored(&cfg.shape(), collected, kept).ok_or(DIFFERENT)
    }

    fn counting_restored(
        shape: &profiler::Cfg,
        collected: Collected,
        kept: StoredPlan,
    ) -> Option<FunctionPlan> {
        let edges = |counted: Vec<u32>| counted.into_iter().map(EdgeId).collect();
        // The numbers of paths follow from the graph; how the register is computed no longer matters.
        let asked = |queries| {
            let mut plan = PathPlan::new(shape, &EdgeWeights::estimate(shape));
            plan.queries = queries;
            plan
        };
        Some(match (collected, kept) {
            (Collected::Edges, StoredPlan::Counted(counted)) => {
                FunctionPlan::Edges(EdgePlan { counted: edges(counted) })
            }
            (Collected::Blocks, StoredPlan::Counted(counted)) => {
                FunctionPlan::Blocks(VertexPlan { counted: edges(counted) })
            }
            (Collected::Paths, StoredPlan::Queries(queries)) => FunctionPlan::Paths(Box::new(asked(queries))),
            (Collected::Paths, StoredPlan::Preferential(queries, rows))
                if rows.is_power_of_two() && rows <= MOST_ROWS =>
            {
                FunctionPlan::Preferential(Box::new(Preferential { paths: asked(queries), rows }))
            }
            (Collected::Flow, StoredPlan::Queries(queries)) => FunctionPlan::Flow(Box::new(asked(queries))),
            (Collected::EveryBlock, _) => FunctionPlan::EveryBlock(shape.block_count() as u32),
            (Collected::Nothing, _) => FunctionPlan::Nothing,
            _ => return None,
        })
    }
}

/// The stored part of a plan; see [`FunctionPlan::kept`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum StoredPlan {
    /// The edge of each counter.
    Counted(Vec<u32>),
    /// For each block, the amount to add to the register there; 0 where no frame stops.
    Queries(Vec<i64>),
    /// The same of a function with interesting paths, and its number of rows.
    Preferential(Vec<i64>, u32),
    /// The method of a trace, and the bits that each edge writes.
    Emits(TraceMethod, Vec<Emit>),
}

impl Rows {
    /// Returns the number of rows.
    pub fn count(self) -> u32 {
        match self {
            Rows::Hashed => ROWS,
            Rows::Preferential(rows) => rows,
        }
    }
}

/// The bits of a key that hold the path's number; paths are fewer than that.
pub const NUMBER: u64 = u32::MAX as u64;
const _: () = assert!(wprof_profiler::MAX_PATHS - 1 <= NUMBER);

/// Returns the amounts by which the register is corrected in blocks with sites, and 0 in others.
fn asked(plan: &PathPlan, has_site: impl Fn(u32) -> bool) -> Vec<i64> {
    let queries = plan.queries.iter().zip(0..);
    queries.map(|(query, block)| if has_site(block) { *query } else { 0 }).collect()
}

/// Returns the numbers of the paths of a function that a profile has, if its function is the same.
fn interesting(func: u32, shape: &profiler::Cfg, profile: Option<&Profile>) -> Vec<u64> {
    let function = profile.and_then(|profile| profile.function(func));
    let function = function.filter(|function| function.fingerprint == shape.fingerprint());
    function.map_or(Vec::new(), FunctionProfile::paths_by_count)
}

/// Plans a function that has too many paths for a counter each, and interesting ones.
fn preferential(
    shape: &profiler::Cfg,
    weights: &EdgeWeights,
    plan: &PathPlan,
    interesting: &[u64],
) -> Option<FunctionPlan> {
    if is_dense(plan) || interesting.is_empty() {
        return None;
    }
    let plan = PreferentialPlan::new(shape, weights, plan.numbering.clone(), interesting)?;
    let rows = plan.cells.len() as u32;
    Some(FunctionPlan::Preferential(Box::new(Preferential { paths: plan.paths, rows })))
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
