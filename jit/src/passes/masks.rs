//! Removes masks that have no effect, and simplifies others.
//!
//! A shift uses only as many bits of its distance as its width needs, in wasm, in CLIF and in processors alike; so a
//! mask that keeps these bits, or an extension, changes nothing. For the lower half of 64 bits, Cranelift reads the
//! mask from memory, where a 32-bit move would do. C compilers emit both for bit fields in 64-bit words. And where the
//! lowest byte is compared with a constant, as in `(c - '0' & 255) < 10`, processors need no mask.
//!
//! Input: an optimised function. Output: the same function, in which shifts take unmasked distances, lower halves are
//! moved, and lowest bytes compared. Invariant: no instruction is left that was only needed for a removed distance or
//! mask.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{Block, Function, Inst, InstBuilder, InstructionData, Opcode, Value, types};

use super::checks::only_computes;
use super::constants::{computed, integer};
use crate::clif::{replace, resolve_aliases};

const LOWER_HALF: i64 = 0xffff_ffff;
const LOWEST_BYTE: i64 = 0xff;

/// Simplifies the masks of a function.
pub(super) fn simplify(func: &mut Function) {
    let blocks: Vec<Block> = func.layout.blocks().collect();
    let mut unneeded = Vec::new();
    for block in blocks {
        let mut next = func.layout.first_inst(block);
        while let Some(inst) = next {
            next = func.layout.next_inst(inst);
            unneeded.extend(simplify_distance(func, inst));
            if let Some((Opcode::Band, value, LOWER_HALF)) = computed(func, inst)
                && func.dfg.value_type(value) == types::I64
            {
                unneeded.extend(func.dfg.inst_args(inst));
                let mut pos = FuncCursor::new(func).at_inst(inst);
                let lower = pos.ins().ireduce(types::I32, value);
                let extended = pos.ins().uextend(types::I64, lower);
                replace(func, inst, extended);
            }
        }
    }
    unneeded.iter_mut().for_each(|value| *value = func.dfg.resolve_aliases(*value));
    resolve_aliases(func);
    compare_bytes(func, &mut unneeded);
    if !unneeded.is_empty() {
        remove(func, unneeded);
    }
}

/// Makes a shift use the operand of its distance's mask; returns the distance that it no longer uses.
fn simplify_distance(func: &mut Function, inst: Inst) -> Option<Value> {
    let shifts = [Opcode::Ishl, Opcode::Ushr, Opcode::Sshr, Opcode::Rotl, Opcode::Rotr];
    if !shifts.contains(&func.dfg.insts[inst].opcode()) {
        return None;
    }
    let &[shifted, distance] = func.dfg.inst_args(inst) else { return None };
    let ty = func.dfg.value_type(shifted);
    if !ty.is_int() || ty.bits() > 64 {
        return None;
    }
    let taken = i64::from(ty.bits()) - 1;
    let mut simple = distance;
    while let Some(made) = func.dfg.value_def(simple).inst() {
        let of = match func.dfg.insts[made].opcode() {
            Opcode::Uextend | Opcode::Sextend | Opcode::Ireduce => Some(func.dfg.inst_args(made)[0]),
            _ => computed(func, made)
                .filter(|&(opcode, _, mask)| opcode == Opcode::Band && mask & taken == taken)
                .map(|(_, of, _)| of),
        };
        let is_scalar =
            |of: &Value| func.dfg.value_type(*of).is_int() && func.dfg.value_type(*of).bits() <= 64;
        let Some(of) = of.filter(is_scalar) else { break };
        simple = of;
    }
    if simple == distance {
        return None;
    }
    func.dfg.inst_args_mut(inst)[1] = simple;
    Some(distance)
}

