//! The effects of instructions on the types of the operand stack, in functions that are known to be valid.
//!
//! The validator tracks the same types, but checks everything again: with it a CFG takes a fifth more instructions.
//! Debug builds compare both.

use wasmparser::{
    ContType, FrameKind, FuncType, ModuleArity, Operator, PackedIndex, RefType, SubType, ValType,
};

use super::{Atomic, StackId, TypeStacks, gc};
use crate::module::ModuleInfo;

/// Returns the operand stack behind an instruction without control flow that runs on `stack`; `None` for unknown
/// instructions.
pub(super) fn after(
    info: &ModuleInfo,
    locals: &[ValType],
    op: &Operator<'_>,
    (stacks, stack): (&mut TypeStacks, StackId),
) -> Option<StackId> {
    use Operator::*;
    let call = |stacks: &mut TypeStacks, ty: &FuncType, others: u32| {
        let below = stacks.drop_top(stack, ty.params().len() as u32 + others);
        ty.results().iter().fold(below, |stack, &ty| stacks.push(stack, ty))
    };
    match *op {
        Call { function_index } => return Some(call(stacks, info.func_type(function_index), 0)),
        CallIndirect { type_index, .. } | CallRef { type_index } => {
            return Some(call(stacks, info.types.func(type_index), 1));
        }
        StructNew { struct_type_index } => {
            let fields = gc::field_count(info, struct_type_index);
            return Some(stacks.push(stacks.drop_top(stack, fields), gc::new(struct_type_index)));
        }
        ArrayNewFixed { array_type_index, array_size } => {
            return Some(stacks.push(stacks.drop_top(stack, array_size), gc::new(array_type_index)));
        }
        _ => {}
    }
    let (pops, pushes) = op.operator_arity(&Others)?;
    let below = stacks.drop_top(stack, pops);
    match pushes {
        0 => Some(below),
        1 => {
            let result = match *op {
                LocalGet { local_index } | LocalTee { local_index } => locals[local_index as usize],
                GlobalGet { global_index } => info.global_type(global_index),
                Select => stacks.pop(stacks.drop_top(stack, 1))?.0,
                TypedSelect { ty } => ty,
                TableGet { table } => ValType::Ref(info.tables[table as usize].element_type),
                RefNull { hty } => ValType::Ref(RefType::new(true, hty)?),
                RefFunc { function_index } => reference_to(info, function_index),
                RefAsNonNull => non_null(stacks.pop(stack)?.0),
                MemorySize { mem } | MemoryGrow { mem } => index(info.memories[mem as usize].memory64),
                TableSize { table } | TableGrow { table } => index(info.tables[table as usize].table64),
                _ => gc::result(info, op).unwrap_or_else(|| result(op)),
            };
            Some(stacks.push(below, result))
        }
        _ => None,
    }
}

/// Returns the type of a reference to a function of the module.
fn reference_to(info: &ModuleInfo, func: u32) -> ValType {
    let index = PackedIndex::from_module_index(info.funcs[func as usize]);
    ValType::Ref(RefType::concrete(false, index.expect("no more types than wasmparser allows")))
}

/// Returns the type of non-null references of type `ty`.
pub(super) fn non_null(ty: ValType) -> ValType {
    ty.as_reference_type().map_or(ty, |ty| ValType::Ref(ty.as_non_null()))
}

/// Returns the type of indices and sizes.
fn index(is_64: bool) -> ValType {
    if is_64 { ValType::I64 } else { ValType::I32 }
}

