//! Derives all block counts from the counters of a vertex profile.
//!
//! Input: a [`Cfg`], the [`VertexPlan`] that was compiled, its counters, and the number of frames that ended within
//! each block. Output: the counts of all blocks, and of the calls.
//! Invariant: the counts are exact, or there is an error; near-linear time. Each cycle without a counter is broken at
//! one edge, which is given the count 0. The other edges of the cycle may get negative counts as a result, but since
//! the cycle has no pipe, the sums at its vertices stay right. A plan that leaves a piped cycle is rejected. Edges on
//! no such cycle are as certain as those of an edge profile, and are checked like them. Silent blocks (see
//! [`VertexPlan`]) get the count 0, whatever their plan tells of them.
//! Source: Ball & Larus 1994, section 3.3. Ours: the check for pipes, and which counts may be negative.
//! Oracle: counting the blocks of logged walks, in `tests/it/vertex_profile.rs`.
//!
//! Example: 0 -> {1, 2}, 1 -> {3, 4} <- 2, {3, 4} -> EXIT, broken at 2 -> 4. Everything that enters 2 is attributed
//! to 2 -> 3, and 1 -> 3 compensates for the excess at 3.

use serde::{Deserialize, Serialize};

use super::propagate::{balance, initial_excess, known_counts};
use super::spanning_tree::opposite;
use super::split_graph::SplitGraph;
use crate::graph::union_find::UnionFind;
use crate::{BlockId, Cfg, EdgeId, PropagateError, RootedForest, SpanningTree, VertexPlan};

/// Exact block counts of one function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockCounts {
    /// By real block: how often it began.
    pub blocks: Vec<u64>,
    /// Calls of the function.
    pub entries: u64,
}

impl BlockCounts {
    /// Checks that a count of a block, or of EXIT, is possible.
    pub(crate) fn check(block: BlockId, count: i128) -> Result<u64, PropagateError> {
        if count < 0 {
            return Err(PropagateError::ImpossibleBlock { block, count });
        }
        u64::try_from(count).map_err(|_| PropagateError::Overflow(block))
    }
}

/// Derives all block counts from `counters`, where counter `k` counts edge `plan.counted[k]`, and `exits`, the
/// numbers of frames that ended within a block (a block may occur several times).
///
/// # Errors
/// Returns an error if the input contradicts itself or its parts do not belong together, or if the plan does not
/// determine the block counts.
pub fn propagate_blocks(
    cfg: &Cfg,
    plan: &VertexPlan,
    counters: &[u64],
    exits: &[(BlockId, u64)],
) -> Result<BlockCounts, PropagateError> {
    propagate_contracted(cfg, plan, &[], counters, exits)
}

/// Derives the counts of all blocks but the silent ones, which get the count 0, as [`propagate_blocks`] does.
///
/// # Errors
/// Returns an error as [`propagate_blocks`] does, or if a silent block does not exist.
pub fn propagate_contracted(
    cfg: &Cfg,
    plan: &VertexPlan,
    silent: &[BlockId],
    counters: &[u64],
    exits: &[(BlockId, u64)],
) -> Result<BlockCounts, PropagateError> {
    let mut is_silent = vec![false; cfg.vertex_count()];
    for &block in silent {
        *is_silent.get_mut(block.index()).ok_or(PropagateError::BadExit(block))? = true;
    }
    let mut known = known_counts(cfg, &plan.counted, counters)?;
    let tree = SpanningTree::grow(cfg, uncounted(cfg, &known));
    let broken: Vec<EdgeId> = uncounted(cfg, &known).filter(|&edge| !tree.contains(edge)).collect();
    let mut halves = SplitGraph::new(cfg, cfg.closed_edges().filter(|&edge| tree.contains(edge)));
    silent.iter().for_each(|&block| halves.contract(block));
    if !broken.iter().all(|&edge| halves.connects(cfg, edge)) {
        return Err(PropagateError::Undetermined);
    }
    broken.iter().for_each(|edge| known[edge.index()] = Some(0));
    let forest = RootedForest::new(cfg, |edge| tree.contains(edge)).ok_or(PropagateError::Undetermined)?;
    let excess = initial_excess(cfg, &known, exits)?;
    let edges = balance(cfg, &forest, &known, excess)?;
    check_edges(cfg, &is_silent, &on_broken_cycles(cfg, &forest, &broken), &edges)?;
    sum_blocks(cfg, &is_silent, &edges)
}

