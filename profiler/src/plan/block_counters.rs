//! Places the fewest and cheapest block counters: Vprof(Vcnt).
//!
//! Input: a [`Cfg`] and [`BlockWeights`]; later the counters of the plan, and the number of frames that ended within
//! each block. Output: the [`BlockPlan`]; the counts of all blocks, and of the calls.
//! Invariant: the counts are exact, or there is an error. The vertices of the reduced graph are classes, which blocks
//! depart from and arrive at (blocks with a common successor depart towards one class); its edges are the blocks of
//! the CFG. What departs towards a class arrives from it, so block counts are a flow in the reduced graph, and
//! nothing else is known about them. Counters on the chords of its maximum spanning tree are therefore sufficient,
//! and no other set is smaller or cheaper. A frame that ended within a block goes from the class behind the block to
//! EXIT.
//! Source: Knuth & Stevenson, *Optimal Measurement Points for Program Frequency Counts*, BIT 1973; compared in Ball &
//! Larus 1994, sections 3 and 6.2. Ours: EXIT may have a counter, which counts the calls and can therefore be placed
//! at the beginning of the function. It is used where blocks do not determine the calls (one block leads both to
//! ENTRY and to EXIT), or where the calls are fewer than what another counter would count; among equals EXIT is the
//! last to be counted.
//! Oracle: every set of blocks of small graphs, by linear algebra, and logged walks, in
//! `tests/it/block_counters.rs`.
//!
//! Example: 0 -> {1, 2} -> EXIT. Blocks 1 and 2 lie between the same two classes. Counting both determines 0, and so
//! would counting 0 and one of them.

use super::propagate::{balance, initial_excess, known_counts};
use super::split_graph::SplitGraph;
use crate::{
    BlockCounts, BlockId, BlockPlan, BlockWeights, Cfg, EdgeId, PropagateError, RootedForest, SpanningTree,
};

impl BlockPlan {
    /// Places the cheapest counters: on the chords of a maximum spanning tree of the reduced graph. A counter of EXIT
    /// counts the calls.
    pub fn cheapest(cfg: &Cfg, weights: &BlockWeights) -> Self {
        Self::chords(cfg, heaviest_first(cfg, weights).into_iter())
    }

    /// Places as many counters as [`cheapest`](Self::cheapest) at the greatest cost, for comparison.
    pub fn dearest(cfg: &Cfg, weights: &BlockWeights) -> Self {
        Self::chords(cfg, heaviest_first(cfg, weights).into_iter().rev())
    }

    /// Counts the blocks outside the tree that Kruskal's algorithm grows in this order.
    fn chords(cfg: &Cfg, order: impl Iterator<Item = BlockId>) -> Self {
        let reduced = ReducedGraph::new(cfg);
        let blocks = order.map(|block| reduced.edge_of(block));
        let tree = SpanningTree::grow(&reduced.graph, std::iter::once(reduced.return_edge()).chain(blocks));
        Self { counted: tree.chords().map(|edge| reduced.block_of(edge)).collect() }
    }
}

/// Returns all vertices by descending weight; among equals EXIT comes first, then lower numbers.
fn heaviest_first(cfg: &Cfg, weights: &BlockWeights) -> Vec<BlockId> {
    let mut vertices: Vec<BlockId> = std::iter::once(cfg.exit()).chain(cfg.blocks()).collect();
    vertices.sort_by(|&a, &b| weights.get(b).total_cmp(&weights.get(a)));
    vertices
}

/// Derives all block counts from `counters`, where counter `k` counts block `plan.counted[k]`, and `exits`, the
/// numbers of frames that ended within a block (a block may occur several times).
///
/// # Errors
/// Returns an error if the input contradicts itself or its parts do not belong together.
pub fn propagate_block_counters(
    cfg: &Cfg,
    plan: &BlockPlan,
    counters: &[u64],
    exits: &[(BlockId, u64)],
) -> Result<BlockCounts, PropagateError> {
    let reduced = ReducedGraph::new(cfg);
    let counted = plan.counted.iter().map(|&block| reduced.checked_edge_of(block));
    let counted = counted.collect::<Result<Vec<_>, _>>()?;
    let known =
        known_counts(&reduced.graph, &counted, counters).map_err(|error| reduced.blame_block(error))?;
    let tree = RootedForest::new(&reduced.graph, |edge| known[edge.index()].is_none())
        .ok_or(PropagateError::Undetermined)?;
    let excess = initial_excess(&reduced.graph, &known, &reduced.exits(exits)?)?;
    let counts =
        balance(&reduced.graph, &tree, &known, excess).map_err(|error| reduced.blame_block(error))?;
    let count = |vertex: BlockId| BlockCounts::check(vertex, counts[reduced.edge_of(vertex).index()]);
    let blocks = cfg.blocks().map(count).collect::<Result<Vec<_>, _>>()?;
    check_exits(&blocks, exits)?;
    // The return count must be possible too, although it is not part of the result.
    BlockCounts::check(cfg.exit(), counts[reduced.return_edge().index()])?;
    Ok(BlockCounts { blocks, entries: count(cfg.exit())? })
}

