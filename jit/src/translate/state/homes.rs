//! The homes of locals and operands between nodes: in optimised code frontend variables, which SSA construction turns
//! into phis; in baseline code the frame.
//!
//! Registers of baseline code hold nothing from one run of blocks to the next (the target's `Baseline`), so values that
//! cross blocks are in the frame in any case; as phis they would be moved there on each incoming edge, even where no
//! code touches them.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{
    InstBuilder, MemFlags, MemFlagsData, Opcode, StackSlotData, StackSlotKind, Type, Value, types,
};
use cranelift_frontend::{FunctionBuilder, Variable};

/// The home of one value between nodes.
#[derive(Clone, Copy, Debug)]
pub enum Home {
    /// A frontend variable, in optimised code.
    Variable(Variable),
    /// A place in the frame, in baseline code. The function's first block computes the address once for all: the
    /// single-pass code generator needs no instruction for it.
    Place(Value, MemFlags),
}

impl Home {
    pub fn read(self, builder: &mut FunctionBuilder<'_>, ty: Type) -> Value {
        match self {
            Home::Variable(variable) => builder.use_var(variable),
            Home::Place(place, flags) => {
                let (inst, dfg) = builder.ins().Load(Opcode::Load, ty, flags, 0.into(), place);
                dfg.first_result(inst)
            }
        }
    }

    pub fn write(self, builder: &mut FunctionBuilder<'_>, value: Value) {
        match self {
            Home::Variable(variable) => builder.def_var(variable, value),
            Home::Place(place, flags) => {
                let ty = builder.func.dfg.value_type(value);
                builder.ins().Store(Opcode::Store, ty, flags, 0.into(), value, place);
            }
        }
    }
}

/// The kind of homes to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomeKind {
    Variables,
    Frame,
}

impl HomeKind {
    pub fn make(self, builder: &mut FunctionBuilder<'_>, ty: Type) -> Home {
        match self {
            HomeKind::Variables => Home::Variable(builder.declare_var(ty)),
            HomeKind::Frame => {
                let (bytes, shift) = (ty.bytes(), ty.bytes().trailing_zeros() as u8);
                let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, shift);
                let slot = builder.create_sized_stack_slot(slot);
                builder.ensure_inserted_block();
                let first = builder.func.layout.entry_block().expect("there is one");
                let mut pos = FuncCursor::new(builder.func).at_first_insertion_point(first);
                let place = pos.ins().stack_addr(types::I64, slot, 0);
                let flags = MemFlagsData::new().with_notrap();
                Home::Place(place, builder.func.dfg.mem_flags.insert_unchecked(flags))
            }
        }
    }
}