/// Iterates over the edges without a counter, the closing edge first, so that it stays in the tree.
fn uncounted(cfg: &Cfg, known: &[Option<u64>]) -> impl Iterator<Item = EdgeId> {
    let edges = std::iter::once(cfg.closing_edge()).chain(cfg.edges());
    edges.filter(|edge| known[edge.index()].is_none())
}

/// Returns by edge whether it lies on a broken cycle, so that its count is arbitrary.
fn on_broken_cycles(cfg: &Cfg, forest: &RootedForest, broken: &[EdgeId]) -> Vec<bool> {
    let depths = forest.depths(cfg);
    let mut found = vec![false; cfg.edge_count() + 1];
    // The ends of tree edges found so far form sets, represented by the highest vertex, so no edge is walked twice.
    let mut joined = UnionFind::new(cfg.vertex_count());
    for &edge in broken {
        found[edge.index()] = true;
        let ends = cfg.edge(edge);
        let (mut a, mut b) = (joined.find(ends.from.index()), joined.find(ends.to.index()));
        while a != b {
            if depths[a] > depths[b] {
                std::mem::swap(&mut a, &mut b);
            }
            let lower = BlockId::new(b);
            let Some(up) = forest.up(lower) else { break };
            found[up.index()] = true;
            let above = joined.find(opposite(cfg, up, lower).index());
            joined.absorb(above, b);
            b = above;
        }
    }
    found
}

/// Rejects impossible counts: negative ones of single edges where these are certain, otherwise negative sums of the
/// edges of broken cycles that enter, or leave, a vertex that is not silent.
fn check_edges(
    cfg: &Cfg,
    is_silent: &[bool],
    arbitrary: &[bool],
    edges: &[i128],
) -> Result<(), PropagateError> {
    for edge in cfg.closed_edges().filter(|edge| !arbitrary[edge.index()]) {
        let count = edges[edge.index()];
        u64::try_from(count).map_err(|_| PropagateError::Contradiction { edge, count })?;
    }
    let together = |row: &[EdgeId]| {
        let mut free = row.iter().copied().filter(|edge| arbitrary[edge.index()]).peekable();
        let first = free.peek().copied();
        let count = free.map(|edge| edges[edge.index()]).sum::<i128>();
        match first {
            Some(edge) if count < 0 => Err(PropagateError::Contradiction { edge, count }),
            _ => Ok(()),
        }
    };
    let wanted = || cfg.blocks().filter(|block| !is_silent[block.index()]);
    wanted().try_for_each(|block| together(cfg.out_edges(block)))?;
    wanted().chain([cfg.exit()]).try_for_each(|vertex| together(cfg.in_edges(vertex)))
}

/// Sums what entered each block that is not silent. The calls are certain: EXIT is left by the closing edge only, so every cycle through
/// that edge has a pipe.
fn sum_blocks(cfg: &Cfg, is_silent: &[bool], edges: &[i128]) -> Result<BlockCounts, PropagateError> {
    let entries = edges[cfg.closing_edge().index()];
    let arrivals = |block: BlockId| {
        if is_silent[block.index()] {
            return Ok(0);
        }
        let called = if block == BlockId::ENTRY { entries } else { 0 };
        let sum = cfg.in_edges(block).iter().map(|edge| edges[edge.index()]).sum::<i128>();
        BlockCounts::check(block, called + sum)
    };
    let blocks = cfg.blocks().map(arrivals).collect::<Result<_, _>>()?;
    Ok(BlockCounts { blocks, entries: BlockCounts::check(cfg.exit(), entries)? })
}
