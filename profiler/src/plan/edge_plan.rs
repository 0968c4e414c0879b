//! Plans of edge profiles: which edges have a counter.
//!
//! Input: a [`Cfg`] and [`EdgeWeights`]. Output: the counted edges; counter `k` counts `counted[k]`.
//! Invariant: the edges without a counter contain no undirected cycle, so the counters determine all counts. With a
//! maximum spanning tree no plan has fewer counters, and none costs less under the weights.
//! Source: Ball & Larus 1994, section 3.1 (Eprof(Ecnt)), after Knuth.
//! Oracle: `tests/it/edge_profile.rs`.

use serde::{Deserialize, Serialize};

use crate::{Cfg, EdgeId, EdgeWeights, SpanningTree};

/// The counted edges of one function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgePlan {
    /// Edge of each counter, ascending.
    pub counted: Vec<EdgeId>,
}

impl EdgePlan {
    /// Counts the chords of a maximum spanning tree.
    pub fn new(cfg: &Cfg, weights: &EdgeWeights) -> Self {
        Self::of_tree(&SpanningTree::maximum(cfg, weights))
    }

    /// Counts the chords of a tree.
    pub fn of_tree(tree: &SpanningTree) -> Self {
        Self { counted: tree.chords().collect() }
    }

    /// Counts every edge: the plan for comparison.
    pub fn every_edge(cfg: &Cfg) -> Self {
        Self { counted: cfg.edges().collect() }
    }

    /// Returns the counter of an edge, if it has one.
    pub fn counter_of(&self, edge: EdgeId) -> Option<usize> {
        self.counted.binary_search(&edge).ok()
    }
}
