//! The effects of instructions on the types of the operand stack, in functions that are known to be valid.
//!
//! The validator tracks the same types, but checks everything again: with it a CFG takes a fifth more instructions.
//! Debug builds compare both.

use wasmparser::{
    ContType, FrameKind, FuncType, ModuleArity, Operator, PackedIndex, RefType, SubType, ValType,
};

use super::{Atomic, Group, StackId, TypeStacks, gc};
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
                _ => result(info, op)?,
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

/// Returns the result type of an instruction whose type its opcode and its immediates determine; `None` for all others.
fn result(info: &ModuleInfo, op: &Operator<'_>) -> Option<ValType> {
    match Group::new(op) {
        Group::I32Values | Group::I32Loads => Some(ValType::I32),
        Group::I64Values | Group::I64Loads => Some(ValType::I64),
        Group::F32Values | Group::F32Loads => Some(ValType::F32),
        Group::F64Values | Group::F64Loads => Some(ValType::F64),
        Group::Vectors | Group::VectorLoads => Some(ValType::V128),
        Group::Atomics => Atomic::new(op)?.result(),
        Group::Objects | Group::ElementRanges => gc::result(info, op),
        Group::Marks | Group::Branches | Group::Calls | Group::Failures | Group::Stores => None,
        Group::Moves | Group::Globals | Group::Tables | Group::Memories | Group::References => None,
        Group::ByteRanges | Group::PageRanges | Group::Refused => None,
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
