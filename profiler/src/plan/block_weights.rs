//! Weights that say how often each block is expected to run.
//!
//! Input: edge weights, or the counts of an earlier run. Output: one weight per vertex.
//! Invariant: weights are finite and at least 0.
//! Source: Knuth & Stevenson 1973 on measured or estimated frequencies; Ball & Larus 1994, section 5.
//! Oracle: `tests/it/block_counters.rs`.

use crate::{BlockId, Cfg, EdgeCounts, EdgeWeights};

/// A weight for each block; EXIT, whose weight is that of the calls, comes last.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockWeights(Vec<f64>);

impl BlockWeights {
    /// Estimates weights without a profile.
    pub fn estimate(cfg: &Cfg) -> Self {
        Self::of_edges(cfg, &EdgeWeights::estimate(cfg))
    }

    /// Derives block weights from edge weights: the sum of a block's incoming or outgoing weights, whichever is
    /// greater. A block that traps is only entered, and the estimate of a loop header is the sum of what leaves it.
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

    /// Takes the weights from an earlier run of the same graph. Blocks that ran equally often are ordered as the
    /// static estimate orders them.
    pub fn measured(cfg: &Cfg, counts: &EdgeCounts) -> Self {
        let estimate = Self::estimate(cfg);
        let top = estimate.0.iter().copied().fold(1.0, f64::max);
        let measured = counts.blocks.iter().copied().chain([counts.entries]);
        Self(measured.zip(&estimate.0).map(|(count, weight)| count as f64 + weight / (2.0 * top)).collect())
    }

    /// Takes explicit weights, EXIT's last. NaN and negative weights count as 0, infinity as the greatest number.
    pub fn from_vec(mut weights: Vec<f64>) -> Self {
        for weight in &mut weights {
            *weight = if weight.is_nan() { 0.0 } else { weight.clamp(0.0, f64::MAX) };
        }
        Self(weights)
    }

    /// Returns the weight of a block or EXIT; 0 if none was given.
    pub fn get(&self, block: BlockId) -> f64 {
        self.0.get(block.index()).copied().unwrap_or(0.0)
    }

    /// Returns all weights, EXIT's last.
    pub fn as_slice(&self) -> &[f64] {
        &self.0
    }
}
