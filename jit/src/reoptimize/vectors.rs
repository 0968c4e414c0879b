//! The choice of vectorised loops: those that, by their counts, execute many rounds each time they are entered.
//!
//! Input: a graph with counts, the advice about its function, and the loops that may be vectorised. Output: the same
//! graph, with loops marked, and the decisions. All optimised code has vectors where nothing is counted; here they are
//! taken away from loops that seldom pass the guard before them, which are unrolled instead.

use wprof_profiler::BlockId;

use super::{Decision, FunctionAdvice, Reoptimizer, Verdict};
use crate::cfg::Cfg;
use crate::code::NoVectors;
use crate::graph::BlockGraph;
use crate::plan::VectorLoop;

impl Reoptimizer<'_> {
    /// Returns the graph in which loops of `vectors` are marked, except those that make few rounds, and how many times
    /// those were entered.
    pub(super) fn with_vectors(
        &self,
        (cfg, advice): (&Cfg, &FunctionAdvice),
        vectors: &[VectorLoop],
        graph: BlockGraph,
        decisions: &mut Vec<Decision>,
    ) -> (BlockGraph, u64) {
        let (mut chosen, mut left_out) = (Vec::new(), 0_u64);
        for &(mut found) in vectors {
            let block = &cfg.blocks[found.header as usize];
            let (count, entered) = (advice.counts[found.header as usize], entered(cfg, advice, found.header));
            let (rounds, lanes) = (count as f64 / entered.max(1) as f64, found.vectors.lanes);
            let is_short = count > 0 && rounds < self.policy.least_windows * f64::from(lanes);
            if is_short && found.refused.is_none() {
                found.refused = Some(NoVectors::FewRounds);
                left_out = left_out.saturating_add(entered);
            }
            let share = count as f64 * f64::from(block.ops) / advice.ops.max(1) as f64;
            let verdict = match found.refused {
                Some(why) => Verdict::NotVectorized(why),
                None => Verdict::Vectorized { lanes, rounds, share },
            };
            if share >= self.policy.least_vector_share || found.refused == Some(NoVectors::FewRounds) {
                decisions.push(Decision { func: cfg.func, offset: block.start, verdict });
            }
            chosen.push(found);
        }
        (graph.vectorized(cfg, &chosen), left_out)
    }
}

/// Returns how often a loop of one block is entered, at most.
fn entered(cfg: &Cfg, advice: &FunctionAdvice, header: u32) -> u64 {
    let shape = cfg.shape();
    let into = shape.in_edges(BlockId(header)).iter().map(|&edge| shape.edge(edge).from.0);
    let counts = into.filter(|&from| from != header).map(|from| advice.counts[from as usize]);
    counts.fold(0, u64::saturating_add)
}
