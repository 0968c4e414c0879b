//! An assembler for x86-64: encodes instructions, and resolves jumps to labels.
//!
//! A few forms cover all instructions: an opcode, a register, and an operand in a register or in memory. Conditions and
//! widths are numbers, because a type for each instruction, as in Cranelift's assembler, would turn each use into a
//! match over types.
//!
//! Output: the code. Invariant: a label that is used is bound before [`Assembler::finish`].
//! Source: AMD64 Architecture Programmer's Manual, volume 3, chapter 1. Oracle: iced's decoder, in the tests.

mod operand;

pub(super) use operand::*;

/// The number of bits that an instruction works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    W32,
    W64,
}

use Width::{W32, W64};

impl Width {
    pub(super) fn bits(self) -> u8 {
        match self {
            W32 => 32,
            W64 => 64,
        }
    }
}

/// An instruction without its operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    /// The mandatory prefix; 0 if there is none.
    prefix: u8,
    /// The opcode with its escape bytes, the last one lowest.
    opcode: u32,
    /// Whether registers are bytes, some of which need a REX prefix.
    is_byte: bool,
}

impl Op {
    const fn new(opcode: u32) -> Op {
        Op { prefix: 0, opcode, is_byte: false }
    }

    const fn with(prefix: u8, opcode: u32) -> Op {
        Op { prefix, opcode, is_byte: false }
    }

    const fn byte(opcode: u32) -> Op {
        Op { prefix: 0, opcode, is_byte: true }
    }

    /// Returns the instruction for the condition whose number is added to the opcode.
    const fn plus(self, number: u8) -> Op {
        Op { opcode: self.opcode + number as u32, ..self }
    }
}

/// Instructions that read an operand and change a register.
pub(super) mod op {
    use super::Op;

    pub const MOV: Op = Op::new(0x8b);
    pub const LEA: Op = Op::new(0x8d);
    pub const IMUL: Op = Op::new(0x0faf);
    pub const TEST: Op = Op::new(0x85);
    pub const TEST_BYTE: Op = Op::byte(0x84);
    pub const MOVZX_BYTE: Op = Op::byte(0x0fb6);
    pub const MOVZX_WORD: Op = Op::new(0x0fb7);
    pub const MOVSX_BYTE: Op = Op::byte(0x0fbe);
    pub const MOVSX_WORD: Op = Op::new(0x0fbf);
    pub const MOVSX_DOUBLE: Op = Op::new(0x63);
    pub const LZCNT: Op = Op::with(0xf3, 0x0fbd);
    pub const TZCNT: Op = Op::with(0xf3, 0x0fbc);
    pub const POPCNT: Op = Op::with(0xf3, 0x0fb8);

    /// Stores a register.
    pub const STORE: Op = Op::new(0x89);
    pub const STORE_WORD: Op = Op::with(0x66, 0x89);
    pub const STORE_BYTE: Op = Op::byte(0x88);
    pub const STORE_F32: Op = Op::with(0xf3, 0x0f11);
    pub const STORE_F64: Op = Op::with(0xf2, 0x0f11);

    pub const LOAD_F32: Op = Op::with(0xf3, 0x0f10);
    pub const LOAD_F64: Op = Op::with(0xf2, 0x0f10);
    /// Returns the instruction that loads a register, zero-extended to 32 bits.
    pub const fn load(bytes: u32) -> Op {
        match bytes {
            1 => MOVZX_BYTE,
            2 => MOVZX_WORD,
            _ => MOV,
        }
    }

    /// Returns the instruction for operands of that many bytes: `opcode` is the form for single bytes, and the next
    /// opcode the form for more.
    const fn of_width(opcode: u32, bytes: u32) -> Op {
        match bytes {
            1 => Op::byte(opcode),
            2 => Op::with(0x66, opcode + 1),
            _ => Op::new(opcode + 1),
        }
    }

