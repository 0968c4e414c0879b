//! Comparisons and their users: truth values and selections.
//!
//! A comparison with one user is made right before that user, which reads its flags. Allocating registers therefore
//! changes no flag.

use cranelift_codegen::ir::condcodes::{CondCode, FloatCC, IntCC};
use cranelift_codegen::ir::{Inst, InstructionData, Opcode, Value, types};

use super::assembler::{Alu, Cc, PINNED, Reg, SCRATCH, Width, op};
use super::integer::sign_extension;
use super::registers::Kind;
use super::{Emitter, Unsupported};

/// The flags of a true condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    One(Cc),
    /// Floats that are equal and ordered.
    EqualAndOrdered,
    /// Floats that are unequal or unordered.
    UnequalOrUnordered,
}

impl Emitter<'_> {
    /// Materialises a comparison as a number.
    pub(super) fn truth(&mut self, inst: Inst) -> Result<(), Unsupported> {
        let condition = self.compare(inst)?;
        // Spilling changes no flag.
        let to = self.fresh(false)?;
        self.set(condition, to);
        self.assembler.op(op::MOVZX_BYTE, Width::W32, to, to);
        self.define(self.func.dfg.first_result(inst), to);
        Ok(())
    }

    fn set(&mut self, condition: Condition, to: Reg) {
        let (first, second, both) = match condition {
            Condition::One(cc) => return self.assembler.set(cc, to),
            Condition::EqualAndOrdered => (Cc::NO_PARITY, Cc::EQUAL, Alu::And),
            Condition::UnequalOrUnordered => (Cc::PARITY, Cc::NOT_EQUAL, Alu::Or),
        };
        self.assembler.set(first, SCRATCH);
        self.assembler.set(second, to);
        self.assembler.alu(both, Width::W32, to, SCRATCH);
    }

    /// Sets the flags by whether a value is true, and uses the value up.
    pub(super) fn condition(&mut self, value: Value) -> Result<Condition, Unsupported> {
        if let Kind::Deferred(inst) = self.values[value].kind
            && self.func.dfg.insts[inst].opcode() != Opcode::Iadd
        {
            let condition = self.compare(inst)?;
            if self.func.dfg.insts[inst].opcode() == Opcode::Fcmp {
                self.claims.fused.push(inst);
            }
            self.use_up(value);
            return Ok(condition);
        }
        let reg = self.reg(value)?;
        match self.func.dfg.value_type(value) {
            types::I8 => self.assembler.op(op::TEST_BYTE, Width::W32, reg, reg),
            types::I16 => return Err(Unsupported),
            _ => {
                let width = self.width(value)?;
                self.assembler.op(op::TEST, width, reg, reg);
            }
        }
        self.use_up(value);
        Ok(Condition::One(Cc::NOT_EQUAL))
    }

    /// Sets the flags as a comparison does.
    fn compare(&mut self, inst: Inst) -> Result<Condition, Unsupported> {
        match self.func.dfg.insts[inst] {
            InstructionData::IntCompare { cond, args, .. } => {
                Ok(Condition::One(self.compare_ints(cond, args)?))
            }
            InstructionData::FloatCompare { cond, args, .. } => self.compare_floats(cond, args),
            _ => Err(Unsupported),
        }
    }

    fn compare_ints(&mut self, cond: IntCC, [a, b]: [Value; 2]) -> Result<Cc, Unsupported> {
        let ty = self.func.dfg.value_type(a);
        if ty.bits() < 32 {
            return self.compare_narrow(cond, [a, b]);
        }
        let width = self.width(a)?;
        // A constant goes second.
        let (a, b, cond) = match self.constant(a).is_some() && self.constant(b).is_none() {
            true => (b, a, cond.swap_args()),
            false => (a, b, cond),
        };
        match self.small_constant(b) {
            Some(0) if self.values[a].reg.is_some() || self.values[a].kind != Kind::Held => {
                let reg = self.reg(a)?;
                // An addition to the counter, which does not overflow, has set the same flags except carry.
                let is_set = reg == PINNED && self.counted == Some(self.assembler.here());
                if !(is_set && is_signed(cond)) {
                    self.assembler.op(op::TEST, width, reg, reg);
                }
            }
            Some(constant) => {
                let operand = self.operand(a)?;
                self.assembler.alu_constant(Alu::Cmp, width, operand, constant);
            }
            None => {
                let operand = self.operand(b)?;
                let reg = self.reg(a)?;
                self.assembler.alu(Alu::Cmp, width, reg, operand);
            }
        }
        self.use_up(a);
        self.use_up(b);
        Ok(of_ints(cond))
    }

    /// Compares bytes or words as 32-bit numbers.
    fn compare_narrow(&mut self, cond: IntCC, [a, b]: [Value; 2]) -> Result<Cc, Unsupported> {
        let ty = self.func.dfg.value_type(a);
        let op = match (is_signed(cond), ty) {
            (true, _) => sign_extension(ty)?,
            (false, types::I8) => op::MOVZX_BYTE,
            (false, _) => op::MOVZX_WORD,
        };
        let operand = self.operand(a)?;
        let left = self.fresh(false)?;
        self.assembler.op(op, Width::W32, left, operand);
        self.load_into(SCRATCH, b)?;
        self.assembler.op(op, Width::W32, SCRATCH, SCRATCH);
        self.assembler.alu(Alu::Cmp, Width::W32, left, SCRATCH);
        self.use_up(a);
        self.use_up(b);
        Ok(of_ints(cond))
    }

    pub(super) fn select(&mut self, inst: Inst, [condition, yes, no]: [Value; 3]) -> Result<(), Unsupported> {
        if self.is_float(yes) {
            return self.select_float(inst, condition, [yes, no]);
        }
        let width = if self.func.dfg.value_type(yes).bits() <= 32 { Width::W32 } else { Width::W64 };
        let chosen = self.reg(yes)?;
        let to = self.take(no)?;
        let condition = self.condition(condition)?;
        match condition {
            Condition::One(cc) => self.assembler.cmov(cc, width, to, chosen),
            Condition::UnequalOrUnordered => {
                self.assembler.cmov(Cc::PARITY, width, to, chosen);
                self.assembler.cmov(Cc::NOT_EQUAL, width, to, chosen);
            }
            Condition::EqualAndOrdered => {
                // Select if equal, and restore the old value if unordered.
                self.assembler.mov(Width::W64, SCRATCH, to);
                self.assembler.cmov(Cc::EQUAL, width, to, chosen);
                self.assembler.cmov(Cc::PARITY, width, to, SCRATCH);
            }
        }
        self.done(inst, &[yes, no], to);
        Ok(())
    }

    pub(super) fn compare_floats(
        &mut self,
        cond: FloatCC,
        [a, b]: [Value; 2],
    ) -> Result<Condition, Unsupported> {
        let (condition, is_swapped) = of_floats(cond);
        let (first, second) = if is_swapped { (b, a) } else { (a, b) };
        let operand = self.operand(second)?;
        let reg = self.reg(first)?;
        self.assembler.op(op::compare_floats(self.is_f64(a)), Width::W32, reg, operand);
        self.use_up(a);
        self.use_up(b);
        Ok(condition)
    }

    pub(super) fn select_float(
        &mut self,
        inst: Inst,
        condition: Value,
        [yes, no]: [Value; 2],
    ) -> Result<(), Unsupported> {
        let other = self.reg(no)?;
        let to = self.take(yes)?;
        let (chosen, behind) = (self.assembler.label(), self.assembler.label());
        match self.condition(condition)? {
            Condition::One(cc) => self.assembler.branch(cc, behind),
            Condition::UnequalOrUnordered => {
                self.assembler.branch(Cc::PARITY, behind);
                self.assembler.branch(Cc::NOT_EQUAL, behind);
            }
            Condition::EqualAndOrdered => {
                self.assembler.branch(Cc::PARITY, chosen);
                self.assembler.branch(Cc::EQUAL, behind);
            }
        }
        self.assembler.bind(chosen);
        self.move_between(to, other);
        self.join(inst, behind);
        self.done(inst, &[yes, no], to);
        Ok(())
    }
}

