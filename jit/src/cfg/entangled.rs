//! Entangled functions: those in which so many values are alive at so many joins of control that optimising takes more
//! than linear time.
//!
//! SSA construction examines each live value at each block; Cranelift's optimiser and register allocator do so again
//! for each loop around the block. So the work grows with blocks times values times nesting, and a module of 36 KB
//! with 2,000 nested loops and as many locals took 11.5 s. Entangled functions have their values in the frame
//! between blocks, in all tiers, as baseline code does.
//!
//! What takes most is a value that edges merge ([`merged`](super::merged)): these have a limit of their own.
//!
//! Input: a function. Output: whether its work exceeds what its length pays for, or what a compilation may take in all.
//! Invariant: linear time. Values are counted at the target of each edge, since joins are what costs.

use wprof_profiler::BlockId;

use super::{Cfg, Target};
use crate::limits::{LARGEST_IN_REGISTERS, MERGED_ALWAYS, MERGED_PER_BYTE, WORK_ALWAYS, WORK_PER_BYTE};

impl Cfg {
    /// Reports whether an optimised version with values in registers would take too long, or too much memory, to make.
    pub fn is_entangled(&self) -> bool {
        *self.known.entangled.get_or_init(|| {
            self.bytes() > LARGEST_IN_REGISTERS || self.passes_on_too_much() || self.merges_too_much()
        })
    }

    /// Returns the work that copies of its blocks may add before optimising would take too long.
    pub(crate) fn room_for_copies(&self) -> usize {
        self.work_limit().saturating_sub(self.work(|to| self.loops().depth(BlockId(to)) as usize))
    }

    /// Returns the work that a copy of some blocks adds.
    pub(crate) fn work_of(&self, blocks: &[u32]) -> usize {
        let depth = |block: u32| self.loops().depth(BlockId(block)) as usize;
        let cost = |&block: &u32| self.cost(block, depth(block)) * self.blocks[block as usize].edges.len();
        blocks.iter().map(cost).fold(0, usize::saturating_add)
    }

    fn work_limit(&self) -> usize {
        WORK_ALWAYS.max(WORK_PER_BYTE.saturating_mul(self.bytes()))
    }

    fn passes_on_too_much(&self) -> bool {
        // Loops are only looked for where their nesting could matter.
        let headers = self.blocks.iter().filter(|block| block.is_loop_header).count();
        self.work(|_| headers) > self.work_limit() && self.room_for_copies() == 0
    }

    fn merges_too_much(&self) -> bool {
        let limit = MERGED_ALWAYS.max(MERGED_PER_BYTE.saturating_mul(self.bytes()));
        // At most everything that edges pass on is merged.
        let most = self.work(|_| 0);
        most > limit && self.liveness.merged(&self.blocks).unwrap_or(most) > limit
    }

    /// Returns the estimated work: the values that each edge passes on, times half of the loops around its target.
    fn work(&self, depth: impl Fn(u32) -> usize) -> usize {
        let costs: Vec<usize> =
            (0..self.blocks.len() as u32).map(|block| self.cost(block, depth(block))).collect();
        let targets = self.blocks.iter().flat_map(|block| &block.edges).map(|edge| edge.target);
        let cost = |target| match target {
            Target::Block(to) => costs[to as usize],
            Target::Exit => 0,
        };
        targets.map(cost).fold(0, usize::saturating_add)
    }

    /// Returns the estimated work for each edge to a block in so many loops.
    fn cost(&self, block: u32, depth: usize) -> usize {
        (self.state_size(block) + 1).saturating_mul(1 + depth / 2)
    }
}
