//! Instructions of a reference, which are never encoded: a place is the number of an instruction.

use iced_x86::{Code as Op, Instruction, OpKind, Register};

use super::super::image::Listing;
use crate::code::{CallSite, Landing, TrapSite};

/// A place in the reference that may not be known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(usize);

/// The code of a reference.
#[derive(Debug, Default)]
pub(super) struct Code {
    listing: Listing,
    /// The place of each label.
    labels: Vec<u32>,
    /// Instructions that jump to a label.
    jumps: Vec<(usize, Label)>,
    /// Instructions that take the address of a table, and its entries.
    tables: Vec<(usize, Vec<Label>)>,
}

/// The conditions of branches, by the number that the processor gives them.
pub(super) mod cc {
    pub const OVERFLOW: usize = 0;
    pub const NO_OVERFLOW: usize = 1;
    pub const BELOW: usize = 2;
    pub const ABOVE_OR_EQUAL: usize = 3;
    pub const EQUAL: usize = 4;
    pub const NOT_EQUAL: usize = 5;
    pub const BELOW_OR_EQUAL: usize = 6;
    pub const ABOVE: usize = 7;
    pub const PARITY: usize = 10;
    pub const NO_PARITY: usize = 11;
    pub const LESS: usize = 12;
    pub const GREATER_OR_EQUAL: usize = 13;
    pub const LESS_OR_EQUAL: usize = 14;
    pub const GREATER: usize = 15;
}

const BRANCHES: [Op; 16] = [
    Op::Jo_rel32_64,
    Op::Jno_rel32_64,
    Op::Jb_rel32_64,
    Op::Jae_rel32_64,
    Op::Je_rel32_64,
    Op::Jne_rel32_64,
    Op::Jbe_rel32_64,
    Op::Ja_rel32_64,
    Op::Js_rel32_64,
    Op::Jns_rel32_64,
    Op::Jp_rel32_64,
    Op::Jnp_rel32_64,
    Op::Jl_rel32_64,
    Op::Jge_rel32_64,
    Op::Jle_rel32_64,
    Op::Jg_rel32_64,
];

const SETS: [Op; 16] = [
    Op::Seto_rm8,
    Op::Setno_rm8,
    Op::Setb_rm8,
    Op::Setae_rm8,
    Op::Sete_rm8,
    Op::Setne_rm8,
    Op::Setbe_rm8,
    Op::Seta_rm8,
    Op::Sets_rm8,
    Op::Setns_rm8,
    Op::Setp_rm8,
    Op::Setnp_rm8,
    Op::Setl_rm8,
    Op::Setge_rm8,
    Op::Setle_rm8,
    Op::Setg_rm8,
];

/// Conditional moves of 64 bits.
const MOVES: [Op; 16] = [
    Op::Cmovo_r64_rm64,
    Op::Cmovno_r64_rm64,
    Op::Cmovb_r64_rm64,
    Op::Cmovae_r64_rm64,
    Op::Cmove_r64_rm64,
    Op::Cmovne_r64_rm64,
    Op::Cmovbe_r64_rm64,
    Op::Cmova_r64_rm64,
    Op::Cmovs_r64_rm64,
    Op::Cmovns_r64_rm64,
    Op::Cmovp_r64_rm64,
    Op::Cmovnp_r64_rm64,
    Op::Cmovl_r64_rm64,
    Op::Cmovge_r64_rm64,
    Op::Cmovle_r64_rm64,
    Op::Cmovg_r64_rm64,
];

/// Conditional moves of 32 bits, which clear the upper half of their destination.
const SHORT_MOVES: [Op; 16] = [
    Op::Cmovo_r32_rm32,
    Op::Cmovno_r32_rm32,
    Op::Cmovb_r32_rm32,
    Op::Cmovae_r32_rm32,
    Op::Cmove_r32_rm32,
    Op::Cmovne_r32_rm32,
    Op::Cmovbe_r32_rm32,
    Op::Cmova_r32_rm32,
    Op::Cmovs_r32_rm32,
    Op::Cmovns_r32_rm32,
    Op::Cmovp_r32_rm32,
    Op::Cmovnp_r32_rm32,
    Op::Cmovl_r32_rm32,
    Op::Cmovge_r32_rm32,
    Op::Cmovle_r32_rm32,
    Op::Cmovg_r32_rm32,
];

/// An operand.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    Reg(Register),
    /// The memory at a register's address plus a distance.
    At(Register, i64),
    /// The memory at the sum of two registers.
    Sum(Register, Register),
    Number(OpKind, i64),
}

impl From<Register> for Operand {
    fn from(register: Register) -> Operand {
        Operand::Reg(register)
    }
}

/// Returns an immediate of eight bits.
pub(super) fn byte(number: u8) -> Operand {
    Operand::Number(OpKind::Immediate8, number.into())
}

/// Returns an immediate of 32 bits, sign-extended to the width of its instruction.
pub(super) fn number(bits: u8, number: i32) -> Operand {
    let kind = if bits == 64 { OpKind::Immediate32to64 } else { OpKind::Immediate32 };
    Operand::Number(kind, number.into())
}

impl Code {
    /// Returns the place of the next instruction.
    pub fn here(&self) -> u32 {
        self.listing.instructions.len() as u32
    }

    pub fn label(&mut self) -> Label {
        self.labels.push(u32::MAX);
        Label(self.labels.len() - 1)
    }

    pub fn bind(&mut self, label: Label) {
        self.labels[label.0] = self.here();
    }

    /// Returns the place of a label; a place without code if it is bound nowhere.
    pub fn place(&self, label: Label) -> u32 {
        self.labels[label.0]
    }

