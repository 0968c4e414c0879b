//! Floats. Operands are in `xmm0` and `xmm1`, and the result is in `xmm0`. `r11` and `xmm15` hold constants.

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{Inst, Opcode, Value, types};
use iced_x86::{Code as Op, Register};

use super::control::Condition;
use super::integer::by_width;
use super::listing::{byte, cc};
use super::{Done, Reader};
use Register::{EAX, R11, R11D, RAX, XMM0, XMM1, XMM15};

impl Reader<'_> {
    pub(super) fn float_bits(&self, value: Value) -> u8 {
        if self.type_of(value) == types::F64 { 64 } else { 32 }
    }

    pub(super) fn float_binary(&mut self, inst: Inst, opcode: Opcode, [a, b]: [Value; 2]) -> Done {
        let bits = self.float_bits(a);
        self.get(XMM0, a)?;
        self.get(XMM1, b)?;
        let op = match opcode {
            Opcode::Fadd => by_width(bits, Op::Addss_xmm_xmmm32, Op::Addsd_xmm_xmmm64),
            Opcode::Fsub => by_width(bits, Op::Subss_xmm_xmmm32, Op::Subsd_xmm_xmmm64),
            Opcode::Fmul => by_width(bits, Op::Mulss_xmm_xmmm32, Op::Mulsd_xmm_xmmm64),
            Opcode::Fdiv => by_width(bits, Op::Divss_xmm_xmmm32, Op::Divsd_xmm_xmmm64),
            Opcode::Fmin | Opcode::Fmax => return self.extreme(inst, opcode == Opcode::Fmin, bits),
            Opcode::Fcopysign => return self.copy_sign(inst, bits),
            _ => return Err(format!("{opcode} of floats is not read")),
        };
        self.code.two(op, XMM0, XMM1);
        self.put(inst, XMM0)
    }

    /// Computes the minimum or maximum. Of equal operands only the signs differ, if they are zeros: the minimum has
    /// the sign of either, the maximum that of both. If one is not a number, neither is the sum.
    fn extreme(&mut self, inst: Inst, is_least: bool, bits: u8) -> Done {
        let [differ, equal, behind] = [(); 3].map(|()| self.code.label());
        self.code.two(by_width(bits, Op::Ucomiss_xmm_xmmm32, Op::Ucomisd_xmm_xmmm64), XMM0, XMM1);
        self.code.branch(cc::NOT_EQUAL, differ);
        self.code.branch(cc::NO_PARITY, equal);
        self.code.two(by_width(bits, Op::Addss_xmm_xmmm32, Op::Addsd_xmm_xmmm64), XMM0, XMM1);
        self.code.jump(behind);
        self.code.bind(equal);
        self.code.two(if is_least { Op::Orps_xmm_xmmm128 } else { Op::Andps_xmm_xmmm128 }, XMM0, XMM1);
        self.code.jump(behind);
        self.code.bind(differ);
        let op = match is_least {
            true => by_width(bits, Op::Minss_xmm_xmmm32, Op::Minsd_xmm_xmmm64),
            false => by_width(bits, Op::Maxss_xmm_xmmm32, Op::Maxsd_xmm_xmmm64),
        };
        self.code.two(op, XMM0, XMM1);
        self.join(inst, behind);
        self.put(inst, XMM0)
    }

    /// Combines all bits of one float but the sign with the sign of another.
    fn copy_sign(&mut self, inst: Inst, bits: u8) -> Done {
        let (rax, r11) = if bits == 64 { (RAX, R11) } else { (EAX, R11D) };
        let from = by_width(bits, Op::Movd_rm32_xmm, Op::Movq_rm64_xmm);
        self.code.two(from, rax, XMM0);
        self.code.two(from, r11, XMM1);
        let (left, right) = (
            by_width(bits, Op::Shl_rm32_imm8, Op::Shl_rm64_imm8),
            by_width(bits, Op::Shr_rm32_imm8, Op::Shr_rm64_imm8),
        );
        self.code.two(left, rax, byte(1));
        self.code.two(right, rax, byte(1));
        self.code.two(right, r11, byte(bits - 1));
        self.code.two(left, r11, byte(bits - 1));
        self.code.two(by_width(bits, Op::Or_r32_rm32, Op::Or_r64_rm64), rax, r11);
        self.code.two(by_width(bits, Op::Movd_xmm_rm32, Op::Movq_xmm_rm64), XMM0, rax);
        self.put(inst, XMM0)
    }

    pub(super) fn float_unary(&mut self, inst: Inst, opcode: Opcode, arg: Value) -> Done {
        let bits = self.float_bits(arg);
        match opcode {
            Opcode::Fabs | Opcode::Fneg => {
                self.get(XMM0, arg)?;
                let sign = 1_u64 << (bits - 1);
                let (op, mask) = match opcode {
                    Opcode::Fabs => (Op::Andps_xmm_xmmm128, sign - 1),
                    _ => (Op::Xorps_xmm_xmmm128, sign),
                };
                self.code.constant(R11, mask.cast_signed());
                self.code.two(Op::Movq_xmm_rm64, XMM15, R11);
                self.code.two(op, XMM0, XMM15);
                self.put(inst, XMM0)
            }
            Opcode::Sqrt => {
                let op = by_width(bits, Op::Sqrtss_xmm_xmmm32, Op::Sqrtsd_xmm_xmmm64);
                self.over_zero(inst, arg, |reader| reader.code.two(op, XMM0, XMM1))
            }
            Opcode::Nearest | Opcode::Floor | Opcode::Ceil | Opcode::Trunc => {
                let mode = match opcode {
                    Opcode::Nearest => 0,
                    Opcode::Floor => 1,
                    Opcode::Ceil => 2,
                    _ => 3,
                };
                let op = by_width(bits, Op::Roundss_xmm_xmmm32_imm8, Op::Roundsd_xmm_xmmm64_imm8);
                self.over_zero(inst, arg, |reader| reader.code.three(op, XMM0, XMM1, byte(mode)))
            }
            Opcode::Fpromote | Opcode::Fdemote => {
                let op = by_width(bits, Op::Cvtss2sd_xmm_xmmm32, Op::Cvtsd2ss_xmm_xmmm64);
                self.over_zero(inst, arg, |reader| reader.code.two(op, XMM0, XMM1))
            }
            _ => self.convert(inst, opcode, arg),
        }
    }

    /// Writes an instruction from `xmm1` to `xmm0`, which was cleared.
    fn over_zero(&mut self, inst: Inst, arg: Value, write: impl FnOnce(&mut Self)) -> Done {
        self.get(XMM1, arg)?;
        self.code.two(Op::Xorps_xmm_xmmm128, XMM0, XMM0);
        write(self);
        self.put(inst, XMM0)
    }

    pub(super) fn compare_floats(&mut self, cond: FloatCC, [a, b]: [Value; 2]) -> Done<Condition> {
        let one = Condition::One;
        // Unordered operands set the flags of equal, below and parity.
        let (condition, is_swapped) = match cond {
            FloatCC::Equal => (Condition::EqualAndOrdered, false),
            FloatCC::NotEqual => (Condition::UnequalOrUnordered, false),
            FloatCC::LessThan => (one(cc::ABOVE), true),
            FloatCC::LessThanOrEqual => (one(cc::ABOVE_OR_EQUAL), true),
            FloatCC::GreaterThan => (one(cc::ABOVE), false),
            FloatCC::GreaterThanOrEqual => (one(cc::ABOVE_OR_EQUAL), false),
            FloatCC::UnorderedOrLessThan => (one(cc::BELOW), false),
            FloatCC::UnorderedOrLessThanOrEqual => (one(cc::BELOW_OR_EQUAL), false),
            FloatCC::UnorderedOrGreaterThan => (one(cc::BELOW), true),
            FloatCC::UnorderedOrGreaterThanOrEqual => (one(cc::BELOW_OR_EQUAL), true),
            FloatCC::Ordered => (one(cc::NO_PARITY), false),
            FloatCC::Unordered => (one(cc::PARITY), false),
            FloatCC::OrderedNotEqual => (one(cc::NOT_EQUAL), false),
            FloatCC::UnorderedOrEqual => (one(cc::EQUAL), false),
        };
        let bits = self.float_bits(a);
        let (first, second) = if is_swapped { (b, a) } else { (a, b) };
        self.get(Register::XMM2, first)?;
        self.get(Register::XMM3, second)?;
        let op = by_width(bits, Op::Ucomiss_xmm_xmmm32, Op::Ucomisd_xmm_xmmm64);
        self.code.two(op, Register::XMM2, Register::XMM3);
        Ok(condition)
    }

    pub(super) fn select_float(&mut self, inst: Inst, [condition, yes, no]: [Value; 3]) -> Done {
        let [other, behind] = [(); 2].map(|()| self.code.label());
        self.get(XMM0, yes)?;
        self.get(XMM1, no)?;
        match self.condition(condition)? {
            Condition::One(cc) => self.code.branch(cc, behind),
            Condition::UnequalOrUnordered => {
                self.code.branch(cc::PARITY, behind);
                self.code.branch(cc::NOT_EQUAL, behind);
            }
            Condition::EqualAndOrdered => {
                self.code.branch(cc::PARITY, other);
                self.code.branch(cc::EQUAL, behind);
            }
        }
        self.code.bind(other);
        self.code.two(Op::Movaps_xmm_xmmm128, XMM0, XMM1);
        self.join(inst, behind);
        self.put(inst, XMM0)
    }
}