fn is_signed(cond: IntCC) -> bool {
    cond != cond.unsigned()
}

fn of_ints(cond: IntCC) -> Cc {
    match cond {
        IntCC::Equal => Cc::EQUAL,
        IntCC::NotEqual => Cc::NOT_EQUAL,
        IntCC::SignedLessThan => Cc::LESS,
        IntCC::SignedGreaterThanOrEqual => Cc::GREATER_OR_EQUAL,
        IntCC::SignedGreaterThan => Cc::GREATER,
        IntCC::SignedLessThanOrEqual => Cc::LESS_OR_EQUAL,
        IntCC::UnsignedLessThan => Cc::BELOW,
        IntCC::UnsignedGreaterThanOrEqual => Cc::ABOVE_OR_EQUAL,
        IntCC::UnsignedGreaterThan => Cc::ABOVE,
        IntCC::UnsignedLessThanOrEqual => Cc::BELOW_OR_EQUAL,
    }
}

/// Returns the condition of a float comparison, and whether its operands are swapped.
fn of_floats(cond: FloatCC) -> (Condition, bool) {
    let one = Condition::One;
    match cond {
        FloatCC::Equal => (Condition::EqualAndOrdered, false),
        FloatCC::NotEqual => (Condition::UnequalOrUnordered, false),
        // The flag of less is also set for unordered floats, so ordered comparisons use greater.
        FloatCC::LessThan => (one(Cc::ABOVE), true),
        FloatCC::LessThanOrEqual => (one(Cc::ABOVE_OR_EQUAL), true),
        FloatCC::GreaterThan => (one(Cc::ABOVE), false),
        FloatCC::GreaterThanOrEqual => (one(Cc::ABOVE_OR_EQUAL), false),
        FloatCC::UnorderedOrLessThan => (one(Cc::BELOW), false),
        FloatCC::UnorderedOrLessThanOrEqual => (one(Cc::BELOW_OR_EQUAL), false),
        FloatCC::UnorderedOrGreaterThan => (one(Cc::BELOW), true),
        FloatCC::UnorderedOrGreaterThanOrEqual => (one(Cc::BELOW_OR_EQUAL), true),
        FloatCC::Ordered => (one(Cc::NO_PARITY), false),
        FloatCC::Unordered => (one(Cc::PARITY), false),
        FloatCC::OrderedNotEqual => (one(Cc::NOT_EQUAL), false),
        FloatCC::UnorderedOrEqual => (one(Cc::EQUAL), false),
    }
}
