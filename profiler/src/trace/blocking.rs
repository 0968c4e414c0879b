//! Blocking witnesses, which keep the witnesses of caller and callee apart.
//!
//! Input: a [`TraceGraph`]. Output: whether each edge must carry a witness.
//! Invariant: every directed path from a predicate to a block with a call, or to EXIT, crosses one of these edges, so
//! the function that reads a witness at a predicate is the function that wrote it.
//! Source: Ball & Larus 1994, section 4.2: the out-edge of the last predicate before the call, as far from the call
//! as possible, because there it may serve several calls and also break a diamond. O(E).

use super::graph::TraceGraph;

/// Chooses edges by a walk backwards from each call and EXIT through the blocks that are not predicates.
pub(super) fn blockers(graph: &TraceGraph) -> Vec<bool> {
    let mut chosen = vec![false; graph.cfg.edge_count()];
    let mut reached = vec![false; graph.cfg.vertex_count()];
    let mut work: Vec<_> = graph.blocked().collect();
    work.iter().for_each(|block| reached[block.index()] = true);
    while let Some(block) = work.pop() {
        for &edge in graph.cfg.in_edges(block) {
            let from = graph.cfg.edge(edge).from;
            if graph.is_predicate(from) {
                chosen[edge.index()] = true;
            } else if !std::mem::replace(&mut reached[from.index()], true) {
                work.push(from);
            }
        }
    }
    chosen
}
