//! The computations of CLIF instructions, as terms.
//!
//! Integers of up to 64 bits are zero-extended. Sums, products with constants, shifts by constants, masks, extensions
//! and comparisons are interpreted; the result of any other instruction is an uninterpreted function of its operands,
//! named by all other attributes of the instruction.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Function, Inst, InstructionData, Opcode, Type, Value, types};
use hashbrown::HashMap;

use crate::validate::terms::{Args, Op, Term, Terms, mask};

/// An instruction without its operands: its data, and the types of its first result and operand, where these matter.
type Shape = (InstructionData, Type, Type);

/// The numbers of shapes.
#[derive(Default)]
pub(super) struct Shapes(HashMap<Shape, u32>);

impl Shapes {
    /// Returns the number of an instruction's shape, whatever its operands are.
    pub fn number(&mut self, func: &Function, inst: Inst) -> u32 {
        let mut data = func.dfg.insts[inst];
        if let Some(flags) = data.memflags_mut() {
            *flags = cranelift_codegen::ir::MemFlags::from_bits(0);
        }
        let args = func.dfg.inst_args(inst);
        // The operands of these instructions are in lists, whose handles mean nothing.
        debug_assert!(!matches!(data, InstructionData::Call { .. } | InstructionData::MultiAry { .. }));
        data.arguments_mut(&mut Default::default()).fill(Value::from_u32(0));
        let ty = |value: Option<&Value>| value.map_or(types::INVALID, |&value| func.dfg.value_type(value));
        let (result, operand) = (ty(func.dfg.inst_results(inst).first()), ty(args.first()));
        let shape = match data {
            // Zeros above do not change the result.
            InstructionData::IntCompare { cond, .. } if bits(operand).is_some() && is_unsigned(cond) => {
                (data, types::I8, types::INVALID)
            }
            _ => (data, result, operand),
        };
        let next = self.0.len() as u32;
        *self.0.entry(shape).or_insert(next)
    }
}

fn is_unsigned(cond: IntCC) -> bool {
    cond == cond.unsigned()
}

/// Returns the number of bits of an integer that has a term.
pub(super) fn bits(ty: Type) -> Option<u8> {
    (ty.is_int() && ty.bits() <= 64).then(|| ty.bits() as u8)
}

/// Returns the upper bound of values of a type, as terms.
pub(super) fn most(ty: Type) -> u64 {
    bits(ty).map_or(u64::MAX, mask)
}

/// Returns the term that an instruction computes, if the instruction is interpreted.
pub(super) fn known(terms: &mut Terms, func: &Function, inst: Inst, args: &[Term]) -> Option<Term> {
    let result = func.dfg.value_type(*func.dfg.inst_results(inst).first()?);
    let width = bits(result)?;
    let operand = func.dfg.inst_args(inst).first().and_then(|&arg| bits(func.dfg.value_type(arg)));
    match (func.dfg.insts[inst], args) {
        (InstructionData::UnaryImm { opcode: Opcode::Iconst, imm }, _) => {
            Some(terms.constant(imm.bits() as u64 & mask(width)))
        }
        (InstructionData::Unary { opcode, .. }, &[a]) => unary(terms, opcode, (width, operand?), a),
        (InstructionData::Binary { opcode, .. }, &[a, b]) if operand == Some(width) => {
            binary(terms, opcode, width, [a, b])
        }
        _ => None,
    }
}

fn unary(terms: &mut Terms, opcode: Opcode, (width, from): (u8, u8), a: Term) -> Option<Term> {
    match opcode {
        Opcode::Uextend => Some(a),
        Opcode::Ireduce => Some(terms.low(width, a)),
        Opcode::Sextend => {
            let extended = terms.sign_extended(from, a);
            Some(terms.low(width, extended))
        }
        Opcode::Ineg => {
            let zero = terms.constant(0);
            Some(sum(terms, width, [zero, a], u64::MAX))
        }
        _ => None,
    }
}

fn binary(terms: &mut Terms, opcode: Opcode, width: u8, [a, b]: [Term; 2]) -> Option<Term> {
    let one = |terms: &Terms| match (terms.as_constant(a), terms.as_constant(b)) {
        (_, Some(number)) => Some((a, number)),
        (Some(number), _) => Some((b, number)),
        _ => None,
    };
    match opcode {
        Opcode::Iadd => Some(sum(terms, width, [a, b], 1)),
        Opcode::Isub => Some(sum(terms, width, [a, b], u64::MAX)),
        Opcode::Imul => {
            let (value, number) = one(terms)?;
            let zero = terms.constant(0);
            Some(sum(terms, width, [zero, value], number))
        }
        Opcode::Umulhi | Opcode::Smulhi if width == 32 => {
            let (value, number) = one(terms)?;
            Some(upper_half(terms, value, number, opcode == Opcode::Smulhi))
        }
        Opcode::Band => {
            let (value, number) = one(terms)?;
            Some(terms.masked(value, number))
        }
        Opcode::Ishl | Opcode::Ushr | Opcode::Sshr | Opcode::Rotl | Opcode::Rotr => {
            let by = terms.as_constant(b)? as u8 & (width - 1);
            shift(terms, opcode, width, (a, by))
        }
        _ => None,
    }
}

/// Returns the first term plus `factor` times the second, in `width` bits.
fn sum(terms: &mut Terms, width: u8, of: [Term; 2], factor: u64) -> Term {
    // Higher bits do not affect lower ones.
    let [a, b] = of.map(|term| match terms.as_apply(term) {
        Some((Op::Low(bits), &[inner])) if bits >= width => inner,
        _ => term,
    });
    let sum = terms.add_scaled(a, b, factor);
    terms.low(width, sum)
}

/// Returns the upper half of the product of a 32-bit value with a constant.
fn upper_half(terms: &mut Terms, value: Term, number: u64, is_signed: bool) -> Term {
    let (value, number) = match is_signed {
        true => (terms.sign_extended(32, value), i64::from(number as i32) as u64),
        false => (value, number),
    };
    let product = terms.scaled(value, number);
    let half = terms.shifted_right(product, 32, is_signed);
    terms.low(32, half)
}

fn shift(terms: &mut Terms, opcode: Opcode, width: u8, (a, by): (Term, u8)) -> Option<Term> {
    match opcode {
        Opcode::Ishl => {
            let zero = terms.constant(0);
            Some(sum(terms, width, [zero, a], 1 << by))
        }
        Opcode::Ushr => Some(terms.shifted_right(a, by, false)),
        Opcode::Sshr => {
            let a = if width == 64 { a } else { terms.sign_extended(width, a) };
            let shifted = terms.shifted_right(a, by, true);
            Some(terms.low(width, shifted))
        }
        _ => (by == 0).then_some(a),
    }
}

/// Returns the operands that an instruction uses: of the distance of a shift only the bits that count.
pub(super) fn taken(terms: &mut Terms, func: &Function, inst: Inst, mut args: Args) -> Args {
    let opcode = func.dfg.insts[inst].opcode();
    let is_shift = matches!(opcode, Opcode::Ishl | Opcode::Ushr | Opcode::Sshr | Opcode::Rotl | Opcode::Rotr);
    let operands = func.dfg.inst_args(inst);
    if is_shift
        && let Some(width) = bits(func.dfg.value_type(operands[0]))
        && bits(func.dfg.value_type(operands[1])).is_some()
    {
        args[1] = terms.low(width.trailing_zeros() as u8, args[1]);
    }
    args
}
