//! Floats in vector registers, of which only the low eight bytes are known.
//!
//! Functions of the single-pass code generator have no vectors, so the bits above are never used. A 32-bit float leaves
//! the four bytes above it as they were, or as its instruction says. Assumed: arithmetic depends on the operands alone;
//! the control register is never written.

use iced_x86::{Instruction, Mnemonic, OpKind, Register};

use super::machine::{CHANGED, Cpu, Done, FLAGS};
use crate::validate::{Args, Op, Term};

impl Cpu<'_, '_> {
    /// Reports whether an operand is a vector register.
    pub(super) fn has_vector(&self) -> bool {
        (0..self.inst.op_count()).any(|op| is_vector(&self.inst, op))
    }

    /// Executes an instruction on floats.
    pub(super) fn scalar(&mut self) -> Done {
        use Mnemonic::{
            Addsd, Addss, Andps, Cvtsd2ss, Cvtsi2sd, Cvtsi2ss, Cvtss2sd, Cvttsd2si, Cvttss2si, Divsd, Divss,
            Maxsd, Maxss, Minsd, Minss, Movaps, Movd, Movq, Movsd, Movss, Mulsd, Mulss, Orps, Roundsd,
            Roundss, Sqrtsd, Sqrtss, Subsd, Subss, Ucomisd, Ucomiss, Xorps,
        };
        match self.inst.mnemonic() {
            Movss if self.touches_memory() => self.copy(32),
            Movsd if self.touches_memory() => self.copy(64),
            Movaps if !self.touches_memory() => self.copy(64),
            Movd => self.copy(32),
            Movq => self.copy(64),
            Andps | Orps | Xorps if !self.touches_memory() => self.bitwise(),
            Addss | Subss | Mulss | Divss | Minss | Maxss => self.arithmetic(32, 32, true),
            Addsd | Subsd | Mulsd | Divsd | Minsd | Maxsd => self.arithmetic(64, 64, true),
            Sqrtss | Roundss => self.arithmetic(32, 32, false),
            Sqrtsd | Roundsd => self.arithmetic(64, 64, false),
            Cvtss2sd => self.arithmetic(64, 32, false),
            Cvtsd2ss => self.arithmetic(32, 64, false),
            Cvtsi2ss => self.arithmetic(32, self.bits_of(1), false),
            Cvtsi2sd => self.arithmetic(64, self.bits_of(1), false),
            Cvttss2si => self.arithmetic(self.bits_of(0), 32, false),
            Cvttsd2si => self.arithmetic(self.bits_of(0), 64, false),
            Ucomiss => self.compare_floats(32),
            Ucomisd => self.compare_floats(64),
            _ => self.refused("a vector"),
        }
    }

    fn touches_memory(&self) -> bool {
        (0..2).any(|op| self.inst.op_kind(op) == OpKind::Memory)
    }

    /// Returns the number of bits of an operand that is no float.
    fn bits_of(&self, op: u32) -> u8 {
        8 * self.size(op).min(8) as u8
    }

    /// Reads the lowest bits of an operand.
    fn scalar_operand(&mut self, op: u32, bits: u8) -> Done<Term> {
        let value = match self.inst.op_kind(op) {
            OpKind::Memory => self.load(u32::from(bits) / 8)?,
            OpKind::Register => self.run.values[self.location(self.inst.op_register(op))?],
            _ => return self.read(op),
        };
        Ok(self.terms.low(bits, value))
    }

    /// Copies the lowest bits to a register, above which all bits are then zero, or to memory.
    fn copy(&mut self, bits: u8) -> Done {
        let value = self.scalar_operand(1, bits)?;
        match self.inst.op0_kind() {
            OpKind::Register => {
                let location = self.location(self.inst.op0_register())?;
                self.run.values[location] = value;
                Ok(())
            }
            _ => self.store(u32::from(bits) / 8, value),
        }
    }

    fn bitwise(&mut self) -> Done {
        let (a, b) = (self.scalar_operand(0, 64)?, self.scalar_operand(1, 64)?);
        let mnemonic = self.inst.mnemonic();
        let location = self.location(self.inst.op0_register())?;
        self.run.values[location] = match a == b {
            true if mnemonic == Mnemonic::Xorps => self.terms.constant(0),
            true => a,
            false => self.terms.apply(Op::Bitwise(mnemonic as u32), &[a, b]),
        };
        Ok(())
    }

    /// Computes a result of `to` bits from operands of `from` bits, the first of which only counts if the instruction
    /// `is_binary`.
    fn arithmetic(&mut self, to: u8, from: u8, is_binary: bool) -> Done {
        let first = if is_binary { Some(self.scalar_operand(0, from)?) } else { None };
        let mut args: Args = first.into_iter().collect();
        args.push(self.scalar_operand(1, from)?);
        if self.inst.op_count() > 2 {
            args.push(self.read(2)?);
        }
        let result = self.of_mnemonic(u32::from(to) << 8 | u32::from(from), &args);
        let result = self.terms.low(to, result);
        let register = self.inst.op0_register();
        let location = self.location(register)?;
        self.run.values[location] = match to {
            32 if register.is_vector_register() => {
                let old = self.run.values[location];
                self.terms.apply(Op::Insert { bits: 32, from: 0 }, &[old, result])
            }
            _ => result,
        };
        Ok(())
    }

    fn compare_floats(&mut self, bits: u8) -> Done {
        let (a, b) = (self.scalar_operand(0, bits)?, self.scalar_operand(1, bits)?);
        self.run.values[FLAGS] = self.of_mnemonic(0, &[a, b]);
        Ok(())
    }

    fn of_mnemonic(&mut self, more: u32, args: &[Term]) -> Term {
        let code = CHANGED | self.inst.mnemonic() as u32;
        self.terms.apply(Op::Instruction { code, part: 10, more }, args)
    }
}

fn is_vector(inst: &Instruction, op: u32) -> bool {
    inst.op_kind(op) == OpKind::Register && Register::is_vector_register(inst.op_register(op))
}
