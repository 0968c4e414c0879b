//! Plans of vertex profiles: counted edges that determine all block counts, though perhaps not all edge counts.
//!
//! Input: a [`Cfg`] and [`EdgeWeights`]. Output: the counted edges; counter `k` counts `counted[k]`.
//! Invariant: the counted edges are a subset of the chords of the spanning tree, so the plan never costs more than
//! the [`EdgePlan`] of the same tree. No simple cycle of uncounted edges has a **pipe**, a vertex that the cycle
//! enters in the direction of one edge and leaves in that of the other. Frames that end in mid-block do not change
//! what is needed: their edges to EXIT have known counts, as if they were counted.
//! Source: Ball & Larus 1994, section 3.3 (Vprof(Ecnt)) and its heuristic.
//!
//! Difference: the paper marks the vertices of the cycles that it leaves without a counter, "to prevent counter-free
//! cycles from combining" into a piped one. That cannot happen: a cycle has a pipe exactly if flow along it changes
//! the count of some vertex, which is linear, and every counter-free cycle is a sum of fundamental cycles. So
//! [`unmarked`](VertexPlan::unmarked) drops every chord whose fundamental cycle has no pipe: the most that any plan
//! with this tree can drop, in near-linear time. [`new`](VertexPlan::new) is the paper's heuristic, with its marks.
//! Oracle: every simple cycle of small graphs, and linear algebra on random ones, in
//! `tests/it/vertex_profile.rs`.
//!
//! **Silent blocks.** Compilers for stack machines write blocks without instructions, which only join or split ways. No
//! figure needs their counts, and they are pipes of cycles that would have none without them: to contract such a block
//! is to let a cycle run through it. In the split graph that joins its two halves. The linear argument stays: the
//! halves are still the two sides of a bipartite graph, and a cycle of it changes the counts of joined vertices only.
//!
//! Example: 0 -> {1, 2}, 1 -> {3, 4} <- 2, {3, 4} -> EXIT has four chords. The one on the cycle 1, 3, 2, 4 needs no
//! counter, since a count moved around that cycle leaves all block counts unchanged.

use serde::{Deserialize, Serialize};

use super::spanning_tree::{heaviest_first, opposite};
use super::split_graph::SplitGraph;
use crate::{BlockId, Cfg, EdgeId, EdgePlan, EdgeWeights, RootedForest, SpanningTree};

/// Limit of steps along cycles, after which [`VertexPlan::new`] keeps the counters of the remaining chords: some
/// tenths of a second. Real functions need about as many steps as they have edges.
const MAX_CYCLE_STEPS: usize = 1 << 26;

/// The counted edges of one function, which determine its block counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VertexPlan {
    /// Edge of each counter, ascending.
    pub counted: Vec<EdgeId>,
}

impl VertexPlan {
    /// Applies the paper's heuristic to a maximum spanning tree. Beyond 2^26 steps along cycles, which only contrived
    /// graphs need, the lighter chords keep their counters.
    pub fn new(cfg: &Cfg, weights: &EdgeWeights) -> Self {
        Self::of_tree(cfg, weights, &SpanningTree::maximum(cfg, weights))
    }

    /// Applies the paper's heuristic to a tree of the same graph.
    pub fn of_tree(cfg: &Cfg, weights: &EdgeWeights, tree: &SpanningTree) -> Self {
        let mut keep: Vec<bool> = cfg.closed_edges().map(|edge| !tree.contains(edge)).collect();
        let mut tree_split = split(cfg, tree);
        if let Some(mut cycles) = Cycles::new(cfg, tree) {
            let chords = heaviest_first(cfg, weights).into_iter().filter(|&edge| !tree.contains(edge));
            let pipe_free = chords.filter(|&chord| tree_split.connects(cfg, chord));
            for chord in pipe_free {
                keep[chord.index()] = !cycles.mark(chord);
            }
        }
        Self { counted: cfg.closed_edges().filter(|edge| keep[edge.index()]).collect() }
    }

