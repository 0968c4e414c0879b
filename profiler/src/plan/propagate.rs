//! Derives all counts from the counters on the chords.
//!
//! Input: a [`Cfg`], the [`EdgePlan`] that was compiled, its counters, and the number of frames that ended within
//! each block (by a trap, `proc_exit` or an interrupt, or still running when the counters were copied).
//! Output: the counts of all edges and blocks, and of the calls.
//! Invariant: the counts are exact, or there is an error; one pass over the edges and one over the tree, leaves
//! first. At each vertex the incoming counts equal the outgoing ones; frames that ended in a block leave it by a
//! pseudo edge to EXIT whose count is known. A block without successors (it can only trap) needs no special case.
//! Source: Ball & Larus 1994, sections 3.1 and 3.2.
//! Oracle: counting the edges of logged walks, in `tests/it/edge_profile.rs`.
//!
//! Example: ENTRY -> b1 -> EXIT and b1 -> b1, where the self loop is counted. 5 rounds and one trap in b1 imply a
//! count of 1 for ENTRY -> b1, 0 for b1 -> EXIT, and one call.

use crate::limits::MAX_PATH_STEPS;
use crate::{BlockId, Cfg, EdgeCounts, EdgeId, EdgePlan, RootedForest};

/// Why counters cannot come from a run of the graph, or belong to another plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PropagateError {
    /// The number of counters differs from the number of counted edges.
    #[error("the plan has {expected} counters, but {found} were given: they belong to another plan")]
    WrongCounters {
        /// Number of counted edges of the plan.
        expected: usize,
        /// Number of counters given.
        found: usize,
    },
    /// A counted edge is not in the graph or is counted twice.
    #[error("the plan counts {0}, which is not in the graph or counted twice: it belongs to another graph")]
    BadPlan(EdgeId),
    /// The edges without a counter contain a cycle, so the counters do not determine the counts.
    #[error("the edges without a counter form a cycle: the plan belongs to another graph")]
    Undetermined,
    /// A frame ended in a block that does not exist.
    #[error("a frame ended in {0}, which is not a block of the graph")]
    BadExit(BlockId),
    /// The flow law gives an edge a negative count or one beyond 64 bits.
    #[error("the counters contradict each other: {edge} would have run {count} times")]
    Contradiction {
        /// The edge, which has no counter.
        edge: EdgeId,
        /// Its impossible count; on a broken cycle, the sum over its edges at one vertex.
        count: i128,
    },
    /// The flow law fails at a vertex whose edges all have known counts.
    #[error("the counters contradict each other: {excess} more entered {block} than left it")]
    Imbalance {
        /// The vertex.
        block: BlockId,
        /// Arrivals minus departures.
        excess: i128,
    },
    /// The flow law gives a block a negative count.
    #[error("the counters contradict each other: {block} would have run {count} times")]
    ImpossibleBlock {
        /// The block, or EXIT for the calls.
        block: BlockId,
        /// Its impossible count.
        count: i128,
    },
    /// A counted block is not in the graph or is counted twice.
    #[error("the plan counts {0}, which is not in the graph or counted twice: it belongs to another graph")]
    BadBlockPlan(BlockId),
    /// A path number does not exist.
    #[error("there is no path {0}: the profile belongs to another graph")]
    UnknownPath(u64),
    /// A prefix does not exist.
    #[error("no path that comes to {block} has the sum {prefix}: the profile belongs to another graph")]
    UnknownPrefix {
        /// Block in which the path was cut short.
        block: BlockId,
        /// Path sum of the prefix.
        prefix: u64,
    },
    /// The paths of a function together cross too many edges.
    #[error("the paths of the function cross more than {MAX_PATH_STEPS} edges: count its edges only")]
    TooManySteps,
    /// The count of a block exceeds 64 bits.
    #[error("the count of {0} exceeds 64 bits")]
    Overflow(BlockId),
}

