//! How often each block is expected to run.
//!
//! Input: edge weights, or the counts of an earlier run. Output: one weight per vertex.
//! Invariant: weights are finite and at least 0.
//! Source: Knuth & Stevenson 1973 on measured or estimated frequencies; Ball & Larus 1994, section 5.
//! Oracle: `tests/it/block_counters.rs`.

use crate::{BlockId, Cfg, EdgeCounts, EdgeWeights};

/// A weight for each block, and for EXIT, last: the calls.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockWeights(Vec<f64>);

impl BlockWeights {
    /// The static weighting, for when no profile is known.
    pub fn estimate(cfg: &Cfg) -> Self {
        Self::of_edges(cfg, &EdgeWeights::estimate(cfg))
    }

    /// What enters or leaves a block, whichever weighs more: a block that traps is entered only, and the
    /// estimate of a loop's head is what leaves it.
    pub fn of_edges(cfg: &Cfg, weights: &EdgeWeights) -> Self {
        let calls = weights.get(cfg.closing_edge());
        let weight = |block: BlockId| {
            let called = if block == BlockId::ENTRY { calls } else { 0.0 };
            let into: f64 = cfg.in_edges(block).iter().map(|&edge| weights.get(edge)).sum();
            let out: f64 = cfg.out_edges(block).iter().map(|&edge| weights.get(edge)).sum();
            out.max(called + into)
        };
        Self(cfg.blocks().map(weight).chain([calls]).collect())
    }

    /// The weighting of an earlier run of the same graph. Blocks that ran equally often are ordered as the
    /// static weighting orders them.
    pub fn measured(cfg: &Cfg, counts: &EdgeCounts) -> Self {
        let estimate = Self::estimate(cfg);
        let top = estimate.0.iter().copied().fold(1.0, f64::max);
        let measured = counts.blocks.iter().copied().chain([counts.entries]);
        Self(measured.zip(&estimate.0).map(|(count, weight)| count as f64 + weight / (2.0 * top)).collect())
    }

    /// Weights given one by one, EXIT's last. Those that are no number, or negative, count as 0; infinity as the
    /// greatest number.
    pub fn from_vec(mut weights: Vec<f64>) -> Self {
        for weight in &mut weights {
            *weight = if weight.is_nan() { 0.0 } else { weight.clamp(0.0, f64::MAX) };
        }
        Self(weights)
    }

    /// The weight of a block or EXIT; 0 for one that was not given.
    pub fn get(&self, block: BlockId) -> f64 {
        self.0.get(block.index()).copied().unwrap_or(0.0)
    }

    /// All weights, EXIT's last.
    pub fn as_slice(&self) -> &[f64] {
        &self.0
    }
}
