//! Operands of x86-64 instructions: registers, memory and numbers.

use iced_x86::{Code, OpKind, Register};
use smallvec::{SmallVec, smallvec};

use super::machine::{Cpu, Done, PINNED, RBP, RSP, VECTORS};
use crate::validate::{Args, Event, Op, Place, Term, What};

/// Registers.
impl Cpu<'_, '_> {
    pub(super) fn location(&self, register: Register) -> Done<usize> {
        let full = register.full_register();
        match full.number() {
            number if full.is_gpr64() => Ok(number),
            number if full.is_vector_register() && number < VECTORS => Ok(VECTORS + number),
            _ => self.refused(&format!("{register:?}")),
        }
    }

    pub fn read_register(&mut self, register: Register) -> Done<Term> {
        let value = self.run.values[self.location(register)?];
        Ok(match register {
            Register::AH | Register::BH | Register::CH | Register::DH => {
                let high = Op::Instruction { code: Code::INVALID as u32, part: 8, more: 0 };
                let high = self.terms.apply(high, &[value]);
                self.terms.low(8, high)
            }
            _ if register.is_gpr() => self.terms.low(bits(register.size()), value),
            _ => value,
        })
    }

    pub fn write_register(&mut self, register: Register, value: Term) -> Done {
        let location = self.location(register)?;
        let old = self.run.values[location];
        let from =
            if matches!(register, Register::AH | Register::BH | Register::CH | Register::DH) { 8 } else { 0 };
        let size = register.size();
        self.run.values[location] = match size {
            1 | 2 => {
                let value = self.terms.low(bits(size), value);
                self.terms.apply(Op::Insert { bits: bits(size), from }, &[old, value])
            }
            4 => self.terms.low(32, value),
            _ => value,
        };
        Ok(())
    }
}

/// Memory.
impl Cpu<'_, '_> {
    pub fn address(&mut self) -> Done<Term> {
        let inst = self.inst;
        if inst.is_ip_rel_memory_operand() {
            let place = inst.ip_rel_memory_address() as u32;
            return Ok(self.terms.apply(Op::Place { place, is_new: self.is_new }, &[]));
        }
        let mut address = self.terms.constant(inst.memory_displacement64());
        for (register, factor) in [(inst.memory_base(), 1), (inst.memory_index(), inst.memory_index_scale())]
        {
            if register != Register::None {
                if !register.is_gpr64() {
                    return self.refused("an address");
                }
                let value = self.read_register(register)?;
                address = self.terms.add_scaled(address, value, factor.into());
            }
        }
        Ok(address)
    }

    /// Returns what a trap handler can see of this version.
    pub fn shown(&self) -> SmallVec<[Term; 4]> {
        let mut shown: Args = smallvec![self.run.values[RSP], self.run.values[RBP]];
        if self.x86.is_pinned {
            shown.push(self.run.values[PINNED]);
        }
        shown
    }

    pub fn note(&mut self, what: What, values: Args) {
        let (place, accesses) = (self.inst.ip() as Place, self.run.memory.accesses());
        self.run.events.push(Event { what, values, mark: self.mark.clone(), place, accesses });
        if self.mark.trap.is_some() {
            self.run.memory.expose();
        }
    }

    pub fn load(&mut self, bytes: u32) -> Done<Term> {
        if self.inst.is_ip_rel_memory_operand() {
            return self.load_constant(bytes);
        }
        let address = self.address()?;
        self.load_at(address, bytes)
    }

    pub fn load_at(&mut self, address: Term, bytes: u32) -> Done<Term> {
        if self.mark.trap.is_some() {
            let mut values: Args = smallvec![address];
            values.extend(self.shown());
            self.note(What::Load(bytes), values);
        }
        let value = self.run.memory.load(self.terms, address, bytes);
        if self.terms.as_frame(address).is_none() {
            self.terms.note_load(value, self.is_new);
        }
        Ok(value)
    }

