//! The split graph: every vertex is split in two halves, one where control arrives and one where it departs.
//!
//! Input: a [`Cfg`] and some of its edges, each of which joins the departing half of its source with the arriving
//! half of its target. Output: which halves are connected.
//! Invariant: an edge leaves a departing half and enters an arriving half, so the cycles of the split graph are exactly
//! the cycles of the CFG whose edges strictly alternate, which are those without a pipe. With all edges given, the
//! components are the classes that Knuth & Stevenson merge: blocks with a common successor depart into one class, and
//! their successors arrive from it.
//! Source: Knuth & Stevenson, *Optimal Measurement Points for Program Frequency Counts*, BIT 1973.
//! Oracle: `tests/it/vertex_profile.rs`, `tests/it/block_counters.rs`.
//!
//! Example: 0 -> {2, 3} <- 1 with all four edges: any three of them connect the halves of the fourth.

use crate::graph::union_find::UnionFind;
use crate::{BlockId, Cfg, EdgeId};

/// The components of the split graph.
#[derive(Clone, Debug)]
pub(crate) struct SplitGraph {
    /// Half `2v` is where control arrives at vertex `v`, half `2v + 1` where it departs.
    halves: UnionFind,
}

impl SplitGraph {
    /// Joins the halves at the ends of each edge.
    pub(crate) fn new(cfg: &Cfg, edges: impl Iterator<Item = EdgeId>) -> Self {
        let mut halves = UnionFind::new(2 * cfg.vertex_count());
        for edge in edges.map(|edge| cfg.edge(edge)) {
            halves.unite(departing(edge.from), arriving(edge.to));
        }
        Self { halves }
    }

    /// Joins the halves of a vertex whose count is not wanted: cycles may then run straight through it.
    pub(crate) fn contract(&mut self, vertex: BlockId) {
        self.halves.unite(arriving(vertex), departing(vertex));
    }

    /// Reports whether the halves that an edge joins are already connected. For a chord of the spanning tree whose
    /// edges were given this means that its fundamental cycle has no pipe.
    pub(crate) fn connects(&mut self, cfg: &Cfg, edge: EdgeId) -> bool {
        let ends = cfg.edge(edge);
        self.halves.find(departing(ends.from)) == self.halves.find(arriving(ends.to))
    }

    /// Returns the class in which control arrives at a vertex: a number below twice the number of vertices.
    pub(crate) fn arrival(&mut self, vertex: BlockId) -> usize {
        self.halves.find(arriving(vertex))
    }

    /// Returns the class from which control departs from a vertex.
    pub(crate) fn departure(&mut self, vertex: BlockId) -> usize {
        self.halves.find(departing(vertex))
    }
}

fn arriving(vertex: BlockId) -> usize {
    2 * vertex.index()
}

fn departing(vertex: BlockId) -> usize {
    2 * vertex.index() + 1
}
