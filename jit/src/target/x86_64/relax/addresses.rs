//! Folds addresses of frame slots into the instructions that use them.
//!
//! If Cranelift folds a read of the frame into its user, it first takes the address into a register. That costs an
//! instruction, and a slot whose address is known may be written through it, so that redundant-move elimination
//! (`redundant_moves`) learns nothing about the slot.
//! Input: the pieces of a function. Output: the same pieces, in which such instructions name the slot themselves;
//! `redundant_moves` removes the addresses that are no longer read.
//! Invariant: between the two nothing writes the register or the stack pointer, and there is no call.
//! Example: `lea 8(%rsp), %rax; …; add (%rax), %ecx` becomes `lea 8(%rsp), %rax; …; add 8(%rsp), %ecx`.

use iced_x86::{Code, Decoder, DecoderOptions, EncodingKind, Register};

use super::effects::slot;
use super::search::{Search, block_of, written};
use super::{CodeItem, Encoded, Kind};

/// The number of instructions behind an address that are searched.
const FARTHEST: usize = 16;

/// Folds frame addresses into their users. `blocks` holds the starts of the basic blocks.
pub(super) fn name(pieces: &mut [CodeItem], bytes: &[u8], blocks: &[u32]) {
    for at in 0..pieces.len() {
        let is_code = matches!(pieces[at].kind, Kind::Plain { .. });
        if !is_code || !takes_address(&bytes[pieces[at].old as usize..]) {
            continue;
        }
        let mut search = Search::new(pieces, bytes);
        for (user, code) in search.renamed(at, blocks) {
            pieces[user].replace(Kind::Encoded(code));
        }
    }
}

/// Reports whether code begins with `lea displacement(%rsp), …`: few instructions do, and decoding all would take long.
fn takes_address(code: &[u8]) -> bool {
    matches!(*code, [0x48 | 0x4c, 0x8d, mode, 0x24, ..] if mode & 7 == 4 && mode >> 6 != 3)
}

impl Search<'_> {
    /// Returns new encodings of the instructions that use the frame address which the instruction at `at` takes.
    fn renamed(&mut self, at: usize, blocks: &[u32]) -> Vec<(usize, Encoded)> {
        let inst = self.inst(at);
        let taken = (inst.code() == Code::Lea_r64_m).then(|| slot(&inst).zip(written(&inst))).flatten();
        let Some((slot, register)) = taken else { return Vec::new() };
        let block = block_of(blocks, self.pieces[at].old);
        let mut users = Vec::new();
        for user in (at + 1..self.pieces.len()).take(FARTHEST) {
            let is_near = block_of(blocks, self.pieces[user].old) == block;
            match self.pieces[user].kind {
                Kind::Nothing => continue,
                Kind::Plain { .. } | Kind::ShortNumber { .. } | Kind::Relative { .. } if is_near => {}
                // A callee writes registers, and code at a block start also runs after other code.
                _ => break,
            }
            if self.may_write(user, Register::RSP) {
                break;
            }
            if self.pieces[user].kind == (Kind::Plain { padding: 0 }) {
                users.extend(with_slot(self.code(user), register, slot).map(|code| (user, code)));
            }
            if self.may_write(user, register) {
                break;
            }
        }
        users
    }
}

/// Re-encodes an instruction whose memory operand is at a register, with a frame slot as the operand instead.
fn with_slot(code: &[u8], register: Register, slot: i32) -> Option<Encoded> {
    let mut decoder = Decoder::new(64, code, DecoderOptions::NONE);
    let inst = decoder.decode();
    let is_plain = inst.memory_index() == Register::None && inst.segment_prefix() == Register::None;
    if inst.memory_base() != register || !is_plain || inst.encoding() != EncodingKind::Legacy {
        return None;
    }
    let place = slot.checked_add(inst.memory_displacement64() as i32)?;
    let constants = decoder.get_constant_offsets(&inst);
    let number = if constants.has_immediate() { constants.immediate_offset() } else { code.len() };
    let behind = if constants.has_displacement() { constants.displacement_offset() } else { number };
    // A register whose number ends in 4 needs a SIB byte after the mode byte.
    let mode = behind - if register.number() & 7 == 4 { 2 } else { 1 };
    Encoded::with_slot(&code[..mode], code[mode], place, &code[number..])
}

#[cfg(test)]
mod tests {
    use iced_x86::{Formatter, GasFormatter, Instruction};

    use super::super::{Layout, relax};
    use super::*;
    use crate::code::MachineCode;

    /// Returns the instructions of relaxed code.
    fn relaxed(parts: &[&[u8]], blocks: &[u32]) -> Vec<String> {
        let mut code = MachineCode { align: 16, bytes: parts.concat(), ..MachineCode::default() };
        relax(&mut code, &Layout { blocks, ..Layout::UNKNOWN });
        let mut formatter = GasFormatter::new();
        let text = |inst: Instruction| {
            let mut text = String::new();
            formatter.format(&inst, &mut text);
            text
        };
        Decoder::new(64, &code.bytes, DecoderOptions::NONE).into_iter().map(text).collect()
    }

    /// lea 8(%rsp), %rax
    const ADDRESS: [u8; 5] = [0x48, 0x8d, 0x44, 0x24, 8];
    const RET: [u8; 1] = [0xc3];

