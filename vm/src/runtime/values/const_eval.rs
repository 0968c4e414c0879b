//! Evaluation of constant expressions.

use wasmparser::StorageType;
use wprof_jit::abi::object::{self, FIELDS, StructLayout, i31_word};
use wprof_jit::module::{ConstArith, ConstExpr, ConstOp, Initial};

use super::arrays;
use crate::Trap;
use crate::runtime::instances::abi::VmValue;
use crate::runtime::instances::store_opaque::StoreOpaque;

/// Returns the value of `expr` in instance `index`.
///
/// # Errors
/// Returns an error if it allocates objects and there is no memory.
///
/// # Panics
/// Panics if the expression was not validated.
pub fn eval(store: &mut StoreOpaque, index: u32, expr: &ConstExpr) -> Result<VmValue, Trap> {
    // A collection finds the operands there.
    let below = store.collected.objects.operand_count();
    let done = expr.0.iter().try_for_each(|op| step(store, index, *op));
    let value = store.collected.objects.end_operands(below);
    done.map(|()| value.expect("a validated expression leaves one value"))
}

fn step(store: &mut StoreOpaque, index: u32, op: ConstOp) -> Result<(), Trap> {
    let instance = store.items.instance(index);
    let value = match op {
        ConstOp::I32(v) => VmValue::from_u32(v as u32),
        ConstOp::I64(v) => VmValue::from_u64(v as u64),
        ConstOp::F32(bits) => VmValue::from_u32(bits),
        ConstOp::F64(bits) => VmValue::from_u64(bits),
        ConstOp::V128(bytes) => VmValue(bytes),
        ConstOp::GlobalGet(g) => store.items.global(instance.globals[g as usize]).get(),
        ConstOp::RefNull => VmValue::default(),
        ConstOp::RefFunc(f) => VmValue::from_u64(instance.func_ref(f).as_ptr() as u64),
        ConstOp::RefI31 => VmValue::from_u64(i31_word(pop(store).u32())),
        ConstOp::I32Binary(arith) => {
            let (b, a) = (pop(store), pop(store));
            VmValue::from_u32(arith_u64(arith, a.u64(), b.u64()) as u32)
        }
        ConstOp::I64Binary(arith) => {
            let (b, a) = (pop(store), pop(store));
            VmValue::from_u64(arith_u64(arith, a.u64(), b.u64()))
        }
        ConstOp::StructNew(ty, initial) => new_structure(store, index, ty, initial)?,
        ConstOp::ArrayNew(ty, initial) => new_array(store, index, ty, initial)?,
        ConstOp::ArrayNewFixed(ty, count) => new_fixed(store, index, ty, count)?,
    };
    store.collected.objects.push_operand(value);
    Ok(())
}

fn pop(store: &mut StoreOpaque) -> VmValue {
    store.collected.objects.pop_operand().expect("validated")
}

fn type_id(store: &StoreOpaque, index: u32, ty: u32) -> u32 {
    store.items.instance(index).module.types()[ty as usize].id
}

fn new_structure(store: &mut StoreOpaque, index: u32, ty: u32, initial: Initial) -> Result<VmValue, Trap> {
    let module = store.items.instance(index).module.clone();
    let fields = &module.info().types.get(ty).unwrap_struct().fields;
    let id = type_id(store, index, ty);
    let object = store.allocate(id, 0)?;
    if initial == Initial::Given {
        let layout = StructLayout::new(fields);
        for (field, &at) in fields.iter().zip(&layout.offsets).rev() {
            let value = pop(store);
            write(store, object, at, field.element_type, value);
        }
    }
    Ok(VmValue::from_u64(object))
}

fn new_array(store: &mut StoreOpaque, index: u32, ty: u32, initial: Initial) -> Result<VmValue, Trap> {
    let length = pop(store).u32();
    let id = type_id(store, index, ty);
    let array = store.allocate(id, length)?;
    if initial == Initial::Given {
        let value = pop(store).u128();
        arrays::fill(store, index, array, 0, value as u64, (value >> 64) as u64, length)?;
    }
    Ok(VmValue::from_u64(array))
}

fn new_fixed(store: &mut StoreOpaque, index: u32, ty: u32, count: u32) -> Result<VmValue, Trap> {
    let id = type_id(store, index, ty);
    let array = store.allocate(id, count)?;
    let module = store.items.instance(index).module.clone();
    let element = module.info().types.get(ty).unwrap_array().0.element_type;
    for at in (0..count).rev() {
        let value = pop(store);
        write(store, array, FIELDS + at * object::size_of(element), element, value);
    }
    Ok(VmValue::from_u64(array))
}

fn write(store: &mut StoreOpaque, object: u64, at: u32, storage: StorageType, value: VmValue) {
    let (at, size) = (at as usize, object::size_of(storage) as usize);
    store.collected.objects.heap_mut().bytes_mut(object, at..at + size).copy_from_slice(&value.0[..size]);
}

fn arith_u64(arith: ConstArith, a: u64, b: u64) -> u64 {
    match arith {
        ConstArith::Add => a.wrapping_add(b),
        ConstArith::Sub => a.wrapping_sub(b),
        ConstArith::Mul => a.wrapping_mul(b),
    }
}
