//! The values of constant expressions.

use wprof_jit::module::{ConstArith, ConstExpr, ConstOp};

use super::abi::VmValue;
use super::store::StoreOpaque;

/// The value of `expr` in instance `index`.
///
/// # Panics
/// If the expression was not validated.
pub fn eval(store: &StoreOpaque, index: u32, expr: &ConstExpr) -> VmValue {
    let instance = &store.instances[index as usize];
    let mut stack: Vec<VmValue> = Vec::with_capacity(1);
    for op in &expr.0 {
        let value = match *op {
            ConstOp::I32(v) => VmValue::from_u32(v as u32),
            ConstOp::I64(v) => VmValue::from_u64(v as u64),
            ConstOp::F32(bits) => VmValue::from_u32(bits),
            ConstOp::F64(bits) => VmValue::from_u64(bits),
            ConstOp::V128(bytes) => VmValue(bytes),
            ConstOp::GlobalGet(g) => store.global(instance.globals[g as usize]),
            ConstOp::RefNull => VmValue::default(),
            ConstOp::RefFunc(f) => VmValue::from_u64(instance.func_ref(f).as_ptr() as u64),
            ConstOp::I32Binary(arith) => {
                let (a, b) = operands(&mut stack);
                VmValue::from_u32(arith_u64(arith, a.u64(), b.u64()) as u32)
            }
            ConstOp::I64Binary(arith) => {
                let (a, b) = operands(&mut stack);
                VmValue::from_u64(arith_u64(arith, a.u64(), b.u64()))
            }
        };
        stack.push(value);
    }
    stack.pop().expect("a validated expression leaves one value")
}

fn operands(stack: &mut Vec<VmValue>) -> (VmValue, VmValue) {
    let b = stack.pop().expect("validated");
    let a = stack.pop().expect("validated");
    (a, b)
}

fn arith_u64(arith: ConstArith, a: u64, b: u64) -> u64 {
    match arith {
        ConstArith::Add => a.wrapping_add(b),
        ConstArith::Sub => a.wrapping_sub(b),
        ConstArith::Mul => a.wrapping_mul(b),
    }
}
