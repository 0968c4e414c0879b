//! All counts from the counters on the chords.
//!
//! Input: a [`Cfg`], the [`EdgePlan`] that was compiled, its counters, and for each block how many frames
//! ended in its middle (trap, `proc_exit`, interrupt, or still running when the counters were copied).
//! Output: the count of every edge and block, and of the calls.
//! Invariant: exact, or an error; one pass over the edges and one over the tree, leaves first. At each
//! vertex what comes in equals what goes out; the frames that ended in a block go out over a pseudo edge to
//! EXIT whose count is known. A block without successors (it can only trap) needs no special case.
//! Source: Ball & Larus 1994, sections 3.1 and 3.2.
//! Oracle: counting the edges of logged walks, in `tests/it/edge_profile.rs`.
//!
//! ENTRY -> b1 -> EXIT, b1 -> b1 with the self loop counted: 5 rounds and one trap in b1 give a count of 1
//! for ENTRY -> b1, 0 for b1 -> EXIT, and one call.

use crate::limits::MAX_PATH_STEPS;
use crate::{BlockId, Cfg, EdgeCounts, EdgeId, EdgePlan, RootedForest};

/// Counters that no run of the graph can have produced, or that belong to another plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PropagateError {
    /// There are not as many counters as counted edges.
    #[error("the plan has {expected} counters, but {found} were given: they belong to another plan")]
    WrongCounters {
        /// Counted edges of the plan.
        expected: usize,
        /// Counters given.
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
        /// Its impossible count; on a cycle that was broken that of all its edges at one vertex.
        count: i128,
    },
    /// The flow law fails at a vertex all of whose edges are known.
    #[error("the counters contradict each other: {excess} more entered {block} than left it")]
    Imbalance {
        /// The vertex.
        block: BlockId,
        /// Arrivals without departure, negative if it is the other way round.
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
    /// No path has this number.
    #[error("there is no path {0}: the profile belongs to another graph")]
    UnknownPath(u64),
    /// No path begins like this.
    #[error("no path that comes to {block} has the sum {prefix}: the profile belongs to another graph")]
    UnknownPrefix {
        /// Where the path was cut short.
        block: BlockId,
        /// Its sum there.
        prefix: u64,
    },
    /// The paths of a function are too long and too many.
    #[error("the paths of the function cross more than {MAX_PATH_STEPS} edges: count its edges only")]
    TooManySteps,
    /// A block ran more often than 64 bits can tell.
    #[error("the count of {0} exceeds 64 bits")]
    Overflow(BlockId),
}

/// Derives all counts from `counters`, where counter `k` counts edge `plan.counted[k]`, and `exits`, the
/// number of frames that ended in the middle of a block (a block may occur several times).
///
/// # Errors
/// If the input contradicts itself or its parts do not belong together.
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

/// By edge, the closing edge last: the counter's value, if it has one.
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

/// By vertex: known arrivals less known departures. Fits easily: fewer than 2^32 terms below 2^64.
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

/// Gives each tree edge the count, perhaps a negative one, that balances the vertex below it, leaves first.
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

/// A count that an edge can have.
fn possible((edge, count): (EdgeId, i128)) -> Result<u64, PropagateError> {
    u64::try_from(count).map_err(|_| PropagateError::Contradiction { edge, count })
}

/// By block: everything that entered it.
pub(crate) fn sum_blocks(cfg: &Cfg, edges: &[u64], entries: u64) -> Result<Vec<u64>, PropagateError> {
    let arrivals = |block: BlockId| {
        let called = if block == BlockId::ENTRY { entries } else { 0 };
        let mut into = cfg.in_edges(block).iter();
        let sum = into.try_fold(called, |sum, edge| sum.checked_add(edges[edge.index()]));
        sum.ok_or(PropagateError::Overflow(block))
    };
    cfg.blocks().map(arrivals).collect()
}
