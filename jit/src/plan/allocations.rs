//! Allocations: where an allocator reports its request and its result.
//!
//! An allocator reports its request at its entry, since its arguments may change later, and the new block where it
//! returns. An allocator that traps, throws or ends in a tail call has allocated none.

use super::{Placement, Probe};
use crate::cfg::{Cfg, End, Target};
use crate::module::{Allocator, NewBlock};

impl Allocator {
    /// Places the report at the entry, behind the search for the call record, and the one at each return.
    pub(super) fn place(&self, cfg: &Cfg, to: &mut Placement) {
        to.entry().insert(1, Probe::EnterAllocator(*self));
        for (block, index) in cfg.blocks.iter().zip(0..) {
            if matches!(block.how, End::TailCall) {
                continue;
            }
            let exits = block.edges.iter().zip(0..).filter(|(edge, _)| edge.target == Target::Exit);
            for (_, edge) in exits {
                to.edge(index, edge).push(Probe::LeaveAllocator(self.new));
            }
        }
    }
}

impl NewBlock {
    /// Returns the code that tells the runtime the meaning of an allocator's result.
    pub fn code(self) -> u32 {
        match self {
            NewBlock::None => 0,
            NewBlock::Result => 1,
            NewBlock::Behind(_) => 2,
        }
    }
}