/// Checks that no more frames ended in a block than began it. The exits must be of blocks.
fn check_exits(blocks: &[u64], exits: &[(BlockId, u64)]) -> Result<(), PropagateError> {
    let mut left: Vec<i128> = blocks.iter().map(|&count| i128::from(count)).collect();
    exits.iter().for_each(|&(block, count)| left[block.index()] -= i128::from(count));
    match left.iter().position(|&left| left < 0) {
        Some(block) => Err(PropagateError::Imbalance { block: BlockId::new(block), excess: left[block] }),
        None => Ok(()),
    }
}

/// The graph of classes (vertices) and blocks (edges), in the form of a [`Cfg`], so that the spanning trees and the
/// propagation of edge counters apply.
struct ReducedGraph {
    /// The ENTRY of this graph is the class through which control arrives at ENTRY. Edge `b` is block `b` of the CFG.
    /// The last edge leads from the class through which control arrives at EXIT to this graph's EXIT, and counts the
    /// returns; the closing edge counts the calls.
    graph: Cfg,
}

impl ReducedGraph {
    fn new(cfg: &Cfg) -> Self {
        let mut halves = SplitGraph::new(cfg, cfg.closed_edges());
        let mut classes = Classes { numbers: vec![None; 2 * cfg.vertex_count()], next: 0 };
        classes.number(halves.arrival(BlockId::ENTRY));
        let mut edges: Vec<(BlockId, BlockId)> = Vec::with_capacity(cfg.vertex_count());
        for block in cfg.blocks() {
            let from = classes.number(halves.arrival(block));
            edges.push((from, classes.number(halves.departure(block))));
        }
        let returns = classes.number(halves.arrival(cfg.exit()));
        edges.push((returns, BlockId(classes.next)));
        Self { graph: Cfg::assemble(classes.next, &edges) }
    }

    fn return_edge(&self) -> EdgeId {
        EdgeId::new(self.graph.edge_count() - 1)
    }

    /// Returns the edge that stands for a block, or for EXIT.
    fn edge_of(&self, vertex: BlockId) -> EdgeId {
        let exit = self.return_edge().0;
        if vertex.0 == exit { self.graph.closing_edge() } else { EdgeId(vertex.0) }
    }

    fn checked_edge_of(&self, vertex: BlockId) -> Result<EdgeId, PropagateError> {
        let known = vertex.0 <= self.return_edge().0;
        known.then(|| self.edge_of(vertex)).ok_or(PropagateError::BadBlockPlan(vertex))
    }

    /// Returns the block, or EXIT, for which an edge stands.
    fn block_of(&self, edge: EdgeId) -> BlockId {
        BlockId(edge.0.min(self.return_edge().0))
    }

    /// Converts frames that ended in a block to frames that ended in the class that the block departs to.
    fn exits(&self, exits: &[(BlockId, u64)]) -> Result<Vec<(BlockId, u64)>, PropagateError> {
        let class = |&(block, count): &(BlockId, u64)| match block.0 < self.return_edge().0 {
            true => Ok((self.graph.edge(self.edge_of(block)).to, count)),
            false => Err(PropagateError::BadExit(block)),
        };
        exits.iter().map(class).collect()
    }

    /// Translates an error about the reduced graph to the blocks of the CFG.
    fn blame_block(&self, error: PropagateError) -> PropagateError {
        match error {
            PropagateError::BadPlan(edge) => PropagateError::BadBlockPlan(self.block_of(edge)),
            PropagateError::Imbalance { block: class, excess } => {
                let touches = |&edge: &EdgeId| {
                    let ends = self.graph.edge(edge);
                    ends.from == class || ends.to == class
                };
                let edge = self.graph.closed_edges().find(touches).unwrap_or(self.graph.closing_edge());
                PropagateError::Imbalance { block: self.block_of(edge), excess }
            }
            other => other,
        }
    }
}

/// Dense numbers of classes, in order of first use.
struct Classes {
    /// By representative half: the number of its class.
    numbers: Vec<Option<BlockId>>,
    next: u32,
}

impl Classes {
    fn number(&mut self, half: usize) -> BlockId {
        let next = &mut self.next;
        *self.numbers[half].get_or_insert_with(|| {
            *next += 1;
            BlockId(*next - 1)
        })
    }
}
