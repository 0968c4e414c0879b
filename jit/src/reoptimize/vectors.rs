//! Which loops are vectorised: those that run long, by their counts.
//!
//! Input: a graph with counts, and the advice about its function. Output: the same graph, with these loops marked, and
//! the decisions. Whether a loop can be vectorised is known only when it is compiled ([`NoVectors`]); a version of which
//! that is not so is made again, without the marks that were in vain.
//!
//! [`NoVectors`]: crate::code::NoVectors

use wprof_profiler::BlockId;

use super::estimate::{Estimate, saved_by};
use super::{Decision, FunctionAdvice, Reoptimizer, Verdict};
use crate::CompileError;
use crate::cfg::Cfg;
use crate::graph::BlockGraph;
use crate::plan::{FunctionPlan, VectorLoop};

impl Reoptimizer<'_> {
    /// Returns the graph in which loops that are worth it are vectorised.
    pub(super) fn with_vectors(
        &self,
        plan: &FunctionPlan,
        graph: BlockGraph,
        decisions: &mut Vec<Decision>,
    ) -> Result<BlockGraph, CompileError> {
        let cfg = &plan.cfg;
        let Some(advice) = self.advice_of(cfg).filter(|_| self.policy.vectors) else { return Ok(graph) };
        let mut chosen = Vec::new();
        let work = Estimate::new(cfg, &graph).unwrap_or_default().work.max(1.0);
        for found in VectorLoop::all(self.info, cfg, &plan.loops)? {
            let block = &cfg.blocks[found.header as usize];
            let ops = advice.counts[found.header as usize] as f64 * f64::from(block.ops);
            let (share, rounds) = (ops / advice.ops.max(1) as f64, rounds(cfg, advice, found.header));
            let is_worth = share >= self.policy.least_vector_share && rounds >= self.policy.least_rounds;
            if !is_worth || ops == 0.0 {
                continue;
            }
            let refused = self.scalar.iter().find(|(offset, _)| *offset == block.start);
            let lanes = found.vectors.lanes;
            let verdict = match refused {
                Some(&(_, why)) => Verdict::NotVectorized(why),
                None => Verdict::Vectorized { lanes, rounds, share, saved: saved_by(lanes) * ops / work },
            };
            decisions.push(Decision { func: cfg.func, offset: block.start, verdict });
            if refused.is_none() {
                chosen.push(found);
            }
        }
        Ok(graph.vectorized(cfg, &chosen))
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
