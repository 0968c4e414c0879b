//! The functions that a function is likely to call next, from its graph alone.

use hashbrown::HashSet;
use wprof_profiler::EdgeWeights;

use super::{Cfg, DirectCall, End};

/// Calls in blocks that are expected to run less often than this each time the function does are not likely: those
/// behind two even branches. Of the functions of GCC's cc1 that are compiled ahead so, about 6 of 10 are then called.
const LIKELY: f64 = 0.3;

impl Cfg {
    /// The functions that it calls directly and likely, imports too, each once, in bytecode order. A block that ends in
    /// a trap reports a failure, which is not what programs do as a rule.
    pub fn likely_callees(&self) -> Vec<u32> {
        if self.calls.is_empty() {
            return Vec::new();
        }
        let weights = self.block_weights();
        let is_likely = |call: &&DirectCall| {
            let block = call.block as usize;
            weights[block] >= LIKELY && self.blocks[block].how != End::Trap
        };
        let mut known = HashSet::new();
        let callees = self.calls.iter().filter(is_likely).map(|call| call.callee);
        callees.filter(|&callee| callee != self.func && known.insert(callee)).collect()
    }

    /// How often each block is expected to run for each call.
    fn block_weights(&self) -> Vec<f64> {
        let shape = self.shape();
        let weights = EdgeWeights::estimate(&shape);
        let mut of_blocks = vec![0.0; self.blocks.len() + 1];
        of_blocks[0] = 1.0;
        for edge in shape.edges() {
            of_blocks[shape.edge(edge).to.index()] += weights.get(edge);
        }
        of_blocks
    }
}
