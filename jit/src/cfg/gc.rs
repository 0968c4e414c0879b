//! The results of garbage-collection instructions, and their branches.

use wasmparser::{CompositeInnerType, Operator, PackedIndex, RefType, StorageType, ValType};

use crate::module::ModuleInfo;

/// Returns the number of fields of a structure type.
///
/// # Panics
/// Panics if it is another type.
pub(super) fn field_count(info: &ModuleInfo, ty: u32) -> u32 {
    match &info.types.get(ty).composite_type.inner {
        CompositeInnerType::Struct(of) => of.fields.len() as u32,
        other => unreachable!("validated: {other:?} is a structure"),
    }
}

/// Returns the type of a new object.
pub(super) fn new(ty: u32) -> ValType {
    let index = PackedIndex::from_module_index(ty).expect("no more types than wasmparser allows");
    ValType::Ref(RefType::concrete(false, index))
}

/// Returns the type of the result of `op`, if it is one of these instructions and always has one.
pub(super) fn result(info: &ModuleInfo, op: &Operator<'_>) -> Option<ValType> {
    use Operator::*;
    let reference = |is_nullable, ty| ValType::Ref(RefType::new(is_nullable, ty).expect("validated"));
    Some(match *op {
        RefEq | RefTestNonNull { .. } | RefTestNullable { .. } | ArrayLen | I31GetS | I31GetU => ValType::I32,
        StructNewDefault { struct_type_index } => new(struct_type_index),
        StructGet { struct_type_index, field_index }
        | StructGetS { struct_type_index, field_index }
        | StructGetU { struct_type_index, field_index } => field(info, struct_type_index, field_index),
        ArrayNew { array_type_index }
        | ArrayNewDefault { array_type_index }
        | ArrayNewData { array_type_index, .. }
        | ArrayNewElem { array_type_index, .. } => new(array_type_index),
        ArrayGet { array_type_index } | ArrayGetS { array_type_index } | ArrayGetU { array_type_index } => {
            field(info, array_type_index, 0)
        }
        RefCastNonNull { hty } => reference(false, hty),
        RefCastNullable { hty } => reference(true, hty),
        AnyConvertExtern => ValType::Ref(RefType::ANYREF),
        ExternConvertAny => ValType::EXTERNREF,
        RefI31 => ValType::Ref(RefType::I31),
        _ => return None,
    })
}

/// Returns the type of the value of a field, or of an element.
fn field(info: &ModuleInfo, ty: u32, field: u32) -> ValType {
    let storage = match &info.types.get(ty).composite_type.inner {
        CompositeInnerType::Struct(of) => of.fields[field as usize].element_type,
        CompositeInnerType::Array(of) => of.0.element_type,
        other => unreachable!("validated: {other:?} has fields"),
    };
    match storage {
        StorageType::I8 | StorageType::I16 => ValType::I32,
        StorageType::Val(ty) => ty,
    }
}

/// If `op` branches by the type of the reference on top, which stays, returns the label, the type, and whether the
/// branch is taken if the reference has that type, or if it lacks it.
pub(crate) fn branch_on_cast(op: &Operator<'_>) -> Option<(u32, RefType, bool)> {
    match *op {
        Operator::BrOnCast { relative_depth, to_ref_type, .. } => Some((relative_depth, to_ref_type, true)),
        Operator::BrOnCastFail { relative_depth, to_ref_type, .. } => {
            Some((relative_depth, to_ref_type, false))
        }
        _ => None,
    }
}
