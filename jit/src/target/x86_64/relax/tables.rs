//! Moves jump tables behind the code, shares equal ones, and removes the bounds test of an index that is a byte.
//!
//! Cranelift writes the table of each jump right behind it, so that the following code lies further away, and clamps an
//! index that is too large to the last entry.
//! Input: the pieces of a function. Output: the same pieces, with each distinct table once, behind all else; if the
//! index is a byte, its table has an entry for each byte instead of the test.
//! Invariant: with each index that it may have, each jump leads to the same target as before.
//! Example: `movzbl (%rdi), %eax; mov $2, %ecx; mov %eax, %eax; cmp %ecx, %eax; cmovb %eax, %ecx; lea table, %rdx;
//! movslq (%rdx, %rcx, 4), %rcx; …` becomes `movzbl (%rdi), %eax; lea longer, %rdx; movslq (%rdx, %rax, 4), %rcx; …`.

use std::collections::BTreeMap;
use std::ops::Range;

use iced_x86::{Code, Instruction, OpKind, Register};

use super::read::ENTRY;
use super::search::{Search, block_of, written};
use super::{CodeItem, Encoded, Kind};

/// The number of values of a byte.
const BYTES: usize = 1 << 8;

/// The targets of a jump table's entries, in their order.
type Targets = Vec<u32>;

/// Moves the jump tables behind all else and shares equal ones; `blocks` holds the starts of the basic blocks.
pub(super) fn share(pieces: &mut Vec<CodeItem>, bytes: &[u8], blocks: &[u32]) {
    let tables = tables(pieces);
    if tables.is_empty() {
        return;
    }
    // The tables take places behind those of all pieces.
    let mut shared = Shared { next: bytes.len() as u32, places: BTreeMap::new(), entries: Vec::new() };
    for takes in 0..pieces.len() {
        let Kind::Relative { to, .. } = pieces[takes].kind else { continue };
        let Some(targets) = tables.get(&to) else { continue };
        let mut targets = targets.clone();
        let mut search = Search::new(pieces, bytes);
        let mut register = search.inst(takes).op0_register();
        let untested = block_of(blocks, pieces[takes].old).and_then(|block| {
            let first = pieces.partition_point(|piece| piece.old < block);
            search.without_test(first, takes, targets.len())
        });
        if let Some(untested) = untested {
            let otherwise = targets[targets.len() - 1];
            targets.resize(BYTES, otherwise);
            register = untested.table;
            untested.changes.into_iter().for_each(|(at, kind)| pieces[at].replace(kind));
        }
        let table = shared.place(targets);
        pieces[takes].kind = Kind::Table { register: register.number() as u8, table };
    }
    pieces.retain(|piece| !matches!(piece.kind, Kind::Entry { .. }));
    pieces.append(&mut shared.entries);
}

/// Returns all jump tables, by their places.
fn tables(pieces: &[CodeItem]) -> BTreeMap<u32, Targets> {
    let mut tables: BTreeMap<u32, Targets> = BTreeMap::new();
    for piece in pieces {
        if let Kind::Entry { table, to } = piece.kind {
            tables.entry(table).or_default().push(to);
        }
    }
    tables
}

struct Shared {
    /// The place of the next entry.
    next: u32,
    places: BTreeMap<Targets, u32>,
    entries: Vec<CodeItem>,
}

impl Shared {
    /// Returns the place of a table with these entries, and adds the table if it is new.
    fn place(&mut self, targets: Targets) -> u32 {
        let Shared { next, places, entries } = self;
        let write = |targets: &Targets| {
            let table = *next;
            for &to in targets {
                let kind = Kind::Entry { table, to };
                entries.push(CodeItem { old: *next, old_len: ENTRY, kind, new: 0, len: ENTRY });
                *next += ENTRY;
            }
            table
        };
        *places.entry(targets).or_insert_with_key(write)
    }
}

