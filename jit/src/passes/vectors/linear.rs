//! Linear forms: integers as sums of other values with constant factors.
//!
//! Input: a value of type i32 or i64. Output: the sum that it is, modulo the size of its type. Definitions are followed
//! out of the loop, too: two rows of an array that a program addresses by different values are then one value and two
//! constants. Example: `iadd(ishl(i, 3), isub(p, 8))` is `8 * i + p - 8`.

use cranelift_codegen::ir::{Function, InstructionData, Opcode, Type, Value, types};
use smallvec::SmallVec;

use super::super::constants::integer;

/// The maximum number of terms, and the depth to which definitions are followed. A value beyond either is a term
/// itself.
const MOST_TERMS: usize = 6;
const DEEPEST: u32 = 12;

/// A sum of values with constant factors, and a constant, modulo the size of the type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Linear {
    /// The values with their factors, ascending by value; no factor is zero.
    pub terms: SmallVec<[(Value, i64); MOST_TERMS]>,
    /// The constant, sign-extended.
    pub constant: i64,
}

impl Linear {
    /// Returns the linear form of a value.
    pub(super) fn new(func: &Function, value: Value) -> Linear {
        Linear::from_value(func, value, DEEPEST).unwrap_or_else(|| Linear::term(value))
    }

    fn term(value: Value) -> Linear {
        Linear { terms: SmallVec::from_iter([(value, 1)]), constant: 0 }
    }

    /// Returns the factor of a value.
    #[cfg(test)]
    fn factor(&self, value: Value) -> i64 {
        self.terms.iter().find(|(term, _)| *term == value).map_or(0, |&(_, factor)| factor)
    }

    /// Returns the constant if the sum is `value` plus a constant.
    pub(super) fn beyond(&self, value: Value) -> Option<i64> {
        (self.terms.as_slice() == [(value, 1)]).then_some(self.constant)
    }

    fn from_value(func: &Function, value: Value, deep: u32) -> Option<Linear> {
        let ty = func.dfg.value_type(value);
        if let Some(constant) = integer(func, value) {
            return Some(Linear { terms: SmallVec::new(), constant: narrowed(constant, ty) });
        }
        let inst = func.dfg.value_def(value).inst().filter(|_| deep > 0)?;
        let InstructionData::Binary { opcode, args: [a, b] } = func.dfg.insts[inst] else { return None };
        let part = |value| Linear::from_value(func, value, deep - 1).unwrap_or_else(|| Linear::term(value));
        match opcode {
            Opcode::Iadd => part(a).plus(&part(b), 1, ty),
            Opcode::Isub => part(a).plus(&part(b), -1, ty),
            Opcode::Imul => match (integer(func, a), integer(func, b)) {
                (_, Some(factor)) => part(a).times(factor, ty),
                (Some(factor), None) => part(b).times(factor, ty),
                (None, None) => None,
            },
            Opcode::Ishl => {
                let by = integer(func, b)? as u32 & (ty.bits() - 1);
                part(a).times(1_i64.wrapping_shl(by), ty)
            }
            _ => None,
        }
    }

    /// Returns the sum plus a multiple of another, unless that has too many terms.
    fn plus(mut self, other: &Linear, times: i64, ty: Type) -> Option<Linear> {
        for &(value, factor) in &other.terms {
            let factor = factor.wrapping_mul(times);
            match self.terms.binary_search_by_key(&value, |&(term, _)| term) {
                Ok(at) => self.terms[at].1 = narrowed(self.terms[at].1.wrapping_add(factor), ty),
                Err(at) => self.terms.insert(at, (value, narrowed(factor, ty))),
            }
        }
        self.terms.retain(|(_, factor)| *factor != 0);
        self.constant = narrowed(self.constant.wrapping_add(other.constant.wrapping_mul(times)), ty);
        (self.terms.len() <= MOST_TERMS).then_some(self)
    }

    fn times(self, factor: i64, ty: Type) -> Option<Linear> {
        Linear::default().plus(&self, factor, ty)
    }
}

/// Sign-extends the part of a number that a type holds.
fn narrowed(number: i64, ty: Type) -> i64 {
    if ty == types::I32 { i64::from(number as i32) } else { number }
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::cursor::{Cursor, FuncCursor};
    use cranelift_codegen::ir::InstBuilder;

    use super::*;

    /// Returns the factors of two parameters and the constant in the value that `build` computes from them.
    fn linear(ty: Type, build: impl Fn(&mut FuncCursor<'_>, Value, Value) -> Value) -> (i64, i64, i64) {
        let mut func = Function::new();
        let block = func.dfg.make_block();
        let [a, b] = [(); 2].map(|()| func.dfg.append_block_param(block, ty));
        func.layout.append_block(block);
        let mut pos = FuncCursor::new(&mut func).at_bottom(block);
        let made = build(&mut pos, a, b);
        let sum = Linear::new(&func, made);
        assert!(sum.terms.iter().all(|(value, _)| [a, b].contains(value)), "{sum:?}");
        (sum.factor(a), sum.factor(b), sum.constant)
    }

    #[test]
    fn sums_and_products_with_constants_are_linear() {
        let address = linear(types::I32, |pos, a, b| {
            let shifted = pos.ins().ishl_imm_u(a, 3);
            let less = pos.ins().iadd_imm_s(b, -8);
            pos.ins().iadd(shifted, less)
        });
        assert_eq!(address, (8, 1, -8));
        let product = linear(types::I64, |pos, a, b| {
            let difference = pos.ins().isub(a, b);
            pos.ins().imul_imm_s(difference, 5)
        });
        assert_eq!(product, (5, -5, 0));
    }

    #[test]
    fn what_cancels_is_gone_and_constants_wrap_as_their_type_does() {
        let none = linear(types::I32, |pos, a, b| {
            let sum = pos.ins().iadd(a, b);
            pos.ins().isub(sum, a)
        });
        assert_eq!(none, (0, 1, 0));
        let wrapped = linear(types::I32, |pos, a, _| {
            let far = pos.ins().iadd_imm_s(a, i64::from(i32::MAX));
            pos.ins().iadd_imm_s(far, 1)
        });
        assert_eq!(wrapped, (1, 0, i64::from(i32::MIN)));
        let shifted_out = linear(types::I32, |pos, a, _| {
            let far = pos.ins().ishl_imm_u(a, 16);
            pos.ins().ishl_imm_u(far, 16)
        });
        assert_eq!(shifted_out, (0, 0, 0));
    }
}