/// Makes comparisons with constants compare the lowest byte, where the mask has no other use.
fn compare_bytes(func: &mut Function, unneeded: &mut Vec<Value>) {
    let insts = func.layout.blocks().flat_map(|block| func.layout.block_insts(block));
    let found: Vec<(Inst, ByteComparison)> =
        insts.filter_map(|inst| Some((inst, byte_comparison(func, inst)?))).collect();
    if found.is_empty() {
        return;
    }
    let mut others = uses(func);
    found.iter().for_each(|(_, comparison)| others[comparison.masked] -= 1);
    for (inst, ByteComparison { masked, value, constant }) in found {
        if others[masked] > 0 {
            continue;
        }
        unneeded.extend(func.dfg.inst_args(inst));
        let mut pos = FuncCursor::new(func).at_inst(inst);
        let byte = pos.ins().ireduce(types::I8, value);
        let constant = pos.ins().iconst(types::I8, constant);
        func.dfg.inst_args_mut(inst).copy_from_slice(&[byte, constant]);
    }
}

/// A comparison of `masked`, the lowest byte of `value`, with a constant.
struct ByteComparison {
    masked: Value,
    value: Value,
    constant: i64,
}

fn byte_comparison(func: &Function, inst: Inst) -> Option<ByteComparison> {
    let InstructionData::IntCompare { cond, args: [masked, constant], .. } = func.dfg.insts[inst] else {
        return None;
    };
    let constant = integer(func, constant).filter(|constant| (0..=LOWEST_BYTE).contains(constant))?;
    let (opcode, value, mask) = computed(func, func.dfg.value_def(masked).inst()?)?;
    // The top bit of a byte is its sign, so signed comparisons would differ.
    let is_byte = opcode == Opcode::Band && mask == LOWEST_BYTE && cond == cond.unsigned();
    let is_scalar = !func.dfg.value_type(value).is_vector();
    (is_byte && is_scalar).then_some(ByteComparison { masked, value, constant })
}

/// Counts the uses of each value.
fn uses(func: &Function) -> SecondaryMap<Value, u32> {
    let mut uses: SecondaryMap<Value, u32> = SecondaryMap::new();
    for inst in func.layout.blocks().flat_map(|block| func.layout.block_insts(block)) {
        func.dfg.inst_values(inst).for_each(|value| uses[value] += 1);
    }
    uses
}

