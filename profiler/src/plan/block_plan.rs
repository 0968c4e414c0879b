//! Plans that count blocks, including the redundant one with a counter per block, and the costs of plans.
//!
//! Input: a [`Cfg`], and the counts of a run. Output: the counted blocks; counters placed and increments executed.
//! Invariant: a cost is computed from counts, never by running the plan.
//! Source: Ball & Larus 1994, section 6.1 ("redundant mode" of qpt, and of pixie).
//! Oracle: `tests/it/edge_profile.rs`.

use serde::{Deserialize, Serialize};

use crate::{BlockId, Cfg, EdgeCounts, EdgePlan};

/// The counted blocks of one function. Counter `k` counts `counted[k]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockPlan {
    /// Block of each counter, ascending; a counter of EXIT counts the calls.
    pub counted: Vec<BlockId>,
}

impl BlockPlan {
    /// Counts every real block.
    pub fn new(cfg: &Cfg) -> Self {
        Self { counted: cfg.blocks().collect() }
    }
}

/// The cost of one plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterCost {
    /// Counters in the code.
    pub counters: u64,
    /// Increments executed in the run; saturates.
    pub increments: u64,
}

impl CounterCost {
    pub(crate) fn new(executed: impl ExactSizeIterator<Item = u64>) -> Self {
        let counters = executed.len() as u64;
        Self { counters, increments: executed.fold(0, u64::saturating_add) }
    }

    /// Returns the sum of both costs; saturates.
    pub fn plus(self, other: Self) -> Self {
        Self {
            counters: self.counters.saturating_add(other.counters),
            increments: self.increments.saturating_add(other.increments),
        }
    }
}

/// The costs of one run under three plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterCosts {
    /// Cost of the plan that ran, which counts the chords of a spanning tree.
    pub chords: CounterCost,
    /// Cost of one counter per block.
    pub per_block: CounterCost,
    /// Cost of one counter per edge.
    pub per_edge: CounterCost,
}

impl CounterCosts {
    /// Computes the costs of the run that `counts` describes.
    pub fn new(plan: &EdgePlan, counts: &EdgeCounts) -> Self {
        Self {
            chords: CounterCost::of_edges(&plan.counted, counts),
            per_block: CounterCost::new(counts.blocks.iter().copied()),
            per_edge: CounterCost::new(counts.edges.iter().copied()),
        }
    }

    /// Returns the sum of both costs; saturates.
    pub fn plus(self, other: Self) -> Self {
        Self {
            chords: self.chords.plus(other.chords),
            per_block: self.per_block.plus(other.per_block),
            per_edge: self.per_edge.plus(other.per_edge),
        }
    }
}
