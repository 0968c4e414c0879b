//! Which loops stay vectorised: those that make many rounds each time, by their counts.
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
    /// Returns the graph in which loops of `vectors` are marked, except those that make few rounds.
    pub(super) fn with_vectors(
        &self,
        (cfg, advice): (&Cfg, &FunctionAdvice),
        vectors: &[VectorLoop],
        graph: BlockGraph,
        decisions: &mut Vec<Decision>,
    ) -> BlockGraph {
        let mut chosen = Vec::new();
        for &(mut found) in vectors {
            let block = &cfg.blocks[found.header as usize];
            let count = advice.counts[found.header as usize];
            let rounds = rounds(cfg, advice, found.header);
            if count > 0 && rounds < self.policy.least_rounds {
                found.refused = found.refused.or(Some(NoVectors::FewRounds));
            }
            let share = count as f64 * f64::from(block.ops) / advice.ops.max(1) as f64;
            let lanes = found.vectors.lanes;
            let verdict = match found.refused {
                Some(why) => Verdict::NotVectorized(why),
                None => Verdict::Vectorized { lanes, rounds, share },
            };
            if share >= self.policy.least_vector_share {
                decisions.push(Decision { func: cfg.func, offset: block.start, verdict });
            }
            chosen.push(found);
        }
        graph.vectorized(cfg, &chosen)
    }
}

/// Returns how many rounds a loop of one block makes each time, at least.
fn rounds(cfg: &Cfg, advice: &FunctionAdvice, header: u32) -> f64 {
    let shape = cfg.shape();
    let into = shape.in_edges(BlockId(header)).iter().map(|&edge| shape.edge(edge).from.0);
    let counts = into.filter(|&from| from != header).map(|from| advice.counts[from as usize]);
    let entered: u64 = counts.fold(0, u64::saturating_add);
    advice.counts[header as usize] as f64 / entered.max(1) as f64
}
