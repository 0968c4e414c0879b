//! Plans that count blocks, above all the redundant one with a counter per block, and what plans cost.
//!
//! Input: a [`Cfg`], the counts of a run. Output: block counts; counters placed and increments executed.
//! Invariant: a cost is computed from counts, never by running the plan.
//! Source: Ball & Larus 1994, section 6.1 ("redundant mode" of qpt, and of pixie).
//! Oracle: `tests/it/edge_profile.rs`.

use serde::{Deserialize, Serialize};

use crate::{BlockId, Cfg, EdgeCounts, EdgePlan};

/// The counted blocks of one function; counter `k` counts `counted[k]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockPlan {
    /// Block of each counter, ascending; EXIT, if it is among them, counts the calls.
    pub counted: Vec<BlockId>,
}

impl BlockPlan {
    /// Counts every real block.
    pub fn new(cfg: &Cfg) -> Self {
        Self { counted: cfg.blocks().collect() }
    }
}

/// What one plan costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterCost {
    /// Counters in the code.
    pub counters: u64,
    /// Increments executed in the run; saturates.
    pub increments: u64,
}

impl CounterCost {
    pub(crate) fn of(executed: impl ExactSizeIterator<Item = u64>) -> Self {
        let counters = executed.len() as u64;
        Self { counters, increments: executed.fold(0, u64::saturating_add) }
    }

    /// The cost of both; saturates.
    pub fn plus(self, other: Self) -> Self {
        Self {
            counters: self.counters.saturating_add(other.counters),
            increments: self.increments.saturating_add(other.increments),
        }
    }
}

/// One run under three plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterCosts {
    /// The plan that ran: chords of a spanning tree.
    pub chords: CounterCost,
    /// One counter per block.
    pub per_block: CounterCost,
    /// One counter per edge.
    pub per_edge: CounterCost,
}

impl CounterCosts {
    /// The costs of the run that `counts` describes.
    pub fn new(plan: &EdgePlan, counts: &EdgeCounts) -> Self {
        Self {
            chords: CounterCost::of_edges(&plan.counted, counts),
            per_block: CounterCost::of(counts.blocks.iter().copied()),
            per_edge: CounterCost::of(counts.edges.iter().copied()),
        }
    }

    /// The costs of both; saturates.
    pub fn plus(self, other: Self) -> Self {
        Self {
            chords: self.chords.plus(other.chords),
            per_block: self.per_block.plus(other.per_block),
            per_edge: self.per_edge.plus(other.per_edge),
        }
    }
}
