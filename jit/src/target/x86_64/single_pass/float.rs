//! Floats.

use cranelift_codegen::ir::{Inst, Opcode, Value, types};

use super::assembler::{Alu, Cc, Operand, Reg, SCRATCH, Shift, Width, XMM_SCRATCH, op};
use super::{Emitter, Unsupported};

impl Emitter<'_> {
    pub(super) fn float_binary(
        &mut self,
        inst: Inst,
        opcode: Opcode,
        args: [Value; 2],
    ) -> Result<(), Unsupported> {
        match opcode {
            Opcode::Fadd => self.scalar(inst, op::ADD, args),
            Opcode::Fsub => self.scalar(inst, op::SUB, args),
            Opcode::Fmul => self.scalar(inst, op::MUL, args),
            Opcode::Fdiv => self.scalar(inst, op::DIV, args),
            Opcode::Fmin => self.extreme(inst, op::MIN, args),
            Opcode::Fmax => self.extreme(inst, op::MAX, args),
            Opcode::Fcopysign => self.copy_sign(inst, args),
            _ => Err(Unsupported),
        }
    }

    /// Reports whether a float has 64 bits.
    pub(super) fn is_f64(&self, value: Value) -> bool {
        self.func.dfg.value_type(value) == types::F64
    }

    fn scalar(&mut self, inst: Inst, opcode: u32, [a, b]: [Value; 2]) -> Result<(), Unsupported> {
        let operand = self.operand(b)?;
        let to = self.take(a)?;
        self.assembler.op(op::scalar(self.is_f64(a), opcode), Width::W32, to, operand);
        self.done(inst, &[a, b], to);
        Ok(())
    }

    /// Computes the minimum or maximum. The processor's instruction neither tells zeros apart nor propagates each NaN.
    fn extreme(&mut self, inst: Inst, opcode: u32, [a, b]: [Value; 2]) -> Result<(), Unsupported> {
        let other = self.reg(b)?;
        let to = self.take(a)?;
        let is_f64 = self.is_f64(a);
        let (differ, equal, behind) =
            (self.assembler.label(), self.assembler.label(), self.assembler.label());
        self.assembler.op(op::compare_floats(is_f64), Width::W32, to, other);
        self.assembler.branch(Cc::NOT_EQUAL, differ);
        self.assembler.branch(Cc::NO_PARITY, equal);
        self.assembler.op(op::scalar(is_f64, op::ADD), Width::W32, to, other);
        self.assembler.jump(behind);
        self.assembler.bind(equal);
        let of_signs = if opcode == op::MIN { op::ORPS } else { op::ANDPS };
        self.assembler.op(of_signs, Width::W32, to, other);
        self.assembler.jump(behind);
        self.assembler.bind(differ);
        self.assembler.op(op::scalar(is_f64, opcode), Width::W32, to, other);
        self.join(inst, behind);
        self.done(inst, &[a, b], to);
        Ok(())
    }

    /// Returns the width of an integer with as many bits as a float.
    fn width_of_float(&self, value: Value) -> Width {
        if self.is_f64(value) { Width::W64 } else { Width::W32 }
    }

    /// Copies a float's bits to a general register of their own.
    pub(super) fn bits_of(&mut self, value: Value) -> Result<Reg, Unsupported> {
        let bits = self.fresh(false)?;
        self.copy_bits(bits, value)?;
        Ok(bits)
    }

    fn copy_bits(&mut self, to: Reg, value: Value) -> Result<(), Unsupported> {
        let width = self.width_of_float(value);
        match self.operand(value)? {
            Operand::Reg(from) => self.assembler.op(op::MOV_FROM_XMM, width, from, to),
            Operand::Mem(mem) => self.assembler.mov(width, to, mem),
        }
        Ok(())
    }

    fn copy_sign(&mut self, inst: Inst, [a, b]: [Value; 2]) -> Result<(), Unsupported> {
        let width = self.width_of_float(a);
        let sign = width.bits() - 1;
        let bits = self.bits_of(a)?;
        self.copy_bits(SCRATCH, b)?;
        let to = self.fresh(true)?;
        self.assembler.shift_constant(Shift::Left, width, bits, 1);
        self.assembler.shift_constant(Shift::Right, width, bits, 1);
        self.assembler.shift_constant(Shift::Right, width, SCRATCH, sign);
        self.assembler.shift_constant(Shift::Left, width, SCRATCH, sign);
        self.assembler.alu(Alu::Or, width, bits, SCRATCH);
        self.assembler.op(op::MOV_TO_XMM, width, to, bits);
        self.done(inst, &[a, b], to);
        Ok(())
    }

    pub(super) fn float_unary(&mut self, inst: Inst, opcode: Opcode, arg: Value) -> Result<(), Unsupported> {
        match opcode {
            Opcode::Fabs => self.change_sign(inst, arg, op::ANDPS),
            Opcode::Fneg => self.change_sign(inst, arg, op::XORPS),
            Opcode::Sqrt => self.convert(inst, op::scalar(self.is_f64(arg), op::SQRT), Width::W32, arg),
            Opcode::Nearest => self.round(inst, 0, arg),
            Opcode::Floor => self.round(inst, 1, arg),
            Opcode::Ceil => self.round(inst, 2, arg),
            Opcode::Trunc => self.round(inst, 3, arg),
            Opcode::Fpromote | Opcode::Fdemote => {
                let op = op::scalar(self.is_f64(arg), op::TO_OTHER_FLOAT);
                self.convert(inst, op, Width::W32, arg)
            }
            Opcode::FcvtFromSint => self.convert_signed(inst, arg),
            Opcode::FcvtFromUint => self.convert_unsigned(inst, arg),
            Opcode::FcvtToSintSat => self.saturate_signed(inst, arg),
            Opcode::FcvtToUintSat => self.saturate_unsigned(inst, arg),
            Opcode::FcvtToSint | Opcode::FcvtToUint => self.convert_or_trap(inst, opcode, arg),
            _ => Err(Unsupported),
        }
    }

    /// Computes the absolute value (`op` ANDPS) or the negation (XORPS): only the sign bit changes.
    fn change_sign(&mut self, inst: Inst, arg: Value, op: super::assembler::Op) -> Result<(), Unsupported> {
        let to = self.take(arg)?;
        let sign = if self.is_f64(arg) { 1 << 63 } else { 1_u64 << 31 };
        let keeps = self.func.dfg.insts[inst].opcode() == Opcode::Fabs;
        let mask = if keeps { !sign } else { sign };
        // The bits above a 32-bit float do not matter.
        let mask = if self.is_f64(arg) { mask } else { mask & u64::from(u32::MAX) };
        self.assembler.constant(SCRATCH, mask.cast_signed());
        self.assembler.op(op::MOV_TO_XMM, Width::W64, XMM_SCRATCH, SCRATCH);
        self.assembler.op(op, Width::W32, to, XMM_SCRATCH);
        self.done(inst, &[arg], to);
        Ok(())
    }

    fn round(&mut self, inst: Inst, mode: u8, arg: Value) -> Result<(), Unsupported> {
        if !self.features.rounds {
            return Err(Unsupported);
        }
        let operand = self.operand(arg)?;
        let to = self.fresh(true)?;
        // As in `convert`: the bits above a scalar would be those of an old value.
        self.assembler.op(op::XORPS, Width::W32, to, to);
        self.assembler.op_byte(op::round(self.is_f64(arg)), to, operand, mode);
        self.done(inst, &[arg], to);
        Ok(())
    }
}
