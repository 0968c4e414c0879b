//! Floats.

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{self, Inst, Opcode, Value, types};

use super::assembler::{Alu, Cc, Operand, Reg, SCRATCH, Shift, Width, XMM_SCRATCH, op};
use super::integer::{Condition, of_floats};
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

    /// Whether a float has 64 bits.
    fn is_f64(&self, value: Value) -> bool {
        self.func.dfg.value_type(value) == types::F64
    }

    fn scalar(&mut self, inst: Inst, opcode: u32, [a, b]: [Value; 2]) -> Result<(), Unsupported> {
        let operand = self.operand(b)?;
        let to = self.take(a)?;
        self.assembler.op(op::scalar(self.is_f64(a), opcode), Width::W32, to, operand);
        self.done(inst, &[a, b], to);
        Ok(())
    }

    /// The lesser or greater one. The processor's instruction does not tell zeros apart, nor does it give each NaN.
    fn extreme(&mut self, inst: Inst, opcode: u32, [a, b]: [Value; 2]) -> Result<(), Unsupported> {
        let other = self.reg(b)?;
        let to = self.take(a)?;
        let is_f64 = self.is_f64(a);
        let (differ, equal, behind) =
            (self.assembler.label(), self.assembler.label(), self.assembler.label());
        self.assembler.op(op::compare_floats(is_f64), Width::W32, to, other);
        self.assembler.branch(Cc::NotEqual, differ);
        self.assembler.branch(Cc::NoParity, equal);
        self.assembler.op(op::scalar(is_f64, op::ADD), Width::W32, to, other);
        self.assembler.jump(behind);
        self.assembler.bind(equal);
        let of_signs = if opcode == op::MIN { op::ORPS } else { op::ANDPS };
        self.assembler.op(of_signs, Width::W32, to, other);
        self.assembler.jump(behind);
        self.assembler.bind(differ);
        self.assembler.op(op::scalar(is_f64, opcode), Width::W32, to, other);
        self.assembler.bind(behind);
        self.done(inst, &[a, b], to);
        Ok(())
    }

    /// The width of an integer with as many bits as a float.
    fn width_of_float(&self, value: Value) -> Width {
        if self.is_f64(value) { Width::W64 } else { Width::W32 }
    }

    /// A float's bits in a general register of their own.
    fn bits_of(&mut self, value: Value) -> Result<Reg, Unsupported> {
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
            Opcode::FcvtFromSint => self.from_signed(inst, arg),
            Opcode::FcvtFromUint => self.from_unsigned(inst, arg),
            Opcode::FcvtToSintSat => self.to_signed_saturating(inst, arg),
            Opcode::FcvtToUintSat => self.to_unsigned_saturating(inst, arg),
            Opcode::FcvtToSint | Opcode::FcvtToUint => self.to_int_or_trap(inst, opcode, arg),
            _ => Err(Unsupported),
        }
    }

    /// Absolute value, with `op` ANDPS, or negation, with XORPS: of the sign bit alone.
    fn change_sign(&mut self, inst: Inst, arg: Value, op: super::assembler::Op) -> Result<(), Unsupported> {
        let to = self.take(arg)?;
        let sign = if self.is_f64(arg) { 1 << 63 } else { 1_u64 << 31 };
        let keeps = self.func.dfg.insts[inst].opcode() == Opcode::Fabs;
        let mask = if keeps { !sign } else { sign };
        // Above a float of 32 bits nothing matters.
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
        self.assembler.op_byte(op::round(self.is_f64(arg)), to, operand, mode);
        self.done(inst, &[arg], to);
        Ok(())
    }

    /// An instruction with one operand, whose result is a float. The processor keeps what is above a scalar, and so would wait for
    /// whatever was computed there last.
    fn convert(
        &mut self,
        inst: Inst,
        op: super::assembler::Op,
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

    fn from_signed(&mut self, inst: Inst, arg: Value) -> Result<(), Unsupported> {
        let width = self.width(arg)?;
        let is_f64 = self.is_f64(self.func.dfg.first_result(inst));
        self.convert(inst, op::scalar(is_f64, op::FROM_INT), width, arg)
    }

    fn from_unsigned(&mut self, inst: Inst, arg: Value) -> Result<(), Unsupported> {
        let is_f64 = self.is_f64(self.func.dfg.first_result(inst));
        let from_int = op::scalar(is_f64, op::FROM_INT);
        let to = self.fresh(true)?;
        if self.width(arg)? == Width::W32 {
            let operand = self.operand(arg)?;
            self.assembler.mov(Width::W32, SCRATCH, operand);
            self.assembler.op(op::XORPS, Width::W32, to, to);
            self.assembler.op(from_int, Width::W64, to, SCRATCH);
            self.done(inst, &[arg], to);
            return Ok(());
        }
        // What is too large for a signed number is halved, rounded to odd, and doubled.
        let low = self.fresh(false)?;
        self.load_into(SCRATCH, arg)?;
        let (large, behind) = (self.assembler.label(), self.assembler.label());
        self.assembler.op(op::XORPS, Width::W32, to, to);
        self.assembler.op(op::TEST, Width::W64, SCRATCH, SCRATCH);
        self.assembler.branch(Cc::Less, large);
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
        self.done(inst, &[arg], to);
        Ok(())
    }

    /// Puts a float that is a power of two, or its negative, into the scratch register.
    fn load_power(&mut self, is_f64: bool, exponent: i32, is_negative: bool) {
        let sign = if is_negative { -1.0 } else { 1.0 };
        let power = sign * 2_f64.powi(exponent);
        let bits = if is_f64 { power.to_bits() } else { u64::from((power as f32).to_bits()) };
        self.assembler.constant(SCRATCH, bits.cast_signed());
        self.assembler.op(op::MOV_TO_XMM, Width::W64, XMM_SCRATCH, SCRATCH);
    }

    /// What does not fit becomes the least or the greatest number, NaN zero.
    fn to_signed_saturating(&mut self, inst: Inst, arg: Value) -> Result<(), Unsupported> {
        let result = self.func.dfg.first_result(inst);
        let (width, is_f64) = (self.width(result)?, self.is_f64(arg));
        let from = self.reg(arg)?;
        let to = self.fresh(false)?;
        let (ordered, behind) = (self.assembler.label(), self.assembler.label());
        self.assembler.op(op::scalar(is_f64, op::TO_INT), width, to, from);
        // The processor gives the least number for all that does not fit.
        self.assembler.alu_constant(Alu::Cmp, width, to, 1);
        self.assembler.branch(Cc::NoOverflow, behind);
        self.assembler.op(op::compare_floats(is_f64), Width::W32, from, from);
        self.assembler.branch(Cc::NoParity, ordered);
        self.assembler.alu(Alu::Xor, Width::W32, to, to);
        self.assembler.jump(behind);
        self.assembler.bind(ordered);
        self.assembler.op(op::XORPS, Width::W32, XMM_SCRATCH, XMM_SCRATCH);
        self.assembler.op(op::compare_floats(is_f64), Width::W32, from, XMM_SCRATCH);
        self.assembler.branch(Cc::Below, behind);
        let most = if width == Width::W64 { i64::MAX } else { i64::from(i32::MAX) };
        self.assembler.constant(to, most);
        self.assembler.bind(behind);
        self.done(inst, &[arg], to);
        Ok(())
    }

    fn to_unsigned_saturating(&mut self, inst: Inst, arg: Value) -> Result<(), Unsupported> {
        let result = self.func.dfg.first_result(inst);
        let (width, is_f64) = (self.width(result)?, self.is_f64(arg));
        let from = self.reg(arg)?;
        let (to, rest) = (self.fresh(false)?, self.fresh(true)?);
        let [large, zero, most, behind] = [(); 4].map(|()| self.assembler.label());
        let convert = op::scalar(is_f64, op::TO_INT);
        self.assembler.op(op::XORPS, Width::W32, rest, rest);
        self.assembler.op(op::compare_floats(is_f64), Width::W32, from, rest);
        // NaN is unordered, which is below, too.
        self.assembler.branch(Cc::BelowOrEqual, zero);
        self.load_power(is_f64, 63, false);
        self.assembler.op(op::compare_floats(is_f64), Width::W32, from, XMM_SCRATCH);
        self.assembler.branch(Cc::AboveOrEqual, large);
        self.assembler.op(convert, Width::W64, to, from);
        if width == Width::W32 {
            self.assembler.constant(SCRATCH, i64::from(u32::MAX));
            self.assembler.alu(Alu::Cmp, Width::W64, to, SCRATCH);
            self.assembler.branch(Cc::Above, most);
        }
        self.assembler.jump(behind);
        self.assembler.bind(large);
        if width == Width::W64 {
            self.move_between(rest, from);
            self.assembler.op(op::scalar(is_f64, op::SUB), Width::W32, rest, XMM_SCRATCH);
            self.assembler.op(convert, Width::W64, to, rest);
            self.assembler.constant(SCRATCH, i64::MIN);
            self.assembler.op(op::TEST, Width::W64, to, to);
            self.assembler.branch(Cc::Less, most);
            self.assembler.alu(Alu::Add, Width::W64, to, SCRATCH);
            self.assembler.jump(behind);
        }
        self.assembler.bind(most);
        self.assembler.constant(to, if width == Width::W64 { -1 } else { i64::from(u32::MAX) });
        self.assembler.jump(behind);
        self.assembler.bind(zero);
        self.assembler.alu(Alu::Xor, Width::W32, to, to);
        self.assembler.bind(behind);
        self.done(inst, &[arg], to);
        Ok(())
    }

    /// What does not fit is a trap. It fits if it lies between two powers of two, the lower one included where floats
    /// are too coarse to be just above the number below it.
    fn to_int_or_trap(&mut self, inst: Inst, opcode: Opcode, arg: Value) -> Result<(), Unsupported> {
        let result = self.func.dfg.first_result(inst);
        let (width, is_f64) = (self.width(result)?, self.is_f64(arg));
        let is_signed = opcode == Opcode::FcvtToSint;
        let bits = i32::from(width.bits());
        let nan = self.trap_label(ir::TrapCode::BAD_CONVERSION_TO_INTEGER);
        let overflow = self.trap_label(ir::TrapCode::INTEGER_OVERFLOW);
        let from = self.reg(arg)?;
        let (to, rest) = (self.fresh(false)?, self.fresh(true)?);
        let compare = op::compare_floats(is_f64);
        self.assembler.op(compare, Width::W32, from, from);
        self.assembler.branch(Cc::Parity, nan);
        let is_coarse = if is_f64 { bits == 64 } else { true };
        match is_signed {
            true if is_coarse => {
                self.load_power(is_f64, bits - 1, true);
                self.assembler.op(compare, Width::W32, from, XMM_SCRATCH);
                self.assembler.branch(Cc::Below, overflow);
            }
            true => {
                // Of 64 bits to 32: all above the least number minus one.
                let below = -(2_f64.powi(31) + 1.0);
                self.assembler.constant(SCRATCH, below.to_bits().cast_signed());
                self.assembler.op(op::MOV_TO_XMM, Width::W64, XMM_SCRATCH, SCRATCH);
                self.assembler.op(compare, Width::W32, from, XMM_SCRATCH);
                self.assembler.branch(Cc::BelowOrEqual, overflow);
            }
            false => {
                self.load_power(is_f64, 0, true);
                self.assembler.op(compare, Width::W32, from, XMM_SCRATCH);
                self.assembler.branch(Cc::BelowOrEqual, overflow);
            }
        }
        self.load_power(is_f64, if is_signed { bits - 1 } else { bits }, false);
        self.assembler.op(compare, Width::W32, from, XMM_SCRATCH);
        self.assembler.branch(Cc::AboveOrEqual, overflow);
        let convert = op::scalar(is_f64, op::TO_INT);
        match (is_signed, width) {
            (true, _) => self.assembler.op(convert, width, to, from),
            (false, Width::W32) => {
                self.assembler.op(convert, Width::W64, to, from);
                self.assembler.mov(Width::W32, to, to);
            }
            (false, Width::W64) => self.convert_large(is_f64, to, from, rest),
        }
        self.done(inst, &[arg], to);
        Ok(())
    }

    /// A float below 2^64 to an unsigned number.
    fn convert_large(&mut self, is_f64: bool, to: Reg, from: Reg, rest: Reg) {
        let (small, behind) = (self.assembler.label(), self.assembler.label());
        let convert = op::scalar(is_f64, op::TO_INT);
        self.load_power(is_f64, 63, false);
        self.assembler.op(op::compare_floats(is_f64), Width::W32, from, XMM_SCRATCH);
        self.assembler.branch(Cc::Below, small);
        self.move_between(rest, from);
        self.assembler.op(op::scalar(is_f64, op::SUB), Width::W32, rest, XMM_SCRATCH);
        self.assembler.op(convert, Width::W64, to, rest);
        self.assembler.constant(SCRATCH, i64::MIN);
        self.assembler.alu(Alu::Add, Width::W64, to, SCRATCH);
        self.assembler.jump(behind);
        self.assembler.bind(small);
        self.assembler.op(convert, Width::W64, to, from);
        self.assembler.bind(behind);
    }

    /// The same bits as another type.
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
                self.assembler.branch(Cc::Parity, behind);
                self.assembler.branch(Cc::NotEqual, behind);
            }
            Condition::EqualAndOrdered => {
                self.assembler.branch(Cc::Parity, chosen);
                self.assembler.branch(Cc::Equal, behind);
            }
        }
        self.assembler.bind(chosen);
        self.move_between(to, other);
        self.assembler.bind(behind);
        self.done(inst, &[yes, no], to);
        Ok(())
    }
}
