//! Searches code for the uses of a register.

use std::ops::Range;

use iced_x86::{Decoder, DecoderOptions, Instruction, InstructionInfoFactory, OpAccess, OpKind, Register};

use super::CodeItem;

/// Returns the beginning of the basic block that contains a place; `blocks` holds the starts of the blocks.
pub(super) fn block_of(blocks: &[u32], place: u32) -> Option<u32> {
    let behind = blocks.partition_point(|&block| block <= place);
    behind.checked_sub(1).map(|at| blocks[at])
}

/// Decodes pieces as the original instructions.
pub(super) struct Search<'a> {
    pub pieces: &'a [CodeItem],
    bytes: &'a [u8],
    usage: InstructionInfoFactory,
}

impl<'a> Search<'a> {
    pub fn new(pieces: &'a [CodeItem], bytes: &'a [u8]) -> Search<'a> {
        Search { pieces, bytes, usage: InstructionInfoFactory::new() }
    }

    /// Returns the original bytes of a piece.
    pub fn code(&self, at: usize) -> &[u8] {
        let piece = &self.pieces[at];
        &self.bytes[piece.old as usize..(piece.old + piece.old_len) as usize]
    }

    pub fn inst(&self, at: usize) -> Instruction {
        let begin = self.pieces[at].old;
        let bytes = &self.bytes[begin as usize..];
        Decoder::with_ip(64, bytes, begin.into(), DecoderOptions::NONE).decode()
    }

    /// Returns the last instruction of a range that reads or writes a register; `None` if there is none.
    pub fn last_use(&mut self, range: Range<usize>, register: Register) -> Option<usize> {
        range.rev().find(|&at| self.access(at, register).is_some())
    }

    /// Returns the last instruction of a range that may write a register.
    pub fn last_write(&mut self, range: Range<usize>, register: Register) -> Option<usize> {
        range.rev().find(|&at| self.may_write(at, register))
    }

    /// Reports whether an instruction may write a register.
    pub fn may_write(&mut self, at: usize, register: Register) -> bool {
        self.access(at, register).is_some_and(|access| access != OpAccess::Read)
    }

    /// Returns how an instruction accesses a register.
    pub fn access(&mut self, at: usize, register: Register) -> Option<OpAccess> {
        let inst = self.inst(at);
        let used = self.usage.info(&inst).used_registers().iter();
        let accesses: Vec<OpAccess> = used
            .filter(|used| used.register().full_register() == register)
            .map(|used| used.access())
            .collect();
        match accesses[..] {
            [] => None,
            [access] => Some(access),
            _ => Some(OpAccess::ReadWrite),
        }
    }
}

/// Returns the full register of the first operand.
pub(super) fn written(inst: &Instruction) -> Option<Register> {
    (inst.op0_kind() == OpKind::Register).then(|| inst.op0_register().full_register())
}
