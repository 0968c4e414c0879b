//! Chooses the edges that write witnesses.
//!
//! Input: a [`TraceGraph`] and weights. Output: whether each edge carries a witness.
//! Invariant: the other edges contain no undirected cycle, hence neither a directed cycle nor a **diamond** (two
//! paths between the same two blocks), so that the witness sets of each predicate are disjoint. The chosen edges obey
//! blocking (`blocking.rs`).
//! Source: Ball & Larus 1994, section 4: first the blocking witnesses, then a maximum spanning tree that may not use
//! them, then every edge outside the tree. Finding the cheapest set is NP-complete. Ours: the closing edge EXIT ->
//! ENTRY stays out of the tree, as blocking already keeps EXIT apart.
//! Oracle: witness sets by enumeration, in `tests/it/trace_plan.rs`.

use super::blocking::blockers;
use super::graph::TraceGraph;
use crate::{EdgeWeights, SpanningTree};

/// Returns by edge whether it carries a witness.
pub(super) fn witnessed_edges(graph: &TraceGraph, weights: &[f64]) -> Vec<bool> {
    let mut chosen = blockers(graph);
    let weights = EdgeWeights::from_vec(weights.to_vec());
    let tree = SpanningTree::maximum_without(&graph.cfg, &weights, |edge| {
        edge == graph.cfg.closing_edge() || chosen[edge.index()]
    });
    let chords: Vec<_> = tree.chords().filter(|&edge| edge != graph.cfg.closing_edge()).collect();
    chords.into_iter().for_each(|edge| chosen[edge.index()] = true);
    chosen
}
