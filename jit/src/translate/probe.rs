//! Probes: the actions of a version of a function beyond the wasm code's own.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    InstBuilder, MemFlagsData, StackSlotData, StackSlotKey, StackSlotKind, Value, types,
};

use wasmparser::Operator;

use super::Translator;
use crate::abi::{Builtin, TrapCode, call_record, store_context, vmctx};
use crate::clif::trace::{self, Bits};
use crate::code::VMCTX_SLOT;
use crate::events::is_dynamic;
use crate::graph::{Guard, Lacking};
use crate::plan::{Bound, Countdown, GoesOn};
use crate::plan::{Probe, Probes};

impl Translator<'_> {
    pub(super) fn probes(&mut self, probes: &Probes) {
        for probe in probes {
            self.probe(probe);
        }
    }

    pub(super) fn probe(&mut self, probe: &Probe) {
        match *probe {
            Probe::Count { counter, by } => {
                self.count(counter, by.into());
            }
            Probe::CountInRecord { offset, by } => {
                let by = self.builder.ins().iconst(types::I64, i64::from(by));
                self.add_to_record(offset as i32, by);
            }
            Probe::Event { kind, amount } => self.add_events(kind, amount),
            Probe::Budget(kind) => self.check_budget(kind),
            Probe::Poll => self.poll(),
            Probe::Follow(follow) => self.follow(&follow),
            Probe::Check => self.check(),
            Probe::Heat(counter) => self.heat(counter),
            Probe::PathStart(first) => self.start_path(first),
            Probe::PathAdd(amount) => self.add_to_path(amount),
            Probe::PathEnd { amount, cells } => self.end_path(amount, cells),
            Probe::StartMetrics => self.start_metrics(),
            Probe::StopMetrics => self.stop_metrics(),
            Probe::ChargeRecord => self.end_measuring(),
            Probe::PreferentialEnd { amount, counters } => self.end_preferential_path(amount, counters),
            Probe::Emit { value, bits } => self.emit(Bits::Constant { value, bits }, self.position.offset()),
            Probe::FindRecord { sites } => self.find_record(sites),
            Probe::EnterAllocator(of) => self.enter_allocator(&of),
            Probe::LeaveAllocator(new) => self.leave_allocator(new),
            Probe::PassSlot(slot) => self.pass_slot(slot),
            Probe::CountTarget(cell) => self.slots.count_next_target(cell),
            Probe::CountOps(ops) => self.count_ops(ops),
            Probe::RecordEntry => self.record_entry(),
            Probe::RecordPath { amount, leaves } => self.record_path(amount, leaves),
        }
    }

    /// Returns the count of a single occurrence at this point.
    pub(super) fn once(&mut self) -> Value {
        match self.input.graph().in_bursts {
            true => self.counted(),
            false => self.builder.ins().iconst(types::I64, 1),
        }
    }

    /// Appends to the trace. A flush at this point finds the frame at byte `offset`.
    pub(super) fn emit(&mut self, what: Bits, offset: u32) {
        let (here, vmctx) = (self.position.offset(), self.vmctx);
        let location = self.location_of(offset);
        let is_pinned = self.input.options().has_pinned_register;
        trace::append(&mut self.builder, self.output.origins(), is_pinned, what, |builder| {
            builder.set_srcloc(location);
            builder.ins().load(types::I64, MemFlagsData::trusted(), vmctx, vmctx::STORE)
        });
        self.at(here);
    }

    /// Adds to a counter, an add to memory at a constant distance from the vmctx. Returns the new count.
    pub(super) fn count(&mut self, counter: u32, by: u64) -> Value {
        let offset =
            i32::try_from(self.input.env().layout.counter(counter)).expect("the runtime bounds the counters");
        let flags = self.counter_flags();
        let old = self.builder.ins().load(types::I64, flags, self.vmctx, offset);
        let new = self.builder.ins().iadd_imm_s(old, by.cast_signed());
        self.builder.ins().store(flags, new, self.vmctx, offset);
        new
    }

    /// Adds a constant to the events of a kind.
    fn add_events(&mut self, kind: u32, amount: i64) {
        let amount = self.builder.ins().iconst(types::I64, amount);
        self.add_event_value(kind, amount);
    }

    /// Adds to the events of a kind: in the call record, if calling contexts are counted, and in the store's context.
    fn add_event_value(&mut self, kind: u32, amount: Value) {
        if self.input.options().events_in_records > 0 {
            self.add_to_record(call_record::event(self.input.options().metrics, kind), amount);
        }
        if self.input.options().counts_in_store(kind) {
            self.add_to_counter(kind, amount);
        }
    }

    fn add_to_counter(&mut self, kind: u32, amount: Value) {
        if self.input.options().pinned == Some(kind) {
            return self.in_place(|translator| {
                let old = translator.builder.ins().get_pinned_reg(types::I64);
                let new = translator.builder.ins().iadd(old, amount);
                translator.builder.ins().set_pinned_reg(new);
            });
        }
        let (flags, context, offset) = self.event_counter(kind);
        let old = self.builder.ins().load(types::I64, flags, context, offset);
        let new = self.builder.ins().iadd(old, amount);
        self.builder.ins().store(flags, new, context, offset);
    }

    fn event_counter(&mut self, kind: u32) -> (MemFlagsData, Value, i32) {
        (self.counter_flags(), self.store_context(), store_context::event(kind))
    }

    fn load_events(&mut self, kind: u32) -> Value {
        if self.input.options().pinned == Some(kind) {
            return self.builder.ins().get_pinned_reg(types::I64);
        }
        let (flags, context, offset) = self.event_counter(kind);
        self.builder.ins().load(types::I64, flags, context, offset)
    }

    /// Branches to the other copy of the node's block if the guard's condition fails. Locals and operands are the
    /// same there.
    pub(super) fn guard(&mut self, guard: &Guard) {
        let is_lacking = match &guard.when {
            Lacking::Budget { kind, most } => {
                let counter = self.load_events(*kind);
                let least = i64::try_from(*most).map_or(i64::MIN, |most| -most);
                self.builder.ins().icmp_imm_s(IntCC::SignedGreaterThan, counter, least)
            }
            Lacking::Rounds { countdown, tests } => self.may_end(countdown, *tests),
        };
        let (other, go_on) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(is_lacking, other, &[], go_on, &[]);
        self.builder.seal_block(other);
        self.builder.seal_block(go_on);
        self.builder.switch_to_block(other);
        self.carry_path(guard.to);
        self.go_to(guard.to);
        self.builder.switch_to_block(go_on);
    }

    /// Computes whether one of the next `tests` tests of a loop may end it.
    fn may_end(&mut self, countdown: &Countdown, tests: u32) -> Value {
        let local = self.read_local(countdown.local);
        let plus = self.countdown_constant(countdown, countdown.plus);
        let first = self.builder.ins().iadd(local, plus);
        let bound = self.countdown_bound(countdown);
        let way = countdown.step * i64::from(tests - 1);
        let order = match countdown.goes_on {
            GoesOn::Until => {
                let left = match way > 0 {
                    true => self.builder.ins().isub(bound, first),
                    false => self.builder.ins().isub(first, bound),
                };
                return self.builder.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, left, way.abs());
            }
            GoesOn::Below(order) | GoesOn::Above(order) => order,
        };
        // In 64 bits, so that nothing overflows.
        let [first, bound] = [first, bound].map(|value| match order.is_signed {
            true => self.builder.ins().sextend(types::I64, value),
            false => self.builder.ins().uextend(types::I64, value),
        });
        let last = self.builder.ins().iadd_imm_s(first, way);
        let ends_if = match (countdown.goes_on, order.or_equal) {
            (GoesOn::Below(_), false) => IntCC::SignedGreaterThanOrEqual,
            (GoesOn::Below(_), true) => IntCC::SignedGreaterThan,
            (_, false) => IntCC::SignedLessThanOrEqual,
            (_, true) => IntCC::SignedLessThan,
        };
        self.builder.ins().icmp(ends_if, last, bound)
    }

    /// Returns the value with which a countdown's local is compared.
    pub(super) fn countdown_bound(&mut self, countdown: &Countdown) -> Value {
        match countdown.bound {
            Bound::Constant(bound) => self.countdown_constant(countdown, bound),
            Bound::Local(bound) => self.read_local(bound),
        }
    }

    /// Returns a constant of the countdown's width.
    pub(super) fn countdown_constant(&mut self, countdown: &Countdown, value: i64) -> Value {
        match countdown.is_64 {
            true => self.builder.ins().iconst(types::I64, value),
            false => self.builder.ins().iconst(types::I32, i64::from(value as u32)),
        }
    }

    /// Checks the budget: a metered counter is above zero when no budget is left. A store to an unmapped address then
    /// faults; a call would cost registers even where it is never made.
    fn check_budget(&mut self, kind: u32) {
        let (exhausted, go_on) = (self.builder.create_block(), self.builder.create_block());
        self.in_place(|translator| {
            let counter = translator.load_events(kind);
            let is_over = translator.builder.ins().icmp_imm_s(IntCC::SignedGreaterThan, counter, 0);
            translator.builder.ins().brif(is_over, exhausted, &[], go_on, &[]);
        });
        self.builder.seal_block(exhausted);
        self.builder.set_cold_block(exhausted);
        self.builder.switch_to_block(exhausted);
        if self.input.options().capture_state {
            self.out_of_line(Self::store_state);
        }
        let nowhere = self.builder.ins().iconst(types::I64, 0);
        let flags = MemFlagsData::new().with_aligned().with_trap_code(Some(TrapCode::Budget.to_clif()));
        // Loaded again, so that the value above has a single use, and not a constant, so that the store takes a
        // register.
        let counter = self.load_events(kind);
        self.builder.ins().store(flags, counter, nowhere, 0);
        self.builder.ins().jump(go_on, &[]);
        self.builder.seal_block(go_on);
        self.builder.switch_to_block(go_on);
    }

    /// Counts the units of a bulk operation's length, the operand on top, if they are events.
    pub(super) fn count_length(&mut self, op: &Operator<'_>) {
        if self.input.env().events.is_empty() || !is_dynamic(op) {
            return;
        }
        for (kind, model) in (0..).zip(self.input.env().events) {
            let per_unit = model.per_unit(op);
            if per_unit == 0 {
                continue;
            }
            let is_64 = self.is_length_64(op);
            let length = self.top(1)[0];
            let length = self.extend_index(length, is_64);
            let length = match is_64 {
                // As Wasmtime's fuel does; no sensible length is longer.
                true => {
                    let most = self.builder.ins().iconst(types::I64, i64::MAX);
                    self.builder.ins().umin(length, most)
                }
                false => length,
            };
            let events = self.builder.ins().imul_imm_s(length, per_unit as i64);
            self.add_event_value(kind, events);
            if let Some(metric) = self.input.options().lengths.get(kind as usize).copied().flatten() {
                self.add_to_reading(metric, events);
            }
        }
    }

    /// Reads the poll byte; the read faults once the store is interrupted. The read is atomic, since a loop without
    /// stores would otherwise read it only once.
    fn poll(&mut self) {
        let address = self.load_constant(types::I64, self.vmctx, vmctx::POLL);
        if self.input.options().explicit_traps {
            return self.poll_explicitly(address);
        }
        let flags = MemFlagsData::new().with_aligned().with_trap_code(Some(TrapCode::Interrupt.to_clif()));
        self.builder.ins().atomic_load(types::I32, flags, address);
    }

    /// Reads the poll byte, and asks the runtime what to do if it is not zero.
    fn poll_explicitly(&mut self, address: Value) {
        let flags = MemFlagsData::new().with_aligned().with_notrap();
        let requested = self.builder.ins().atomic_load(types::I32, flags, address);
        let (ask, go_on) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(requested, ask, &[], go_on, &[]);
        self.builder.seal_block(ask);
        self.builder.set_cold_block(ask);
        self.builder.switch_to_block(ask);
        let answer = self.builtin(Builtin::Poll, &[]);
        let has_failed = self.builder.ins().icmp_imm_u(IntCC::Equal, answer, 2);
        self.builder.ins().trapnz(has_failed, TrapCode::Host.to_clif());
        self.builder.ins().trapnz(answer, TrapCode::Interrupt.to_clif());
        self.builder.ins().jump(go_on, &[]);
        self.builder.seal_block(go_on);
        self.builder.switch_to_block(go_on);
    }

    /// Traps if the frame reaches into the stack that is reserved for the host.
    pub(super) fn check_stack(&mut self) {
        let store = self.store_context();
        let limit =
            self.builder.ins().load(types::I64, MemFlagsData::trusted(), store, store_context::STACK_LIMIT);
        let stack_pointer = self.builder.ins().get_stack_pointer(types::I64);
        let is_low = self.builder.ins().icmp(IntCC::UnsignedLessThan, stack_pointer, limit);
        self.builder.ins().trapnz(is_low, TrapCode::StackOverflow.to_clif());
    }

    /// Reads the lowest byte of the frame, so that a stack overflow occurs here, before anything was
    /// executed, and not at whichever instruction first uses the frame.
    pub(super) fn touch_stack(&mut self) {
        let lowest = self.builder.ins().get_stack_pointer(types::I64);
        let flags =
            MemFlagsData::new().with_aligned().with_trap_code(Some(TrapCode::StackOverflow.to_clif()));
        self.builder.ins().atomic_load(types::I32, flags, lowest);
    }

    /// Keeps the vmctx in the frame, where the stack walk finds the frame's instance.
    pub(super) fn keep_vmctx(&mut self) {
        let key = StackSlotKey::new(VMCTX_SLOT);
        let slot = StackSlotData::new_with_key(StackSlotKind::ExplicitSlot, 8, 3, key);
        let slot = self.builder.create_sized_stack_slot(slot);
        self.builder.ins().stack_store(types::I64, self.vmctx, slot, 0);
    }
}
