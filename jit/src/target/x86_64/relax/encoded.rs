//! Short encodings that Cranelift does not emit.
//!
//! Source of encodings: AMD64 Architecture Programmer's Manual, volume 3, chapter 1.

use iced_x86::Register;

/// The length of the longest instruction encoded here.
const LONGEST: usize = 14;

/// The bytes of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Encoded {
    bytes: [u8; LONGEST],
    len: u8,
}

impl Encoded {
    fn new(parts: &[&[u8]]) -> Encoded {
        let all = parts.concat();
        let mut bytes = [0; LONGEST];
        bytes[..all.len()].copy_from_slice(&all);
        Encoded { bytes, len: all.len() as u8 }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len.into()]
    }

    pub fn len(&self) -> u32 {
        self.len.into()
    }

    /// Encodes `call *place`, with neither a base nor an index.
    pub fn call_place(place: i32) -> Encoded {
        Encoded::new(&[&[0xff, 0x14, 0x25], &place.to_le_bytes()])
    }

    /// Encodes `call *displacement(%base)`.
    pub fn call_at(base: Register, displacement: i8) -> Option<Encoded> {
        let number = number(base)?;
        // REX.B extends the base; 4 stands for an index.
        let prefix: &[u8] = if number < 8 { &[] } else { &[0x41] };
        let code = [0xff, 0x50 | number & 7, displacement as u8];
        (number & 7 != 4).then(|| Encoded::new(&[prefix, &code]))
    }

    /// Encodes a 64-bit `mov %from, %to`, by register numbers.
    pub fn move_register(from: u8, to: u8) -> Encoded {
        Encoded::new(&[&[0x48 | from >> 3 << 2 | to >> 3, 0x89, 0xc0 | (from & 7) << 3 | to & 7]])
    }

    /// Encodes `mov cells(, %index, 4), %to`, which reads 32 bits.
    pub fn read_cell(cells: i32, index: Register, to: Register) -> Option<Encoded> {
        let (number, to) = (number(index)?, number(to)?);
        // REX.R and REX.X extend the registers; 4 stands for no index, and 5 for no base.
        let extended = 0x40 | to >> 3 << 2 | number >> 3 << 1;
        let prefix: &[u8] = if extended == 0x40 { &[] } else { &[extended] };
        let code = [0x8b, (to & 7) << 3 | 4, 0x80 | (number & 7) << 3 | 5];
        (index != Register::RSP).then(|| Encoded::new(&[prefix, &code, &cells.to_le_bytes()]))
    }

    /// Encodes an instruction with a frame slot as its memory operand. `begin` (prefixes and opcode), `mode` (the mode
    /// byte) and `number` (the immediate at the end) come from an instruction whose operand is a register with or
    /// without a displacement.
    pub fn with_slot(begin: &[u8], mode: u8, place: i32, number: &[u8]) -> Option<Encoded> {
        let mut begin = begin.to_vec();
        // REX.B extended the register that is gone. The REX prefix follows other prefixes and precedes the opcode.
        let prefix = begin.iter_mut().find(|byte| !matches!(byte, 0x66 | 0xf2 | 0xf3));
        if let Some(prefix) = prefix.filter(|byte| **byte & 0xf0 == 0x40) {
            *prefix &= !1;
        }
        // 4 stands for a SIB byte, which names the stack pointer.
        let operand = mode & 0x38 | 4;
        let named = match i8::try_from(place) {
            Ok(place) => vec![operand | 0x40, 0x24, place as u8],
            Err(_) => [&[operand | 0x80, 0x24][..], &place.to_le_bytes()].concat(),
        };
        let len = begin.len() + named.len() + number.len();
        (len <= LONGEST).then(|| Encoded::new(&[&begin, &named, number]))
    }

    /// Encodes `movslq (%table, %index, 4), %to`.
    pub fn read_entry(table: Register, index: Register, to: Register) -> Option<Encoded> {
        let (base, number, to) = (number(table)?, number(index)?, number(to)?);
        let prefix = 0x48 | to >> 3 << 2 | number >> 3 << 1 | base >> 3;
        let scaled = 0x80 | (number & 7) << 3 | base & 7;
        // 5 stands for no base where there is no displacement.
        let code: &[u8] = match base & 7 {
            5 => &[prefix, 0x63, 0x44 | (to & 7) << 3, scaled, 0],
            _ => &[prefix, 0x63, 0x04 | (to & 7) << 3, scaled],
        };
        (index != Register::RSP).then(|| Encoded::new(&[code]))
    }
}

/// Returns the number of a 64-bit register.
fn number(register: Register) -> Option<u8> {
    register.is_gpr64().then(|| register.number() as u8)
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions, Formatter, GasFormatter};

    use super::*;

    fn text(code: Encoded) -> String {
        let inst = Decoder::new(64, code.bytes(), DecoderOptions::NONE).decode();
        assert_eq!(inst.len(), code.bytes().len());
        let mut text = String::new();
        GasFormatter::new().format(&inst, &mut text);
        text
    }

    #[test]
    fn instructions_read_as_what_they_are_called() {
        assert_eq!(text(Encoded::call_place(0x1234)), "callq *0x1234");
        for number in 0..16 {
            let register = Register::RAX + number;
            let name = format!("{register:?}").to_lowercase();
            let called = Encoded::call_at(register, 8).map(text);
            assert_eq!(called, (number % 8 != 4).then(|| format!("callq *8(%{name})")));
            for to in 0..16 {
                let moved = text(Encoded::move_register(number as u8, to as u8));
                assert_eq!(
                    moved,
                    format!("mov %{name},%{}", format!("{:?}", Register::RAX + to).to_lowercase())
                );
                let read = Encoded::read_cell(0x1000, register, Register::RAX + to).map(text);
                let short = format!("{:?}", Register::EAX + to).to_lowercase();
                assert_eq!(read, (number != 4).then(|| format!("mov 0x1000(,%{name},4),%{short}")));
                for table in 0..16 {
                    let (base, to) = (Register::RAX + table, Register::RAX + to);
                    let read = Encoded::read_entry(base, register, to).map(text);
                    let [base, to] = [base, to].map(|register| format!("{register:?}").to_lowercase());
                    assert_eq!(read, (number != 4).then(|| format!("movslq (%{base},%{name},4),%{to}")));
                }
            }
        }
    }
}