    #[test]
    fn a_place_is_named_by_what_reads_it() {
        // mov %rdx, %rax, so that the address is dead.
        let only = |user: &[u8]| relaxed(&[&ADDRESS, user, &[0x48, 0x89, 0xd0], &RET], &[0]);
        // add (%rax), %ecx; imul $300, 4(%rax), %r9d; movzbl 0x100(%rax), %ecx; mov %r8b, (%rax); cmpl $7, -8(%rax); cmove
        // (%rax), %ecx; mov %r9w, (%rax)
        let users: [(&[u8], &str); 7] = [
            (&[0x03, 0x08], "add 8(%rsp),%ecx"),
            (&[0x44, 0x69, 0x48, 4, 44, 1, 0, 0], "imul $0x12C,0xC(%rsp),%r9d"),
            (&[0x0f, 0xb6, 0x88, 0, 1, 0, 0], "movzbl 0x108(%rsp),%ecx"),
            (&[0x44, 0x88, 0x00], "mov %r8b,8(%rsp)"),
            (&[0x83, 0x78, 0xf8, 7], "cmpl $7,(%rsp)"),
            (&[0x0f, 0x44, 0x08], "cmove 8(%rsp),%ecx"),
            (&[0x66, 0x44, 0x89, 0x08], "mov %r9w,8(%rsp)"),
        ];
        for (user, text) in users {
            assert_eq!(only(user)[0].to_lowercase(), text.to_lowercase());
        }
        // The register is also the other operand: add (%rax), %rax.
        assert_eq!(relaxed(&[&ADDRESS, &[0x48, 0x03, 0x00], &RET], &[0])[1], "add 8(%rsp),%rax");
    }

    #[test]
    fn registers_are_named_in_different_ways() {
        for number in (0..15).filter(|number| ![4, 5].contains(number)) {
            // lea 8(%rsp), %number; add (%number), %ecx, where 12 needs an index, and 13 a displacement.
            let address = [0x48 | number >> 3 << 2, 0x8d, 0x44 | (number & 7) << 3, 0x24, 8];
            let mode = 0x08 | number & 7 | if number & 7 == 5 { 0x40 } else { 0 };
            let rest: &[u8] = match number & 7 {
                4 => &[0x24],
                5 => &[0],
                _ => &[],
            };
            let user = [&[0x40 | number >> 3, 0x03, mode], rest].concat();
            // mov %rdx, %number
            let clear = [0x48 | number >> 3, 0x89, 0xd0 | number & 7];
            let lines = relaxed(&[&address, &user, &clear, &RET], &[0]);
            // The address stays live in the first two: the sum reads it, and so does the move of a register to itself.
            let line = if [1, 2].contains(&number) { &lines[1] } else { &lines[0] };
            assert!(line.ends_with("add 8(%rsp),%ecx"), "{number}: {lines:?}");
        }
    }

    #[test]
    fn tables_behind_the_code_are_none() {
        // movzbl (%rdi), %eax; mov $2, %ecx; mov %eax, %eax; cmp %ecx, %eax; cmovb %eax, %ecx
        let index = [0x0f, 0xb6, 0x07, 0xb9, 2, 0, 0, 0, 0x89, 0xc0, 0x39, 0xc8, 0x0f, 0x42, 0xc8];
        // lea table(%rip), %rdx; movslq (%rdx, %rcx, 4), %rcx; add %rcx, %rdx; jmp *%rdx; the table
        let jump = [0x48, 0x8d, 0x15, 9, 0, 0, 0, 0x48, 0x63, 0x0c, 0x8a, 0x48, 0x01, 0xca, 0xff, 0xe2];
        let table = [12; 3].map(i32::to_le_bytes).concat();
        // The table gets an entry for each byte, none of which exist in the original code.
        let lines = relaxed(&[&index, &jump, &table, &ADDRESS, &[0x03, 0x08], &RET], &[0, 43]);
        assert!(lines.contains(&"add 8(%rsp),%ecx".to_owned()), "{lines:?}");
    }

    #[test]
    fn what_may_be_elsewhere_is_not_named() {
        let ends = |parts: &[&[u8]], blocks: &[u32]| {
            let lines = relaxed(parts, blocks);
            lines[lines.len() - 2].clone()
        };
        let user = [0x03, 0x08];
        // The register has been overwritten: mov %rdx, %rax.
        assert_eq!(ends(&[&ADDRESS, &[0x48, 0x89, 0xd0], &user, &RET], &[0]), "add (%rax),%ecx");
        // There is an index: add (%rax,%rdx), %ecx.
        assert_eq!(ends(&[&ADDRESS, &[0x03, 0x0c, 0x10], &RET], &[0]), "add (%rax,%rdx),%ecx");
        // The frame has moved: add $8, %rsp.
        assert_eq!(ends(&[&ADDRESS, &[0x48, 0x83, 0xc4, 8], &user, &RET], &[0]), "add (%rax),%ecx");
        // A callee may have written it: call *%rbx.
        assert_eq!(ends(&[&ADDRESS, &[0xff, 0xd3], &user, &RET], &[0]), "add (%rax),%ecx");
        // Other code jumps there, too.
        assert_eq!(ends(&[&ADDRESS, &user, &RET], &[0, 5]), "add (%rax),%ecx");
    }
}