/// A jump through a table without a bounds test of its index.
struct Untested {
    /// The register that takes the place of the table.
    table: Register,
    /// The changes to the other pieces of the jump.
    changes: Vec<(usize, Kind)>,
}

impl Search<'_> {
    /// Removes the bounds test of a jump whose index is a byte. The piece `takes` takes the place of the jump's table,
    /// which has `len` entries; the jump's basic block begins with the piece `first`.
    fn without_test(&mut self, first: usize, takes: usize, len: usize) -> Option<Untested> {
        let test = takes.checked_sub(4).filter(|&test| test >= first)?;
        let [bound, extend, compare, clamp, take, read, add] =
            [0, 1, 2, 3, 4, 5, 6].map(|at| self.inst(test + at));
        let (clamped, extended) = operands(&clamp).filter(|_| clamp.code() == Code::Cmovb_r32_rm32)?;
        let (copy, index) = operands(&extend).filter(|_| is_move(&extend))?;
        let is_test = bound.code() == Code::Mov_r32_imm32
            && written(&bound) == Some(clamped)
            && bound.immediate32() as usize == len - 1
            && matches!(compare.code(), Code::Cmp_r32_rm32 | Code::Cmp_rm32_r32)
            && operands(&compare) == Some((extended, clamped))
            && copy == extended;
        let (table, entry) = operands(&add).filter(|_| is_sum(&add))?;
        let reads_entry = take.op0_register() == table
            && read.code() == Code::Movsxd_r64_rm32
            && read.op0_register() == entry
            && (read.memory_base(), read.memory_index(), read.memory_index_scale())
                == (table, clamped, ENTRY);
        if !is_test || !reads_entry || !self.is_byte(first..test, index) {
            return None;
        }
        // The place must not overwrite the index: if it would, the place and the entry swap registers, which leaves
        // their sum the same.
        let (table, entry) = if index == table { (entry, table) } else { (table, entry) };
        let mut changes = vec![(test, Kind::Nothing), (test + 2, Kind::Nothing), (test + 3, Kind::Nothing)];
        // Otherwise the instruction makes a copy, which may be needed.
        if copy == index {
            changes.push((test + 1, Kind::Nothing));
        }
        changes.push((takes + 1, Kind::Encoded(Encoded::read_entry(table, index, entry)?)));
        Some(Untested { table, changes })
    }

    /// Reports whether a register holds a zero-extended byte behind a range that control enters only at its beginning.
    fn is_byte(&mut self, range: Range<usize>, register: Register) -> bool {
        let Some(at) = self.last_write(range.clone(), register) else { return false };
        let loads = matches!(self.inst(at).code(), Code::Movzx_r32_rm8 | Code::Movzx_r64_rm8);
        let is_call = |piece: &CodeItem| matches!(piece.kind, Kind::Call | Kind::EncodedCall(_));
        // The instruction information does not include the registers that a call writes.
        loads && !self.pieces[at..range.end].iter().any(is_call)
    }
}

/// Matches a 32-bit `mov`.
fn is_move(inst: &Instruction) -> bool {
    matches!(inst.code(), Code::Mov_r32_rm32 | Code::Mov_rm32_r32)
}

/// Matches a 64-bit `add`.
fn is_sum(inst: &Instruction) -> bool {
    matches!(inst.code(), Code::Add_r64_rm64 | Code::Add_rm64_r64)
}

/// Returns the full registers of the two operands.
fn operands(inst: &Instruction) -> Option<(Register, Register)> {
    let is_register = |op| inst.op_kind(op) == OpKind::Register;
    let are_registers = inst.op_count() == 2 && is_register(0) && is_register(1);
    are_registers.then(|| (inst.op0_register().full_register(), inst.op1_register().full_register()))
}

#[cfg(test)]
mod tests {
    use super::super::{Layout, relax};
    use crate::code::MachineCode;

