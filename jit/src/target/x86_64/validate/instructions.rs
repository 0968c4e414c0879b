//! Instructions that are interpreted: moves, sums, products, bits, and the stack.

use iced_x86::{Code, Mnemonic, OpKind};

use super::machine::{CHANGED, Cpu, Done, FLAGS, PINNED, RBP, RSP};
use super::operands::bits;
use crate::validate::{Op, Term};

impl Cpu<'_, '_> {
    pub fn mov(&mut self) -> Done {
        let value = self.read_as(1, self.size(0))?;
        self.write(0, value)
    }

    pub fn extend(&mut self, is_signed: bool) -> Done {
        let from = bits(self.size(1) as usize);
        let is_constant = self.inst.is_ip_rel_memory_operand();
        if self.inst.op1_kind() == OpKind::Memory && self.size(1) == 4 && !is_constant {
            let address = self.address()?;
            if let Some((table, distance)) = self.terms.split_place(address) {
                let entry = Op::Entry { table, is_new: self.is_new };
                let entry = self.terms.apply(entry, &[distance]);
                return self.write(0, entry);
            }
        }
        let value = self.read(1)?;
        let value = if is_signed { self.terms.sign_extended(from, value) } else { value };
        self.write(0, value)
    }

    pub fn lea(&mut self) -> Done {
        let address = self.address()?;
        self.write(0, address)
    }

    pub fn sum(&mut self) -> Done {
        let bytes = self.size(0);
        let (a, b) = (self.read(0)?, self.read_as(1, bytes)?);
        let is_sum = self.inst.mnemonic() == Mnemonic::Add;
        let sum = self.terms.add_scaled(a, b, if is_sum { 1 } else { u64::MAX });
        let sum = self.terms.low(bits(bytes as usize), sum);
        let is_count = self.x86.is_pinned
            && bytes == 8
            && self.inst.op0_kind() == OpKind::Register
            && self.inst.op0_register().number() == PINNED;
        self.run.values[FLAGS] = match (is_sum, is_count) {
            (false, _) => self.terms.apply(Op::FlagsOfDifference(bytes as u8), &[a, b]),
            (true, true) => self.terms.apply(Op::FlagsOfCount, &[sum, a, b]),
            (true, false) => self.terms.apply(Op::FlagsOfSum(bytes as u8), &[a, b]),
        };
        self.write_result(sum)
    }

    /// Writes the first operand, which was read before.
    fn write_result(&mut self, value: Term) -> Done {
        match self.inst.op0_kind() {
            OpKind::Register => self.write_register(self.inst.op0_register(), value),
            _ => self.store(self.size(0), value),
        }
    }

    pub fn compare(&mut self) -> Done {
        let bytes = self.size(0);
        let (a, b) = (self.read(0)?, self.read_as(1, bytes)?);
        // Nothing is carried and nothing overflows if zero is subtracted.
        self.run.values[FLAGS] = match self.terms.as_constant(b) {
            Some(0) => self.terms.apply(Op::FlagsOfResult(bytes as u8), &[a]),
            _ => self.terms.apply(Op::FlagsOfDifference(bytes as u8), &[a, b]),
        };
        Ok(())
    }

    /// Multiplies two numbers, one of which may be an immediate.
    pub fn product(&mut self) -> Done {
        let bytes = self.size(0);
        let first = self.inst.op_count() - 2;
        let (a, b) = (self.read(first)?, self.read_as(first + 1, bytes)?);
        let args = [a.min(b), a.max(b)];
        let of = |part| Op::Instruction { code: CHANGED | Mnemonic::Imul as u32, part, more: bytes };
        let product = self.terms.apply(of(10), &args);
        self.run.values[FLAGS] = self.terms.apply(of(9), &args);
        self.write(0, product)
    }

    pub fn logic(&mut self) -> Done {
        let bytes = self.size(0);
        let mnemonic = self.inst.mnemonic();
        let (a, b) = (self.read(0)?, self.read_as(1, bytes)?);
        let value = match mnemonic {
            Mnemonic::Xor if a == b => self.terms.constant(0),
            Mnemonic::And | Mnemonic::Or | Mnemonic::Test if a == b => a,
            _ => {
                // A test computes the same as a mask.
                let code = if mnemonic == Mnemonic::Test { Mnemonic::And } else { mnemonic } as u32;
                self.terms.apply(Op::Bitwise(code), &[a, b])
            }
        };
        self.run.values[FLAGS] = self.terms.apply(Op::FlagsOfResult(bytes as u8), &[value]);
        if mnemonic == Mnemonic::Test { Ok(()) } else { self.write_result(value) }
    }

    /// Reports whether a 64-bit register is shifted by an immediate.
    pub fn is_scale(&self) -> bool {
        self.inst.code() == Code::Shl_rm64_imm8 && self.inst.op0_kind() == OpKind::Register
    }

    pub fn scale(&mut self) -> Done {
        let value = self.read(0)?;
        let count = self.inst.immediate8() & 63;
        let scaled = self.terms.scaled(value, 1 << count);
        let number = self.terms.constant(count.into());
        let flags = self.run.values[FLAGS];
        let op = Op::Instruction { code: Mnemonic::Shl as u32, part: 6, more: 8 };
        self.run.values[FLAGS] = self.terms.apply(op, &[value, number, flags]);
        self.write(0, scaled)
    }

    pub fn push(&mut self) -> Done {
        if self.inst.op0_kind() != OpKind::Register || self.size(0) != 8 {
            return self.refused("an operand");
        }
        let value = self.read(0)?;
        let top = self.terms.add_constant(self.run.values[RSP], 8_u64.wrapping_neg());
        self.run.values[RSP] = top;
        self.store_at(top, 8, value)
    }

    pub fn pop(&mut self) -> Done {
        if self.inst.op0_kind() != OpKind::Register || self.size(0) != 8 {
            return self.refused("an operand");
        }
        let top = self.run.values[RSP];
        let value = self.load_at(top, 8)?;
        self.run.values[RSP] = self.terms.add_constant(top, 8);
        self.write(0, value)
    }

    pub fn leave_frame(&mut self) -> Done {
        let top = self.run.values[RBP];
        self.run.values[RBP] = self.load_at(top, 8)?;
        self.run.values[RSP] = self.terms.add_constant(top, 8);
        Ok(())
    }
}
