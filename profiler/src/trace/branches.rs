//! Every branch recorded: what the other methods are compared with.
//!
//! Input: a [`TraceGraph`]. Output: by edge, its token if it has one: 32 bits with the edge's number. Only
//! the edge of a tail call has none, for it is one step with the callee's token.
//! Source: Ball & Larus 1994, section 4: "write a witness in the blocks that are targets of predicates",
//! which here are all blocks, so that nothing about the graph is used.

use super::Call;
use super::graph::TraceGraph;

/// Every edge.
pub(super) fn branch_tokens(graph: &TraceGraph) -> Vec<Option<(u32, u8)>> {
    let is_named = |edge| graph.call(graph.cfg.edge(edge).from) == Some(Call::Tail);
    graph.cfg.edges().map(|edge| (!is_named(edge)).then_some((edge.0, 32))).collect()
}