    fn load_constant(&mut self, bytes: u32) -> Done<Term> {
        let place = self.inst.ip_rel_memory_address() as u32;
        let Some(constant) = self.image.rest(place).get(..bytes as usize) else {
            return self.refused("a constant");
        };
        let words =
            constant.chunks(8).map(|word| word.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte)));
        let words: Args = words.map(|word| self.terms.constant(word)).collect();
        // Some instructions fault on a misaligned 16-byte constant.
        let is_aligned = place.is_multiple_of(16);
        let constant = Op::Constant { bytes, is_aligned };
        Ok(if bytes <= 8 { words[0] } else { self.terms.apply(constant, &words) })
    }

    pub fn store(&mut self, bytes: u32, value: Term) -> Done {
        let address = self.address()?;
        self.store_at(address, bytes, value)
    }

    pub fn store_at(&mut self, address: Term, bytes: u32, value: Term) -> Done {
        let value = if bytes < 8 { self.terms.low(bits(bytes as usize), value) } else { value };
        // Code that walks the frames only reads them.
        let is_link = value == self.run.values[RBP] && self.terms.as_frame(value).is_some();
        let is_private = match self.terms.as_frame(address) {
            Some(offset) => self.run.memory.is_private(offset, bytes),
            None => false,
        };
        if is_private && !self.is_allocated(address) {
            return self.refused("a store below the frame");
        }
        if self.terms.is_of_frame(value) && !is_link && !is_private {
            self.share();
        }
        let is_effective = self.run.memory.store(self.terms, address, bytes, value);
        if is_effective || self.mark.trap.is_some() {
            let mut values: Args = smallvec![address, value];
            if self.mark.trap.is_some() {
                values.extend(self.shown());
            }
            self.note(What::Store(bytes), values);
        }
        Ok(())
    }

    /// Reports whether an address in the frame is not below the stack pointer.
    fn is_allocated(&self, address: Term) -> bool {
        let frame = |term| self.terms.as_frame(term);
        frame(address).zip(frame(self.run.values[RSP])).is_some_and(|(address, top)| address >= top)
    }

    /// Records that others may know addresses in the frame from now on. Its contents stay known until others may write
    /// there: at a store to an unknown address, or at a call.
    pub fn share(&mut self) {
        self.run.memory.is_shared = true;
    }
}

/// Operands by their numbers.
impl Cpu<'_, '_> {
    /// Returns the size of an operand in bytes.
    pub fn size(&self, op: u32) -> u32 {
        match self.inst.op_kind(op) {
            OpKind::Register => self.inst.op_register(op).size() as u32,
            OpKind::Memory => self.inst.memory_size().size() as u32,
            _ => 0,
        }
    }

    pub fn read(&mut self, op: u32) -> Done<Term> {
        match self.inst.op_kind(op) {
            OpKind::Register => self.read_register(self.inst.op_register(op)),
            OpKind::Memory => self.load(self.size(op)),
            _ => match self.inst.try_immediate(op) {
                Ok(number) if self.inst.op_kind(op) == OpKind::Immediate64 => Ok(self.address_or(number)),
                Ok(number) => Ok(self.terms.constant(number)),
                Err(_) => self.refused("an operand"),
            },
        }
    }

    /// Returns a number, or the address that a relocation writes in its place.
    fn address_or(&mut self, number: u64) -> Term {
        match self.image.reloc(&self.inst) {
            Some(reloc) => {
                let routine = Op::Routine { number: reloc.target as u32, addend: reloc.addend };
                self.terms.apply(routine, &[])
            }
            None => self.terms.constant(number),
        }
    }

    /// Reads an operand of that many bytes, including an immediate.
    pub fn read_as(&mut self, op: u32, bytes: u32) -> Done<Term> {
        let value = self.read(op)?;
        Ok(if bytes < 8 { self.terms.low(bits(bytes as usize), value) } else { value })
    }

    pub fn write(&mut self, op: u32, value: Term) -> Done {
        match self.inst.op_kind(op) {
            OpKind::Register => self.write_register(self.inst.op_register(op), value),
            OpKind::Memory => self.store(self.size(op), value),
            _ => self.refused("an operand"),
        }
    }
}

/// Returns the number of bits in so many bytes, at most those of a word.
pub(super) fn bits(bytes: usize) -> u8 {
    8 * bytes.min(8) as u8
}
