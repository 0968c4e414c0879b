//! Conversions between integers and floats. The float is in `xmm0`, the integer in `rax`.
//!
//! The processor converts from and to signed numbers alone; for what does not fit it returns the least number.

use cranelift_codegen::ir::{self, Inst, Opcode, Value};
use iced_x86::{Code as Op, Register};

use super::integer::by_width;
use super::listing::{byte, cc, number};
use super::{Done, Reader};
use Register::{EAX, R11, R11D, RAX, RCX, XMM0, XMM1, XMM15};

impl Reader<'_> {
    pub(super) fn convert(&mut self, inst: Inst, opcode: Opcode, arg: Value) -> Done {
        match opcode {
            Opcode::FcvtFromSint => self.convert_signed(inst, arg),
            Opcode::FcvtFromUint => self.convert_unsigned(inst, arg),
            Opcode::FcvtToSintSat => self.saturate_signed(inst, arg),
            Opcode::FcvtToUintSat => self.saturate_unsigned(inst, arg),
            Opcode::FcvtToSint | Opcode::FcvtToUint => {
                self.convert_or_trap(inst, opcode == Opcode::FcvtToSint, arg)
            }
            _ => Err(format!("{opcode} of floats is not read")),
        }
    }

    /// Returns the instruction from an integer of that many bits to a float.
    fn from_integer(float: u8, integer: u8) -> Op {
        match integer {
            64 => by_width(float, Op::Cvtsi2ss_xmm_rm64, Op::Cvtsi2sd_xmm_rm64),
            _ => by_width(float, Op::Cvtsi2ss_xmm_rm32, Op::Cvtsi2sd_xmm_rm32),
        }
    }

    fn truncate(&mut self, float: u8, integer: u8, from: Register) {
        let (op, rax) = match integer {
            64 => (by_width(float, Op::Cvttss2si_r64_xmmm32, Op::Cvttsd2si_r64_xmmm64), RAX),
            _ => (by_width(float, Op::Cvttss2si_r32_xmmm32, Op::Cvttsd2si_r32_xmmm64), EAX),
        };
        self.code.two(op, rax, from);
    }

    fn convert_signed(&mut self, inst: Inst, arg: Value) -> Done {
        let (float, bits) = (self.float_bits(self.func.dfg.first_result(inst)), self.width(arg)?);
        self.get(RAX, arg)?;
        self.code.two(Op::Xorps_xmm_xmmm128, XMM0, XMM0);
        self.code.two(Self::from_integer(float, bits), XMM0, if bits == 64 { RAX } else { EAX });
        self.put(inst, XMM0)
    }

    /// Converts an unsigned number. A large one is halved, with its lowest bit kept if it is set, and doubled.
    fn convert_unsigned(&mut self, inst: Inst, arg: Value) -> Done {
        let (float, bits) = (self.float_bits(self.func.dfg.first_result(inst)), self.width(arg)?);
        let op = Self::from_integer(float, 64);
        self.get(R11, arg)?;
        self.code.two(Op::Xorps_xmm_xmmm128, XMM0, XMM0);
        if bits == 32 {
            self.code.two(Op::Mov_r32_rm32, R11D, R11D);
            self.code.two(op, XMM0, R11);
            let behind = self.code.label();
            self.join(inst, behind);
            return self.put(inst, XMM0);
        }
        let [large, behind] = [(); 2].map(|()| self.code.label());
        self.code.two(Op::Test_rm64_r64, R11, R11);
        self.code.branch(cc::LESS, large);
        self.code.two(op, XMM0, R11);
        self.code.jump(behind);
        self.code.bind(large);
        self.code.two(Op::Mov_r64_rm64, RCX, R11);
        self.code.two(Op::And_rm32_imm32, Register::ECX, number(32, 1));
        self.code.two(Op::Shr_rm64_imm8, R11, byte(1));
        self.code.two(Op::Or_r64_rm64, R11, RCX);
        self.code.two(op, XMM0, R11);
        self.code.two(by_width(float, Op::Addss_xmm_xmmm32, Op::Addsd_xmm_xmmm64), XMM0, XMM0);
        self.join(inst, behind);
        self.put(inst, XMM0)
    }

    /// Compares `xmm0` with a number that its type has.
    fn compare_with(&mut self, float: u8, number: f64) {
        let bits = if float == 64 { number.to_bits() } else { u64::from((number as f32).to_bits()) };
        self.code.constant(R11, bits.cast_signed());
        self.code.two(Op::Movq_xmm_rm64, XMM15, R11);
        self.code.two(by_width(float, Op::Ucomiss_xmm_xmmm32, Op::Ucomisd_xmm_xmmm64), XMM0, XMM15);
    }

    /// Converts with saturation; what is no number becomes zero.
    fn saturate_signed(&mut self, inst: Inst, arg: Value) -> Done {
        let (float, bits) = (self.float_bits(arg), self.width(self.func.dfg.first_result(inst))?);
        let rax = if bits == 64 { RAX } else { EAX };
        let [ordered, behind] = [(); 2].map(|()| self.code.label());
        self.get(XMM0, arg)?;
        self.truncate(float, bits, XMM0);
        // Subtracting one overflows for the least number alone.
        self.code.two(by_width(bits, Op::Cmp_rm32_imm32, Op::Cmp_rm64_imm32), rax, number(bits, 1));
        self.code.branch(cc::NO_OVERFLOW, behind);
        self.code.two(by_width(float, Op::Ucomiss_xmm_xmmm32, Op::Ucomisd_xmm_xmmm64), XMM0, XMM0);
        self.code.branch(cc::NO_PARITY, ordered);
        self.code.constant(RAX, 0);
        self.code.jump(behind);
        self.code.bind(ordered);
        self.compare_with(float, 0.0);
        self.code.branch(cc::BELOW, behind);
        self.code.constant(RAX, if bits == 64 { i64::MAX } else { i32::MAX.into() });
        self.join(inst, behind);
        self.put(inst, RAX)
    }

    fn saturate_unsigned(&mut self, inst: Inst, arg: Value) -> Done {
        let (float, bits) = (self.float_bits(arg), self.width(self.func.dfg.first_result(inst))?);
        let [zero, most, behind] = [(); 3].map(|()| self.code.label());
        self.get(XMM0, arg)?;
        self.compare_with(float, 0.0);
        // What is unordered also counts as below.
        self.code.branch(cc::BELOW_OR_EQUAL, zero);
        self.compare_with(float, 2_f64.powi(bits.into()));
        self.code.branch(cc::ABOVE_OR_EQUAL, most);
        self.truncate_fitting(bits, float);
        self.code.jump(behind);
        self.code.bind(most);
        self.code.constant(RAX, if bits == 64 { -1 } else { u32::MAX.into() });
        self.code.jump(behind);
        self.code.bind(zero);
        self.code.constant(RAX, 0);
        self.join(inst, behind);
        self.put(inst, RAX)
    }

    /// Converts `xmm0`, which is above -1 and less than the first number of more than `bits` bits.
    fn truncate_fitting(&mut self, bits: u8, float: u8) {
        if bits == 32 {
            return self.truncate(float, 64, XMM0);
        }
        let [small, behind] = [(); 2].map(|()| self.code.label());
        self.compare_with(float, 2_f64.powi(63));
        self.code.branch(cc::BELOW, small);
        self.code.two(Op::Movaps_xmm_xmmm128, XMM1, XMM0);
        self.code.two(by_width(float, Op::Subss_xmm_xmmm32, Op::Subsd_xmm_xmmm64), XMM1, XMM15);
        self.truncate(float, 64, XMM1);
        self.code.constant(R11, i64::MIN);
        self.code.two(Op::Add_r64_rm64, RAX, R11);
        self.code.jump(behind);
        self.code.bind(small);
        self.truncate(float, 64, XMM0);
        self.code.bind(behind);
    }

    /// Converts, and traps if the number does not fit.
    fn convert_or_trap(&mut self, inst: Inst, is_signed: bool, arg: Value) -> Done {
        let (float, bits) = (self.float_bits(arg), self.width(self.func.dfg.first_result(inst))?);
        self.get(XMM0, arg)?;
        self.code.two(by_width(float, Op::Ucomiss_xmm_xmmm32, Op::Ucomisd_xmm_xmmm64), XMM0, XMM0);
        let nan = self.trap_label(ir::TrapCode::BAD_CONVERSION_TO_INTEGER);
        self.code.branch(cc::PARITY, nan);
        let overflow = self.trap_label(ir::TrapCode::INTEGER_OVERFLOW);
        // The least number fits, and what is rounded to it: if floats can have parts there, the bound is one less.
        let (bound, is_outside) = match (is_signed, float, bits) {
            (false, ..) => (-1.0, cc::BELOW_OR_EQUAL),
            (true, 64, 32) => (f64::from(i32::MIN) - 1.0, cc::BELOW_OR_EQUAL),
            (true, ..) => (-2_f64.powi(i32::from(bits) - 1), cc::BELOW),
        };
        self.compare_with(float, bound);
        self.code.branch(is_outside, overflow);
        self.compare_with(float, 2_f64.powi(i32::from(bits) - i32::from(is_signed)));
        self.code.branch(cc::ABOVE_OR_EQUAL, overflow);
        match is_signed {
            true => self.truncate(float, bits, XMM0),
            false => self.truncate_fitting(bits, float),
        }
        let behind = self.code.label();
        self.join(inst, behind);
        self.put(inst, RAX)
    }
}
