//! The control-flow graph of one function.
//!
//! Input: a number of blocks and a list of edges. Output: ordered successors and predecessors.
//! Invariant: blocks are `0..n`, block 0 is ENTRY, and EXIT is the virtual vertex `n`. The closing edge EXIT -> ENTRY
//! is implicit and has the id after the last real edge, so that an execution is a circulation. Any graph is accepted:
//! irreducible, with parallel edges, self loops, blocks that no path reaches, and blocks from which no path reaches
//! EXIT (a block without successors can only trap).
//! Source: Ball & Larus 1994, section 2. The paper demands a path from every vertex to EXIT; we do not, because the
//! counts of frames that ended in mid-block are given (see [`propagate`](crate::plan::propagate)).
//! Oracle: `tests/it/cfg.rs`.

use super::csr::Adjacency;
use crate::fnv::Fnv64;
use crate::{BlockId, EdgeId};

/// A directed edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    /// Block that control leaves.
    pub from: BlockId,
    /// Block that control enters; EXIT for a return.
    pub to: BlockId,
}

/// A control-flow graph, immutable once built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cfg {
    /// Number of real blocks, at least 1.
    blocks: u32,
    /// The real edges in the order given, then the closing edge.
    edges: Vec<Edge>,
    /// Real edges by source.
    out: Adjacency,
    /// Real edges by target.
    into: Adjacency,
}

/// Why a list of edges is not a control-flow graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CfgError {
    /// There is no block 0.
    #[error("a control-flow graph needs at least the entry block")]
    NoEntry,
    /// An edge leaves EXIT or a block that does not exist.
    #[error("edge {edge} leaves {from}, but the real blocks are b0..b{blocks}")]
    BadSource {
        /// Position of the edge in the list.
        edge: usize,
        /// Source of the edge.
        from: BlockId,
        /// Number of real blocks.
        blocks: u32,
    },
    /// An edge enters a block that does not exist.
    #[error("edge {edge} enters {to}, but the last vertex is the exit b{blocks}")]
    BadTarget {
        /// Position of the edge in the list.
        edge: usize,
        /// Target of the edge.
        to: BlockId,
        /// Number of real blocks, which is the id of EXIT.
        blocks: u32,
    },
    /// The ids would not fit 32 bits.
    #[error("a control-flow graph may have at most 2^30 blocks and edges")]
    TooLarge,
}

/// A quarter of the id space, so that an undirected adjacency still has 32-bit positions, and the graph whose
/// vertices are split in two has 32-bit ids.
const MAX_IDS: usize = 1 << 30;

impl Cfg {
    /// Builds the graph of `blocks` real blocks; EXIT is `BlockId(blocks)`.
    ///
    /// # Errors
    /// Returns an error for an edge from EXIT, an edge to or from a block that does not exist, no block at all, or
    /// too many blocks or edges.
    pub fn new(blocks: u32, edges: &[(BlockId, BlockId)]) -> Result<Self, CfgError> {
        check(blocks, edges)?;
        Ok(Self::assemble(blocks, edges))
    }

    /// Builds a graph that is known to be valid.
    pub(crate) fn assemble(blocks: u32, edges: &[(BlockId, BlockId)]) -> Self {
        let exit = BlockId(blocks);
        let closing = Edge { from: exit, to: BlockId::ENTRY };
        let edges: Vec<Edge> = edges.iter().map(|&(from, to)| Edge { from, to }).chain([closing]).collect();
        let vertices = blocks as usize + 1;
        let real = || edges[..edges.len() - 1].iter().enumerate();
        let out = Adjacency::new(vertices, real().map(|(e, edge)| (edge.from, EdgeId::new(e))));
        let into = Adjacency::new(vertices, real().map(|(e, edge)| (edge.to, EdgeId::new(e))));
        Self { blocks, edges, out, into }
    }

    /// Builds a graph from plain numbers; see [`Cfg::new`].
    ///
    /// # Errors
    /// Returns the errors of [`Cfg::new`].
    pub fn from_pairs(blocks: u32, edges: &[(u32, u32)]) -> Result<Self, CfgError> {
        let edges: Vec<_> = edges.iter().map(|&(from, to)| (BlockId(from), BlockId(to))).collect();
        Self::new(blocks, &edges)
    }

    /// Returns the virtual exit, one past the last real block.
    #[inline]
    pub fn exit(&self) -> BlockId {
        BlockId(self.blocks)
    }

    /// Returns the implicit edge EXIT -> ENTRY, one past the last real edge. Its count is the number of calls.
    pub fn closing_edge(&self) -> EdgeId {
        EdgeId::new(self.edge_count())
    }