/// Returns the result type of an instruction that always has the same one.
fn result(op: &Operator<'_>) -> ValType {
    use Operator::*;
    match op {
        I32Const { .. } | I32Load { .. } | I32Load8S { .. } | I32Load8U { .. } | I32Load16S { .. } => {
            ValType::I32
        }
        I32Load16U { .. } | I32Eqz | I32Eq | I32Ne | I32LtS | I32LtU | I32GtS | I32GtU | I32LeS | I32LeU => {
            ValType::I32
        }
        I32GeS | I32GeU | I64Eqz | I64Eq | I64Ne | I64LtS | I64LtU | I64GtS | I64GtU | I64LeS | I64LeU => {
            ValType::I32
        }
        I64GeS | I64GeU | F32Eq | F32Ne | F32Lt | F32Gt | F32Le | F32Ge | F64Eq | F64Ne | F64Lt | F64Gt => {
            ValType::I32
        }
        F64Le | F64Ge | I32Clz | I32Ctz | I32Popcnt | I32Add | I32Sub | I32Mul | I32DivS | I32DivU => {
            ValType::I32
        }
        I32RemS | I32RemU | I32And | I32Or | I32Xor | I32Shl | I32ShrS | I32ShrU | I32Rotl | I32Rotr => {
            ValType::I32
        }
        I32WrapI64 | I32TruncF32S | I32TruncF32U | I32TruncF64S | I32TruncF64U | I32TruncSatF32S => {
            ValType::I32
        }
        I32TruncSatF32U | I32TruncSatF64S | I32TruncSatF64U | I32ReinterpretF32 | I32Extend8S => ValType::I32,
        I32Extend16S | RefIsNull | V128AnyTrue | I8x16AllTrue | I16x8AllTrue | I32x4AllTrue => ValType::I32,
        I64x2AllTrue | I8x16Bitmask | I16x8Bitmask | I32x4Bitmask | I64x2Bitmask => ValType::I32,
        I8x16ExtractLaneS { .. } | I8x16ExtractLaneU { .. } | I16x8ExtractLaneS { .. } => ValType::I32,
        I16x8ExtractLaneU { .. } | I32x4ExtractLane { .. } => ValType::I32,
        I64Const { .. } | I64Load { .. } | I64Load8S { .. } | I64Load8U { .. } | I64Load16S { .. } => {
            ValType::I64
        }
        I64Load16U { .. } | I64Load32S { .. } | I64Load32U { .. } | I64x2ExtractLane { .. } => ValType::I64,
        I64Clz | I64Ctz | I64Popcnt | I64Add | I64Sub | I64Mul | I64DivS | I64DivU | I64RemS | I64RemU => {
            ValType::I64
        }
        I64And | I64Or | I64Xor | I64Shl | I64ShrS | I64ShrU | I64Rotl | I64Rotr | I64ExtendI32S => {
            ValType::I64
        }
        I64ExtendI32U | I64TruncF32S | I64TruncF32U | I64TruncF64S | I64TruncF64U | I64TruncSatF32S => {
            ValType::I64
        }
        I64TruncSatF32U | I64TruncSatF64S | I64TruncSatF64U | I64ReinterpretF64 | I64Extend8S => ValType::I64,
        I64Extend16S | I64Extend32S => ValType::I64,
        F32Const { .. } | F32Load { .. } | F32x4ExtractLane { .. } | F32Abs | F32Neg | F32Ceil | F32Floor => {
            ValType::F32
        }
        F32Trunc | F32Nearest | F32Sqrt | F32Add | F32Sub | F32Mul | F32Div | F32Min | F32Max
        | F32Copysign => ValType::F32,
        F32ConvertI32S | F32ConvertI32U | F32ConvertI64S | F32ConvertI64U | F32DemoteF64 => ValType::F32,
        F32ReinterpretI32 => ValType::F32,
        F64Const { .. } | F64Load { .. } | F64x2ExtractLane { .. } | F64Abs | F64Neg | F64Ceil | F64Floor => {
            ValType::F64
        }
        F64Trunc | F64Nearest | F64Sqrt | F64Add | F64Sub | F64Mul | F64Div | F64Min | F64Max
        | F64Copysign => ValType::F64,
        F64ConvertI32S | F64ConvertI32U | F64ConvertI64S | F64ConvertI64U | F64PromoteF32 => ValType::F64,
        F64ReinterpretI64 => ValType::F64,
        // All other instructions are atomic or of vectors.
        _ => Atomic::new(op).and_then(|atomic| atomic.result()).unwrap_or(ValType::V128),
    }
}

/// A module that defines nothing, for instructions whose arity is fixed.
struct Others;

impl ModuleArity for Others {
    fn sub_type_at(&self, _: u32) -> Option<&SubType> {
        None
    }

    fn tag_type_arity(&self, _: u32) -> Option<(u32, u32)> {
        None
    }

    fn type_index_of_function(&self, _: u32) -> Option<u32> {
        None
    }

    fn func_type_of_cont_type(&self, _: &ContType) -> Option<&FuncType> {
        None
    }

    fn sub_type_of_ref_type(&self, _: &RefType) -> Option<&SubType> {
        None
    }

    fn control_stack_height(&self) -> u32 {
        0
    }

    fn label_block(&self, _: u32) -> Option<(wasmparser::BlockType, FrameKind)> {
        None
    }
}