/// Removes the computations of dead values, and those that only they needed.
fn remove(func: &mut Function, mut unneeded: Vec<Value>) {
    let mut uses = uses(func);
    while let Some(value) = unneeded.pop() {
        // The value may already have been removed.
        let is_unneeded = |&made: &Inst| {
            uses[value] == 0 && only_computes(func, made) && func.layout.inst_block(made).is_some()
        };
        let Some(made) = func.dfg.value_def(value).inst().filter(is_unneeded) else { continue };
        for value in func.dfg.inst_values(made) {
            uses[value] -= 1;
            unneeded.push(value);
        }
        func.layout.remove_inst(made);
    }
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::ir::condcodes::IntCC;
    use cranelift_codegen::ir::{AbiParam, Type};
    use cranelift_codegen::verifier::verify_function;
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    use super::*;
    use crate::target::{self, isa};

    /// Returns the opcodes of a simplified function of two parameters of a type that returns what `build` makes.
    fn simplified(
        ty: Type,
        build: impl FnOnce(&mut FunctionBuilder<'_>, [Value; 2]) -> Value,
    ) -> Vec<Opcode> {
        let mut func = Function::new();
        func.signature.params.extend([AbiParam::new(ty); 2]);
        func.signature.returns.push(AbiParam::new(ty));
        let mut scratch = FunctionBuilderContext::new();
        let mut builder = FunctionBuilder::new(&mut func, &mut scratch);
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let params = [0, 1].map(|at| builder.block_params(entry)[at]);
        let result = build(&mut builder, params);
        builder.ins().return_(&[result]);
        builder.seal_all_blocks();
        let isa =
            isa::best(target::plain(), &crate::options::CompilerOptions::default()).expect("this machine");
        builder.finalize(isa.frontend_config());
        simplify(&mut func);
        verify_function(&func, &*isa).expect("valid");
        let insts = func.layout.blocks().flat_map(|block| func.layout.block_insts(block));
        insts.map(|inst| func.dfg.insts[inst].opcode()).filter(|&opcode| opcode != Opcode::Return).collect()
    }

    #[test]
    fn shifts_take_their_distance_as_it_comes() {
        let shift = |mask: i64| {
            simplified(types::I64, |builder, [value, distance]| {
                let masked = builder.ins().band_imm_s(distance, mask);
                builder.ins().ushr(value, masked)
            })
        };
        assert_eq!(shift(63), [Opcode::Ushr]);
        assert_eq!(shift(0x1f8), [Opcode::Iconst, Opcode::Band, Opcode::Ushr], "that leaves out some");
        assert_eq!(shift(LOWER_HALF), [Opcode::Ushr]);
        let extended = simplified(types::I64, |builder, [value, distance]| {
            let lower = builder.ins().ireduce(types::I32, distance);
            let extended = builder.ins().uextend(types::I64, lower);
            builder.ins().rotl(value, extended)
        });
        assert_eq!(extended, [Opcode::Rotl]);
    }

    #[test]
    fn lower_halves_are_no_distances() {
        let both = simplified(types::I64, |builder, [value, distance]| {
            let mask = builder.ins().iconst(types::I64, LOWER_HALF);
            let masked = builder.ins().band(distance, mask);
            let shifted = builder.ins().ushr(value, masked);
            let again = builder.ins().ishl(value, masked);
            builder.ins().iadd(shifted, again)
        });
        assert_eq!(both, [Opcode::Ushr, Opcode::Ishl, Opcode::Iadd]);
    }

    #[test]
    fn what_else_needs_a_mask_has_it() {
        let opcodes = simplified(types::I32, |builder, [value, distance]| {
            let masked = builder.ins().band_imm_s(distance, 31);
            let shifted = builder.ins().ishl(value, masked);
            builder.ins().iadd(shifted, masked)
        });
        assert_eq!(opcodes, [Opcode::Iconst, Opcode::Band, Opcode::Ishl, Opcode::Iadd]);
    }

    #[test]
    fn bytes_are_compared_without_a_mask() {
        use IntCC::{Equal, SignedLessThan, UnsignedLessThan};
        let compared = |mask: i64, condition: IntCC, constant: i64| {
            simplified(types::I32, |builder, [value, _]| {
                let masked = builder.ins().band_imm_s(value, mask);
                let truth = builder.ins().icmp_imm_u(condition, masked, constant);
                builder.ins().uextend(types::I32, truth)
            })
        };
        let byte = [Opcode::Ireduce, Opcode::Iconst, Opcode::Icmp, Opcode::Uextend];
        for condition in [Equal, UnsignedLessThan] {
            assert_eq!(compared(0xff, condition, 200), byte);
        }
        let masked = [Opcode::Iconst, Opcode::Band, Opcode::Iconst, Opcode::Icmp, Opcode::Uextend];
        assert_eq!(compared(0xff, SignedLessThan, 200), masked);
        assert_eq!(compared(0xff, UnsignedLessThan, 256), masked);
        assert_eq!(compared(0x7f, Equal, 3), masked);
        let needed = simplified(types::I32, |builder, [value, _]| {
            let masked = builder.ins().band_imm_s(value, 0xff);
            let truth = builder.ins().icmp_imm_u(Equal, masked, 3);
            let truth = builder.ins().uextend(types::I32, truth);
            builder.ins().iadd(truth, masked)
        });
        assert_eq!(needed[..4], masked[..4]);
    }

    #[test]
    fn lower_halves_are_moved() {
        let half = |mask: i64| {
            simplified(types::I64, |builder, [value, _]| {
                let mask = builder.ins().iconst(types::I64, mask);
                builder.ins().band(value, mask)
            })
        };
        assert_eq!(half(LOWER_HALF), [Opcode::Ireduce, Opcode::Uextend]);
        assert_eq!(half(0x7fff_ffff), [Opcode::Iconst, Opcode::Band]);
    }
}
