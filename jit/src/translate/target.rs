//! Call targets: counts which functions an indirect call reaches. See `plan::targets`.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};

use super::Translator;
use crate::abi::{Builtin, TrapCode};

impl Translator<'_> {
    /// Counts a call of the function that `reference` refers to, if the current call has cells for that.
    pub(super) fn count_target(&mut self, reference: Value) {
        let Some(cell) = self.slots.take_target_cell() else { return };
        let flags = self.counter_flags();
        let [last, count] = [cell, cell + 1].map(|cell| {
            i32::try_from(self.input.env().layout.counter(cell)).expect("the runtime bounds the counters")
        });
        let known = self.builder.ins().load(types::I64, flags, self.vmctx, last);
        let is_other = self.builder.ins().icmp(IntCC::NotEqual, known, reference);
        let (other, same) = (self.builder.create_block(), self.builder.create_block());
        let go_on = self.builder.create_block();
        self.builder.ins().brif(is_other, other, &[], same, &[]);
        self.builder.set_cold_block(other);
        self.builder.seal_block(other);
        self.builder.switch_to_block(other);
        let cell = self.builder.ins().iconst(types::I32, i64::from(cell));
        let status = self.builtin(Builtin::CountTarget, &[cell, reference]);
        self.builder.ins().trapnz(status, TrapCode::Host.to_clif());
        self.builder.ins().jump(go_on, &[]);
        self.builder.seal_block(same);
        self.builder.switch_to_block(same);
        let one = self.once();
        let old = self.builder.ins().load(types::I64, flags, self.vmctx, count);
        let new = self.builder.ins().iadd(old, one);
        self.builder.ins().store(flags, new, self.vmctx, count);
        self.builder.ins().jump(go_on, &[]);
        self.builder.seal_block(go_on);
        self.builder.switch_to_block(go_on);
    }
}
