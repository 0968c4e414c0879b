//! Depth-first search of a CFG from ENTRY.
//!
//! Input: a [`Cfg`]. Output: preorder, reverse postorder, and the back edges.
//! Invariant: successors are visited in order. Without its back edges the reachable graph is acyclic, and reverse
//! postorder sorts it topologically. Linear time, no recursion.
//! Source: Ball & Larus 1994, section 5 ("one DFS finds the back edges"). A *back edge* here is any edge to an
//! ancestor in the depth-first tree. In a reducible graph (all that wasm code can make) these are the edges whose
//! target dominates their source; in an irreducible graph they depend on the edge order.
//! Oracle: `tests/it/depth_first.rs`.

use crate::{BlockId, Cfg, EdgeId};

/// The orders in which a search visited the vertices.
#[derive(Clone, Debug)]
pub struct DepthFirst {
    /// Reached vertices in the order of discovery; the position is the preorder number.
    preorder: Vec<BlockId>,
    /// Reached vertices in reverse order of completion.
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

    /// Returns the reached vertices in the order of discovery.
    pub fn preorder(&self) -> &[BlockId] {
        &self.preorder
    }

    /// Returns the reached vertices in reverse postorder: sources of non-back edges before their targets.
    pub fn reverse_postorder(&self) -> &[BlockId] {
        &self.reverse_postorder
    }

    /// Reports whether a path from ENTRY reaches this vertex.
    pub fn is_reachable(&self, vertex: BlockId) -> bool {
        self.number[vertex.index()] != UNREACHED
    }

    /// Reports whether `ancestor` is `vertex` or above it in the depth-first tree.
    pub fn is_ancestor(&self, ancestor: BlockId, vertex: BlockId) -> bool {
        let (above, below) = (self.number[ancestor.index()], self.number[vertex.index()]);
        above != UNREACHED && above <= below && below < self.end[above as usize]
    }

    /// Reports whether a real edge goes from a vertex to one of its ancestors (or to itself).
    pub fn is_back_edge(&self, cfg: &Cfg, edge: EdgeId) -> bool {
        let edge = cfg.edge(edge);
        self.is_ancestor(edge.to, edge.from)
    }

    /// Returns the back edges, by number. The closing edge is not among them.
    pub fn back_edges(&self, cfg: &Cfg) -> Vec<EdgeId> {
        cfg.edges().filter(|&edge| self.is_back_edge(cfg, edge)).collect()
    }

    /// Returns the preorder number of a reached vertex.
    pub(crate) fn number(&self, vertex: BlockId) -> Option<usize> {
        self.is_reachable(vertex).then(|| self.number[vertex.index()] as usize)
    }

    /// Returns by preorder number the number of the tree parent; the root is its own parent.
    pub(crate) fn parents(&self) -> &[u32] {
        &self.parent[..self.preorder.len()]
    }
}
