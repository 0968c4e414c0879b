//! Products with constants.
//!
//! A multiplication takes three cycles; `x + 4 * x` is one instruction of one or two. Cranelift emits sums with a
//! shifted operand as `lea`, but does not turn products into such sums, which this pass does for 3, 5 and 9.
//!
//! A division by a constant becomes the upper half of a product and a shift (Granlund & Montgomery, PLDI 1994). For
//! 32-bit factors the processor puts that half into a fixed register, and Cranelift's register allocator evicts the
//! value there, even in loops that need all registers. So this pass computes the product in 64 bits, which any register
//! can hold, and shifts it once.
//!
//! Input: an optimised function. Output: the same function, with such sums and products. Source of the sums: Bernstein,
//! *Multiplication by Integer Constants*, Software: Practice and Experience 16(7), 1986, of which these are the
//! simplest cases. Whether two sums, or a sum and a shift, would pay has not been tried. Example: `v2 = imul v1, 5`
//! becomes `v3 = ishl v1, 2; v2 = iadd v1, v3`, which is `lea (%rdi,%rdi,4), %eax`.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{Function, Inst, InstBuilder, Opcode, Value, types};
use hashbrown::HashMap;

use super::constants::computed;
use crate::clif::{replace, resolve_aliases};

/// Turns products into sums, and upper halves into whole products.
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

/// Returns the shift by which a product with a constant is the value plus the shifted value.
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

/// A whole product, and whether it is signed.
#[derive(Clone, Copy)]
struct Product {
    value: Value,
    is_signed: bool,
}

/// Computes the whole 32-bit product with a constant whose upper half an instruction computes.
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

/// Replaces an instruction that shifts the upper half of a product with the same signedness; returns its result.
fn shift_product(func: &mut Function, inst: Inst, products: &HashMap<Value, Product>) -> Option<Value> {
    let (opcode, value, by) = computed(func, inst)?;
    let product = *products.get(&value)?;
    let is_alike = opcode == if product.is_signed { Opcode::Sshr } else { Opcode::Ushr };
    let is_shifted = func.dfg.inst_args(inst)[0] == value;
    (is_alike && is_shifted).then(|| upper_part(func, inst, product, by & 31))
}