    /// Returns the instruction that exchanges that many bytes of memory and a register.
    pub const fn exchange(bytes: u32) -> Op {
        of_width(0x86, bytes)
    }

    pub const fn exchange_and_add(bytes: u32) -> Op {
        of_width(0x0fc0, bytes)
    }

    pub const fn compare_exchange(bytes: u32) -> Op {
        of_width(0x0fb0, bytes)
    }

    pub const MOVAPS: Op = Op::new(0x0f28);
    /// Moves from a general register, and back.
    pub const MOV_TO_XMM: Op = Op::with(0x66, 0x0f6e);
    pub const MOV_FROM_XMM: Op = Op::with(0x66, 0x0f7e);
    pub const ANDPS: Op = Op::new(0x0f54);
    pub const ORPS: Op = Op::new(0x0f56);
    pub const XORPS: Op = Op::new(0x0f57);

    /// Float opcodes, to be combined with the prefix of their type.
    pub const ADD: u32 = 0x0f58;
    pub const MUL: u32 = 0x0f59;
    pub const SUB: u32 = 0x0f5c;
    pub const MIN: u32 = 0x0f5d;
    pub const DIV: u32 = 0x0f5e;
    pub const MAX: u32 = 0x0f5f;
    pub const SQRT: u32 = 0x0f51;
    pub const TO_OTHER_FLOAT: u32 = 0x0f5a;
    pub const FROM_INT: u32 = 0x0f2a;
    pub const TO_INT: u32 = 0x0f2c;

    /// Returns a scalar instruction on floats of a type.
    pub const fn scalar(is_f64: bool, opcode: u32) -> Op {
        Op::with(if is_f64 { 0xf2 } else { 0xf3 }, opcode)
    }

    pub const fn compare_floats(is_f64: bool) -> Op {
        Op::with(if is_f64 { 0x66 } else { 0 }, 0x0f2e)
    }

    pub const fn round(is_f64: bool) -> Op {
        Op::with(0x66, if is_f64 { 0x0f3a0b } else { 0x0f3a0a })
    }
}

/// The oldest two-operand instructions, by their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Alu {
    Add = 0,
    Or = 1,
    And = 4,
    Sub = 5,
    Xor = 6,
    Cmp = 7,
}

/// Shifts and rotations, by their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Shift {
    RotateLeft = 0,
    RotateRight = 1,
    Left = 4,
    Right = 5,
    SignedRight = 7,
}

/// Instructions with one operand, by opcode and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Not,
    Neg,
    Div,
    SignedDiv,
    Call,
    Jump,
}

/// A condition of the flags, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cc(u8);

impl Cc {
    pub(super) const OVERFLOW: Cc = Cc(0);
    pub(super) const NO_OVERFLOW: Cc = Cc(1);
    pub(super) const BELOW: Cc = Cc(2);
    pub(super) const ABOVE_OR_EQUAL: Cc = Cc(3);
    pub(super) const EQUAL: Cc = Cc(4);
    pub(super) const NOT_EQUAL: Cc = Cc(5);
    pub(super) const BELOW_OR_EQUAL: Cc = Cc(6);
    pub(super) const ABOVE: Cc = Cc(7);
    pub(super) const PARITY: Cc = Cc(10);
    pub(super) const NO_PARITY: Cc = Cc(11);
    pub(super) const LESS: Cc = Cc(12);
    pub(super) const GREATER_OR_EQUAL: Cc = Cc(13);
    pub(super) const LESS_OR_EQUAL: Cc = Cc(14);
    pub(super) const GREATER: Cc = Cc(15);

    /// Returns the opposite condition: conditions are numbered in pairs.
    pub(super) fn not(self) -> Cc {
        Cc(self.0 ^ 1)
    }
}

/// A place in the code that jumps lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(u32);

const UNBOUND: u32 = u32::MAX;

/// A four-byte distance in the code that is not known yet.
#[derive(Clone, Copy, Debug)]
struct Fixup {
    at: u32,
    label: Label,
    /// The place from which the distance counts.
    from: u32,
}

