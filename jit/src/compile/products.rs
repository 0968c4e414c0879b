//! Products with constants.
//!
//! A multiplication takes three cycles; `x + 4 * x` is one instruction of one or two. Cranelift has sums with a shifted
//! operand as `lea`, but makes none of products, which are so here for 3, 5 and 9.
//!
//! A division by a constant becomes the upper half of a product and a shift (Granlund & Montgomery, PLDI 1994). Of two
//! factors of 32 bits the processor has that in one register of its own choice, and Cranelift's register allocator lets
//! whatever is there give way, also in loops that need all registers. So the product is made in 64 bits here, which any
//! register can hold, and shifted once.
//!
//! Input: an optimised function. Output: the same, with such sums and products.
//! Source of the sums: Bernstein, *Multiplication by Integer Constants*, Software: Practice and Experience 16(7), 1986, of
//! which these are the simplest cases. Of two sums, or a sum and a shift, it was not tried whether they are worth it.
//! Example: `v2 = imul v1, 5` becomes `v3 = ishl v1, 2; v2 = iadd v1, v3`, which is `lea (%rdi,%rdi,4), %eax`.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{Function, Inst, InstBuilder, Opcode, Value, types};
use hashbrown::HashMap;

use super::constants::computed;
use super::{replace, resolve_aliases};

/// Makes sums of products, and whole products of upper halves.
pub(super) fn simplify(func: &mut Function) {
    let insts = func.layout.blocks().flat_map(|block| func.layout.block_insts(block));
    let found: Vec<Inst> = insts.filter(|&inst| computed(func, inst).is_some()).collect();
    let (mut products, mut halves) = (HashMap::new(), Vec::new());
    for inst in found {
        if let Some(shift) = shift(func, inst) {
            make_sum(func, inst, shift);
        } else if let Some(product) = make_product(func, inst) {
            products.insert(func.dfg.first_result(inst), product);
            halves.push((inst, product));
        } else if let Some(result) = shift_product(func, inst, &products) {
            replace(func, inst, result);
        }
    }
    for (inst, product) in halves {
        let result = upper_part(func, inst, product, 0);
        replace(func, inst, result);
    }
    resolve_aliases(func);
}

/// The product of a value with a constant is the value and the value shifted by this.
fn shift(func: &Function, inst: Inst) -> Option<i64> {
    let (opcode, value, constant) = computed(func, inst)?;
    let ty = func.dfg.value_type(value);
    let shift = match constant {
        3 => 1,
        5 => 2,
        9 => 3,
        _ => return None,
    };
    (opcode == Opcode::Imul && matches!(ty, types::I32 | types::I64)).then_some(shift)
}

fn make_sum(func: &mut Function, inst: Inst, shift: i64) {
    let (_, value, _) = computed(func, inst).expect("it is a product with a constant");
    let mut pos = FuncCursor::new(func).at_inst(inst);
    let by = pos.ins().iconst(types::I8, shift);
    let shifted = pos.ins().ishl(value, by);
    let sum = pos.ins().iadd(value, shifted);
    replace(func, inst, sum);
}

/// A product, all of it, and whether it has a sign.
#[derive(Clone, Copy)]
struct Product {
    value: Value,
    is_signed: bool,
}

/// All of the product of 32 bits by a constant of which an instruction gives the upper half.
fn make_product(func: &mut Function, inst: Inst) -> Option<Product> {
    let (opcode, factor, constant) = computed(func, inst)?;
    let is_signed = match opcode {
        Opcode::Umulhi => false,
        Opcode::Smulhi => true,
        _ => return None,
    };
    if func.dfg.value_type(factor) != types::I32 {
        return None;
    }
    let mut pos = FuncCursor::new(func).at_inst(inst);
    let (factor, constant) = match is_signed {
        true => (pos.ins().sextend(types::I64, factor), i64::from(constant as i32)),
        false => (pos.ins().uextend(types::I64, factor), i64::from(constant as u32)),
    };
    let constant = pos.ins().iconst(types::I64, constant);
    Some(Product { value: pos.ins().imul(factor, constant), is_signed })
}

/// What an instruction computes that shifts the upper half of a product in the same way.
fn shift_product(func: &mut Function, inst: Inst, products: &HashMap<Value, Product>) -> Option<Value> {
    let (opcode, value, by) = computed(func, inst)?;
    let product = *products.get(&value)?;
    let is_alike = opcode == if product.is_signed { Opcode::Sshr } else { Opcode::Ushr };
    let is_shifted = func.dfg.inst_args(inst)[0] == value;
    (is_alike && is_shifted).then(|| upper_part(func, inst, product, by & 31))
}

/// The upper half of a product, shifted further, before an instruction.
fn upper_part(func: &mut Function, inst: Inst, product: Product, by: i64) -> Value {
    let mut pos = FuncCursor::new(func).at_inst(inst);
    let by = pos.ins().iconst(types::I8, 32 + by);
    let shifted = match product.is_signed {
        true => pos.ins().sshr(product.value, by),
        false => pos.ins().ushr(product.value, by),
    };
    pos.ins().ireduce(types::I32, shifted)
}
