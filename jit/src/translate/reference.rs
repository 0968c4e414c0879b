//! Data references of traces and of recorded bursts: each is recorded right before the access, so that one that traps
//! is recorded too.

use cranelift_codegen::ir::{InstBuilder, Value, types};

use super::Translator;
use crate::abi::{Builtin, TrapCode, reference, vmctx};
use crate::clif::trace;

impl Translator<'_> {
    /// Records an access of `bytes` at `index`, extended to 64 bits, plus an offset. `number` is the number of the
    /// access within the instruction.
    pub(super) fn record_access(
        &mut self,
        (index, offset): (Value, u64),
        bytes: u64,
        is_64: bool,
        number: u32,
    ) {
        if self.input.options().logs_references {
            let address = self.builder.ins().iadd_imm_s(index, offset.cast_signed());
            let bytes = self.builder.ins().iconst(types::I64, bytes.cast_signed());
            return self.record_in_order(address, bytes);
        }
        if !self.input.options().references {
            return;
        }
        let head = reference::head(self.position.offset());
        if is_64 {
            let head = self.word(head | reference::IS_LONG | 1);
            return self.record_reference(&[head, index], number);
        }
        let head = self.word(head);
        let word = self.builder.ins().iadd(index, head);
        self.record_reference(&[word], number);
    }

    /// Records an access of `length` bytes at `index`, both of 64 bits. `number` is the number of the access within the
    /// instruction.
    pub(super) fn record_bulk(&mut self, index: Value, length: Value, number: u32) {
        if self.input.options().logs_references {
            return self.record_in_order(index, length);
        }
        if !self.input.options().references {
            return;
        }
        let head = self.word(reference::head(self.position.offset()) | reference::IS_LONG | 2);
        self.record_reference(&[head, index, length], number);
    }

    /// Records an access among the paths of a burst.
    fn record_in_order(&mut self, address: Value, bytes: Value) {
        let site = self.builder.ins().iconst(types::I32, i64::from(self.position.offset()));
        let status = self.builtin(Builtin::RecordAccess, &[site, address, bytes]);
        self.builder.ins().trapnz(status, TrapCode::Host.to_clif());
    }

    fn word(&mut self, word: u64) -> Value {
        self.builder.ins().iconst(types::I64, word as i64)
    }

    /// Records a reference at a location of its own: if a chunk ends here, the frame's byte offset within the
    /// instruction tells which of its accesses came before.
    fn record_reference(&mut self, words: &[Value], number: u32) {
        let here = self.position.offset();
        self.at(here + number);
        let store = self.load_constant(types::I64, self.vmctx, vmctx::STORE);
        trace::append_reference(&mut self.builder, words, store);
        self.at(here);
    }
}
