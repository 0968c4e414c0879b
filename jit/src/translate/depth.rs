//! Call depth limit: the same in every version of a function, on every machine.
//!
//! A store's context holds the number of further frames allowed. A function takes one at its entry, or traps before it
//! has executed anything if none is left, and gives it back when it returns or ends in a tail call. For frames that an
//! exception unwinds, the runtime gives it back; for frames that a trap ends, the host's entry does. Where the entry has
//! a check, at which the frame may continue in another version that is called, the function takes its frame behind it.
//! Invariant: nothing is inlined, so that each running function has a frame.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, types};

use super::Translator;
use crate::abi::{TrapCode, store_context};

impl Translator<'_> {
    /// Takes a frame at the entry of a function by a call.
    pub(super) fn enter_frame(&mut self) {
        if !self.input.options().limits_frames {
            return;
        }
        // The recorded stop position is before the frame's first instruction, as on stack overflow.
        let entry = self.position.move_to_first_block(&self.input);
        self.at(entry);
        let (flags, context) = (self.counter_flags(), self.store_context());
        let left = self.builder.ins().load(types::I64, flags, context, store_context::FRAMES_LEFT);
        let rest = self.builder.ins().iadd_imm_s(left, -1);
        let is_over = self.builder.ins().icmp_imm_s(IntCC::SignedLessThan, rest, 0);
        self.builder.ins().trapnz(is_over, TrapCode::StackOverflow.to_clif());
        self.builder.ins().store(flags, rest, context, store_context::FRAMES_LEFT);
    }

    /// Gives the frame back at a normal exit.
    pub(super) fn leave_frame(&mut self) {
        if !self.input.options().limits_frames {
            return;
        }
        let (flags, context) = (self.counter_flags(), self.store_context());
        let left = self.builder.ins().load(types::I64, flags, context, store_context::FRAMES_LEFT);
        let more = self.builder.ins().iadd_imm_s(left, 1);
        self.builder.ins().store(flags, more, context, store_context::FRAMES_LEFT);
    }
}