/// Computes the upper half of a product, shifted further, before an instruction.
fn upper_part(func: &mut Function, inst: Inst, product: Product, by: i64) -> Value {
    let mut pos = FuncCursor::new(func).at_inst(inst);
    let by = pos.ins().iconst(types::I8, 32 + by);
    let shifted = match product.is_signed {
        true => pos.ins().sshr(product.value, by),
        false => pos.ins().ushr(product.value, by),
    };
    pos.ins().ireduce(types::I32, shifted)
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::ir::{AbiParam, InstructionData, Type};
    use cranelift_codegen::verifier::verify_function;
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    use super::*;
    use crate::options::CompilerOptions;
    use crate::target::{self, isa};

    /// Returns a number of a type without its sign.
    fn unsigned(number: i64, ty: Type) -> u64 {
        number as u64 & u64::MAX >> (64 - ty.bits())
    }

    /// Returns a number wrapped to a type, with its sign.
    fn wrapped(number: i64, ty: Type) -> i64 {
        number << (64 - ty.bits()) >> (64 - ty.bits())
    }

    /// Evaluates a one-block function that only computes, for a number.
    fn evaluate(func: &Function, param: i64) -> Vec<i64> {
        let entry = func.layout.entry_block().expect("a block");
        let mut numbers: HashMap<Value, i64> = HashMap::from_iter([(func.dfg.block_params(entry)[0], param)]);
        for inst in func.layout.block_insts(entry) {
            let args: Vec<i64> = func.dfg.inst_args(inst).iter().map(|arg| numbers[arg]).collect();
            let Some(&result) = func.dfg.inst_results(inst).first() else { return args };
            let ty = func.dfg.value_type(result);
            let bits = i64::from(ty.bits());
            let opcode = func.dfg.insts[inst].opcode();
            let number = match (func.dfg.insts[inst], opcode) {
                (InstructionData::UnaryImm { imm, .. }, _) => imm.bits(),
                (_, Opcode::Uextend) => {
                    unsigned(args[0], func.dfg.value_type(func.dfg.inst_args(inst)[0])) as i64
                }
                (_, Opcode::Sextend | Opcode::Ireduce) => args[0],
                (_, Opcode::Iadd) => args[0].wrapping_add(args[1]),
                (_, Opcode::Imul) => args[0].wrapping_mul(args[1]),
                (_, Opcode::Umulhi) => ((unsigned(args[0], ty) * unsigned(args[1], ty)) >> bits) as i64,
                (_, Opcode::Smulhi) => (args[0] * args[1]) >> bits,
                (_, Opcode::Ishl) => args[0] << (args[1] & (bits - 1)),
                (_, Opcode::Ushr) => (unsigned(args[0], ty) >> (args[1] & (bits - 1))) as i64,
                (_, Opcode::Sshr) => args[0] >> (args[1] & (bits - 1)),
                (_, other) => panic!("{other} is not known here"),
            };
            numbers.insert(result, wrapped(number, ty));
        }
        panic!("it returns nothing");
    }

    /// Builds a function that returns what `build` makes of a 32-bit number, and compares its results before and after
    /// simplification. Reports whether any upper halves are left.
    fn has_halves(build: impl Fn(&mut FunctionBuilder<'_>, Value) -> Vec<Value>) -> bool {
        let mut func = Function::new();
        func.signature.params.push(AbiParam::new(types::I32));
        let mut scratch = FunctionBuilderContext::new();
        let mut builder = FunctionBuilder::new(&mut func, &mut scratch);
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let param = builder.block_params(entry)[0];
        let results = build(&mut builder, param);
        builder.func.signature.returns.extend(vec![AbiParam::new(types::I32); results.len()]);
        builder.ins().return_(&results);
        builder.seal_all_blocks();
        let isa = isa::best(target::plain(), &CompilerOptions::default()).expect("this machine");
        builder.finalize(isa.frontend_config());
        let before = func.clone();
        simplify(&mut func);
        verify_function(&func, &*isa).expect("valid");
        for number in [0, 1, -1, 7, 11, 1000, 123_456_789, i64::from(i32::MAX), i64::from(i32::MIN)] {
            assert_eq!(evaluate(&func, number), evaluate(&before, number), "{number}: {before} {func}");
        }
        let mut insts = func.layout.blocks().flat_map(|block| func.layout.block_insts(block));
        insts.any(|inst| matches!(func.dfg.insts[inst].opcode(), Opcode::Umulhi | Opcode::Smulhi))
    }

    #[test]
    fn small_products_are_what_they_were() {
        let halves = has_halves(|builder, param| {
            let product = |by| {
                let by = builder.ins().iconst(types::I32, by);
                builder.ins().imul(param, by)
            };
            [2, 3, 4, 5, 6, 7, 8, 9, 10].map(product).to_vec()
        });
        assert!(!halves);
    }

    #[test]
    fn upper_halves_are_what_they_were_however_they_are_shifted() {
        for factor in [0xcccc_cccd_u32, 0x5555_5556, 3] {
            let halves = has_halves(|builder, param| {
                let factor = builder.ins().iconst(types::I32, i64::from(factor));
                let halves = [builder.ins().umulhi(param, factor), builder.ins().smulhi(param, factor)];
                let mut all = halves.to_vec();
                for half in halves {
                    let three = builder.ins().iconst(types::I32, 3);
                    all.push(builder.ins().ushr(half, three));
                    all.push(builder.ins().sshr(half, three));
                    // The half is the distance.
                    all.push(builder.ins().ushr(three, half));
                    all.push(builder.ins().sshr(three, half));
                }
                all
            });
            assert!(!halves);
        }
    }
}