    /// movzbl (%rdi), %eax
    const BYTE: [u8; 3] = [0x0f, 0xb6, 0x07];
    /// mov $2, %ecx; mov %eax, %eax; cmp %ecx, %eax; cmovb %eax, %ecx
    const TEST: [u8; 12] = [0xb9, 2, 0, 0, 0, 0x89, 0xc0, 0x39, 0xc8, 0x0f, 0x42, 0xc8];
    /// movslq (%rdx, %rcx, 4), %rcx
    const READ: [u8; 4] = [0x48, 0x63, 0x0c, 0x8a];
    /// add %rcx, %rdx; jmp *%rdx
    const JUMP: [u8; 5] = [0x48, 0x01, 0xca, 0xff, 0xe2];
    const RET: [u8; 1] = [0xc3];
    const LEA: usize = 7;

    /// lea to `distance` bytes behind it, %rdx
    fn lea(distance: i32) -> Vec<u8> {
        [&[0x48, 0x8d, 0x15][..], &distance.to_le_bytes()].concat()
    }

    fn numbers(bytes: &[u8]) -> Vec<i32> {
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |all, &byte| all << 8 | i32::from(byte));
        bytes.chunks(4).map(number).collect()
    }

    /// Builds `count` jumps through tables of their own, all of which lead to the same three blocks. Returns the code,
    /// and the targets of the entries of the table at its end.
    fn jumps(parts: &[&[u8]], count: usize) -> (Vec<u8>, Vec<usize>) {
        jumps_with_block(parts, count, 0)
    }

    /// Like `jumps`, with another block that begins `at` bytes behind the beginning of each jump.
    fn jumps_with_block(parts: &[&[u8]], count: usize, at: u32) -> (Vec<u8>, Vec<usize>) {
        let parts = [parts, &[&lea(9), &READ, &JUMP]].concat().concat();
        let len = parts.len() + 12;
        let (mut bytes, mut blocks) = (Vec::new(), Vec::new());
        for jump in 0..count {
            // The three blocks lie behind all jumps.
            let to = |block: usize| (len * count + block - (len * jump + parts.len())) as i32;
            blocks.extend([(len * jump) as u32, (len * jump) as u32 + at]);
            bytes.extend([parts.clone(), [to(2), to(0), to(1)].map(i32::to_le_bytes).concat()].concat());
        }
        blocks.dedup();
        blocks.extend((0..3).map(|block| (len * count + block) as u32));
        bytes.extend(RET.repeat(3));
        let mut code = MachineCode { align: 16, bytes, ..MachineCode::default() };
        relax(&mut code, &Layout { blocks: &blocks, ..Layout::UNKNOWN });
        let table = code.data[0].0;
        assert_eq!(code.data.last().map(|&(_, end)| end), Some(code.bytes.len() as u32));
        let targets = numbers(&code.bytes[table as usize..]);
        let targets = targets.iter().map(|&to| (table as i32 + to) as usize);
        let targets = targets.collect();
        (code.bytes, targets)
    }

    /// Returns the code before the place of the table is taken, and the code that reads the table.
    fn around(parts: &[&[u8]]) -> (Vec<u8>, Vec<u8>, usize) {
        let (bytes, targets) = jumps(parts, 1);
        let takes = bytes.windows(3).position(|code| code == [0x48, 0x8d, 0x15]).expect("it is there");
        let behind = bytes[takes + LEA..].to_vec();
        let jump = behind.windows(JUMP.len()).position(|code| code == JUMP).expect("it jumps");
        (bytes[..takes].to_vec(), behind[..jump].to_vec(), targets.len())
    }

    #[test]
    fn an_index_that_is_a_byte_is_not_tested() {
        // movslq (%rdx, %rax, 4), %rcx
        let read = [0x48, 0x63, 0x0c, 0x82];
        assert_eq!(around(&[&BYTE, &TEST]), (BYTE.to_vec(), read.to_vec(), 256));
        // The first two indices have targets of their own, and all others share the last one.
        let (bytes, targets) = jumps(&[&BYTE, &TEST], 1);
        let blocks: Vec<usize> = (0..3).map(|block| 32 * (block + 1)).collect();
        assert!(blocks.iter().all(|&block| bytes[block] == RET[0]));
        assert_eq!(targets[..2], [blocks[2], blocks[0]]);
        assert_eq!(targets[2..], vec![blocks[1]; 254]);
        // The index is copied, because other code needs it: mov %eax, %esi; cmp %ecx, %esi; cmovb %esi, %ecx.
        let copied = [&TEST[..5], &[0x89, 0xc6, 0x39, 0xce, 0x0f, 0x42, 0xce]].concat();
        let (before, read_entry, len) = around(&[&BYTE, &copied]);
        assert_eq!((before, read_entry, len), ([&BYTE[..], &[0x89, 0xc6]].concat(), read.to_vec(), 256));
    }

    #[test]
    fn the_place_of_the_table_does_not_overwrite_the_index() {
        // movzbl (%rdi), %edx; mov $2, %ecx; mov %edx, %edx; cmp %ecx, %edx; cmovb %edx, %ecx
        let byte = [0x0f, 0xb6, 0x17];
        let test = [0xb9, 2, 0, 0, 0, 0x89, 0xd2, 0x39, 0xca, 0x0f, 0x42, 0xca];
        let (bytes, targets) = jumps(&[&byte, &test], 1);
        assert_eq!(targets.len(), 256);
        // lea table, %rcx; movslq (%rcx, %rdx, 4), %rdx; add %rcx, %rdx; jmp *%rdx
        assert_eq!(bytes[..6], [0x0f, 0xb6, 0x17, 0x48, 0x8d, 0x0d]);
        assert_eq!(bytes[10..19], [&[0x48, 0x63, 0x14, 0x91][..], &JUMP].concat());
    }

    #[test]
    fn other_indices_are_tested() {
        let stays = |parts: &[&[u8]]| {
            assert_eq!(around(parts), (parts.concat(), READ.to_vec(), 3), "{parts:x?}");
        };
        stays(&[&TEST]);
        // movzwl (%rdi), %eax; movsbl (%rdi), %eax
        stays(&[&[0x0f, 0xb7, 0x07], &TEST]);
        stays(&[&[0x0f, 0xbe, 0x07], &TEST]);
        // The index is overwritten behind the load: add %edi, %eax; call *%rbx, which may return a value.
        stays(&[&BYTE, &[0x01, 0xf8], &TEST]);
        stays(&[&BYTE, &[0xff, 0xd3], &TEST]);
        // mov $3, %ecx; cmp %edi, %eax; cmovbe %eax, %ecx
        stays(&[&BYTE, &[0xb9, 3, 0, 0, 0], &TEST[5..]]);
        stays(&[&BYTE, &TEST[..7], &[0x39, 0xf8], &TEST[9..]]);
        stays(&[&BYTE, &TEST[..9], &[0x0f, 0x46, 0xc8]]);
        // Control may enter behind the load.
        let after_load = jumps_with_block(&[&BYTE, &TEST], 1, BYTE.len() as u32);
        assert_eq!((after_load.1.len(), jumps(&[&BYTE, &TEST], 1).1.len()), (3, 256));
    }

    #[test]
    fn tables_with_the_same_entries_are_one() {
        for parts in [&[&TEST[..]][..], &[&BYTE, &TEST]] {
            let (bytes, targets) = jumps(parts, 3);
            assert_eq!(targets.len(), if parts.len() == 1 { 3 } else { 256 });
            let table = bytes.len() - 4 * targets.len();
            let takes: Vec<usize> =
                (0..table).filter(|&at| bytes[at..].starts_with(&[0x48, 0x8d, 0x15])).collect();
            assert_eq!(takes.len(), 3);
            for takes in takes {
                let distance = numbers(&bytes[takes + 3..takes + LEA])[0] as usize;
                assert_eq!(takes + LEA + distance, table);
            }
        }
    }
}
