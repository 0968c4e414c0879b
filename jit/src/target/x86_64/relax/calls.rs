//! Merges calls through memory into one instruction.
//!
//! Cranelift reads the address of a callee into a register and calls that, with other instructions, mostly moves of
//! arguments, in between; for a direct call it first puts the place of that address into another register, and for a
//! dispatch it shifts the index of the cell.
//! Input: the pieces of a function. Output: the same pieces, with one instead of several where that provably does the
//! same.
//! Invariant: the registers that held the place and the address are dead behind the call, and the instructions in
//! between do not use them.
//! Example: `mov $place, %eax; mov (%rax), %rcx; …; call *%rcx` becomes `…; call *place`, and `shl $2, %rax; mov
//! cells(%rax), %edx; mov (%rdx), %rcx; …; call *%rcx` becomes `mov cells(, %rax, 4), %edx; …; call *(%rdx)`.

use std::ops::Range;

use iced_x86::{Code, Instruction, OpAccess, OpKind, Register};

use super::conventions::{DEAD_BEHIND_CALLS, PRESERVED};
use super::search::{Search, block_of, written};
use super::{CodeItem, Encoded, Kind, Registers};

/// The number of instructions before a call among which its address is searched.
const FARTHEST: usize = 16;

/// Merges the instructions that make up calls. `blocks` holds the starts of the basic blocks.
pub(super) fn merge(pieces: &mut [CodeItem], bytes: &[u8], blocks: &[u32]) {
    for call in 0..pieces.len() {
        if pieces[call].kind != Kind::Call {
            continue;
        }
        let block = block_of(blocks, pieces[call].old);
        let mut search = Search::new(pieces, bytes);
        for (at, code) in block.and_then(|block| search.merged(call, block)).unwrap_or_default() {
            pieces[at].replace(match code {
                None => Kind::Nothing,
                Some(code) if at == call => Kind::EncodedCall(code),
                Some(code) => Kind::Encoded(code),
            });
        }
    }
}

/// Changes to pieces: new code, or `None` for a piece that is removed.
type Changes = Vec<(usize, Option<Encoded>)>;

impl Search<'_> {
    /// Returns the changes that merge `call` with its address computation, if its basic block begins at `block`.
    fn merged(&mut self, call: usize, block: u32) -> Option<Changes> {
        let target = called_register(&self.inst(call)).filter(|&target| !is_among(target, PRESERVED))?;
        let first = (0..call).rev().take(FARTHEST).take_while(|&at| self.pieces[at].old >= block).last()?;
        let reads = self.last_use(first..call, target)?;
        let read = self.inst(reads);
        let held = place_register(&read).filter(|_| written(&read) == Some(target))?;
        let makes = self.last_use(first..reads, held)?;
        let made = self.inst(makes);
        let displacement = read.memory_displacement64() as i32;
        if written(&made) != Some(held) {
            return None;
        }
        let is_gone = held == target || self.is_gone(held, reads + 1..call);
        if let Some(place) = constant(&made).filter(|_| is_gone) {
            let place = i32::try_from(place.checked_add_signed(displacement)?).ok()?;
            return Some(vec![(makes, None), (reads, None), (call, Some(Encoded::call_place(place)))]);
        }
        let index = (made.code() == Code::Mov_r32_rm32)
            .then(|| made.memory_base())
            .filter(|&base| is_at(&made, base))?;
        let shifts = self.last_use(first..makes, index)?;
        let is_unshifted = index == held || index == target || self.is_gone(index, makes + 1..call);
        // Then the target register may hold the place from the beginning.
        let is_free = held == target || self.last_use(makes + 1..reads, target).is_none();
        let is_merged = is_scale(&self.inst(shifts), index) && is_gone && is_unshifted && is_free;
        let cells = is_merged.then(|| made.memory_displacement64() as i32)?;
        let read_cell = Encoded::read_cell(cells, index, target)?;
        let called = Encoded::call_at(target, i8::try_from(displacement).ok()?)?;
        Some(vec![(shifts, None), (makes, Some(read_cell)), (reads, None), (call, Some(called))])
    }

    /// Reports whether no instruction of a range, nor any behind the call that follows it, reads a register.
    fn is_gone(&mut self, register: Register, mut range: Range<usize>) -> bool {
        match range.find_map(|at| self.access(at, register)) {
            Some(access) => access == OpAccess::Write,
            None => is_among(register, DEAD_BEHIND_CALLS),
        }
    }
}

/// Matches `call *%register`.
fn called_register(inst: &Instruction) -> Option<Register> {
    (inst.code() == Code::Call_rm64 && inst.op0_kind() == OpKind::Register).then(|| inst.op0_register())
}

/// Matches `mov displacement(%register), …`.
fn place_register(inst: &Instruction) -> Option<Register> {
    let base = inst.memory_base();
    (inst.code() == Code::Mov_r64_rm64 && base.is_gpr64() && is_at(inst, base)).then_some(base)
}

/// Reports whether the second operand is `displacement(%base)`.
fn is_at(inst: &Instruction, base: Register) -> bool {
    let has_index = inst.memory_index() != Register::None || inst.segment_prefix() != Register::None;
    inst.op1_kind() == OpKind::Memory && inst.memory_base() == base && !has_index
}

/// Matches `shl $2, %register`.
fn is_scale(inst: &Instruction, register: Register) -> bool {
    inst.code() == Code::Shl_rm64_imm8
        && inst.op0_kind() == OpKind::Register
        && inst.op0_register() == register
        && inst.immediate8() == 2
}

/// Reports whether a register is in a set of general registers.
fn is_among(register: Register, all: Registers) -> bool {
    register.is_gpr64() && all >> register.number() & 1 == 1
}

/// Matches `mov $constant, …`.
fn constant(inst: &Instruction) -> Option<u32> {
    (inst.code() == Code::Mov_r32_imm32).then(|| inst.immediate32())
}
