//! Integers: arithmetic, comparisons and selections. Operands are in `rax` and `rcx`, and the result is in `rax`.

use cranelift_codegen::ir::condcodes::{CondCode, IntCC};
use cranelift_codegen::ir::{self, Inst, InstructionData, Opcode, Type, Value, types};
use iced_x86::{Code as Op, Register};

use super::control::Condition;
use super::listing::{byte, cc, number};
use super::{Done, Reader};
use Register::{AL, CL, EAX, ECX, EDX, R11, R11D, RAX, RCX, RDX};

/// Returns one of two instructions, by width.
pub(super) fn by_width(bits: u8, short: Op, long: Op) -> Op {
    if bits == 64 { long } else { short }
}

/// Returns one of two names of a register, by width.
fn named(bits: u8, short: Register, long: Register) -> Register {
    if bits == 64 { long } else { short }
}

impl Reader<'_> {
    pub(super) fn type_of(&self, value: Value) -> Type {
        self.func.dfg.value_type(value)
    }

    /// Returns the width at which integers of a value's type are computed.
    pub(super) fn width(&self, value: Value) -> Done<u8> {
        match self.type_of(value) {
            types::I32 => Ok(32),
            types::I64 => Ok(64),
            other => Err(format!("{other} is not read")),
        }
    }

    pub(super) fn is_float(&self, value: Value) -> bool {
        self.type_of(value).is_float()
    }

    /// Returns the number that a constant, or a zero-extended one, stands for.
    pub(super) fn constant(&self, value: Value) -> Option<i64> {
        let inst = self.func.dfg.value_def(value).inst()?;
        match self.func.dfg.insts[inst] {
            InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => {
                let unused = 64 - self.type_of(value).bits();
                Some((imm.bits().cast_unsigned() << unused >> unused).cast_signed())
            }
            InstructionData::Unary { opcode: Opcode::Uextend, arg } => self.constant(arg),
            _ => None,
        }
    }

    /// Copies a value to a register.
    pub(super) fn get(&mut self, register: Register, value: Value) -> Done {
        let defined = self.func.dfg.value_def(value).inst().map(|inst| self.func.dfg.insts[inst]);
        let bits = match defined {
            Some(InstructionData::UnaryImm { opcode: Opcode::Iconst, .. }) => self.constant(value),
            Some(InstructionData::UnaryIeee32 { imm, .. }) => Some(i64::from(imm.bits())),
            Some(InstructionData::UnaryIeee64 { imm, .. }) => Some(imm.bits().cast_signed()),
            Some(InstructionData::StackAddr { stack_slot, offset, .. }) => {
                let place = self.slots.places[stack_slot.as_u32() as usize] + i64::from(i32::from(offset));
                self.code.two(Op::Lea_r64_m, register, super::listing::Operand::At(Register::RBP, place));
                return Ok(());
            }
            _ => None,
        };
        match bits {
            Some(bits) if register.is_gpr() => self.code.constant(register, bits),
            Some(bits) => {
                self.code.constant(R11, bits);
                self.code.two(Op::Movq_xmm_rm64, register, R11);
            }
            None => {
                let home = self.homes.location(value)?;
                self.code.get(register, home);
            }
        }
        Ok(())
    }

    /// Copies a register to the result of an instruction, unless nobody uses it.
    pub(super) fn put(&mut self, inst: Inst, register: Register) -> Done {
        let home = self.homes.location(self.func.dfg.first_result(inst))?;
        self.code.put(home, register);
        Ok(())
    }

    pub(super) fn integer_binary(&mut self, inst: Inst, opcode: Opcode, [a, b]: [Value; 2]) -> Done {
        let bits = self.width(a)?;
        let (rax, rcx) = (named(bits, EAX, RAX), named(bits, ECX, RCX));
        match opcode {
            Opcode::Udiv | Opcode::Urem | Opcode::Sdiv | Opcode::Srem => {
                return self.divide(inst, opcode, bits, [a, b]);
            }
            Opcode::Ishl | Opcode::Ushr | Opcode::Sshr | Opcode::Rotl | Opcode::Rotr => {
                return self.shift(inst, opcode, bits, [a, b]);
            }
            _ => {}
        }
        self.get(RAX, a)?;
        self.get(RCX, b)?;
        let op = match opcode {
            Opcode::Iadd => by_width(bits, Op::Add_r32_rm32, Op::Add_r64_rm64),
            Opcode::Isub => by_width(bits, Op::Sub_r32_rm32, Op::Sub_r64_rm64),
            Opcode::Band => by_width(bits, Op::And_r32_rm32, Op::And_r64_rm64),
            Opcode::Bor => by_width(bits, Op::Or_r32_rm32, Op::Or_r64_rm64),
            Opcode::Bxor => by_width(bits, Op::Xor_r32_rm32, Op::Xor_r64_rm64),
            Opcode::Imul => by_width(bits, Op::Imul_r32_rm32, Op::Imul_r64_rm64),
            Opcode::Umin | Opcode::Umax | Opcode::Smin | Opcode::Smax => {
                let is_second = match opcode {
                    Opcode::Umin => cc::ABOVE,
                    Opcode::Umax => cc::BELOW,
                    Opcode::Smin => cc::GREATER,
                    _ => cc::LESS,
                };
                self.code.two(by_width(bits, Op::Cmp_r32_rm32, Op::Cmp_r64_rm64), rax, rcx);
                self.code.select(bits, is_second, rax, rcx);
                return self.put(inst, RAX);
            }
            _ => return Err(format!("{opcode} of integers is not read")),
        };
        self.code.two(op, rax, rcx);
        self.put(inst, RAX)
    }

    fn shift(&mut self, inst: Inst, opcode: Opcode, bits: u8, [a, by]: [Value; 2]) -> Done {
        let rax = named(bits, EAX, RAX);
        self.get(RAX, a)?;
        if let Some(distance) = self.constant(by) {
            let op = match opcode {
                Opcode::Ishl => by_width(bits, Op::Shl_rm32_imm8, Op::Shl_rm64_imm8),
                Opcode::Ushr => by_width(bits, Op::Shr_rm32_imm8, Op::Shr_rm64_imm8),
                Opcode::Sshr => by_width(bits, Op::Sar_rm32_imm8, Op::Sar_rm64_imm8),
                Opcode::Rotl => by_width(bits, Op::Rol_rm32_imm8, Op::Rol_rm64_imm8),
                _ => by_width(bits, Op::Ror_rm32_imm8, Op::Ror_rm64_imm8),
            };
            // Only the distance modulo the width counts.
            let distance = distance.cast_unsigned() % u64::from(bits);
            self.code.two(op, rax, byte(distance as u8));
        } else {
            self.get(RCX, by)?;
            let op = match opcode {
                Opcode::Ishl => by_width(bits, Op::Shl_rm32_CL, Op::Shl_rm64_CL),
                Opcode::Ushr => by_width(bits, Op::Shr_rm32_CL, Op::Shr_rm64_CL),
                Opcode::Sshr => by_width(bits, Op::Sar_rm32_CL, Op::Sar_rm64_CL),
                Opcode::Rotl => by_width(bits, Op::Rol_rm32_CL, Op::Rol_rm64_CL),
                _ => by_width(bits, Op::Ror_rm32_CL, Op::Ror_rm64_CL),
            };
            self.code.two(op, rax, CL);
        }
        self.put(inst, RAX)
    }

    /// Divides. What the processor would fault for is tested before: a divisor that may be zero, and one that may be
    /// -1, for which the least number has no quotient; the remainder is then zero.
    fn divide(&mut self, inst: Inst, opcode: Opcode, bits: u8, [a, b]: [Value; 2]) -> Done {
        let (rax, r11) = (named(bits, EAX, RAX), named(bits, R11D, R11));
        let behind = self.code.label();
        self.get(R11, b)?;
        self.get(RAX, a)?;
        // A constant of 32 bits is zero-extended.
        let minus_one = if bits == 64 { -1 } else { i64::from(u32::MAX) };
        let may_be = |number: i64| self.constant(b).is_none_or(|divisor| divisor == number);
        let (may_be_zero, may_be_minus_one) = (may_be(0), may_be(minus_one));
        if may_be_zero {
            self.code.two(by_width(bits, Op::Test_rm32_r32, Op::Test_rm64_r64), r11, r11);
            let zero = self.trap_label(ir::TrapCode::INTEGER_DIVISION_BY_ZERO);
            self.code.branch(cc::EQUAL, zero);
        }
        let is_signed = matches!(opcode, Opcode::Sdiv | Opcode::Srem);
        if is_signed && may_be_minus_one {
            let fits = self.code.label();
            self.code.two(by_width(bits, Op::Cmp_rm32_imm32, Op::Cmp_rm64_imm32), r11, number(bits, -1));
            self.code.branch(cc::NOT_EQUAL, fits);
            if opcode == Opcode::Srem {
                self.code.two(Op::Xor_r32_rm32, EDX, EDX);
                self.code.jump(behind);
            } else {
                // Subtracting one overflows for the least number alone.
                self.code.two(by_width(bits, Op::Cmp_rm32_imm32, Op::Cmp_rm64_imm32), rax, number(bits, 1));
                let overflow = self.trap_label(ir::TrapCode::INTEGER_OVERFLOW);
                self.code.branch(cc::OVERFLOW, overflow);
            }
            self.code.bind(fits);
        }
        if is_signed {
            self.code.plain(by_width(bits, Op::Cdq, Op::Cqo));
            self.code.one(by_width(bits, Op::Idiv_rm32, Op::Idiv_rm64), r11);
        } else {
            self.code.two(Op::Xor_r32_rm32, EDX, EDX);
            self.code.one(by_width(bits, Op::Div_rm32, Op::Div_rm64), r11);
        }
        self.join(inst, behind);
        self.put(inst, if matches!(opcode, Opcode::Udiv | Opcode::Sdiv) { RAX } else { RDX })
    }

    pub(super) fn add_or_trap(&mut self, inst: Inst, [a, b]: [Value; 2], code: ir::TrapCode) -> Done {
        let bits = self.width(a)?;
        self.get(RAX, a)?;
        self.get(RCX, b)?;
        let op = by_width(bits, Op::Add_r32_rm32, Op::Add_r64_rm64);
        self.code.two(op, named(bits, EAX, RAX), named(bits, ECX, RCX));
        let carried = self.trap_label(code);
        self.code.branch(cc::BELOW, carried);
        self.put(inst, RAX)
    }

    pub(super) fn integer_unary(&mut self, inst: Inst, opcode: Opcode, arg: Value) -> Done {
        let (from, to) = (self.type_of(arg), self.type_of(self.func.dfg.first_result(inst)));
        self.get(RAX, arg)?;
        match opcode {
            Opcode::Ireduce => {}
            Opcode::Uextend => match from {
                types::I8 => self.code.two(Op::Movzx_r32_rm8, EAX, AL),
                types::I16 => self.code.two(Op::Movzx_r32_rm16, EAX, Register::AX),
                types::I32 => self.code.two(Op::Mov_r32_rm32, EAX, EAX),
                _ => return Err(format!("{opcode} of {from} is not read")),
            },
            Opcode::Sextend => {
                let bits = if to == types::I64 { 64 } else { 32 };
                let rax = named(bits, EAX, RAX);
                match from {
                    types::I8 => self.code.two(by_width(bits, Op::Movsx_r32_rm8, Op::Movsx_r64_rm8), rax, AL),
                    types::I16 => {
                        self.code.two(
                            by_width(bits, Op::Movsx_r32_rm16, Op::Movsx_r64_rm16),
                            rax,
                            Register::AX,
                        );
                    }
                    types::I32 => self.code.two(Op::Movsxd_r64_rm32, RAX, EAX),
                    _ => return Err(format!("{opcode} of {from} is not read")),
                }
            }
            Opcode::Clz | Opcode::Ctz | Opcode::Popcnt => {
                let bits = self.width(arg)?;
                let op = match opcode {
                    Opcode::Clz => by_width(bits, Op::Lzcnt_r32_rm32, Op::Lzcnt_r64_rm64),
                    Opcode::Ctz => by_width(bits, Op::Tzcnt_r32_rm32, Op::Tzcnt_r64_rm64),
                    _ => by_width(bits, Op::Popcnt_r32_rm32, Op::Popcnt_r64_rm64),
                };
                let rax = named(bits, EAX, RAX);
                self.code.two(op, rax, rax);
            }
            Opcode::Ineg | Opcode::Bnot => {
                let bits = self.width(arg)?;
                let op = match opcode {
                    Opcode::Ineg => by_width(bits, Op::Neg_rm32, Op::Neg_rm64),
                    _ => by_width(bits, Op::Not_rm32, Op::Not_rm64),
                };
                self.code.one(op, named(bits, EAX, RAX));
            }
            _ => return Err(format!("{opcode} of integers is not read")),
        }
        self.put(inst, RAX)
    }

    /// Compares two integers, a constant with the other one; returns the condition that the flags must meet.
    pub(super) fn compare_integers(&mut self, cond: IntCC, [a, b]: [Value; 2]) -> Done<usize> {
        let ty = self.type_of(a);
        let is_first = self.constant(a).is_some() && self.constant(b).is_none();
        let (a, b, cond) = if is_first && ty.bits() >= 32 { (b, a, cond.swap_args()) } else { (a, b, cond) };
        self.get(RDX, a)?;
        self.get(R11, b)?;
        match ty {
            types::I32 => self.code.two(Op::Cmp_r32_rm32, EDX, R11D),
            types::I64 => self.code.two(Op::Cmp_r64_rm64, RDX, R11),
            types::I8 | types::I16 => {
                let (dl, r11l) = match ty {
                    types::I8 => (Register::DL, Register::R11L),
                    _ => (Register::DX, Register::R11W),
                };
                let op = match (cond != cond.unsigned(), ty) {
                    (true, types::I8) => Op::Movsx_r32_rm8,
                    (true, _) => Op::Movsx_r32_rm16,
                    (false, types::I8) => Op::Movzx_r32_rm8,
                    (false, _) => Op::Movzx_r32_rm16,
                };
                self.code.two(op, EDX, dl);
                self.code.two(op, R11D, r11l);
                self.code.two(Op::Cmp_r32_rm32, EDX, R11D);
            }
            _ => return Err(format!("comparisons of {ty} are not read")),
        }
        Ok(match cond {
            IntCC::Equal => cc::EQUAL,
            IntCC::NotEqual => cc::NOT_EQUAL,
            IntCC::SignedLessThan => cc::LESS,
            IntCC::SignedGreaterThanOrEqual => cc::GREATER_OR_EQUAL,
            IntCC::SignedGreaterThan => cc::GREATER,
            IntCC::SignedLessThanOrEqual => cc::LESS_OR_EQUAL,
            IntCC::UnsignedLessThan => cc::BELOW,
            IntCC::UnsignedGreaterThanOrEqual => cc::ABOVE_OR_EQUAL,
            IntCC::UnsignedGreaterThan => cc::ABOVE,
            IntCC::UnsignedLessThanOrEqual => cc::BELOW_OR_EQUAL,
        })
    }

    /// Puts the truth of a comparison into `eax`.
    pub(super) fn truth(&mut self, inst: Inst, condition: Condition) -> Done {
        let (first, second, both) = match condition {
            Condition::One(cc) => {
                self.code.set(cc, AL);
                self.code.two(Op::Movzx_r32_rm8, EAX, AL);
                return self.put(inst, RAX);
            }
            Condition::EqualAndOrdered => (cc::NO_PARITY, cc::EQUAL, Op::And_r32_rm32),
            Condition::UnequalOrUnordered => (cc::PARITY, cc::NOT_EQUAL, Op::Or_r32_rm32),
        };
        self.code.set(first, Register::R11L);
        self.code.set(second, AL);
        self.code.two(both, EAX, R11D);
        self.code.two(Op::Movzx_r32_rm8, EAX, AL);
        self.put(inst, RAX)
    }

    pub(super) fn select(&mut self, inst: Inst, [condition, yes, no]: [Value; 3]) -> Done {
        if self.is_float(yes) {
            return self.select_float(inst, [condition, yes, no]);
        }
        let bits = if self.type_of(yes).bits() <= 32 { 32 } else { 64 };
        let (rax, rcx) = (named(bits, EAX, RAX), named(bits, ECX, RCX));
        self.get(RCX, yes)?;
        self.get(RAX, no)?;
        match self.condition(condition)? {
            Condition::One(cc) => self.code.select(bits, cc, rax, rcx),
            Condition::UnequalOrUnordered => {
                self.code.select(bits, cc::PARITY, rax, rcx);
                self.code.select(bits, cc::NOT_EQUAL, rax, rcx);
            }
            Condition::EqualAndOrdered => {
                self.code.two(Op::Mov_r64_rm64, R11, RAX);
                self.code.select(bits, cc::EQUAL, rax, rcx);
                self.code.select(bits, cc::PARITY, rax, named(bits, R11D, R11));
            }
        }
        self.put(inst, RAX)
    }
}