    /// Counts the chords of a maximum spanning tree whose fundamental cycle has a pipe.
    pub fn unmarked(cfg: &Cfg, weights: &EdgeWeights) -> Self {
        Self::unmarked_of_tree(cfg, &SpanningTree::maximum(cfg, weights))
    }

    /// Counts the chords of a tree of the same graph whose fundamental cycle has a pipe.
    pub fn unmarked_of_tree(cfg: &Cfg, tree: &SpanningTree) -> Self {
        Self::contracted_of_tree(cfg, tree, &[])
    }

    /// Counts the chords of a maximum spanning tree whose fundamental cycle has a pipe that is not one of the `silent`
    /// blocks, whose counts are not wanted.
    pub fn contracted(cfg: &Cfg, weights: &EdgeWeights, silent: &[BlockId]) -> Self {
        Self::contracted_of_tree(cfg, &SpanningTree::maximum(cfg, weights), silent)
    }

    /// Counts the chords of a tree of the same graph whose fundamental cycle has a pipe that is not silent.
    pub fn contracted_of_tree(cfg: &Cfg, tree: &SpanningTree, silent: &[BlockId]) -> Self {
        let mut tree_split = split(cfg, tree);
        silent.iter().for_each(|&block| tree_split.contract(block));
        Self { counted: tree.chords().filter(|&chord| !tree_split.connects(cfg, chord)).collect() }
    }

    /// Returns the counter of an edge, if it has one.
    pub fn counter_of(&self, edge: EdgeId) -> Option<usize> {
        self.counted.binary_search(&edge).ok()
    }
}

/// Converts an edge plan, which is always a vertex plan.
impl From<EdgePlan> for VertexPlan {
    fn from(plan: EdgePlan) -> Self {
        Self { counted: plan.counted }
    }
}

fn split(cfg: &Cfg, tree: &SpanningTree) -> SplitGraph {
    SplitGraph::new(cfg, cfg.closed_edges().filter(|&edge| tree.contains(edge)))
}

/// The fundamental cycles of a tree, and the marked vertices.
struct Cycles<'a> {
    cfg: &'a Cfg,
    forest: RootedForest,
    depths: Vec<u32>,
    marked: Vec<bool>,
    steps: usize,
    /// The vertices of the current cycle.
    path: Vec<BlockId>,
}

impl<'a> Cycles<'a> {
    fn new(cfg: &'a Cfg, tree: &SpanningTree) -> Option<Self> {
        let forest = RootedForest::new(cfg, |edge| tree.contains(edge))?;
        let depths = forest.depths(cfg);
        let marked = vec![false; cfg.vertex_count()];
        Some(Self { cfg, forest, depths, marked, steps: 0, path: Vec::new() })
    }

    /// Marks the cycle of a chord, unless one of its vertices is already marked; returns whether it did.
    fn mark(&mut self, chord: EdgeId) -> bool {
        self.path.clear();
        let unmarked = self.walk(chord).is_some();
        if unmarked {
            self.path.iter().for_each(|vertex| self.marked[vertex.index()] = true);
        }
        unmarked
    }

    /// Collects the vertices of the cycle in `path`; returns `None` at a marked one or when the steps are used up.
    fn walk(&mut self, chord: EdgeId) -> Option<()> {
        let ends = self.cfg.edge(chord);
        let (mut a, mut b) = (ends.from, ends.to);
        self.visit(a)?;
        while a != b {
            self.visit(b)?;
            if self.depths[a.index()] > self.depths[b.index()] {
                std::mem::swap(&mut a, &mut b);
            }
            // `b` is no higher than `a`, so the cycle continues above `b`.
            b = opposite(self.cfg, self.forest.up(b)?, b);
        }
        Some(())
    }

    fn visit(&mut self, vertex: BlockId) -> Option<()> {
        self.path.push(vertex);
        self.steps += 1;
        (self.steps <= MAX_CYCLE_STEPS && !self.marked[vertex.index()]).then_some(())
    }
}
