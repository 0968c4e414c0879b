//! Allocations: where an allocator says what it is asked for, and what came of it.
//!
//! At its entry an allocator says what is asked for, since its arguments may change later, and where it returns which
//! block it has made. One that traps, throws or ends in a tail call has made none.

use super::{Placement, Probe};
use crate::cfg::{Cfg, End, Target};
use crate::module::{Allocator, NewBlock};

impl Allocator {
    /// Places what is said at the entry, behind the search for the call record, and at each return.
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
    /// What the runtime is told of an allocator's result.
    pub fn code(self) -> u32 {
        match self {
            NewBlock::None => 0,
            NewBlock::Result => 1,
            NewBlock::Behind(_) => 2,
        }
    }
}
