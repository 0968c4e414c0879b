//! A function from the point of view of tracing: a graph without parallel edges, and the calls of its blocks.
//!
//! Input: a [`Cfg`], and the call, if any, of each block. Output: predicates, and the branches that matter.
//! Invariant: parallel edges are merged, since they give the same block sequence. A **trap door** is an edge to a
//! block that has no other in-edge, no out-edge and no call: a run that takes it stops there, and where a run stops
//! is recorded anyway, so the edge needs no witness. (Source: ours. An assertion that is compiled to a branch to a
//! trap then costs no bits.)

use std::collections::BTreeMap;

use super::Call;
use crate::{BlockId, Cfg, EdgeId, EdgeWeights};

/// A graph without parallel edges, and the calls of its blocks.
#[derive(Clone, Debug)]
pub(crate) struct TraceGraph {
    /// The graph without parallel edges.
    pub cfg: Cfg,
    /// By edge of the function's own graph: the merged edge.
    pub merged: Vec<EdgeId>,
    /// By block: its call, if it has one.
    calls: Vec<Option<Call>>,
}

impl TraceGraph {
    /// Merges parallel edges. Calls of blocks that do not exist are ignored.
    pub(crate) fn new(cfg: &Cfg, calls: &[Option<Call>]) -> Self {
        let mut known = BTreeMap::new();
        let mut pairs = Vec::new();
        let mut merge = |edge| {
            let ends = cfg.edge(edge);
            *known.entry((ends.from, ends.to)).or_insert_with(|| {
                pairs.push((ends.from, ends.to));
                EdgeId::new(pairs.len() - 1)
            })
        };
        let merged = cfg.edges().map(&mut merge).collect();
        let calls = cfg.blocks().map(|block| calls.get(block.index()).copied().flatten()).collect();
        let cfg = Cfg::new(cfg.exit().0, &pairs).expect("a part of a graph is a graph");
        Self { cfg, merged, calls }
    }

    /// Returns the weights of the merged edges.
    pub(crate) fn weights(&self, weights: &EdgeWeights) -> Vec<f64> {
        let mut sums = vec![0.0; self.cfg.edge_count() + 1];
        for (edge, &merged) in self.merged.iter().enumerate() {
            sums[merged.index()] += weights.as_slice().get(edge).copied().unwrap_or(0.0);
        }
        sums
    }

    /// Returns the call of a block; none for EXIT.
    #[inline]
    pub(crate) fn call(&self, block: BlockId) -> Option<Call> {
        self.calls.get(block.index()).copied().flatten()
    }

    /// Reports whether a run that crosses this edge stops right behind it.
    pub(crate) fn is_trap_door(&self, edge: EdgeId) -> bool {
        let to = self.cfg.edge(edge).to;
        let inner = to != BlockId::ENTRY && to != self.cfg.exit();
        let last = self.cfg.out_edges(to).is_empty() && self.call(to).is_none();
        inner && last && self.cfg.in_edges(to).len() == 1
    }

    /// Iterates over the edges that leave a block, except trap doors.
    pub(crate) fn branches(&self, block: BlockId) -> impl Iterator<Item = EdgeId> + '_ {
        self.cfg.out_edges(block).iter().copied().filter(|&edge| !self.is_trap_door(edge))
    }

    /// Reports whether a block has several successors from which the run can continue.
    pub(crate) fn is_predicate(&self, block: BlockId) -> bool {
        self.branches(block).nth(1).is_some()
    }

    /// Iterates over the blocks with a call, and EXIT: where witnesses of other functions may come next.
    pub(crate) fn blocked(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.cfg.blocks().filter(|&block| self.call(block).is_some()).chain([self.cfg.exit()])
    }
}
