//! Ends of paths that distinguish interesting paths from others: one load and one comparison, or neither where the path
//! is known.
//!
//! Invariant: a path is counted once, in the counter of its cell or in the table of paths.
//! Source: Vaswani, *Efficient Online Path Profiling*, 2007, section 3.2.3; the plan is a
//! `wprof_profiler::PreferentialPlan`, which says why the low bits of the preferential number suffice.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};

use super::Translator;
use super::state::PathRegister;

impl Translator<'_> {
    /// Counts the path whose numbers are the register plus `amount`. If the path owns its cell it is interesting, and
    /// is counted in the cell's counter, provided that interesting paths are counted (`first` is the counter of the
    /// first cell); otherwise it is counted in the table.
    pub(super) fn end_preferential_path(&mut self, amount: i64, first: Option<u32>) {
        match self.path.as_ref().and_then(PathRegister::known) {
            Some(register) => self.end_known_path(register.wrapping_add(amount), first),
            None => self.end_unknown_path(amount, first),
        }
    }

    /// Counts a path whose numbers are known, so that it is known whether it is interesting.
    fn end_known_path(&mut self, both: i64, first: Option<u32>) {
        let id = both as u32;
        let cell = (both.cast_unsigned() >> 32) as usize & (self.cells().len() - 1);
        if self.cells()[cell] != id {
            let id = self.builder.ins().iconst(types::I64, i64::from(id));
            self.count_path_in_table(id);
        } else if let Some(first) = first {
            self.count(first + cell as u32, 1);
        }
    }

    fn end_unknown_path(&mut self, amount: i64, first: Option<u32>) {
        let register = self.path_value();
        let both = self.builder.ins().iadd_imm_s(register, amount);
        let id = self.builder.ins().ireduce(types::I32, both);
        let cell = self.cell(both);
        let there = self.load_cell(cell);
        let (other, done) = (self.builder.create_block(), self.builder.create_block());
        let own = first.map_or(done, |_| self.builder.create_block());
        // The rare case first: see `translate`'s notes on the order of branches.
        let is_other = self.builder.ins().icmp(IntCC::NotEqual, there, id);
        self.builder.ins().brif(is_other, other, &[], own, &[]);
        self.builder.seal_block(other);
        self.builder.set_cold_block(other);
        self.builder.switch_to_block(other);
        let id = self.builder.ins().uextend(types::I64, id);
        self.count_path_in_table(id);
        self.builder.ins().jump(done, &[]);
        if let Some(first) = first {
            self.builder.seal_block(own);
            self.builder.switch_to_block(own);
            self.count_dense_path(cell, 0, first);
            self.builder.ins().jump(done, &[]);
        }
        self.builder.seal_block(done);
        self.builder.switch_to_block(done);
    }

    /// Returns the index of the cell that the upper half of the word selects.
    fn cell(&mut self, both: Value) -> Value {
        let mask = self.cells().len() as u64 - 1;
        let number = self.builder.ins().ushr_imm_u(both, 32);
        self.builder.ins().band_imm_u(number, mask.cast_signed())
    }

    /// Loads a cell. The cells stay where the plan has them, and the plan lives as long as the code.
    fn load_cell(&mut self, cell: Value) -> Value {
        let address = self.cells().as_ptr().addr() as u64;
        let cells = self.builder.ins().iconst(types::I64, address.cast_signed());
        let scaled = self.builder.ins().ishl_imm_u(cell, 2);
        let address = self.builder.ins().iadd(cells, scaled);
        let flags = MemFlagsData::trusted().with_readonly();
        self.builder.ins().load(types::I32, flags, address, 0)
    }

    fn cells(&self) -> &[u32] {
        self.input.graph().cells.as_ref().expect("graphs with probes of interesting paths have cells")
    }
}
