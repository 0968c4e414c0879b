//! Records every branch, as a baseline for the other methods.
//!
//! Input: a [`TraceGraph`]. Output: the token of each edge that has one: 32 bits with the edge's number. Only the
//! edge of a tail call has none, as it is one step with the callee's token.
//! Source: Ball & Larus 1994, section 4: "write a witness in the blocks that are targets of predicates". Here these
//! are all blocks, so that no property of the graph is used.

use super::Call;
use super::graph::TraceGraph;

/// Assigns a token to every edge except those of tail calls.
pub(super) fn branch_tokens(graph: &TraceGraph) -> Vec<Option<(u32, u8)>> {
    let is_named = |edge| graph.call(graph.cfg.edge(edge).from) == Some(Call::Tail);
    graph.cfg.edges().map(|edge| (!is_named(edge)).then_some((edge.0, 32))).collect()
}