    /// Returns the number of real blocks.
    pub fn block_count(&self) -> usize {
        self.blocks as usize
    }

    /// Returns the number of vertices: the real blocks and EXIT.
    pub fn vertex_count(&self) -> usize {
        self.block_count() + 1
    }

    /// Returns the number of real edges.
    pub fn edge_count(&self) -> usize {
        self.edges.len() - 1
    }

    /// Iterates over the real blocks, ENTRY first.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = BlockId> + DoubleEndedIterator + use<> {
        (0..self.blocks).map(BlockId)
    }

    /// Iterates over the real edges in the order given.
    pub fn edges(&self) -> impl ExactSizeIterator<Item = EdgeId> + DoubleEndedIterator + use<> {
        (0..self.closing_edge().0).map(EdgeId)
    }

    /// Iterates over the real edges, then the closing edge.
    pub fn closed_edges(&self) -> impl Iterator<Item = EdgeId> + Clone + use<> {
        (0..=self.closing_edge().0).map(EdgeId)
    }

    /// Returns both ends of an edge.
    pub fn edge(&self, edge: EdgeId) -> Edge {
        self.edges[edge.index()]
    }

    /// Returns the real edges that leave a vertex, in order; none for EXIT.
    pub fn out_edges(&self, vertex: BlockId) -> &[EdgeId] {
        self.out.row(vertex)
    }

    /// Returns the real edges that enter a vertex, in order.
    pub fn in_edges(&self, vertex: BlockId) -> &[EdgeId] {
        self.into.row(vertex)
    }

    /// Iterates over the targets of [`out_edges`](Self::out_edges), repeated where edges are parallel.
    pub fn successors(&self, vertex: BlockId) -> impl ExactSizeIterator<Item = BlockId> {
        self.out_edges(vertex).iter().map(|&edge| self.edge(edge).to)
    }

    /// Iterates over the sources of [`in_edges`](Self::in_edges), repeated where edges are parallel.
    pub fn predecessors(&self, vertex: BlockId) -> impl ExactSizeIterator<Item = BlockId> {
        self.in_edges(vertex).iter().map(|&edge| self.edge(edge).from)
    }

    /// Reports whether code on this edge needs a block of its own: its source has other successors and its target has
    /// other predecessors (ENTRY has the caller).
    pub fn is_critical(&self, edge: EdgeId) -> bool {
        let Edge { from, to } = self.edge(edge);
        let arrivals = self.in_edges(to).len() + usize::from(to == BlockId::ENTRY);
        self.out_edges(from).len() > 1 && arrivals > 1
    }

    /// Returns a number that tells shapes apart and is the same in every run and on every platform.
    pub fn fingerprint(&self) -> u64 {
        let hash = Fnv64::new().bytes(b"cfg1").u32(self.blocks);
        self.edges.iter().fold(hash, |hash, edge| hash.u32(edge.from.0).u32(edge.to.0)).finish()
    }

    /// Checks the stored rows against the edge list.
    ///
    /// # Panics
    /// Panics if an invariant is broken, which is a bug in this crate.
    pub fn verify(&self) {
        let closing = self.edge(self.closing_edge());
        assert_eq!(closing, Edge { from: self.exit(), to: BlockId::ENTRY });
        let vertices = || self.blocks().chain([self.exit()]);
        for vertex in vertices() {
            assert!(self.out_edges(vertex).iter().all(|&edge| self.edge(edge).from == vertex));
            assert!(self.in_edges(vertex).iter().all(|&edge| self.edge(edge).to == vertex));
            assert!(self.out_edges(vertex).is_sorted() && self.in_edges(vertex).is_sorted());
        }
        assert_eq!(vertices().map(|v| self.out_edges(v).len()).sum::<usize>(), self.edge_count());
        assert_eq!(vertices().map(|v| self.in_edges(v).len()).sum::<usize>(), self.edge_count());
    }
}

fn check(blocks: u32, edges: &[(BlockId, BlockId)]) -> Result<(), CfgError> {
    if blocks == 0 {
        return Err(CfgError::NoEntry);
    }
    if blocks as usize >= MAX_IDS || edges.len() >= MAX_IDS {
        return Err(CfgError::TooLarge);
    }
    for (edge, &(from, to)) in edges.iter().enumerate() {
        if from.0 >= blocks {
            return Err(CfgError::BadSource { edge, from, blocks });
        }
        if to.0 > blocks {
            return Err(CfgError::BadTarget { edge, to, blocks });
        }
    }
    Ok(())
}
