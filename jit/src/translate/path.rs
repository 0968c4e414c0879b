//! The path register at the current position, and the counters of paths.
//!
//! Source: Ball & Larus, *Efficient Path Profiling*, MICRO 1996; the plan is a `wprof_profiler::PathPlan`.

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};

use super::Translator;
use super::metric::Measured;
use super::state::PathRegister;
use crate::abi::{Builtin, TrapCode, store_context, vmctx};
use crate::plan::PathCells;

const NO_REGISTER: &str = "graphs with probes of paths have a path register";

impl Translator<'_> {
    /// Gives the function a path register, if its graph has one, with its first value, or the value of the frame that
    /// continues here. `stops` says for each node of a leaf function whether a frame may stop or be inspected there.
    pub(super) fn begin_path(&mut self, stops: Option<&[bool]>) {
        let Some(entry) = self.input.graph().path_register else { return };
        self.path = Some(PathRegister::new(&self.input, stops, &mut self.builder));
        if self.input.graph().is_continued {
            let context = self.load_constant(types::I64, self.vmctx, vmctx::STORE);
            let flags = MemFlagsData::trusted();
            let first = self.builder.ins().load(types::I64, flags, context, store_context::PATH);
            self.set_path(first);
        } else {
            self.path_register().start(entry);
            self.carry_path(0);
        }
    }

    /// Records that the current place is the entry of the node, or one of its outgoing edges.
    pub(super) fn place_path(&mut self) {
        if let Some(path) = &mut self.path {
            path.place(self.position.node());
        }
    }

    /// Returns to the end of the node, from which another edge leads: the register, and with it the origin of code, are
    /// again those before the node's edges.
    pub(super) fn return_to_end(&mut self) {
        if self.path.is_some() {
            self.place_path();
            self.at(self.position.offset());
        }
    }

    /// Copies the register to the frame at the entry of the node, if it may be inspected from here on.
    pub(super) fn keep_path(&mut self) {
        if let Some(path) = &self.path {
            path.keep(self.position.node(), &mut self.builder);
        }
    }

    /// Reports whether the register is known here, but no longer in node `to`.
    pub(super) fn is_path_carried(&self, to: u32) -> bool {
        self.path.as_ref().is_some_and(|path| path.is_carried(to))
    }

    /// Stores a value that is known here but not in node `to`, where control continues.
    pub(super) fn carry_path(&mut self, to: u32) {
        if let Some(path) = &self.path {
            path.carry(to, &mut self.builder);
        }
    }

    fn path_register(&mut self) -> &mut PathRegister {
        self.path.as_mut().expect(NO_REGISTER)
    }

    pub(super) fn path_value(&mut self) -> Value {
        self.path.as_ref().expect(NO_REGISTER).value(&mut self.builder)
    }

    pub(super) fn set_path(&mut self, value: Value) {
        self.path.as_ref().expect(NO_REGISTER).set(value, &mut self.builder);
    }

    /// Begins a path where another one has ended.
    pub(super) fn start_path(&mut self, first: i64) {
        self.path_register().start(first);
        self.restart_metrics();
    }

    pub(super) fn add_to_path(&mut self, amount: i64) {
        self.path.as_mut().expect(NO_REGISTER).add(amount, &mut self.builder);
    }

    /// Counts the path whose number is the register plus `amount`, and the metrics along it.
    pub(super) fn end_path(&mut self, amount: i64, cells: PathCells) {
        let measured = self.counted_measured();
        self.charge_record(&measured);
        let path = self.path_value();
        match cells {
            PathCells::Instance { first, paths } => {
                let first = self.input.env().layout.counter(first).cast_signed();
                self.add_to_cells(self.vmctx, (path, amount), (first, paths), measured);
            }
            PathCells::Record { first, paths } => {
                let record = self.own_record();
                self.add_to_cells(record, (path, amount), (first.into(), paths), measured);
            }
            PathCells::Rows { first, in_record } => {
                let number = self.builder.ins().iadd_imm_s(path, amount);
                let number = match in_record {
                    Some(offset) => self.number_in_record(number, offset),
                    None => number,
                };
                self.count_path_in_row(number, first, measured);
            }
        }
    }

    pub(super) fn count_path_in_table(&mut self, id: Value) {
        let func = self.builder.ins().iconst(types::I32, i64::from(self.position.cfg().func));
        let status = self.builtin(Builtin::CountPath, &[func, id]);
        self.builder.ins().trapnz(status, TrapCode::Host.to_clif());
    }

    /// Counts the path in the counters from `first` on.
    pub(super) fn count_dense_path(&mut self, path: Value, amount: i64, first: u32) {
        let first = self.input.env().layout.counter(first).cast_signed();
        self.add_to_cells(self.vmctx, (path, amount), (first, 1), Measured::new());
    }

    /// Counts a path, and the metrics along it. The cells begin `first` bytes behind `base`: one for each path, then
    /// for each metric one for each path.
    fn add_to_cells(
        &mut self,
        base: Value,
        path: (Value, i64),
        (first, paths): (i64, u32),
        measured: Measured,
    ) {
        let one = self.once();
        let firsts = (first..).step_by(8 * paths as usize);
        for (first, value) in firsts.zip([one].into_iter().chain(measured)) {
            self.add_to_cell(base, path, first, value);
        }
    }

    /// Adds to the cell of the path's number. One instruction: the amount becomes part of the displacement, if it fits.
    fn add_to_cell(&mut self, base: Value, (path, amount): (Value, i64), first: i64, value: Value) {
        let merged = amount.checked_mul(8).and_then(|bytes| i32::try_from(first.checked_add(bytes)?).ok());
        let (index, offset) = match merged {
            Some(offset) => (path, offset),
            None => {
                let offset = i32::try_from(first).expect("the runtime bounds the counters");
                (self.builder.ins().iadd_imm_s(path, amount), offset)
            }
        };
        let scaled = self.builder.ins().ishl_imm_u(index, 3);
        let address = self.builder.ins().iadd(base, scaled);
        self.add_to_cell_at(address, offset, value);
    }

    pub(super) fn add_to_cell_at(&mut self, address: Value, offset: i32, value: Value) {
        let flags = self.counter_flags();
        let old = self.builder.ins().load(types::I64, flags, address, offset);
        let new = self.builder.ins().iadd(old, value);
        self.builder.ins().store(flags, new, address, offset);
    }

    /// Records that the function is entered.
    pub(super) fn record_entry(&mut self) {
        let entered = self.builder.ins().iconst(types::I64, -1);
        self.record_in_burst(entered, false);
    }

    /// Records the path whose number is the register plus `amount`, and whether the function returns behind it.
    pub(super) fn record_path(&mut self, amount: i64, leaves: bool) {
        let path = self.path_value();
        let id = self.builder.ins().iadd_imm_s(path, amount);
        self.record_in_burst(id, leaves);
    }

    fn record_in_burst(&mut self, number: Value, leaves: bool) {
        let func = self.builder.ins().iconst(types::I32, i64::from(self.position.cfg().func));
        let leaves = self.builder.ins().iconst(types::I32, i64::from(leaves));
        let status = self.builtin(Builtin::RecordBurst, &[func, number, leaves]);
        self.builder.ins().trapnz(status, TrapCode::Host.to_clif());
    }

    /// Leaves the register where another version of the function will find it.
    pub(super) fn hand_over_path(&mut self) {
        if self.path.is_some() {
            let path = self.path_value();
            let context = self.load_constant(types::I64, self.vmctx, vmctx::STORE);
            self.builder.ins().store(MemFlagsData::trusted(), path, context, store_context::PATH);
        }
    }
}
