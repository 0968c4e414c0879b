//! Ends of paths in functions with too many paths for a counter each: recent paths have a row of figures each.
//!
//! Invariant: the figures in a row belong to its current path; the runtime collects them before another path gets the
//! row. Source: Ball & Larus 1996, section 3.4, which uses a hash table. Ours is the most used part of one,
//! direct-mapped, so that a path which finds its row costs a multiplication and a comparison, and no call.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};

use super::Translator;
use super::metric::Measured;
use crate::abi::{Builtin, TrapCode, path_row};

impl Translator<'_> {
    /// Counts a path, and the metrics along it, in its row; row 0 begins with counter `first`.
    pub(super) fn count_path_in_row(&mut self, number: Value, first: u32, measured: Measured) {
        let row = self.path_row(number, first, path_row::words(1 + measured.len() as u32));
        self.take_row(row, number);
        let one = self.once();
        for (figure, value) in [one].into_iter().chain(measured).enumerate() {
            self.add_to_cell_at(row, path_row::figure(figure as u32), value);
        }
    }

    /// Returns the number of a path in the frame's call record, which holds the number of path 0 at that offset in
    /// bytes.
    pub(super) fn number_in_record(&mut self, number: Value, offset: u32) -> Value {
        let record = self.own_record();
        let flags = MemFlagsData::trusted().with_readonly();
        let first = self.builder.ins().load(types::I64, flags, record, offset as i32);
        self.builder.ins().iadd(first, number)
    }

    /// Returns the address of the row that the number of a path selects.
    fn path_row(&mut self, number: Value, first: u32, words: u32) -> Value {
        let hash = self.builder.ins().imul_imm_s(number, path_row::FACTOR.cast_signed());
        let index = self.builder.ins().ushr_imm_u(hash, i64::from(path_row::SHIFT));
        let offset = self.builder.ins().imul_imm_s(index, i64::from(8 * words));
        let row = self.builder.ins().iadd(self.vmctx, offset);
        self.builder.ins().iadd_imm_s(row, self.input.env().layout.counter(first).cast_signed())
    }

    /// Makes the path the owner of the row, if another path owns it.
    fn take_row(&mut self, row: Value, number: Value) {
        let flags = self.counter_flags();
        let key = self.builder.ins().iadd_imm_s(number, 1);
        let there = self.builder.ins().load(types::I64, flags, row, path_row::KEY);
        let is_other = self.builder.ins().icmp(IntCC::NotEqual, there, key);
        let (other, own) = (self.builder.create_block(), self.builder.create_block());
        // The rare case first: see `translate`'s notes on the order of branches.
        self.builder.ins().brif(is_other, other, &[], own, &[]);
        self.builder.seal_block(other);
        self.builder.set_cold_block(other);
        self.builder.switch_to_block(other);
        let func = self.builder.ins().iconst(types::I32, i64::from(self.position.cfg().func));
        let status = self.builtin(Builtin::TakeRow, &[func, row, key]);
        self.builder.ins().trapnz(status, TrapCode::Host.to_clif());
        self.builder.ins().jump(own, &[]);
        self.builder.seal_block(own);
        self.builder.switch_to_block(own);
    }
}
