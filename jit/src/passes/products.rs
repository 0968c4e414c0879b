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
use crate::clif::{replace, resolve_aliases};

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

#[cfg(test)]
mod tests {
    use cranelift_codegen::ir::{AbiParam, InstructionData, Type};
    use cranelift_codegen::verifier::verify_function;
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    use super::*;
    use crate::options::CompilerOptions;
    use crate::target::{self, isa};

    /// What a number of so many bits is without its sign.
    fn unsigned(number: i64, ty: Type) -> u64 {
        number as u64 & u64::MAX >> (64 - ty.bits())
    }

    /// A number as one of a type, with its sign.
    fn wrapped(number: i64, ty: Type) -> i64 {
        number << (64 - ty.bits()) >> (64 - ty.bits())
    }

    /// What a function of one block, that only computes, returns for a number.
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

    /// Lets a function of a number of 32 bits return what `build` makes of it, and compares what that is when the function
    /// is simplified. Gives whether there are upper halves left.
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
