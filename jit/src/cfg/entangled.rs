//! Entangled functions: those in which so many values are alive at so many joins of control that optimising takes more
//! than linear time.
//!
//! SSA construction examines each live value at each block; Cranelift's optimiser and register allocator do so again
//! for each loop around the block. So the work grows with blocks times values times nesting, and a module of 36 KB
//! with 2,000 nested loops and as many locals took 11.5 s. Entangled functions have their values in the frame
//! between blocks, in all tiers, as baseline code does.
//!
//! Input: a function. Output: whether its work exceeds what its length pays for. Invariant: linear time. Values are
//! counted at the target of each edge, since joins are what costs.

use wprof_profiler::BlockId;

use super::{Cfg, Target};
use crate::limits::{WORK_ALWAYS, WORK_PER_BYTE};

impl Cfg {
    /// Reports whether an optimised version with values in registers would take too long to make.
    pub fn is_entangled(&self) -> bool {
        let find = || {
            let limit = WORK_ALWAYS.max(WORK_PER_BYTE.saturating_mul(self.bytes()));
            // Loops are only looked for where their nesting could matter.
            let headers = self.blocks.iter().filter(|block| block.is_loop_header).count();
            self.work(|_| headers) > limit && self.work(|to| self.loops().depth(BlockId(to)) as usize) > limit
        };
        *self.known.entangled.get_or_init(find)
    }

    /// Returns the estimated work: the values that each edge passes on, times half of the loops around its target.
    fn work(&self, depth: impl Fn(u32) -> usize) -> usize {
        let costs: Vec<usize> = (0..self.blocks.len() as u32)
            .map(|block| (self.state_size(block) + 1).saturating_mul(1 + depth(block) / 2))
            .collect();
        let targets = self.blocks.iter().flat_map(|block| &block.edges).map(|edge| edge.target);
        let cost = |target| match target {
            Target::Block(to) => costs[to as usize],
            Target::Exit => 0,
        };
        targets.map(cost).fold(0, usize::saturating_add)
    }
}
