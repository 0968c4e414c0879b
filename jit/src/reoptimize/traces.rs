//! Traces: likely paths of a function of which only edges were counted.
//!
//! Input: a graph with the counts of its edges. Output: from the entry and each loop header the path that always takes
//! the most frequent edge, as long as it dominates clearly. Source: trace growing by mutual most likely successors, as
//! in Hwu et al., *The Superblock*, section 2; a trace begins only at the entry or at headers, because it ends at
//! headers.

use wprof_profiler::{BlockId, Cfg, DepthFirst, EdgeCounts, EdgeId, Loops, Path};

/// The minimum share of a block's count that its likely successor has.
const LEAST_LIKELY: f64 = 0.7;

/// Grows the traces, with upper bounds of their numbers of executions.
pub(super) fn grown(shape: &Cfg, counts: &EdgeCounts) -> Vec<(Path, u64)> {
    let loops = Loops::new(shape, &DepthFirst::new(shape));
    let headers: Vec<BlockId> = loops.iter().map(|(_, found)| found.header).collect();
    let starts = [BlockId(0)].into_iter().chain(headers.iter().copied());
    let trace = |start| grow(shape, counts, &headers, start);
    starts.map(trace).filter(|(path, count)| *count > 0 && !path.edges.is_empty()).collect()
}

fn grow(shape: &Cfg, counts: &EdgeCounts, headers: &[BlockId], start: BlockId) -> (Path, u64) {
    let (mut block, mut edges) = (start, Vec::new());
    let mut count = counts.blocks.get(start.index()).copied().unwrap_or(0);
    while let Some(edge) = likely(shape, counts, block) {
        edges.push(edge);
        count = count.min(counts.edges[edge.index()]);
        block = shape.edge(edge).to;
        if block == shape.exit() || headers.contains(&block) || edges.len() > shape.block_count() {
            break;
        }
    }
    (Path { start, edges }, count)
}

fn likely(shape: &Cfg, counts: &EdgeCounts, block: BlockId) -> Option<EdgeId> {
    let all: u64 =
        shape.out_edges(block).iter().map(|edge| counts.edges[edge.index()]).fold(0, u64::saturating_add);
    let best = shape.out_edges(block).iter().copied().max_by_key(|edge| counts.edges[edge.index()])?;
    let is_likely = counts.edges[best.index()] as f64 >= LEAST_LIKELY * all as f64;
    (all > 0 && is_likely).then_some(best)
}
