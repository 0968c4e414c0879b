//! Expected edge frequencies, by which counters and increments are placed.
//!
//! Input: an earlier profile, or otherwise the module's branch hints. Output: weights of the CFG and of the graphs that
//! it is split into.

use wprof_profiler::{self as profiler, BlockWeights, EdgeCounts, EdgeId, EdgeWeights};

use super::{Collection, SplitCfg};
use crate::cfg::{Cfg, End};
use crate::module::ModuleInfo;

/// The knowledge about a function before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The counts of an earlier run.
    Measured(EdgeCounts),
    /// Only the graph, and the likely edges.
    Estimated {
        /// Hinted edges.
        likely: Vec<EdgeId>,
    },
}

impl Expected {
    /// Returns the expectation for a function: the counts of an earlier run, if there is one and it knows the function.
    pub fn new(info: &ModuleInfo, collection: &Collection, cfg: &Cfg) -> Expected {
        let shape = cfg.shape();
        let measured = collection.earlier(cfg.func, shape).and_then(|function| {
            function.edge_counts().filter(|_| function.edges.len() == shape.edge_count())
        });
        measured.map_or_else(|| Expected::Estimated { likely: likely_edges(info, cfg) }, Expected::Measured)
    }

    /// Returns the expectation for the graph split at calls.
    pub fn split(&self, split: &SplitCfg) -> Expected {
        match self {
            Expected::Measured(counts) => Expected::Measured(split.counts(counts)),
            Expected::Estimated { likely } => Expected::Estimated { likely: split.edges_of(likely) },
        }
    }

    /// Returns the weights of edges.
    pub fn edge_weights(&self, shape: &profiler::Cfg) -> EdgeWeights {
        match self {
            Expected::Measured(counts) => EdgeWeights::measured(shape, counts),
            Expected::Estimated { likely } => EdgeWeights::hinted(shape, likely),
        }
    }

    /// Returns the weights of blocks.
    pub fn block_weights(&self, shape: &profiler::Cfg) -> BlockWeights {
        match self {
            Expected::Measured(counts) => BlockWeights::measured(shape, counts),
            Expected::Estimated { .. } => BlockWeights::of_edges(shape, &self.edge_weights(shape)),
        }
    }
}

/// Returns the edges that the hinted branches of a function likely take, and those by which calls return, ascending.
pub fn likely_edges(info: &ModuleInfo, cfg: &Cfg) -> Vec<EdgeId> {
    let mut likely = cfg.returns_of_calls();
    if !info.branch_hints.has(cfg.func) {
        return likely;
    }
    let mut first = 0;
    for block in &cfg.blocks {
        let is_branch = matches!(block.how, End::Branch);
        if let Some(holds) = info.branch_hints.at(cfg.func, block.end).filter(|_| is_branch) {
            likely.push(EdgeId(first + u32::from(!holds)));
        }
        first += block.edges.len() as u32;
    }
    likely.sort_unstable();
    likely
}