/// Code that is being assembled.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    pub code: Vec<u8>,
    /// The places of the labels.
    labels: Vec<u32>,
    fixups: Vec<Fixup>,
}

impl Assembler {
    pub(super) fn clear(&mut self) {
        self.code.clear();
        self.labels.clear();
        self.fixups.clear();
    }

    /// Returns the place of the next instruction.
    pub(super) fn here(&self) -> u32 {
        self.code.len() as u32
    }

    pub(super) fn label(&mut self) -> Label {
        self.labels.push(UNBOUND);
        Label(self.labels.len() as u32 - 1)
    }

    pub(super) fn bind(&mut self, label: Label) {
        self.labels[label.0 as usize] = self.here();
    }

    /// Returns the place of a label.
    pub(super) fn place(&self, label: Label) -> u32 {
        self.labels[label.0 as usize]
    }

    fn use_label(&mut self, label: Label, from: u32) {
        self.fixups.push(Fixup { at: self.here(), label, from });
        self.code.extend([0; 4]);
    }

    /// Fills in the distances to all labels.
    pub(super) fn finish(&mut self) {
        for &Fixup { at, label, from } in &self.fixups {
            let to = self.labels[label.0 as usize];
            debug_assert_ne!(to, UNBOUND);
            let distance = to.wrapping_sub(from).to_le_bytes();
            self.code[at as usize..at as usize + 4].copy_from_slice(&distance);
        }
    }

    /// Overwrites the four bytes at `at`.
    pub(super) fn patch(&mut self, at: u32, number: i32) {
        self.code[at as usize..at as usize + 4].copy_from_slice(&number.to_le_bytes());
    }

    /// Writes prefixes, opcode, and operands: `reg` is a register's number or part of the opcode. Distances to labels
    /// count from behind the `tail` bytes that follow.
    fn encode(&mut self, op: Op, width: Width, reg: u8, operand: Operand) {
        if op.prefix != 0 {
            self.code.push(op.prefix);
        }
        let (index, base) = match operand {
            Operand::Reg(reg) => (0, reg.number()),
            Operand::Mem(mem) => (mem.index.map_or(0, Reg::number), mem.base.number()),
        };
        let wide = u8::from(width == W64);
        let rex = wide << 3 | (reg >> 3) << 2 | (index >> 3) << 1 | base >> 3;
        // Without a REX prefix these numbers stand for other byte registers.
        let needs_rex = op.is_byte && (reg >= 4 || matches!(operand, Operand::Reg(reg) if reg.0 >= 4));
        if rex != 0 || needs_rex {
            self.code.push(0x40 | rex);
        }
        let bytes = op.opcode.to_be_bytes();
        let escapes = (op.opcode.leading_zeros() / 8).min(3) as usize;
        self.code.extend_from_slice(&bytes[escapes..]);
        match operand {
            Operand::Reg(rm) => self.code.push(0xc0 | (reg & 7) << 3 | rm.number() & 7),
            Operand::Mem(mem) => self.encode_mem(reg & 7, mem),
        }
    }

    fn encode_mem(&mut self, reg: u8, Mem { base, index, offset }: Mem) {
        let low = base.number() & 7;
        // Without an offset this base would stand for no base.
        let mode = match offset {
            0 if low != RBP.0 => 0,
            -128..=127 => 1,
            _ => 2,
        };
        let has_sib = index.is_some() || low == RSP.0;
        self.code.push(mode << 6 | reg << 3 | if has_sib { RSP.0 } else { low });
        if has_sib {
            let index = index.map_or(RSP.0, |index| index.number() & 7);
            self.code.push(index << 3 | low);
        }
        match mode {
            0 => {}
            1 => self.code.push(offset as u8),
            _ => self.code.extend(offset.to_le_bytes()),
        }
    }

    fn number(&mut self, number: i32) {
        self.code.extend(number.to_le_bytes());
    }

