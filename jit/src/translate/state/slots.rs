//! The variables and stack slots of a frame beside those of locals, operands and the path register.

use cranelift_codegen::ir::{
    InstBuilder, MemFlagsData, StackSlot, StackSlotData, StackSlotKey, StackSlotKind, Value, types,
};
use cranelift_frontend::{FunctionBuilder, Variable};
use smallvec::SmallVec;

use crate::abi::value;
use crate::code::METRICS_SLOT;

/// The frame's other variables and slots.
///
/// **Invariant**: each is made once. The entry of the function makes and defines those for what is profiled, before any
/// code reads them; those for exceptions are made where they are first needed. Of the two values that one step of the
/// translation leaves to a later one, the cell is taken by the next indirect call, and the results are those of the most
/// recent edge that returns.
#[derive(Default)]
pub struct FrameSlots {
    /// The frame's call record, if calling contexts are counted.
    record: Option<Variable>,
    /// The frame's measurements, by metric.
    sums: Option<StackSlot>,
    /// In burst code, the frame's increment of counters.
    counted: Option<StackSlot>,
    /// The slot in which throws store the values of an exception.
    carried: Option<StackSlot>,
    /// The exception on its way to the landing of an inlined call.
    thrown: Option<Variable>,
    /// The counter cell for the callee of the next indirect call.
    target_cell: Option<u32>,
    /// The results, while an edge that returns from the function is crossed.
    leaving: SmallVec<[Value; 1]>,
}

impl FrameSlots {
    /// Defines the frame's call record.
    pub fn define_record(&mut self, record: Value, builder: &mut FunctionBuilder<'_>) {
        let variable = builder.declare_var(types::I64);
        builder.def_var(variable, record);
        self.record = Some(variable);
    }

    /// Returns the frame's call record.
    ///
    /// # Panics
    /// If none was defined.
    pub fn record(&self, builder: &mut FunctionBuilder<'_>) -> Value {
        builder.use_var(self.record.expect("found or taken at the entry"))
    }

    /// Makes a sum for each of so many metrics, which have no values yet.
    pub fn make_sums(&mut self, metrics: u32, builder: &mut FunctionBuilder<'_>) {
        let key = StackSlotKey::new(METRICS_SLOT + u64::from(metrics));
        let slot = StackSlotData::new_with_key(StackSlotKind::ExplicitSlot, 8 * metrics, 3, key);
        self.sums = Some(builder.create_sized_stack_slot(slot));
    }

    fn sums(&self) -> StackSlot {
        self.sums.expect("made at the start where anything is measured")
    }

    /// Returns the sum of a metric.
    ///
    /// # Panics
    /// If there are no sums, as in [`FrameSlots::set_sum`].
    pub fn sum(&self, metric: u32, builder: &mut FunctionBuilder<'_>) -> Value {
        builder.ins().stack_load(types::I64, types::I64, self.sums(), 8 * metric as i32)
    }

    pub fn set_sum(&self, metric: u32, value: Value, builder: &mut FunctionBuilder<'_>) {
        builder.ins().stack_store(types::I64, value, self.sums(), 8 * metric as i32);
    }

    /// Makes the increment, which has no value yet.
    pub fn make_counted(&mut self, builder: &mut FunctionBuilder<'_>) {
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, 8, 3);
        self.counted = Some(builder.create_sized_stack_slot(slot));
    }

    /// Returns what the frame adds to a counter: 1 or 0.
    ///
    /// # Panics
    /// In code that is not for bursts, as does [`FrameSlots::set_counted`].
    pub fn counted(&self, builder: &mut FunctionBuilder<'_>) -> Value {
        let slot = self.counted.expect("code for bursts has it");
        builder.ins().stack_load(types::I64, types::I64, slot, 0)
    }

    pub fn set_counted(&self, value: Value, builder: &mut FunctionBuilder<'_>) {
        let slot = self.counted.expect("code for bursts has it");
        builder.ins().stack_store(types::I64, value, slot, 0);
    }

    /// Stores values in the frame, in one place that all throws of the function share, and returns its address.
    pub fn carry(&mut self, values: &[Value], builder: &mut FunctionBuilder<'_>) -> Value {
        let size = values.len() as u32 * value::SIZE;
        let slot = *self.carried.get_or_insert_with(|| {
            let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, size, 4);
            builder.create_sized_stack_slot(slot)
        });
        let room = &mut builder.func.sized_stack_slots[slot].size;
        *room = size.max(*room);
        let address = builder.ins().stack_addr(types::I64, slot, 0);
        for (&value, offset) in values.iter().zip((0..).step_by(value::SIZE as usize)) {
            builder.ins().store(MemFlagsData::trusted(), value, address, offset);
        }
        address
    }

    /// Returns the exception on its way to a landing.
    pub fn thrown(&mut self, builder: &mut FunctionBuilder<'_>) -> Value {
        let variable = self.thrown_variable(builder);
        builder.use_var(variable)
    }

    /// Sends an exception on its way to a landing.
    pub fn set_thrown(&mut self, thrown: Value, builder: &mut FunctionBuilder<'_>) {
        let variable = self.thrown_variable(builder);
        builder.def_var(variable, thrown);
    }

    fn thrown_variable(&mut self, builder: &mut FunctionBuilder<'_>) -> Variable {
        *self.thrown.get_or_insert_with(|| builder.declare_var(types::I64))
    }

    /// Names the counter cell for the callee of the next indirect call.
    pub fn count_next_target(&mut self, cell: u32) {
        self.target_cell = Some(cell);
    }

    /// Returns the counter cell for the callee of this indirect call, if it is counted.
    pub fn take_target_cell(&mut self) -> Option<u32> {
        self.target_cell.take()
    }

    /// Notes the results with which the function returns.
    pub fn leave_with(&mut self, results: &[Value]) {
        self.leaving = SmallVec::from_slice(results);
    }

    /// Returns the first of the results with which the function returns.
    pub fn first_result(&self) -> Option<Value> {
        self.leaving.first().copied()
    }
}
