//! Bit tracing.
//!
//! Input: a [`TraceGraph`]. Output: by edge, its token if it has one.
//! Invariant: a predicate of n successors writes ceil(log2 n) bits; trap doors write none.
//! Source: Ball & Larus 1994, section 6.2, after a proposal of Chris Fraser.

use super::code::bits_for;
use super::graph::TraceGraph;

/// A number for each branch of each predicate.
pub(super) fn bit_tokens(graph: &TraceGraph) -> Vec<Option<(u32, u8)>> {
    let mut tokens = vec![None; graph.cfg.edge_count()];
    for block in graph.cfg.blocks().filter(|&block| graph.is_predicate(block)) {
        let bits = bits_for(graph.branches(block).count());
        for (value, edge) in graph.branches(block).enumerate() {
            tokens[edge.index()] = Some((value as u32, bits));
        }
    }
    tokens
}