    /// Writes an instruction with a register and an operand.
    pub(super) fn op(&mut self, op: Op, width: Width, reg: Reg, operand: impl Into<Operand>) {
        self.encode(op, width, reg.number(), operand.into());
    }

    /// Like [`op`](Self::op), followed by an immediate byte.
    pub(super) fn op_byte(&mut self, op: Op, reg: Reg, operand: impl Into<Operand>, byte: u8) {
        self.encode(op, W32, reg.number(), operand.into());
        self.code.push(byte);
    }

    /// Like [`op`](Self::op), with a lock prefix: the instruction is atomic for other threads.
    pub(super) fn locked(&mut self, op: Op, width: Width, reg: Reg, mem: Mem) {
        self.code.push(0xf0);
        self.op(op, width, reg, mem);
    }

    /// Writes a fence: no later instruction begins before other threads can read all memory written so far.
    pub(super) fn fence(&mut self) {
        self.code.extend([0x0f, 0xae, 0xf0]);
    }

    pub(super) fn mov(&mut self, width: Width, to: Reg, from: impl Into<Operand>) {
        self.op(op::MOV, width, to, from);
    }

    /// Puts a number into a general register with the shortest instruction that changes no flag.
    pub(super) fn constant(&mut self, to: Reg, number: i64) {
        if let Ok(number) = u32::try_from(number) {
            if to.number() >= 8 {
                self.code.push(0x41);
            }
            self.code.push(0xb8 | to.number() & 7);
            self.code.extend(number.to_le_bytes());
        } else if let Ok(number) = i32::try_from(number) {
            self.encode(Op::new(0xc7), W64, 0, to.into());
            self.number(number);
        } else {
            self.code.extend([0x48 | to.number() >> 3, 0xb8 | to.number() & 7]);
            self.code.extend(number.to_le_bytes());
        }
    }

    pub(super) fn alu(&mut self, alu: Alu, width: Width, reg: Reg, operand: impl Into<Operand>) {
        self.op(Op::new((alu as u32) << 3 | 3), width, reg, operand);
    }

    pub(super) fn alu_constant(&mut self, alu: Alu, width: Width, to: impl Into<Operand>, number: i32) {
        match i8::try_from(number) {
            Ok(byte) => {
                self.encode(Op::new(0x83), width, alu as u8, to.into());
                self.code.push(byte as u8);
            }
            Err(_) => {
                self.encode(Op::new(0x81), width, alu as u8, to.into());
                self.number(number);
            }
        }
    }

    pub(super) fn imul_constant(&mut self, width: Width, to: Reg, from: Operand, number: i32) {
        self.op(Op::new(0x69), width, to, from);
        self.number(number);
    }

    /// Stores a number of one, two, four or eight bytes; eight bytes are sign-extended from four.
    pub(super) fn store_constant(&mut self, bytes: u32, to: Mem, number: i32) {
        let to = to.into();
        match bytes {
            1 => {
                self.encode(Op::new(0xc6), W32, 0, to);
                self.code.push(number as u8);
            }
            2 => {
                self.encode(Op::with(0x66, 0xc7), W32, 0, to);
                self.code.extend((number as u16).to_le_bytes());
            }
            _ => {
                self.encode(Op::new(0xc7), if bytes == 8 { W64 } else { W32 }, 0, to);
                self.number(number);
            }
        }
    }

    pub(super) fn shift_constant(&mut self, shift: Shift, width: Width, reg: Reg, by: u8) {
        self.encode(Op::new(0xc1), width, shift as u8, reg.into());
        self.code.push(by);
    }

    /// Shifts by the number in cl.
    pub(super) fn shift(&mut self, shift: Shift, width: Width, reg: Reg) {
        self.encode(Op::new(0xd3), width, shift as u8, reg.into());
    }

