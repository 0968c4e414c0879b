//! Silent cycles: cycles of a graph that write no bits.
//!
//! Input: a [`TraceGraph`], its tokens. Output: tokens such that every directed cycle writes a bit.
//! Invariant: an edge gets a token only if it is a back edge of a depth-first search over the edges without one.
//! Source: ours. A loop without a predicate ends only by a trap or an interrupt. The papers' runs never end that way;
//! ours do, and then the number of iterations must be known.

use super::graph::TraceGraph;
use crate::EdgeId;

#[derive(Clone, Copy, PartialEq)]
enum Visit {
    New,
    Open,
    Done,
}

/// Assigns one bit to each edge that closes a silent cycle.
pub(super) fn break_silent_cycles(graph: &TraceGraph, tokens: &mut [Option<(u32, u8)>]) {
    for edge in closing_edges(graph, |edge| tokens[edge.index()].is_none()) {
        tokens[edge.index()] = Some((0, 1));
    }
}

/// Returns the silent edges to a block whose search is not finished yet.
pub(super) fn closing_edges(graph: &TraceGraph, silent: impl Fn(EdgeId) -> bool) -> Vec<EdgeId> {
    let mut marks = vec![Visit::New; graph.cfg.vertex_count()];
    let mut found = Vec::new();
    for root in graph.cfg.blocks() {
        // The path of the search: blocks, each with the number of its edges already tried.
        let mut path = vec![(root, 0)];
        while let Some((block, tried)) = path.last_mut() {
            let (block, edge) = (*block, graph.cfg.out_edges(*block).get(*tried).copied());
            if *tried == 0 && std::mem::replace(&mut marks[block.index()], Visit::Open) == Visit::Done {
                marks[block.index()] = Visit::Done;
                path.pop();
                continue;
            }
            *tried += 1;
            let Some(edge) = edge else {
                marks[block.index()] = Visit::Done;
                path.pop();
                continue;
            };
            let to = graph.cfg.edge(edge).to;
            match marks[to.index()] {
                Visit::Open if silent(edge) => found.push(edge),
                Visit::New if silent(edge) => path.push((to, 0)),
                _ => {}
            }
        }
    }
    found
}
