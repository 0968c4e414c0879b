//! Bit tracing: writes a code word for each branch that the run takes.
//!
//! Input: a [`TraceGraph`] and weights. Output: the token of each edge that has one.
//! Invariant: each branch of a predicate writes a word of the predicate's own prefix code; trap doors write none.
//! Source: Ball & Larus 1994, section 6.2, after a proposal of Chris Fraser: ceil(log2 n) bits for n successors.
//! Ours: Huffman's code under the weights, which is never longer on average and costs no more, as an emit of any
//! length is a test and a shift. With two successors it is one bit either way.

use super::code::prefix_code;
use super::graph::TraceGraph;
use crate::EdgeId;

/// Assigns a word to each branch of each predicate.
pub(super) fn bit_tokens(graph: &TraceGraph, weights: &[f64]) -> Vec<Option<(u32, u8)>> {
    let mut tokens = vec![None; graph.cfg.edge_count()];
    for block in graph.cfg.blocks().filter(|&block| graph.is_predicate(block)) {
        let branches: Vec<EdgeId> = graph.branches(block).collect();
        let words = prefix_code(&branches.iter().map(|edge| weights[edge.index()]).collect::<Vec<_>>());
        branches.iter().zip(words).for_each(|(edge, word)| tokens[edge.index()] = Some(word));
    }
    tokens
}
