//! Integers, and the pinned register.

use cranelift_codegen::ir::{self, Inst, InstructionData, Opcode, Type, Value, types};

use super::assembler::{Alu, Cc, Mem, Op, PINNED, RAX, RCX, RDX, RSP, Reg, SCRATCH, Shift, Unary, Width, op};
use super::registers::Kind;
use super::{Emitter, Unsupported};

impl Emitter<'_> {
    pub(super) fn int_binary(
        &mut self,
        inst: Inst,
        opcode: Opcode,
        args: [Value; 2],
    ) -> Result<(), Unsupported> {
        let width = self.width(args[0])?;
        let is_commutative =
            matches!(opcode, Opcode::Iadd | Opcode::Band | Opcode::Bor | Opcode::Bxor | Opcode::Imul);
        let args = if is_commutative { self.commuted(args) } else { args };
        match opcode {
            Opcode::Iadd => self.add(inst, width, args),
            Opcode::Isub => self.alu(inst, Alu::Sub, width, args),
            Opcode::Band => self.alu(inst, Alu::And, width, args),
            Opcode::Bor => self.alu(inst, Alu::Or, width, args),
            Opcode::Bxor => self.alu(inst, Alu::Xor, width, args),
            Opcode::Imul => self.multiply(inst, width, args),
            Opcode::Ishl => self.shift(inst, Shift::Left, width, args),
            Opcode::Ushr => self.shift(inst, Shift::Right, width, args),
            Opcode::Sshr => self.shift(inst, Shift::SignedRight, width, args),
            Opcode::Rotl => self.shift(inst, Shift::RotateLeft, width, args),
            Opcode::Rotr => self.shift(inst, Shift::RotateRight, width, args),
            Opcode::Udiv | Opcode::Urem | Opcode::Sdiv | Opcode::Srem => {
                self.divide(inst, opcode, width, args)
            }
            Opcode::Umin => self.lesser(inst, Cc::BELOW, width, args),
            Opcode::Umax => self.lesser(inst, Cc::ABOVE, width, args),
            Opcode::Smin => self.lesser(inst, Cc::LESS, width, args),
            Opcode::Smax => self.lesser(inst, Cc::GREATER, width, args),
            _ => Err(Unsupported),
        }
    }

    /// Orders commutative operands: first one that can be overwritten, second a constant.
    fn commuted(&mut self, [a, b]: [Value; 2]) -> [Value; 2] {
        let can_go = |value: Value| self.left(value) == 1 && self.values[value].reg.is_some();
        let is_better = can_go(b) && !can_go(a);
        let comes_second = self.constant(a).is_some() || is_better && self.constant(b).is_none();
        if comes_second { [b, a] } else { [a, b] }
    }

    fn alu(&mut self, inst: Inst, alu: Alu, width: Width, [a, b]: [Value; 2]) -> Result<(), Unsupported> {
        let constant = self.small_constant(b);
        let operand = if constant.is_none() { Some(self.operand(b)?) } else { None };
        let to = self.take(a)?;
        match (constant, operand) {
            (Some(constant), _) => self.assembler.alu_constant(alu, width, to, constant),
            (None, Some(operand)) => self.assembler.alu(alu, width, to, operand),
            (None, None) => unreachable!("what is no constant is an operand"),
        }
        self.done(inst, &[a, b], to);
        Ok(())
    }

    /// Uses the operands up, and defines the result in a register.
    pub(super) fn done(&mut self, inst: Inst, operands: &[Value], to: Reg) {
        for &operand in operands {
            self.use_up(operand);
        }
        self.define(self.func.dfg.first_result(inst), to);
    }

    /// Adds; the sum goes to a register of its own if both operands are still needed.
    fn add(&mut self, inst: Inst, width: Width, [a, b]: [Value; 2]) -> Result<(), Unsupported> {
        let is_needed = self.left(a) > 1 && self.values[a].reg.is_some();
        let constant = self.small_constant(b);
        if !is_needed || (constant.is_none() && self.values[b].reg.is_none()) {
            return self.alu(inst, Alu::Add, width, [a, b]);
        }
        let base = self.reg(a)?;
        let mem = match constant {
            Some(offset) => Mem::at(base, offset),
            None => Mem { base, index: Some(self.reg(b)?), offset: 0 },
        };
        let to = self.fresh(false)?;
        self.assembler.op(op::LEA, width, to, mem);
        self.done(inst, &[a, b], to);
        Ok(())
    }

    fn multiply(&mut self, inst: Inst, width: Width, [a, b]: [Value; 2]) -> Result<(), Unsupported> {
        if let Some(constant) = self.small_constant(b) {
            let operand = self.operand(a)?;
            let to = self.fresh(false)?;
            self.assembler.imul_constant(width, to, operand, constant);
            self.done(inst, &[a, b], to);
            return Ok(());
        }
        let operand = self.operand(b)?;
        let to = self.take(a)?;
        self.assembler.op(op::IMUL, width, to, operand);
        self.done(inst, &[a, b], to);
        Ok(())
    }

    fn shift(
        &mut self,
        inst: Inst,
        shift: Shift,
        width: Width,
        [a, by]: [Value; 2],
    ) -> Result<(), Unsupported> {
        if let Some(constant) = self.constant(by) {
            let to = self.take(a)?;
            let by_bits = constant as u8 & (width.bits() - 1);
            self.assembler.shift_constant(shift, width, to, by_bits);
            self.done(inst, &[a, by], to);
            return Ok(());
        }
        // Deferred operands are computed while all registers are available.
        self.reg(by)?;
        self.reg(a)?;
        self.fetch_into(RCX, by)?;
        let to = self.take(a)?;
        self.assembler.shift(shift, width, to);
        self.done(inst, &[a, by], to);
        Ok(())
    }

    /// Puts a value into a given register, which must not be written.
    fn fetch_into(&mut self, reg: Reg, value: Value) -> Result<(), Unsupported> {
        if self.values[value].reg == Some(reg) {
            self.registers.lock(reg);
            return Ok(());
        }
        self.claim(reg)?;
        self.load_into(reg, value)
    }

    fn divide(
        &mut self,
        inst: Inst,
        opcode: Opcode,
        width: Width,
        [a, b]: [Value; 2],
    ) -> Result<(), Unsupported> {
        self.compute(a)?;
        let divisor = self.constant(b);
        self.load_into(SCRATCH, b)?;
        self.claim(RDX)?;
        match self.values[a].reg == Some(RAX) && self.left(a) == 1 {
            true => self.detach(a),
            false => {
                self.claim(RAX)?;
                self.load_into(RAX, a)?;
            }
        }
        self.registers.lock(RAX);
        if divisor.is_none_or(|divisor| divisor == 0) {
            let zero = self.trap_label(ir::TrapCode::INTEGER_DIVISION_BY_ZERO);
            self.assembler.op(op::TEST, width, SCRATCH, SCRATCH);
            self.assembler.branch(Cc::EQUAL, zero);
        }
        let is_signed = matches!(opcode, Opcode::Sdiv | Opcode::Srem);
        let minus_one = if width == Width::W64 { -1 } else { i64::from(u32::MAX) };
        let behind = self.assembler.label();
        if is_signed && divisor.is_none_or(|divisor| divisor == minus_one) {
            self.avoid_overflow(opcode, width, behind);
        }
        if is_signed {
            self.assembler.sign_into_rdx(width);
            self.assembler.unary(Unary::SignedDiv, width, SCRATCH);
        } else {
            self.assembler.alu(Alu::Xor, Width::W32, RDX, RDX);
            self.assembler.unary(Unary::Div, width, SCRATCH);
        }
        self.join(inst, behind);
        let to = if matches!(opcode, Opcode::Udiv | Opcode::Sdiv) { RAX } else { RDX };
        self.done(inst, &[a, b], to);
        Ok(())
    }

    /// Handles the least number divided by -1: it has no quotient, and the processor faults for the remainder, too,
    /// which is 0.
    fn avoid_overflow(&mut self, opcode: Opcode, width: Width, behind: super::Label) {
        let go_on = self.assembler.label();
        self.assembler.alu_constant(Alu::Cmp, width, SCRATCH, -1);
        self.assembler.branch(Cc::NOT_EQUAL, go_on);
        if opcode == Opcode::Srem {
            self.assembler.alu(Alu::Xor, Width::W32, RDX, RDX);
            self.assembler.jump(behind);
        } else {
            let overflow = self.trap_label(ir::TrapCode::INTEGER_OVERFLOW);
            // Only the least number overflows when one is subtracted.
            self.assembler.alu_constant(Alu::Cmp, width, RAX, 1);
            self.assembler.branch(Cc::OVERFLOW, overflow);
        }
        self.assembler.bind(go_on);
    }

    /// Returns one operand or the other, depending on their order.
    fn lesser(&mut self, inst: Inst, cc: Cc, width: Width, [a, b]: [Value; 2]) -> Result<(), Unsupported> {
        let operand = self.operand(b)?;
        let to = self.take(a)?;
        self.assembler.alu(Alu::Cmp, width, to, operand);
        self.assembler.cmov(opposite_order(cc), width, to, operand);
        self.done(inst, &[a, b], to);
        Ok(())
    }

    pub(super) fn add_or_trap(
        &mut self,
        inst: Inst,
        [a, b]: [Value; 2],
        code: ir::TrapCode,
    ) -> Result<(), Unsupported> {
        let width = self.width(a)?;
        let label = self.trap_label(code);
        let operand = self.operand(b)?;
        let to = self.take(a)?;
        self.assembler.alu(Alu::Add, width, to, operand);
        self.assembler.branch(Cc::BELOW, label);
        self.done(inst, &[a, b], to);
        Ok(())
    }

    pub(super) fn int_unary(&mut self, inst: Inst, opcode: Opcode, arg: Value) -> Result<(), Unsupported> {
        let from = self.func.dfg.value_type(arg);
        match opcode {
            Opcode::Uextend => self.zero_extend(inst, from, arg),
            Opcode::Sextend => {
                let to = self.func.dfg.value_type(self.func.dfg.first_result(inst));
                let width = if to == types::I64 { Width::W64 } else { Width::W32 };
                self.extend_with(inst, (sign_extension(from)?, width), arg)
            }
            Opcode::Ireduce => {
                let to = self.take(arg)?;
                self.done(inst, &[arg], to);
                Ok(())
            }
            Opcode::Clz => self.count_bits(inst, op::LZCNT, arg),
            Opcode::Ctz => self.count_bits(inst, op::TZCNT, arg),
            Opcode::Popcnt => self.count_bits(inst, op::POPCNT, arg),
            Opcode::Ineg => self.change(inst, Unary::Neg, arg),
            Opcode::Bnot => self.change(inst, Unary::Not, arg),
            _ => Err(Unsupported),
        }
    }

    fn change(&mut self, inst: Inst, unary: Unary, arg: Value) -> Result<(), Unsupported> {
        let width = self.width(arg)?;
        let to = self.take(arg)?;
        self.assembler.unary(unary, width, to);
        self.done(inst, &[arg], to);
        Ok(())
    }

    fn count_bits(&mut self, inst: Inst, op: Op, arg: Value) -> Result<(), Unsupported> {
        let width = self.width(arg)?;
        if !self.features.counts_bits {
            return Err(Unsupported);
        }
        let operand = self.operand(arg)?;
        let to = self.fresh(false)?;
        self.assembler.op(op, width, to, operand);
        self.done(inst, &[arg], to);
        Ok(())
    }

    fn zero_extend(&mut self, inst: Inst, from: Type, arg: Value) -> Result<(), Unsupported> {
        if let Some(bits) = self.constant(arg) {
            self.use_up(arg);
            self.values[self.func.dfg.first_result(inst)].kind = Kind::Constant(bits);
            return Ok(());
        }
        // The operand is computed first: only then it is known whether its upper bits are clean.
        self.operand(arg)?;
        if self.values[arg].is_clean {
            let to = self.take(arg)?;
            self.done(inst, &[arg], to);
            return Ok(());
        }
        let op = match from {
            types::I8 => op::MOVZX_BYTE,
            types::I16 => op::MOVZX_WORD,
            types::I32 => op::MOV,
            _ => return Err(Unsupported),
        };
        self.extend_with(inst, (op, Width::W32), arg)
    }

    fn extend_with(&mut self, inst: Inst, (op, width): (Op, Width), arg: Value) -> Result<(), Unsupported> {
        let operand = self.operand(arg)?;
        let to = self.fresh(false)?;
        self.assembler.op(op, width, to, operand);
        self.done(inst, &[arg], to);
        Ok(())
    }

    pub(super) fn nullary(&mut self, inst: Inst, opcode: Opcode) -> Result<(), Unsupported> {
        match opcode {
            Opcode::Nop | Opcode::SequencePoint => {}
            Opcode::GetPinnedReg => {
                let result = self.func.dfg.first_result(inst);
                self.leave_pinned()?;
                self.values[result].kind = Kind::Pinned;
                self.pinned = Some(result);
                if self.uses.values[result].crosses {
                    self.leave_pinned()?;
                }
            }
            Opcode::GetStackPointer => {
                let to = self.fresh(false)?;
                self.assembler.mov(Width::W64, to, RSP);
                self.define(self.func.dfg.first_result(inst), to);
            }
            _ => return Err(Unsupported),
        }
        Ok(())
    }

    pub(super) fn set_pinned(&mut self, value: Value) -> Result<(), Unsupported> {
        if let Some([old, amount]) = self.sum_of_pinned(value) {
            self.use_up(old);
            self.leave_pinned()?;
            self.add_to_pinned(amount)?;
            self.use_up(amount);
        } else {
            let reg = self.reg(value)?;
            self.leave_pinned()?;
            self.assembler.mov(Width::W64, PINNED, reg);
        }
        self.use_up(value);
        Ok(())
    }

    /// Returns the operands of `value`, if it is a deferred sum with the value in the pinned register. The addition
    /// then happens in the pinned register itself, which a signal may set meanwhile.
    fn sum_of_pinned(&self, value: Value) -> Option<[Value; 2]> {
        let Kind::Deferred(inst) = self.values[value].kind else { return None };
        match self.func.dfg.insts[inst] {
            InstructionData::Binary { opcode: Opcode::Iadd, args: [old, amount] } => {
                let is_pinned = self.values[old].kind == Kind::Pinned && old != amount;
                is_pinned.then_some([old, amount])
            }
            _ => None,
        }
    }

    fn add_to_pinned(&mut self, amount: Value) -> Result<(), Unsupported> {
        match self.small_constant(amount) {
            Some(amount) => self.assembler.alu_constant(Alu::Add, Width::W64, PINNED, amount),
            None => {
                let amount = self.operand(amount)?;
                self.assembler.alu(Alu::Add, Width::W64, PINNED, amount);
            }
        }
        self.counted = Some(self.assembler.here());
        Ok(())
    }
}

pub(super) fn sign_extension(from: Type) -> Result<Op, Unsupported> {
    match from {
        types::I8 => Ok(op::MOVSX_BYTE),
        types::I16 => Ok(op::MOVSX_WORD),
        types::I32 => Ok(op::MOVSX_DOUBLE),
        _ => Err(Unsupported),
    }
}

/// Returns the condition that selects the second operand instead of the first.
fn opposite_order(cc: Cc) -> Cc {
    match cc {
        Cc::BELOW => Cc::ABOVE,
        Cc::ABOVE => Cc::BELOW,
        Cc::LESS => Cc::GREATER,
        _ => Cc::LESS,
    }
}
