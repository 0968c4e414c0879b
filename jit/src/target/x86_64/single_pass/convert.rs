//! Conversions between integers and floats, and between float types.
//!
//! The processor converts only from and to signed numbers, and returns the least number for values out of range.

use cranelift_codegen::ir::{self, Inst, Opcode, Value};

use super::assembler::{Alu, Cc, Op, Reg, SCRATCH, Shift, Width, XMM_SCRATCH, op};
use super::{Emitter, Unsupported};

impl Emitter<'_> {
    /// Writes a one-operand instruction with a float result. The processor keeps the bits above a scalar, so the
    /// destination is cleared first: otherwise the instruction would wait for whatever was computed there last.
    pub(super) fn convert(
        &mut self,
        inst: Inst,
        op: Op,
        width: Width,
        arg: Value,
    ) -> Result<(), Unsupported> {
        let operand = self.operand(arg)?;
        let to = self.fresh(true)?;
        self.assembler.op(op::XORPS, Width::W32, to, to);
        self.assembler.op(op, width, to, operand);
        self.done(inst, &[arg], to);
        Ok(())
    }

    pub(super) fn convert_signed(&mut self, inst: Inst, arg: Value) -> Result<(), Unsupported> {
        let width = self.width(arg)?;
        let is_f64 = self.is_f64(self.func.dfg.first_result(inst));
        self.convert(inst, op::scalar(is_f64, op::FROM_INT), width, arg)
    }

    pub(super) fn convert_unsigned(&mut self, inst: Inst, arg: Value) -> Result<(), Unsupported> {
        let is_f64 = self.is_f64(self.func.dfg.first_result(inst));
        let width = self.width(arg)?;
        self.compute(arg)?;
        let (to, low) = (self.fresh(true)?, self.fresh(false)?);
        self.load_into(SCRATCH, arg)?;
        self.assembler.op(op::XORPS, Width::W32, to, to);
        match width {
            // As 64-bit numbers, all 32-bit ones are positive.
            Width::W32 => {
                self.assembler.mov(Width::W32, SCRATCH, SCRATCH);
                self.assembler.op(op::scalar(is_f64, op::FROM_INT), Width::W64, to, SCRATCH);
            }
            Width::W64 => self.convert_scratch(is_f64, to, low),
        }
        self.meet(inst);
        self.done(inst, &[arg], to);
        Ok(())
    }

    /// Converts the scratch register, as unsigned. A number too large for a signed one is halved, rounded to odd, and
    /// doubled.
    fn convert_scratch(&mut self, is_f64: bool, to: Reg, low: Reg) {
        let from_int = op::scalar(is_f64, op::FROM_INT);
        let (large, behind) = (self.assembler.label(), self.assembler.label());
        self.assembler.op(op::TEST, Width::W64, SCRATCH, SCRATCH);
        self.assembler.branch(Cc::LESS, large);
        self.assembler.op(from_int, Width::W64, to, SCRATCH);
        self.assembler.jump(behind);
        self.assembler.bind(large);
        self.assembler.mov(Width::W64, low, SCRATCH);
        self.assembler.alu_constant(Alu::And, Width::W32, low, 1);
        self.assembler.shift_constant(Shift::Right, Width::W64, SCRATCH, 1);
        self.assembler.alu(Alu::Or, Width::W64, SCRATCH, low);
        self.assembler.op(from_int, Width::W64, to, SCRATCH);
        self.assembler.op(op::scalar(is_f64, op::ADD), Width::W32, to, to);
        self.assembler.bind(behind);
    }

    /// Compares a float with a number that its type represents exactly.
    fn compare_with(&mut self, is_f64: bool, from: Reg, number: f64) {
        let bits = if is_f64 { number.to_bits() } else { u64::from((number as f32).to_bits()) };
        self.assembler.constant(SCRATCH, bits.cast_signed());
        self.assembler.op(op::MOV_TO_XMM, Width::W64, XMM_SCRATCH, SCRATCH);
        self.assembler.op(op::compare_floats(is_f64), Width::W32, from, XMM_SCRATCH);
    }

    /// Converts with saturation: a value out of range becomes the least or the greatest number, NaN zero.
    pub(super) fn saturate_signed(&mut self, inst: Inst, arg: Value) -> Result<(), Unsupported> {
        let (width, is_f64) = (self.width(self.func.dfg.first_result(inst))?, self.is_f64(arg));
        let from = self.reg(arg)?;
        let to = self.fresh(false)?;
        let (ordered, behind) = (self.assembler.label(), self.assembler.label());
        self.assembler.op(op::scalar(is_f64, op::TO_INT), width, to, from);
        // Only the least number overflows when one is subtracted.
        self.assembler.alu_constant(Alu::Cmp, width, to, 1);
        self.assembler.branch(Cc::NO_OVERFLOW, behind);
        self.assembler.op(op::compare_floats(is_f64), Width::W32, from, from);
        self.assembler.branch(Cc::NO_PARITY, ordered);
        self.assembler.alu(Alu::Xor, Width::W32, to, to);
        self.assembler.jump(behind);
        self.assembler.bind(ordered);
        self.compare_with(is_f64, from, 0.0);
        self.assembler.branch(Cc::BELOW, behind);
        self.assembler.constant(to, if width == Width::W64 { i64::MAX } else { i64::from(i32::MAX) });
        self.join(inst, behind);
        self.done(inst, &[arg], to);
        Ok(())
    }

    pub(super) fn saturate_unsigned(&mut self, inst: Inst, arg: Value) -> Result<(), Unsupported> {
        let (width, is_f64) = (self.width(self.func.dfg.first_result(inst))?, self.is_f64(arg));
        let from = self.reg(arg)?;
        let (to, rest) = (self.fresh(false)?, self.fresh(true)?);
        let [zero, most, behind] = [(); 3].map(|()| self.assembler.label());
        self.compare_with(is_f64, from, 0.0);
        // NaN is unordered, which sets the flag of below, too.
        self.assembler.branch(Cc::BELOW_OR_EQUAL, zero);
        self.compare_with(is_f64, from, 2_f64.powi(width.bits().into()));
        self.assembler.branch(Cc::ABOVE_OR_EQUAL, most);
        self.convert_fitting(width, is_f64, to, (from, rest));
        self.assembler.jump(behind);
        self.assembler.bind(most);
        self.assembler.constant(to, if width == Width::W64 { -1 } else { i64::from(u32::MAX) });
        self.assembler.jump(behind);
        self.assembler.bind(zero);
        self.assembler.alu(Alu::Xor, Width::W32, to, to);
        self.join(inst, behind);
        self.done(inst, &[arg], to);
        Ok(())
    }

    /// Converts, and traps if the value is out of range.
    pub(super) fn convert_or_trap(
        &mut self,
        inst: Inst,
        opcode: Opcode,
        arg: Value,
    ) -> Result<(), Unsupported> {
        let (width, is_f64) = (self.width(self.func.dfg.first_result(inst))?, self.is_f64(arg));
        let is_signed = opcode == Opcode::FcvtToSint;
        let nan = self.trap_label(ir::TrapCode::BAD_CONVERSION_TO_INTEGER);
        let overflow = self.trap_label(ir::TrapCode::INTEGER_OVERFLOW);
        let from = self.reg(arg)?;
        let (to, rest) = (self.fresh(false)?, self.fresh(true)?);
        self.assembler.op(op::compare_floats(is_f64), Width::W32, from, from);
        self.assembler.branch(Cc::PARITY, nan);
        let bits = i32::from(width.bits());
        let (below, is_outside) = match is_signed {
            false => (-1.0, Cc::BELOW_OR_EQUAL),
            // A 64-bit float can represent the number below the least 32-bit integer.
            true if is_f64 && width == Width::W32 => (-(2_f64.powi(31)) - 1.0, Cc::BELOW_OR_EQUAL),
            true => (-(2_f64.powi(bits - 1)), Cc::BELOW),
        };
        self.compare_with(is_f64, from, below);
        self.assembler.branch(is_outside, overflow);
        self.compare_with(is_f64, from, 2_f64.powi(bits - i32::from(is_signed)));
        self.assembler.branch(Cc::ABOVE_OR_EQUAL, overflow);
        match is_signed {
            true => self.assembler.op(op::scalar(is_f64, op::TO_INT), width, to, from),
            false => self.convert_fitting(width, is_f64, to, (from, rest)),
        }
        self.meet(inst);
        self.done(inst, &[arg], to);
        Ok(())
    }

    /// Converts a float that is above -1 and below the first number of more than `width` bits.
    fn convert_fitting(&mut self, width: Width, is_f64: bool, to: Reg, (from, rest): (Reg, Reg)) {
        let to_int = op::scalar(is_f64, op::TO_INT);
        if width == Width::W32 {
            return self.assembler.op(to_int, Width::W64, to, from);
        }
        let (small, behind) = (self.assembler.label(), self.assembler.label());
        self.compare_with(is_f64, from, 2_f64.powi(63));
        self.assembler.branch(Cc::BELOW, small);
        self.move_between(rest, from);
        self.assembler.op(op::scalar(is_f64, op::SUB), Width::W32, rest, XMM_SCRATCH);
        self.assembler.op(to_int, Width::W64, to, rest);
        self.assembler.constant(SCRATCH, i64::MIN);
        self.assembler.alu(Alu::Add, Width::W64, to, SCRATCH);
        self.assembler.jump(behind);
        self.assembler.bind(small);
        self.assembler.op(to_int, Width::W64, to, from);
        self.assembler.bind(behind);
    }

    /// Reinterprets bits as another type.
    pub(super) fn bitcast(&mut self, inst: Inst, arg: Value) -> Result<(), Unsupported> {
        let result = self.func.dfg.first_result(inst);
        if self.func.dfg.value_type(result).bits() > 64 {
            return Err(Unsupported);
        }
        match (self.is_float(arg), self.is_float(result)) {
            (true, false) => {
                let to = self.bits_of(arg)?;
                self.done(inst, &[arg], to);
            }
            (false, true) => {
                let width = self.width(arg)?;
                let operand = self.operand(arg)?;
                let to = self.fresh(true)?;
                self.assembler.op(op::MOV_TO_XMM, width, to, operand);
                self.done(inst, &[arg], to);
            }
            _ => {
                let to = self.take(arg)?;
                self.done(inst, &[arg], to);
            }
        }
        Ok(())
    }
}
