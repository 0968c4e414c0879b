//! Spanning trees of the closed, undirected CFG.
//!
//! Input: a [`Cfg`] and [`EdgeWeights`]. Output: the edges of a maximum (or minimum) spanning tree, the others being
//! the chords; and a tree's vertices ordered from its roots to its leaves.
//! Invariant: the closing edge is in the tree, so it needs no counter. Vertices that no undirected path connects with
//! ENTRY get trees of their own. Equal input gives equal trees. O(E log E).
//! Source: Ball & Larus 1994, section 3.1; Kruskal, *On the Shortest Spanning Subtree*, 1956. Ours: among edges of
//! equal weight critical ones enter the tree first (a counter there would need a block of its own), then lower
//! numbers.
//! Oracle: petgraph's tree weight, and all trees of small graphs, in `tests/it/spanning_tree.rs`.

use crate::graph::csr::Adjacency;
use crate::graph::union_find::UnionFind;
use crate::{BlockId, Cfg, EdgeId, EdgeWeights};

/// The edges of a spanning tree (a forest, if the closed graph is not connected).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanningTree {
    /// By edge, the closing edge last: whether it is in the tree.
    members: Vec<bool>,
}

impl SpanningTree {
    /// Grows a tree of greatest weight among those with the closing edge.
    pub fn maximum(cfg: &Cfg, weights: &EdgeWeights) -> Self {
        Self::maximum_without(cfg, weights, |_| false)
    }

    /// Grows a tree of greatest weight among those without the `banned` edges and with the closing edge, unless that
    /// is banned too.
    pub(crate) fn maximum_without(cfg: &Cfg, weights: &EdgeWeights, banned: impl Fn(EdgeId) -> bool) -> Self {
        let order = std::iter::once(cfg.closing_edge()).chain(heaviest_first(cfg, weights));
        Self::grow(cfg, order.filter(|&edge| !banned(edge)))
    }

    /// Grows a tree of least weight among those with the closing edge. Its chords are the worst places for counters
    /// (Ball & Larus 1994, section 6.1, which uses them to assess the weighting).
    pub fn minimum(cfg: &Cfg, weights: &EdgeWeights) -> Self {
        let lightest_first = heaviest_first(cfg, weights).into_iter().rev();
        Self::grow(cfg, std::iter::once(cfg.closing_edge()).chain(lightest_first))
    }

    /// Runs Kruskal's algorithm: takes the edges in this order, except those that would close a cycle.
    pub(crate) fn grow(cfg: &Cfg, order: impl Iterator<Item = EdgeId>) -> Self {
        let mut sets = UnionFind::new(cfg.vertex_count());
        let mut members = vec![false; cfg.edge_count() + 1];
        for edge in order {
            let ends = cfg.edge(edge);
            members[edge.index()] = sets.unite(ends.from.index(), ends.to.index());
        }
        let tree = Self { members };
        debug_assert!(RootedForest::new(cfg, |edge| tree.contains(edge)).is_some());
        tree
    }

    /// Reports whether an edge is in the tree.
    pub fn contains(&self, edge: EdgeId) -> bool {
        self.members[edge.index()]
    }

    /// Iterates over the edges outside the tree, by number.
    pub fn chords(&self) -> impl Iterator<Item = EdgeId> {
        let outside = self.members.iter().enumerate().filter(|&(_, &member)| !member);
        outside.map(|(edge, _)| EdgeId::new(edge))
    }
}

/// Returns the real edges in the order of the greedy algorithm.
pub(crate) fn heaviest_first(cfg: &Cfg, weights: &EdgeWeights) -> Vec<EdgeId> {
    let mut edges: Vec<EdgeId> = cfg.edges().collect();
    edges.sort_by(|&a, &b| {
        let heavier = weights.get(b).total_cmp(&weights.get(a));
        heavier.then_with(|| cfg.is_critical(b).cmp(&cfg.is_critical(a))).then(a.cmp(&b))
    });
    edges
}

/// A tree rooted at ENTRY (and further trees at their least vertex).
#[derive(Clone, Debug)]
pub struct RootedForest {
    /// All vertices, each after its parent.
    order: Vec<BlockId>,
    /// By vertex: the edge to its parent; none at a root.
    up: Vec<Option<EdgeId>>,
}

impl RootedForest {
    /// Roots the edges that `member` accepts; returns `None` if they contain an undirected cycle.
    pub fn new(cfg: &Cfg, member: impl Fn(EdgeId) -> bool) -> Option<Self> {
        let members = cfg.closed_edges().filter(|&edge| member(edge));
        let ends = members.flat_map(|edge| {
            let ends = cfg.edge(edge);
            [(ends.from, edge), (ends.to, edge)]
        });
        let adjacency = Adjacency::new(cfg.vertex_count(), ends.collect::<Vec<_>>().into_iter());
        let mut forest =
            Self { order: Vec::with_capacity(cfg.vertex_count()), up: vec![None; cfg.vertex_count()] };
        let mut reached = vec![false; cfg.vertex_count()];
        for root in cfg.blocks().chain([cfg.exit()]) {
            if !reached[root.index()] {
                forest.hang(cfg, &adjacency, root, &mut reached)?;
            }
        }
        Some(forest)
    }

    /// Adds the tree of `root` in breadth-first order; returns `None` at a cycle.
    fn hang(&mut self, cfg: &Cfg, adjacency: &Adjacency, root: BlockId, reached: &mut [bool]) -> Option<()> {
        let mut next = self.order.len();
        reached[root.index()] = true;
        self.order.push(root);
        while let Some(&vertex) = self.order.get(next) {
            next += 1;
            for &edge in adjacency.row(vertex) {
                if self.up[vertex.index()] == Some(edge) {
                    continue;
                }
                let below = opposite(cfg, edge, vertex);
                if std::mem::replace(&mut reached[below.index()], true) {
                    return None;
                }
                self.up[below.index()] = Some(edge);
                self.order.push(below);
            }
        }
        Some(())
    }

    /// Returns all vertices, each after its parent.
    pub fn order(&self) -> &[BlockId] {
        &self.order
    }

    /// Returns by vertex its depth in edges below its root.
    pub(crate) fn depths(&self, cfg: &Cfg) -> Vec<u32> {
        let mut depths = vec![0; self.up.len()];
        for &vertex in &self.order {
            if let Some(edge) = self.up(vertex) {
                depths[vertex.index()] = depths[opposite(cfg, edge, vertex).index()] + 1;
            }
        }
        depths
    }

    /// Returns the edge to the parent of a vertex; none at a root.
    pub fn up(&self, vertex: BlockId) -> Option<EdgeId> {
        self.up[vertex.index()]
    }
}

/// Returns the other end of an edge.
pub(crate) fn opposite(cfg: &Cfg, edge: EdgeId, vertex: BlockId) -> BlockId {
    let ends = cfg.edge(edge);
    if ends.from == vertex { ends.to } else { ends.from }
}
