//! Every branch recorded: what the other methods are compared with.
//!
//! Input: a [`TraceGraph`]. Output: by edge, its token if it has one: 32 bits with the edge's number
//! wherever control could have gone elsewhere.
//! Source: Ball & Larus 1994, section 4: "write a witness in the blocks that are targets of predicates".

use super::graph::TraceGraph;

/// Every edge of a block with several.
pub(super) fn branch_tokens(graph: &TraceGraph) -> Vec<Option<(u32, u8)>> {
    let forks = |edge| graph.cfg.out_edges(graph.cfg.edge(edge).from).len() > 1;
    graph.cfg.edges().map(|edge| forks(edge).then_some((edge.0, 32))).collect()
}