    pub(super) fn unary(&mut self, unary: Unary, width: Width, operand: impl Into<Operand>) {
        let (opcode, number) = match unary {
            Unary::Not => (0xf7, 2),
            Unary::Neg => (0xf7, 3),
            Unary::Div => (0xf7, 6),
            Unary::SignedDiv => (0xf7, 7),
            Unary::Call => (0xff, 2),
            Unary::Jump => (0xff, 4),
        };
        self.encode(Op::new(opcode), width, number, operand.into());
    }

    /// Fills rdx with the sign of rax.
    pub(super) fn sign_into_rdx(&mut self, width: Width) {
        if width == W64 {
            self.code.push(0x48);
        }
        self.code.push(0x99);
    }

    /// Sets the low byte of `reg` to 1 or 0.
    pub(super) fn set(&mut self, cc: Cc, reg: Reg) {
        self.encode(Op::byte(0x0f90).plus(cc.0), W32, 0, reg.into());
    }

    pub(super) fn cmov(&mut self, cc: Cc, width: Width, to: Reg, from: impl Into<Operand>) {
        self.op(Op::new(0x0f40).plus(cc.0), width, to, from);
    }

    pub(super) fn push(&mut self, reg: Reg) {
        self.code.push(0x50 | reg.number());
    }

    pub(super) fn leave(&mut self) {
        self.code.push(0xc9);
    }

    /// Returns, and pops `bytes` bytes of arguments.
    pub(super) fn ret(&mut self, bytes: u16) {
        match bytes {
            0 => self.code.push(0xc3),
            _ => {
                self.code.push(0xc2);
                self.code.extend(bytes.to_le_bytes());
            }
        }
    }

    pub(super) fn ud2(&mut self) {
        self.code.extend([0x0f, 0x0b]);
    }

    pub(super) fn jump(&mut self, to: Label) {
        if let Some(distance) = self.short(to) {
            self.code.extend([0xeb, distance]);
            return;
        }
        self.code.push(0xe9);
        self.use_label(to, self.here() + 4);
    }

    /// Jumps back to a byte of the code.
    pub(super) fn jump_back(&mut self, to: u32) {
        self.code.push(0xe9);
        let distance = to.wrapping_sub(self.here() + 4);
        self.code.extend(distance.to_le_bytes());
    }

    /// Overwrites the instruction of `length` bytes at `at` with a jump to `to`; its remaining bytes never run.
    pub(super) fn jump_from(&mut self, at: u32, to: u32, length: u32) {
        const JUMP_BYTES: u32 = 5;
        let place = at as usize..(at + length) as usize;
        self.code[place].fill(0xcc);
        self.code[at as usize] = 0xe9;
        self.patch(at + 1, to.wrapping_sub(at + JUMP_BYTES) as i32);
    }

    pub(super) fn branch(&mut self, cc: Cc, to: Label) {
        if let Some(distance) = self.short(to) {
            self.code.extend([0x70 | cc.0, distance]);
            return;
        }
        self.code.extend([0x0f, 0x80 | cc.0]);
        self.use_label(to, self.here() + 4);
    }

    /// Returns the distance to a bound label from behind a two-byte instruction, if it fits into one byte.
    fn short(&self, to: Label) -> Option<u8> {
        let place = self.labels[to.0 as usize];
        let distance = i64::from(place) - i64::from(self.here()) - 2;
        i8::try_from(distance).ok().filter(|_| place != UNBOUND).map(|distance| distance as u8)
    }

    /// Takes the address of a label.
    pub(super) fn address_of(&mut self, to: Reg, label: Label) {
        self.code.extend([0x48 | to.number() >> 3 << 2, 0x8d, (to.number() & 7) << 3 | 5]);
        self.use_label(label, self.here() + 4);
    }

    /// Writes a jump-table entry of four bytes: the distance of `label` from `table`.
    pub(super) fn entry(&mut self, label: Label, table: u32) {
        self.use_label(label, table);
    }
}

#[cfg(test)]
mod tests;
