//! Conditions of the flags, and instructions that depend on one.

use iced_x86::OpKind;

use super::machine::{Cpu, Done, FLAGS};
use super::operands::bits;
use crate::validate::{Op, Place, Step, Term};

impl Cpu<'_, '_> {
    /// Returns a condition of the flags, and whether it is to be inverted.
    fn condition(&mut self) -> (Term, bool) {
        let number = self.inst.condition_code() as u8 - 1;
        let (mut base, is_opposite) = (number & !1, number & 1 == 1);
        let (equal, sign, less, at_most) = (4, 8, 12, 14);
        let mut flags = self.run.values[FLAGS];
        if let Some((Op::FlagsOfCount, &[sum, ..])) = self.terms.as_apply(flags)
            && [equal, sign, less, at_most].contains(&base)
        {
            flags = self.terms.apply(Op::FlagsOfResult(8), &[sum]);
        }
        // Flags of a result have no overflow, so less is the sign.
        if base == less && matches!(self.terms.as_apply(flags), Some((Op::FlagsOfResult(_), _))) {
            base = sign;
        }
        match self.tested(flags).filter(|_| base == equal) {
            Some((condition, is_zero)) => (condition, is_opposite != is_zero),
            None => (self.terms.apply(Op::Condition(base), &[flags]), is_opposite),
        }
    }

    /// Returns the condition of which flags test the truth value, and whether they say that it is zero if the condition
    /// is false.
    fn tested(&self, flags: Term) -> Option<(Term, bool)> {
        let (Op::FlagsOfResult(_), &[value]) = self.terms.as_apply(flags)? else { return None };
        let (Op::Select, &[condition, yes, no]) = self.terms.as_apply(value)? else { return None };
        match (self.terms.as_constant(yes)?, self.terms.as_constant(no)?) {
            (1.., 0) => Some((condition, true)),
            (0, 1..) => Some((condition, false)),
            _ => None,
        }
    }

    pub fn branch(&mut self) -> Step {
        let (condition, is_opposite) = self.condition();
        let (taken, next) = (self.inst.near_branch64() as Place, self.inst.next_ip() as Place);
        let places = if is_opposite { [next, taken] } else { [taken, next] };
        Step::Branch { condition, places }
    }

    pub fn conditional(&mut self) -> Done {
        let (condition, is_opposite) = self.condition();
        let bytes = self.size(0);
        let (then, other) = match self.inst.mnemonic() {
            _ if self.inst.op_count() == 1 => (self.terms.constant(1), self.terms.constant(0)),
            // `cmov`; other instructions are not known.
            _ if self.inst.op0_kind() == OpKind::Register => (self.read(1)?, self.read(0)?),
            _ => return self.refused("an operand"),
        };
        let (yes, no) = if is_opposite { (other, then) } else { (then, other) };
        // What `set` writes is a truth value, even if its numbers are the compared ones.
        let is_move = self.inst.op_count() == 2;
        let clamped = if is_move { self.clamped(condition, yes, no) } else { None };
        let value = match clamped {
            Some(clamped) => clamped,
            None => self.terms.apply(Op::Select, &[condition, yes, no]),
        };
        let value = if bytes < 8 { self.terms.low(bits(bytes as usize), value) } else { value };
        self.write(0, value)
    }

    /// Returns the smaller of a value and a constant, if a selection computes that.
    fn clamped(&mut self, condition: Term, yes: Term, no: Term) -> Option<Term> {
        let (below, below_or_equal) = (2, 6);
        let (Op::Condition(base), &[flags]) = self.terms.as_apply(condition)? else { return None };
        let zero = self.terms.constant(0);
        let (a, b) = match self.terms.as_apply(flags)? {
            (Op::FlagsOfDifference(_), &[a, b]) => (a, b),
            // A comparison with zero.
            (Op::FlagsOfResult(_), &[a]) => (a, zero),
            _ => return None,
        };
        let is_smaller = [below, below_or_equal].contains(&base) && (yes, no) == (a, b);
        let most = self.terms.as_constant(no).filter(|_| is_smaller)?;
        Some(self.terms.apply(Op::AtMost(most), &[yes]))
    }
}
