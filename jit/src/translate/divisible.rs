//! Tests of divisibility by a constant, without computing the remainder.
//!
//! A remainder by a constant takes two dependent multiplications and a subtraction, and a branch that only asks whether
//! it is zero waits for them. Modulo a power of two an odd number has an inverse, and multiplying by it maps exactly
//! the multiples of the number to the small numbers. Source: Warren, *Hacker's Delight*, second edition, section 10-17.
//! Example: `x % 6 == 0` is `rotr(x * 0xaaaaaaab, 1) <= 0x2aaaaaaa`.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, InstructionData, Opcode, Value};

use super::Translator;
use crate::options::Pass;

/// The multiples of a number: all `x` with `rotr(x * inverse + sum, rotation) <= limit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Multiples {
    inverse: u64,
    sum: u64,
    rotation: u32,
    limit: u64,
}

impl Translator<'_> {
    fn tests_divisibility(&self) -> bool {
        self.input.is_optimised() && self.input.has(Pass::Divisible)
    }

    /// Tests whether `remainder` is zero, or with `is_opposite` whether it is not, as a CLIF truth value; `None` if it
    /// is not a remainder by a constant, and in baseline code, which has computed the remainder by then.
    pub(super) fn divisible(&mut self, remainder: Value, is_opposite: bool) -> Option<Value> {
        let &InstructionData::Binary { opcode, args: [value, by] } =
            self.definition(remainder).filter(|_| self.tests_divisibility())?
        else {
            return None;
        };
        let ty = self.builder.func.dfg.value_type(value);
        let is_signed = opcode == Opcode::Srem;
        let Multiples { inverse, sum, rotation, limit } = (is_signed || opcode == Opcode::Urem)
            .then(|| multiples(self.constant_of(by)?, ty.bits(), is_signed))
            .flatten()?;
        let ins = |translator: &mut Self, number: u64| translator.builder.ins().iconst(ty, number as i64);
        let inverse = ins(self, inverse);
        let mut product = self.builder.ins().imul(value, inverse);
        if sum != 0 {
            let sum = ins(self, sum);
            product = self.builder.ins().iadd(product, sum);
        }
        if rotation != 0 {
            let rotation = ins(self, rotation.into());
            product = self.builder.ins().rotr(product, rotation);
        }
        let limit = ins(self, limit);
        let condition = if is_opposite { IntCC::UnsignedGreaterThan } else { IntCC::UnsignedLessThanOrEqual };
        Some(self.builder.ins().icmp(condition, product, limit))
    }
}

/// Returns the test that tells multiples of `by` from other numbers of that many bits; `None` if there is a simpler
/// one.
fn multiples(by: u64, bits: u32, is_signed: bool) -> Option<Multiples> {
    let all = u64::MAX >> (64 - bits);
    let most = if is_signed { all >> 1 } else { all };
    let rotation = by.checked_ilog2().map(|_| by.trailing_zeros())?;
    let odd = by >> rotation;
    if odd == 1 || by > most {
        return None;
    }
    // Newton's method: each step doubles the number of correct bits, of which the initial value has three.
    let inverse = (0..5)
        .fold(odd, |inverse, _| inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse))))
        & all;
    let sum = if is_signed { (most / odd) & !((1 << rotation) - 1) } else { 0 };
    let limit = if is_signed { (2 * sum) >> rotation } else { all / by };
    Some(Multiples { inverse, sum, rotation, limit })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_divisible(of: Multiples, number: u64, bits: u32) -> bool {
        let all = u64::MAX >> (64 - bits);
        let product = number.wrapping_mul(of.inverse).wrapping_add(of.sum) & all;
        let rotated = match of.rotation {
            0 => product,
            by => (product >> by | product << (bits - by)) & all,
        };
        rotated <= of.limit
    }

    #[test]
    fn multiples_are_told_from_other_numbers() {
        let near = |number: u64| (0..9).map(move |by| number.wrapping_add(by).wrapping_sub(4));
        for bits in [32, 64] {
            let all = u64::MAX >> (64 - bits);
            let powers = (0..bits).map(|power| 1_u64 << power);
            let divisors =
                (0..200).chain(powers.flat_map(near)).chain([1_000_000_007, 0xfedc_ba98_7654_3210]);
            for by in divisors.map(|by| by & all) {
                let numbers =
                    [1, 2, 3, 5, all / by.max(1), all / by.max(1) / 2].map(|times| by.wrapping_mul(times));
                let ends = [0, all, all >> 1, (all >> 1) + 1, 12345];
                for number in numbers.into_iter().chain(ends).flat_map(near).map(|number| number & all) {
                    if let Some(of) = multiples(by, bits, false) {
                        assert_eq!(is_divisible(of, number, bits), number % by == 0, "{number} by {by}");
                    }
                    if let Some(of) = multiples(by, bits, true) {
                        let signed = |number: u64| (number as i64) << (64 - bits) >> (64 - bits);
                        let expected = signed(number).wrapping_rem(signed(by)) == 0;
                        assert_eq!(is_divisible(of, number, bits), expected, "{} by {by}", signed(number));
                    }
                }
            }
        }
    }

    #[test]
    fn what_has_simpler_tests_has_none() {
        for by in [0, 1, 2, 64, 1 << 31] {
            assert_eq!(multiples(by, 32, false), None);
            assert_eq!(multiples(by, 32, true), None);
        }
        // Negative numbers.
        assert_eq!(multiples(0xffff_fffd, 32, true), None);
        let three = Multiples { inverse: 0xaaaa_aaab, sum: 0, rotation: 0, limit: 0x5555_5555 };
        assert_eq!(multiples(3, 32, false), Some(three));
        let six = Multiples { rotation: 1, limit: 0x2aaa_aaaa, ..three };
        assert_eq!(multiples(6, 32, false), Some(six));
    }
}
