//! The effects of an instruction on registers and on the frame.

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, OpAccess, OpKind,
    Register,
};

use super::conventions::KEPT_OR_RESULT;
use super::{CodeItem, Kind, Layout};

/// A set of general registers, as bits by their numbers.
pub(in crate::target::x86_64) type Registers = u16;

/// All general registers.
pub(super) const ALL: Registers = !0;
/// The registers that never count as holding a frame value: the stack registers, and the pinned one, which signal
/// handlers change.
const SPECIAL: Registers = 1 << 4 | 1 << 5 | 1 << 15;
/// Bytes of a general register.
pub(super) const WIDTH: i32 = 8;

/// The effect of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effect {
    pub reads: Registers,
    pub writes: Registers,
    pub what: What,
    /// Whether the next piece or a known jump target runs next; false for returns, indirect jumps and exceptions.
    pub goes_on: bool,
}

/// The effect of an instruction on the frame and on memory. Slots are distances from the stack pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Writes no memory.
    Other,
    /// Writes memory at an unknown place.
    Elsewhere,
    /// Copies a register.
    Move { from: u8, to: u8 },
    /// Copies eight bytes of the frame to a register.
    Load { slot: i32, to: u8 },
    /// Copies a register to the frame.
    Store { slot: i32, from: u8 },
    /// Writes `len` bytes of the frame.
    Write { slot: i32, len: i32 },
    /// Takes an address in the frame; `to` is its destination, if the instruction does nothing else.
    Address { to: Option<u8> },
    /// May do anything in memory, and slots may have moved afterwards: the instruction calls, or moves the stack
    /// pointer.
    Anything,
}

/// Returns the registers that callers may read when a function with that many results has returned.
pub(in crate::target::x86_64) fn returned(results: usize) -> Registers {
    if results <= 1 { KEPT_OR_RESULT } else { ALL }
}

impl Effect {
    pub const NONE: Effect = Effect { reads: 0, writes: 0, what: What::Other, goes_on: true };

    fn anything(goes_on: bool) -> Effect {
        Effect { reads: ALL, writes: ALL, what: What::Anything, goes_on }
    }

    pub fn moved(from: u8, to: u8) -> Effect {
        Effect { reads: 1 << from, writes: 1 << to, what: What::Move { from, to }, goes_on: true }
    }

    /// Returns the destination of a copy or of a frame address, if the instruction does nothing else.
    pub fn destination(&self) -> Option<u8> {
        match self.what {
            What::Move { to, .. } | What::Load { to, .. } => Some(to),
            What::Address { to } => to,
            _ => None,
        }
    }
}

/// Reports whether a register may hold a value of the frame.
fn is_usual(number: u8) -> bool {
    SPECIAL >> number & 1 == 0
}

/// Returns the effects of pieces, in their order.
pub(super) fn effects(pieces: &[CodeItem], bytes: &[u8], layout: &Layout<'_>) -> Vec<Effect> {
    let mut usage = InstructionInfoFactory::new();
    let mut decoder = Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE);
    let mut inst = Instruction::default();
    let effect = |piece: &CodeItem| {
        match &piece.kind {
            Kind::Plain { .. }
            | Kind::ShortNumber { .. }
            | Kind::Relative { .. }
            | Kind::Call
            | Kind::TableJump => {
                decoder.set_position(piece.old as usize).expect("it is a place in the code");
                decoder.decode_out(&mut inst);
            }
            Kind::Encoded(code) | Kind::EncodedCall(code) => {
                inst = Decoder::new(64, code.bytes(), DecoderOptions::NONE).decode()
            }
            &Kind::Table { register, .. } => return Effect { writes: 1 << register, ..Effect::NONE },
            Kind::Nothing
            | Kind::Jump { .. }
            | Kind::Branch { .. }
            | Kind::Entry { .. }
            | Kind::Constants => return Effect::NONE,
        }
        match inst.flow_control() {
            FlowControl::Call | FlowControl::IndirectCall if is_transparent(piece, layout) => {
                transparent_call(&inst)
            }
            FlowControl::Return => Effect { reads: layout.returned, ..Effect::anything(false) },
            _ => effect(&inst, &mut usage),
        }
    };
    pieces.iter().map(effect).collect()
}

/// Reports whether a call neither reads nor changes any register.
fn is_transparent(call: &CodeItem, layout: &Layout<'_>) -> bool {
    let at = layout.transparent_calls.partition_point(|&(_, end)| end <= call.old);
    layout.transparent_calls.get(at).is_some_and(|&(begin, _)| begin <= call.old)
}

