//! Calling contexts: how a function finds its call record, and where its callees find theirs.
//!
//! A caller passes the address of a callee slot of its own record. The slot holds the record of the most recent callee
//! at that site, initially the root's. Comparing that record's key with the callee's own key tells whether the record
//! is the callee's: no tag is needed, and an indirect call with an unchanged callee is as fast as a direct one.
//! Otherwise the runtime finds or creates the record and stores it in the slot.
//! Source: Ammons, Ball & Larus 1997, section 4.2, where the slot of an indirect call always leads to a list.
//!
//! A frame's record is a variable, so that nothing has to be restored after a call or a trap.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    InstBuilder, MemFlagsData, StackSlotData, StackSlotKey, StackSlotKind, Value, types,
};

use super::Translator;
use crate::abi::{call_record, find_record_signature, store_context, vmctx};
use crate::code::RECORD_SLOT;

impl Translator<'_> {
    /// Finds the call record of the function being entered, and counts the call.
    pub(super) fn find_record(&mut self, sites: u32) {
        let flags = self.counter_flags();
        let slot = self.passed();
        let last = self.builder.ins().load(types::I64, flags, slot, 0);
        let key = self.builder.ins().iadd_imm_s(self.vmctx, i64::from(self.position.cfg().func));
        let key_of_last = self.builder.ins().load(types::I64, flags, last, call_record::KEY);
        let (miss, found) = (self.builder.create_block(), self.builder.create_block());
        let record = self.builder.append_block_param(found, types::I64);
        let is_other = self.builder.ins().icmp(IntCC::NotEqual, key_of_last, key);
        self.builder.ins().brif(is_other, miss, &[], found, &[last.into()]);
        self.builder.seal_block(miss);
        self.builder.set_cold_block(miss);
        self.builder.switch_to_block(miss);
        self.ask_for_record(sites, slot);
        let other = self.builder.ins().load(types::I64, flags, slot, 0);
        self.builder.ins().jump(found, &[other.into()]);
        self.builder.seal_block(found);
        self.builder.switch_to_block(found);
        self.define_record(record);
        let once = self.once();
        self.add_to_record(call_record::CALLS, once);
    }

    /// Calls the runtime, which stores the record in the slot. If too little stack is left for the runtime, traps with
    /// a stack overflow.
    fn ask_for_record(&mut self, sites: u32, slot: Value) {
        self.check_stack();
        let trusted = MemFlagsData::trusted();
        let store = self.load_constant(types::I64, self.vmctx, vmctx::STORE);
        let code = self.builder.ins().load(types::I64, trusted, store, store_context::FIND_RECORD);
        let signature = self.builder.import_signature(find_record_signature());
        let [func, sites] = [self.position.cfg().func, sites]
            .map(|number| self.builder.ins().iconst(types::I32, i64::from(number)));
        self.builder.ins().call_indirect(signature, code, &[self.vmctx, func, sites, slot]);
    }

    /// Adds to a word of the frame's record.
    pub(super) fn add_to_record(&mut self, offset: i32, value: Value) {
        let (flags, record) = (self.counter_flags(), self.own_record());
        let old = self.builder.ins().load(types::I64, flags, record, offset);
        let new = self.builder.ins().iadd(old, value);
        self.builder.ins().store(flags, new, record, offset);
    }

    /// Passes the slot of a call site to its callee.
    pub(super) fn pass_slot(&mut self, site: u32) {
        let record = self.own_record();
        let slot = self.builder.ins().iadd_imm_s(record, i64::from(call_record::slot(site)));
        self.pass(slot);
    }

    /// Passes the record of this frame to the version that continues it.
    pub(super) fn pass_record(&mut self) {
        let record = self.own_record();
        self.pass(record);
    }

    /// Takes the record from the version that the frame has left.
    pub(super) fn take_record(&mut self) {
        let record = self.passed();
        self.define_record(record);
    }

    fn define_record(&mut self, value: Value) {
        self.slots.define_record(value, &mut self.builder);
        if self.input.options().frames_hold_record() {
            self.keep_record(value);
        }
    }

    /// Keeps the record in the frame, where the stack walk charges it or finds the owner of an unfinished path.
    fn keep_record(&mut self, record: Value) {
        let key = StackSlotKey::new(RECORD_SLOT);
        let slot = StackSlotData::new_with_key(StackSlotKind::ExplicitSlot, 8, 3, key);
        let slot = self.builder.create_sized_stack_slot(slot);
        self.builder.ins().stack_store(types::I64, record, slot, 0);
    }

    pub(super) fn own_record(&mut self) -> Value {
        self.slots.record(&mut self.builder)
    }

    fn pass(&mut self, value: Value) {
        if self.input.options().pins_callee_slot() {
            self.builder.ins().set_pinned_reg(value);
            return;
        }
        let (flags, context) = (self.counter_flags(), self.store_context());
        self.builder.ins().store(flags, value, context, store_context::CALLEE_SLOT);
    }

    fn passed(&mut self) -> Value {
        if self.input.options().pins_callee_slot() {
            return self.builder.ins().get_pinned_reg(types::I64);
        }
        let (flags, context) = (self.counter_flags(), self.store_context());
        self.builder.ins().load(types::I64, flags, context, store_context::CALLEE_SLOT)
    }
}
