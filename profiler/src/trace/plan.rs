//! Plans what one function writes into the trace.
//!
//! Input: a [`Cfg`], [`EdgeWeights`], the call of each block. Output: the [`Emit`]s.
//! Invariant: at most one emit per edge, ascending, of 1 to 32 bits; all runs can be distinguished by what they write
//! and where they stop.
//! Source: Ball & Larus 1994, sections 4 and 6.2, which offer both methods without choosing; we estimate both under
//! the weights. Oracle: `tests/it/trace_plan.rs`, `tests/it/trace.rs`.

use serde::{Deserialize, Serialize};

use super::Call;
use super::bit_tracing::bit_tokens;
use super::blocking::blockers;
use super::branches::branch_tokens;
use super::code::prefix_code;
use super::color::{colors, components};
use super::graph::TraceGraph;
use super::silent::break_silent_cycles;
use super::witness::witnessed_edges;
use crate::{Cfg, EdgeId, EdgeWeights};

/// The bits that crossing an edge appends to the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Emit {
    /// The edge of the function's own [`Cfg`].
    pub edge: EdgeId,
    /// The value, whose `bits` low bits are appended, the lowest first.
    pub value: u32,
    /// Number of bits, from 1 to 32.
    pub bits: u8,
}

/// A method of tracing a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TraceMethod {
    /// Witnesses on the edges outside a spanning tree, and where blocking requires them.
    Witnesses,
    /// A word of a prefix code for each branch of each predicate.
    BitTracing,
    /// 32 bits for each edge, even where control has no choice.
    EveryBranch,
}

/// The emits of one function.
#[derive(Clone, Debug, PartialEq)]
pub struct TracePlan {
    /// Method of the plan.
    pub method: TraceMethod,
    /// The emits, ascending by edge.
    pub emits: Vec<Emit>,
    /// Expected bits per entry of the function, under the weights.
    pub bits_per_entry: f64,
}

impl TracePlan {
    /// Returns the cheaper of witnesses and bit tracing under the weights, then the other plan. At equal cost the
    /// plan with fewer emits comes first.
    pub fn choose(cfg: &Cfg, weights: &EdgeWeights, calls: &[Option<Call>]) -> (Self, Self) {
        let witnesses = Self::new(TraceMethod::Witnesses, cfg, weights, calls);
        let bit_tracing = Self::new(TraceMethod::BitTracing, cfg, weights, calls);
        let cost = witnesses.bits_per_entry.total_cmp(&bit_tracing.bits_per_entry);
        if cost.then(witnesses.emits.len().cmp(&bit_tracing.emits.len())).is_gt() {
            (bit_tracing, witnesses)
        } else {
            (witnesses, bit_tracing)
        }
    }

    /// Makes the plan of one method. `calls` is indexed by block; missing entries mean no call.
    pub fn new(method: TraceMethod, cfg: &Cfg, weights: &EdgeWeights, calls: &[Option<Call>]) -> Self {
        let graph = TraceGraph::new(cfg, calls);
        let merged = graph.weights(weights);
        let mut tokens = match method {
            TraceMethod::Witnesses => witness_tokens(&graph, &merged),
            TraceMethod::BitTracing => bit_tokens(&graph, &merged),
            TraceMethod::EveryBranch => branch_tokens(&graph),
        };
        break_silent_cycles(&graph, &mut tokens);
        let emit = |edge: EdgeId| {
            let (value, bits) = tokens[graph.merged[edge.index()].index()]?;
            Some(Emit { edge, value, bits })
        };
        let emits: Vec<Emit> = cfg.edges().filter_map(emit).collect();
        let weight = |emit: &Emit| weights.as_slice().get(emit.edge.index()).copied().unwrap_or(0.0);
        let bits_per_entry = emits.iter().map(|emit| weight(emit) * f64::from(emit.bits)).sum();
        Self { method, emits, bits_per_entry }
    }

    /// Returns the edges that must carry a witness whatever the tree is, by the rule of
    /// [blocking](TraceMethod::Witnesses).
    pub fn blocking_edges(cfg: &Cfg, calls: &[Option<Call>]) -> Vec<EdgeId> {
        let graph = TraceGraph::new(cfg, calls);
        let blocking = blockers(&graph);
        cfg.edges().filter(|edge| blocking[graph.merged[edge.index()].index()]).collect()
    }

    /// Returns the emit of an edge.
    pub fn emit_of(&self, edge: EdgeId) -> Option<Emit> {
        let found = self.emits.binary_search_by_key(&edge, |emit| emit.edge);
        found.ok().map(|index| self.emits[index])
    }
}

/// Assigns a word to each witnessed edge: one code per component, one symbol per colour.
fn witness_tokens(graph: &TraceGraph, weights: &[f64]) -> Vec<Option<(u32, u8)>> {
    let chosen = witnessed_edges(graph, weights);
    let components = components(graph, |edge| !chosen[edge.index()]);
    let colors = colors(graph, &chosen, weights);
    let component = |edge: &EdgeId| components[graph.cfg.edge(*edge).from.index()];
    let mut witnesses: Vec<EdgeId> = graph.cfg.edges().filter(|edge| chosen[edge.index()]).collect();
    witnesses.sort_by_key(|edge| (component(edge), colors[edge.index()], *edge));
    let mut tokens = vec![None; chosen.len()];
    for members in witnesses.chunk_by(|a, b| component(a) == component(b)) {
        let symbols = members.chunk_by(|a, b| colors[a.index()] == colors[b.index()]);
        let weight = |edges: &[EdgeId]| edges.iter().map(|edge| weights[edge.index()]).sum();
        let words = prefix_code(&symbols.clone().map(weight).collect::<Vec<f64>>());
        for (edges, word) in symbols.zip(words) {
            edges.iter().for_each(|edge| tokens[edge.index()] = Some(word));
        }
    }
    tokens
}
