//! Folds constant addresses, and truth values that are only tested.
//!
//! Optimised code would lose these instructions later; baseline code has no optimiser, and would spend time on each of
//! them.

use cranelift_codegen::ir::condcodes::{CondCode, IntCC};
use cranelift_codegen::ir::{InstBuilder, InstructionData, Opcode, Value, types};

use super::Translator;
use crate::options::Pass;

impl Translator<'_> {
    /// Returns the bits of a constant integer.
    pub(super) fn constant_of(&self, value: Value) -> Option<u64> {
        match self.definition(value)? {
            InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => Some(imm.bits() as u64),
            _ => None,
        }
    }

    /// Returns the value to test instead of comparing `condition` with zero: if `condition` is a comparison extended to
    /// an i32, the comparison itself.
    pub(super) fn condition(&mut self, condition: Value) -> Value {
        let truth = self.truth_in(condition).or_else(|| self.divisible(condition, true));
        truth.unwrap_or(condition)
    }

    /// Returns the opposite of the comparison whose result is `value`, correct for NaN as well, as a CLIF truth value.
    fn opposite(&mut self, value: Value) -> Option<Value> {
        match *self.definition(self.truth_in(value)?)? {
            InstructionData::IntCompare { opcode: Opcode::Icmp, cond, args: [a, b] } => {
                Some(self.builder.ins().icmp(cond.complement(), a, b))
            }
            InstructionData::FloatCompare { opcode: Opcode::Fcmp, cond, args: [a, b] } => {
                Some(self.builder.ins().fcmp(cond.complement(), a, b))
            }
            _ => None,
        }
    }

    /// Tests whether an integer is zero, as a CLIF truth value.
    pub(super) fn zero_test(&mut self, value: Value) -> Value {
        let truth = self.opposite(value).or_else(|| self.divisible(value, false));
        truth.unwrap_or_else(|| self.builder.ins().icmp_imm_s(IntCC::Equal, value, 0))
    }

    fn truth_in(&self, value: Value) -> Option<Value> {
        match *self.definition(value).filter(|_| self.input.has(Pass::Conditions))? {
            InstructionData::Unary { opcode: Opcode::Uextend, arg } => {
                (self.builder.func.dfg.value_type(arg) == types::I8 && self.is_comparison(arg)).then_some(arg)
            }
            _ => None,
        }
    }

    fn is_comparison(&self, value: Value) -> bool {
        let is_test = |opcode| matches!(opcode, Opcode::Icmp | Opcode::Fcmp);
        self.definition(value).is_some_and(|inst| is_test(inst.opcode()))
    }

    /// Returns the instruction that defines a value.
    pub(super) fn definition(&self, value: Value) -> Option<&InstructionData> {
        let dfg = &self.builder.func.dfg;
        let inst = dfg.value_def(dfg.resolve_aliases(value)).inst()?;
        Some(&dfg.insts[inst])
    }
}
