//! One depth-first search of a CFG from ENTRY.
//!
//! Input: a [`Cfg`]. Output: preorder, reverse postorder, and the edges that go back.
//! Invariant: successors are visited in order; without its back edges the reachable graph is acyclic
//! and reverse postorder sorts it topologically. Linear time, no recursion.
//! Source: Ball & Larus 1994, section 5 ("one DFS finds the back edges"). A *back edge* here is any edge
//! to an ancestor in the depth-first tree: in a reducible graph (all that wasm code can make) these are
//! the edges whose target dominates their source; in an irreducible one they depend on edge order.
//! Oracle: `tests/it/depth_first.rs`.

use crate::{BlockId, Cfg, EdgeId};

/// The order in which a search met the vertices.
#[derive(Clone, Debug)]
pub struct DepthFirst {
    /// Reached vertices in the order they were met; position is the preorder number.
    preorder: Vec<BlockId>,
    /// Reached vertices in reverse of the order they were left.
    reverse_postorder: Vec<BlockId>,
    /// Preorder number of each vertex, `UNREACHED` if no path from ENTRY reaches it.
    number: Vec<u32>,
    /// By preorder number: one past the last number in the vertex's subtree.
    end: Vec<u32>,
    /// By preorder number: preorder number of the tree parent (the root is its own).
    parent: Vec<u32>,
}

const UNREACHED: u32 = u32::MAX;

impl DepthFirst {
    /// Searches `cfg` from ENTRY along its real edges; EXIT is a vertex like the others.
    pub fn new(cfg: &Cfg) -> Self {
        let vertices = cfg.vertex_count();
        let mut search = Self {
            preorder: Vec::with_capacity(vertices),
            reverse_postorder: Vec::with_capacity(vertices),
            number: vec![UNREACHED; vertices],
            end: vec![0; vertices],
            parent: vec![0; vertices],
        };
        search.run(cfg);
        search.reverse_postorder.reverse();
        search
    }

    fn run(&mut self, cfg: &Cfg) {
        // The path from the root, each vertex with the edges not yet followed.
        let mut path = Vec::new();
        self.enter(BlockId::ENTRY, 0);
        path.push((BlockId::ENTRY, cfg.out_edges(BlockId::ENTRY).iter()));
        while let Some((vertex, edges)) = path.last_mut() {
            let vertex = *vertex;
            match edges.next() {
                Some(&edge) => {
                    let to = cfg.edge(edge).to;
                    if !self.is_reachable(to) {
                        self.enter(to, self.number[vertex.index()]);
                        path.push((to, cfg.out_edges(to).iter()));
                    }
                }
                None => {
                    self.leave(vertex);
                    path.pop();
                }
            }
        }
    }

    fn enter(&mut self, vertex: BlockId, parent: u32) {
        let number = BlockId::new(self.preorder.len()).0;
        self.number[vertex.index()] = number;
        self.parent[number as usize] = parent;
        self.preorder.push(vertex);
    }

    fn leave(&mut self, vertex: BlockId) {
        self.end[self.number[vertex.index()] as usize] = BlockId::new(self.preorder.len()).0;
        self.reverse_postorder.push(vertex);
    }

    /// The reached vertices in the order they were met.
    pub fn preorder(&self) -> &[BlockId] {
        &self.preorder
    }

    /// The reached vertices, sources of non-back edges before their targets.
    pub fn reverse_postorder(&self) -> &[BlockId] {
        &self.reverse_postorder
    }

    /// Whether a path from ENTRY reaches this vertex.
    pub fn is_reachable(&self, vertex: BlockId) -> bool {
        self.number[vertex.index()] != UNREACHED
    }

    /// Whether `ancestor` is `vertex` or above it in the depth-first tree.
    pub fn is_ancestor(&self, ancestor: BlockId, vertex: BlockId) -> bool {
        let (above, below) = (self.number[ancestor.index()], self.number[vertex.index()]);
        above != UNREACHED && above <= below && below < self.end[above as usize]
    }

    /// Whether a real edge goes from a vertex to one of its ancestors (or to itself).
    pub fn is_back_edge(&self, cfg: &Cfg, edge: EdgeId) -> bool {
        let edge = cfg.edge(edge);
        self.is_ancestor(edge.to, edge.from)
    }

    /// The back edges, by number. The closing edge is not among them.
    pub fn back_edges(&self, cfg: &Cfg) -> Vec<EdgeId> {
        cfg.edges().filter(|&edge| self.is_back_edge(cfg, edge)).collect()
    }

    /// Preorder number of a reached vertex.
    pub(crate) fn number(&self, vertex: BlockId) -> Option<usize> {
        self.is_reachable(vertex).then(|| self.number[vertex.index()] as usize)
    }

    /// By preorder number: the number of the tree parent; the root is its own parent.
    pub(crate) fn parents(&self) -> &[u32] {
        &self.parent[..self.preorder.len()]
    }
}
