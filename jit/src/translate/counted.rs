//! Whether a frame in burst code counts.
//!
//! A check decides for its frame: the frame counts until its next check if the check was in a burst, even after the
//! burst is over; so do the calls that it makes meanwhile, of functions without a check at their entry. So each part of
//! a run belongs to one check, and each check is equally likely to be in a burst: the counts are an unbiased sample. If
//! a part were counted only while the burst lasts, parts that contain a call longer than a burst would be lost, and
//! with them the callers of the most expensive functions. Source: ours; Hirzel & Chilimbi 2001 count no paths. Oracle:
//! `vm/tests/profiles/unbiased.rs`, which compares shares with exact ones.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};

use super::Translator;
use crate::abi::{Builtin, call_record, store_context};

impl Translator<'_> {
    /// Starts burst code: a frame counts if its caller did, or if it counted in the version that it comes from. A frame
    /// that resumes reaches a check at once.
    pub(super) fn begin_counted(&mut self) {
        if !self.input.graph().in_bursts {
            return;
        }
        self.slots.make_counted(&mut self.builder);
        let comes_from_check = self.input.graph().resumes && !self.input.graph().is_continued;
        let cell = if comes_from_check { store_context::COUNTS } else { store_context::PASSED };
        let counts = self.load_count_cell(cell);
        self.set_counted(counts);
    }

    /// Returns what the frame adds to a counter: 1 or 0.
    pub(super) fn counted(&mut self) -> Value {
        self.slots.counted(&mut self.builder)
    }

    fn set_counted(&mut self, value: Value) {
        self.slots.set_counted(value, &mut self.builder);
    }

    /// Passes whether the frame counts to a callee, or to the version in which the frame continues.
    pub(super) fn pass_counted(&mut self) {
        if self.input.graph().in_bursts {
            let counts = self.counted();
            let (flags, context) = (self.counter_flags(), self.store_context());
            self.builder.ins().store(flags, counts, context, store_context::PASSED);
        }
    }

    /// Takes over the decision of a check at which the frame stayed in burst code. If the decision changes, the current
    /// path is cut.
    pub(super) fn heed_check(&mut self) {
        let counts = self.load_count_cell(store_context::COUNTS);
        if self.position.block() == 0 {
            return self.set_counted(counts);
        }
        let before = self.counted();
        let is_other = self.builder.ins().icmp(IntCC::NotEqual, counts, before);
        let (other, same) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(is_other, other, &[], same, &[]);
        self.builder.seal_block(other);
        self.builder.set_cold_block(other);
        self.builder.switch_to_block(other);
        self.cut_path();
        self.set_counted(counts);
        self.begin_path_at_check();
        self.builder.ins().jump(same, &[]);
        self.builder.seal_block(same);
        self.builder.switch_to_block(same);
    }

    /// Ends the current path at a check, before the block: the executed part counts if the frame counted.
    pub(super) fn cut_path(&mut self) {
        if self.path.is_none() {
            return;
        }
        if self.input.options().metrics > 0 {
            let measured = self.counted_measured();
            self.charge_record(&measured);
            self.pass_measured(&measured);
        }
        let [func, block] = [self.position.cfg().func, self.position.block()]
            .map(|number| self.builder.ins().iconst(types::I32, i64::from(number)));
        let (path, counts) = (self.path_value(), self.counted());
        self.builtin(Builtin::CutPath, &[func, block, path, counts]);
    }

    /// Begins a path at the check, as behind a back edge.
    fn begin_path_at_check(&mut self) {
        let first = self.input.graph().path_from(self.position.block()).filter(|_| self.path.is_some());
        if let Some(first) = first {
            let first = self.builder.ins().iconst(types::I64, first);
            self.set_path(first);
            self.restart_metrics();
        }
    }

    /// Counts the instructions of the block in the frame's call record.
    pub(super) fn count_ops(&mut self, ops: u32) {
        let counts = self.counted();
        let ops = self.builder.ins().imul_imm_s(counts, i64::from(ops));
        self.add_to_record(call_record::ops(self.input.options().metrics), ops);
    }

    fn load_count_cell(&mut self, cell: i32) -> Value {
        let (flags, context) = (self.counter_flags(), self.store_context());
        self.builder.ins().load(types::I64, flags, context, cell)
    }
}