/// Derives all counts from `counters`, where counter `k` counts edge `plan.counted[k]`, and `exits`, the numbers of
/// frames that ended within a block (a block may occur several times).
///
/// # Errors
/// Returns an error if the input contradicts itself or its parts do not belong together.
pub fn propagate(
    cfg: &Cfg,
    plan: &EdgePlan,
    counters: &[u64],
    exits: &[(BlockId, u64)],
) -> Result<EdgeCounts, PropagateError> {
    let known = known_counts(cfg, &plan.counted, counters)?;
    let tree =
        RootedForest::new(cfg, |edge| known[edge.index()].is_none()).ok_or(PropagateError::Undetermined)?;
    let excess = initial_excess(cfg, &known, exits)?;
    let counts = balance(cfg, &tree, &known, excess)?;
    let mut edges = cfg.closed_edges().zip(counts).map(possible).collect::<Result<Vec<_>, _>>()?;
    let entries = edges.pop().unwrap_or(0);
    Ok(EdgeCounts { blocks: sum_blocks(cfg, &edges, entries)?, edges, entries })
}

/// Returns by edge, the closing edge last, the value of its counter, if it has one.
pub(crate) fn known_counts(
    cfg: &Cfg,
    counted: &[EdgeId],
    counters: &[u64],
) -> Result<Vec<Option<u64>>, PropagateError> {
    let (expected, found) = (counted.len(), counters.len());
    if expected != found {
        return Err(PropagateError::WrongCounters { expected, found });
    }
    let mut known = vec![None; cfg.edge_count() + 1];
    for (&edge, &count) in counted.iter().zip(counters) {
        match known.get_mut(edge.index()) {
            Some(slot @ None) => *slot = Some(count),
            _ => return Err(PropagateError::BadPlan(edge)),
        }
    }
    Ok(known)
}

/// Returns by vertex its known arrivals minus its known departures. No overflow: fewer than 2^32 terms below 2^64.
pub(crate) fn initial_excess(
    cfg: &Cfg,
    known: &[Option<u64>],
    exits: &[(BlockId, u64)],
) -> Result<Vec<i128>, PropagateError> {
    let mut excess = vec![0; cfg.vertex_count()];
    for edge in cfg.closed_edges() {
        let ends = cfg.edge(edge);
        let count = i128::from(known[edge.index()].unwrap_or(0));
        excess[ends.from.index()] -= count;
        excess[ends.to.index()] += count;
    }
    for &(block, count) in exits {
        if block >= cfg.exit() {
            return Err(PropagateError::BadExit(block));
        }
        excess[block.index()] -= i128::from(count);
        excess[cfg.exit().index()] += i128::from(count);
    }
    Ok(excess)
}

/// Gives each tree edge the count, possibly negative, that balances the vertex below it, leaves first.
pub(crate) fn balance(
    cfg: &Cfg,
    tree: &RootedForest,
    known: &[Option<u64>],
    mut excess: Vec<i128>,
) -> Result<Vec<i128>, PropagateError> {
    let mut counts: Vec<i128> = known.iter().map(|count| i128::from(count.unwrap_or(0))).collect();
    for &block in tree.order().iter().rev() {
        let surplus = excess[block.index()];
        match tree.up(block) {
            Some(edge) => {
                let ends = cfg.edge(edge);
                let (count, above) =
                    if ends.from == block { (surplus, ends.to) } else { (-surplus, ends.from) };
                counts[edge.index()] = count;
                excess[above.index()] += surplus;
            }
            None if surplus != 0 => return Err(PropagateError::Imbalance { block, excess: surplus }),
            None => {}
        }
    }
    Ok(counts)
}

/// Checks that an edge's count fits 64 bits without a sign.
fn possible((edge, count): (EdgeId, i128)) -> Result<u64, PropagateError> {
    u64::try_from(count).map_err(|_| PropagateError::Contradiction { edge, count })
}

/// Returns by block the sum of the counts that enter it.
pub(crate) fn sum_blocks(cfg: &Cfg, edges: &[u64], entries: u64) -> Result<Vec<u64>, PropagateError> {
    let arrivals = |block: BlockId| {
        let called = if block == BlockId::ENTRY { entries } else { 0 };
        let mut into = cfg.in_edges(block).iter();
        let sum = into.try_fold(called, |sum, edge| sum.checked_add(edges[edge.index()]));
        sum.ok_or(PropagateError::Overflow(block))
    };
    cfg.blocks().map(arrivals).collect()
}
