//! The number of frames, where it has a limit: the same in every version of a function, on every machine.
//!
//! A store's context has the number of frames that there may still be. A function that is entered takes one from it, or traps
//! before it has done anything if there is none, and gives it back where it returns or ends in a tail call. What the frames
//! that an exception drops have taken, the runtime gives back; of those that a trap ends, whoever entered them.
//! Invariant: nothing is inlined, so that each function that runs has a frame.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, types};

use super::Translator;
use crate::abi::{TrapCode, store_context};

impl Translator<'_> {
    /// A function is entered by a call.
    pub(super) fn enter_frame(&mut self) {
        if !self.options.limits_frames {
            return;
        }
        // Who looks where the frame has stopped finds it before its first instruction, as where a stack ends.
        self.block = self.graph.nodes[0].block;
        self.at(self.cfg.blocks[self.block as usize].start - 1);
        let (flags, context) = (self.counter_flags(), self.store_context());
        let left = self.builder.ins().load(types::I64, flags, context, store_context::FRAMES_LEFT);
        let rest = self.builder.ins().iadd_imm_s(left, -1);
        let is_over = self.builder.ins().icmp_imm_s(IntCC::SignedLessThan, rest, 0);
        self.builder.ins().trapnz(is_over, TrapCode::StackOverflow.to_clif());
        self.builder.ins().store(flags, rest, context, store_context::FRAMES_LEFT);
    }

    /// It ends by itself.
    pub(super) fn leave_frame(&mut self) {
        if !self.options.limits_frames {
            return;
        }
        let (flags, context) = (self.counter_flags(), self.store_context());
        let left = self.builder.ins().load(types::I64, flags, context, store_context::FRAMES_LEFT);
        let more = self.builder.ins().iadd_imm_s(left, 1);
        self.builder.ins().store(flags, more, context, store_context::FRAMES_LEFT);
    }
}