/// Returns the effect of a transparent call: it reads its target. The frame belongs to its caller, but the callee may
/// know its address.
fn transparent_call(inst: &Instruction) -> Effect {
    let target = [inst.op_register(0), inst.memory_base(), inst.memory_index()].map(Register::full_register);
    let target = target.iter().filter(|register| register.is_gpr64());
    let reads = target.fold(0, |all, register| all | 1 << register.number());
    Effect { reads, writes: 0, what: What::Elsewhere, goes_on: true }
}

fn effect(inst: &Instruction, usage: &mut InstructionInfoFactory) -> Effect {
    let flow = inst.flow_control();
    if flow != FlowControl::Next || inst.has_lock_prefix() || inst.has_rep_prefix() || inst.has_repne_prefix()
    {
        return Effect::anything(!matches!(
            flow,
            FlowControl::Return
                | FlowControl::UnconditionalBranch
                | FlowControl::IndirectBranch
                | FlowControl::Exception
        ));
    }
    let info = usage.info(inst);
    let (mut reads, mut writes) = (0, 0);
    for used in info.used_registers() {
        let register = used.register().full_register();
        if !register.is_gpr64() {
            continue;
        }
        let set = 1 << register.number();
        match used.access() {
            OpAccess::Write if used.register().size() >= 4 => writes |= set,
            OpAccess::Read => reads |= set,
            OpAccess::None | OpAccess::NoMemAccess => {}
            // A register that is written in part, or conditionally, also counts as read.
            _ => (reads, writes) = (reads | set, writes | set),
        }
    }
    if writes >> Register::RSP.number() & 1 == 1 {
        return Effect { reads, writes, what: What::Anything, goes_on: true };
    }
    let written: Vec<_> = info
        .used_memory()
        .iter()
        .filter(|used| !matches!(used.access(), OpAccess::Read | OpAccess::CondRead))
        .collect();
    let what = match written[..] {
        [] => without_write(inst, writes),
        [used] if used.base() == Register::RSP => {
            match (slot(inst), i32::try_from(used.memory_size().size())) {
                (Some(slot), Ok(len)) => store(inst, slot).unwrap_or(What::Write { slot, len }),
                _ => What::Anything,
            }
        }
        // Below the frame pointer lies this function's own frame.
        [used] if used.base() == Register::RBP => What::Anything,
        [_] => What::Elsewhere,
        _ => What::Anything,
    };
    Effect { reads, writes, what, goes_on: true }
}

/// Returns the effect of an instruction that writes some registers and no memory.
fn without_write(inst: &Instruction, writes: Registers) -> What {
    let is_pointer = |register: Register| matches!(register, Register::RSP | Register::RBP);
    let is_operand = |op| inst.op_kind(op) == OpKind::Register && is_pointer(inst.op_register(op));
    let is_taken = matches!(inst.code(), Code::Lea_r64_m | Code::Lea_r32_m) && is_pointer(inst.memory_base())
        || (0..inst.op_count()).any(is_operand);
    // Prologues take the stack pointer only into the frame pointer, which is not an operand of any store into the
    // frame.
    if is_taken && writes & !SPECIAL != 0 {
        let to = register(inst, 0).filter(|_| inst.code() == Code::Lea_r64_m);
        return What::Address { to };
    }
    let Some(to) = register(inst, 0).filter(|&to| is_usual(to)) else { return What::Other };
    match (inst.code(), register(inst, 1)) {
        (Code::Mov_r64_rm64 | Code::Mov_rm64_r64, Some(from)) if is_usual(from) => What::Move { from, to },
        (Code::Mov_r64_rm64, None) => slot(inst).map_or(What::Other, |slot| What::Load { slot, to }),
        _ => What::Other,
    }
}

fn store(inst: &Instruction, slot: i32) -> Option<What> {
    let from = register(inst, 1).filter(|&from| inst.code() == Code::Mov_rm64_r64 && is_usual(from))?;
    Some(What::Store { slot, from })
}

/// Returns the number of the general register that is operand `op`.
fn register(inst: &Instruction, op: u32) -> Option<u8> {
    let register = (inst.op_kind(op) == OpKind::Register).then(|| inst.op_register(op))?;
    register.is_gpr64().then(|| register.number() as u8)
}

/// Returns the frame slot of an instruction's memory operand.
pub(super) fn slot(inst: &Instruction) -> Option<i32> {
    let is_plain = inst.memory_base() == Register::RSP
        && inst.memory_index() == Register::None
        && inst.segment_prefix() == Register::None;
    is_plain.then_some(inst.memory_displacement64() as i32)
}

/// Reports whether two parts of the frame overlap; the first has the width of a register.
pub(super) fn overlap(slot: i32, (other, len): (i32, i32)) -> bool {
    i64::from(slot) < i64::from(other) + i64::from(len)
        && i64::from(other) < i64::from(slot) + i64::from(WIDTH)
}