    fn push(&mut self, mut inst: Instruction) {
        inst.set_len(1);
        inst.set_next_ip(u64::from(self.here()) + 1);
        self.listing.instructions.push(inst);
    }

    /// Writes an instruction without operands.
    pub fn plain(&mut self, op: Op) {
        self.push(instruction(op, &[]));
    }

    pub fn one(&mut self, op: Op, operand: impl Into<Operand>) {
        self.push(instruction(op, &[operand.into()]));
    }

    pub fn two(&mut self, op: Op, a: impl Into<Operand>, b: impl Into<Operand>) {
        self.push(instruction(op, &[a.into(), b.into()]));
    }

    pub fn three(&mut self, op: Op, a: impl Into<Operand>, b: impl Into<Operand>, c: impl Into<Operand>) {
        self.push(instruction(op, &[a.into(), b.into(), c.into()]));
    }

    /// Writes an instruction that is atomic for other threads.
    pub fn locked(&mut self, op: Op, a: impl Into<Operand>, b: impl Into<Operand>) {
        let mut inst = instruction(op, &[a.into(), b.into()]);
        inst.set_has_lock_prefix(true);
        self.push(inst);
    }

    /// Copies a home to a register.
    pub fn get(&mut self, register: Register, home: u32) {
        let op = if register.is_gpr() { Op::Mov_r64_rm64 } else { Op::Movq_xmm_xmmm64 };
        self.push(of_home(instruction(op, &[register.into(), Operand::At(Register::None, home.into())])));
    }

    /// Copies a register to a home.
    pub fn put(&mut self, home: u32, register: Register) {
        let op = if register.is_gpr() { Op::Mov_rm64_r64 } else { Op::Movq_xmmm64_xmm };
        self.push(of_home(instruction(op, &[Operand::At(Register::None, home.into()), register.into()])));
    }

    /// Puts a number into a register.
    pub fn constant(&mut self, register: Register, number: i64) {
        self.two(Op::Mov_r64_imm64, register, Operand::Number(OpKind::Immediate64, number));
    }

    pub fn set(&mut self, cc: usize, register: Register) {
        self.one(SETS[cc], register);
    }

    pub fn select(&mut self, bits: u8, cc: usize, to: Register, from: Register) {
        self.two(if bits == 64 { MOVES } else { SHORT_MOVES }[cc], to, from);
    }

    pub fn jump(&mut self, to: Label) {
        self.jump_by(Op::Jmp_rel32_64, to);
    }

    pub fn branch(&mut self, cc: usize, to: Label) {
        self.jump_by(BRANCHES[cc], to);
    }

    fn jump_by(&mut self, op: Op, to: Label) {
        self.jumps.push((self.here() as usize, to));
        let mut inst = Instruction::new();
        inst.set_code(op);
        inst.set_op0_kind(OpKind::NearBranch64);
        self.push(inst);
    }

    /// Puts the address of a jump table into a register.
    pub fn table(&mut self, register: Register, entries: Vec<Label>) {
        self.tables.push((self.here() as usize, entries));
        self.two(Op::Lea_r64_m, register, Operand::At(Register::RIP, 0));
    }

    /// Records that the next instruction may trap.
    pub fn trap(&mut self, trap: TrapSite) {
        debug_assert_eq!(trap.pc, self.here());
        self.listing.traps.push(trap);
    }

    /// Records that the previous instruction is a call.
    pub fn call(&mut self, call: CallSite) {
        debug_assert_eq!(call.return_pc, self.here());
        self.listing.calls.push(call);
    }

    /// Returns where the last call returns.
    pub fn last_return(&self) -> u32 {
        self.listing.calls.last().map_or(0, |call| call.return_pc)
    }

    /// Records that an exception that leaves a call lands at the next instruction.
    pub fn landing(&mut self, landing: Landing) {
        debug_assert_eq!(landing.pc, self.here());
        self.listing.landings.push(landing);
    }

    /// Returns the code, with all labels replaced by their places.
    pub fn finish(mut self) -> Listing {
        for (at, label) in std::mem::take(&mut self.jumps) {
            let place = self.place(label);
            self.listing.instructions[at].set_near_branch64(place.into());
        }
        let mut start = self.here().next_multiple_of(4);
        for (at, entries) in std::mem::take(&mut self.tables) {
            self.listing.instructions[at].set_memory_displacement64(start.into());
            let distance = |&label: &Label| self.place(label).wrapping_sub(start).cast_signed();
            let entries: Vec<i32> = entries.iter().map(distance).collect();
            let end = start + 4 * entries.len() as u32;
            self.listing.tables.push((start, entries));
            start = end;
        }
        self.listing
    }
}

fn instruction(op: Op, operands: &[Operand]) -> Instruction {
    let mut inst = Instruction::new();
    inst.set_code(op);
    for (at, operand) in (0..).zip(operands) {
        match *operand {
            Operand::Reg(register) => {
                inst.set_op_kind(at, OpKind::Register);
                inst.set_op_register(at, register);
            }
            Operand::At(base, offset) => {
                inst.set_op_kind(at, OpKind::Memory);
                inst.set_memory_base(base);
                inst.set_memory_displacement64(offset.cast_unsigned());
                inst.set_memory_displ_size(8);
            }
            Operand::Sum(base, index) => {
                inst.set_op_kind(at, OpKind::Memory);
                inst.set_memory_base(base);
                inst.set_memory_index(index);
                inst.set_memory_index_scale(1);
            }
            Operand::Number(kind, number) => {
                inst.set_op_kind(at, kind);
                inst.set_immediate_i64(at, number);
            }
        }
    }
    inst
}

/// Marks the memory operand of an instruction as a home.
fn of_home(mut inst: Instruction) -> Instruction {
    inst.set_segment_prefix(Register::FS);
    inst
}
