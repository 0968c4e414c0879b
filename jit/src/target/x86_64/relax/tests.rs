//! Relaxation of short pieces of code.

use cranelift_codegen::ir::LibCall;
use iced_x86::{Decoder, DecoderOptions, Mnemonic};

use super::super::pinned::PADDING;
use super::effects::Effect;
use super::reach::Lost;
use super::*;
use crate::abi::TrapCode;
use crate::code::{CallSite, Landing, Reloc, TrapSite};
use crate::code::{Position, Positions};
use crate::options::PassSet;

/// mov %rax, %rcx
const MOVE: [u8; 3] = [0x48, 0x89, 0xc1];
const RET: u8 = 0xc3;

/// Encodes `jb` or `jmp` over `distance` bytes.
fn jb(distance: i32) -> Vec<u8> {
    [&[0x0f, 0x82][..], &distance.to_le_bytes()].concat()
}

fn jmp(distance: i32) -> Vec<u8> {
    [&[0xe9][..], &distance.to_le_bytes()].concat()
}

fn relaxed(parts: &[&[u8]], blocks: &[u32]) -> MachineCode {
    let bytes = parts.concat();
    let mut code = MachineCode { align: 16, bytes, ..MachineCode::default() };
    relax(&mut code, &Layout { blocks, ..Layout::UNKNOWN });
    code
}

#[test]
fn jumps_are_as_short_as_they_can_be() {
    let near = MOVE.repeat(42);
    assert_eq!(relaxed(&[&jb(126), &near, &[RET]], &[0]).bytes, [&[0x72, 126], &near[..], &[RET]].concat());
    let far = [&near[..], &MOVE].concat();
    assert_eq!(relaxed(&[&jb(129), &far, &[RET]], &[0]).bytes, [&jb(129)[..], &far, &[RET]].concat());
    // The first jump reaches its target because the second one, which it skips, becomes short.
    let code = relaxed(&[&jmp(129), &jb(0), &near[3..], &[RET]], &[0]);
    assert_eq!(code.bytes, [&[0xeb, 125, 0x72, 0], &near[3..], &[RET]].concat());
}

#[test]
fn numbers_and_checks_are_as_short_as_they_can_be() {
    // nop; a padded add $-1, %r15; jb; add $127, %eax with its shortest code; cmp $127, %ecx; cmp $128, %ecx
    let padded = [PADDING, PADDING, 0x49, 0x81, 0xc7, 0xff, 0xff, 0xff, 0xff];
    let code = relaxed(
        &[
            &nops(9),
            &padded,
            &jb(0),
            &[0x05, 127, 0, 0, 0],
            &[0x81, 0xf9, 127, 0, 0, 0],
            &[0x81, 0xf9, 128, 0, 0, 0],
            &[RET],
        ],
        &[0],
    );
    let short = [0x49, 0x83, 0xc7, 0xff, 0x72, 0, 0x05, 127, 0, 0, 0, 0x83, 0xf9, 127];
    assert_eq!(code.bytes, [&short[..], &[0x81, 0xf9, 128, 0, 0, 0, RET]].concat());
}

#[test]
fn small_loops_lie_in_one_line() {
    // Fourteen moves, then a loop of ten and a jump: in 32 bytes.
    let (before, looped) = (MOVE.repeat(14), MOVE.repeat(10));
    let code = relaxed(&[&before, &looped, &jb(-36), &[RET]], &[0, 42]);
    assert_eq!(code.align, LINE);
    assert_eq!(code.bytes[42..64], nops(22));
    assert_eq!(code.bytes[64..], [&looped[..], &[0x72, 0u8.wrapping_sub(32), RET]].concat());
    // In a loop with a call, the call takes longer than fetching the loop.
    let call = [0xff, 0xd0];
    let code = relaxed(&[&before, &looped, &call, &jb(-38), &[RET]], &[0, 42]);
    assert_eq!((code.align, code.bytes.len()), (16, 42 + 30 + 2 + 2 + 1));
}

#[test]
fn what_does_nothing_stands_before_outer_loops() {
    // A loop of ten moves and a jump inside an outer loop, which begins fourteen moves earlier: both lie in the second
    // line.
    let (before, looped) = (MOVE.repeat(14), MOVE.repeat(10));
    let code = relaxed(&[&MOVE, &before, &looped, &jb(-36), &jb(-84), &[RET]], &[0, 3, 45]);
    assert_eq!(code.bytes[..3], MOVE);
    assert_eq!(code.bytes[3..22], nops(19));
    assert_eq!(code.bytes[22..64], before);
    let back = [0x72, 0u8.wrapping_sub(32), 0x72, 0u8.wrapping_sub(76), RET];
    assert_eq!(code.bytes[64..], [&looped[..], &back].concat());
}

#[test]
fn jump_tables_lie_behind_constants() {
    // lea table(%rip), %rax; jmp *%rax; the table; two blocks; a constant that the second loads, aligned.
    let lea = [0x48, 0x8d, 0x05, 2, 0, 0, 0];
    let table = [16i32, 8].map(i32::to_le_bytes).concat();
    let load = |distance| [0x0f, 0x28, 0x05, distance, 0, 0, 0];
    let blocks = [&[0x81, 0xc1, 1, 0, 0, 0][..], &[0x90, RET], &load(16), &[RET]].concat();
    let constant = [7; 16];
    let code = relaxed(&[&lea, &[0xff, 0xe0], &table, &blocks, &[0; 15], &constant], &[0, 17, 25]);
    // The two blocks are table targets: each is aligned on its own, in the order in which they lie.
    assert_eq!(code.bytes[..9], [&lea[..3], &[128 - 7, 0, 0, 0, 0xff, 0xe0]].concat());
    assert_eq!(code.bytes[32..36], [0x83, 0xc1, 1, RET]);
    // The constant lay at 48, and keeps its alignment.
    assert_eq!(code.bytes[64..72], [&load(112 - 71)[..], &[RET]].concat());
    assert_eq!(code.bytes[112..128], constant);
    assert_eq!(code.bytes[128..], [64 - 128, 32 - 128].map(i32::to_le_bytes).concat());
    assert_eq!(code.data, [(97, 128), (128, 132), (132, 136)]);
}

#[test]
fn what_a_table_leads_to_lies_in_few_lines() {
    // lea table(%rip), %rax; jmp *%rax; twice `moves` moves and a jump back to the start of each row: 44 bytes, or 23.
    let starts = |moves: usize| {
        let len = 3 * moves as i32 + 5;
        let table = [8, 8 + len].map(i32::to_le_bytes).concat();
        let row = |at: i32| [&MOVE.repeat(moves)[..], &jmp(-(at + len))].concat();
        let blocks = [0, 17, 17 + len as u32];
        let dispatch = [&[0x48, 0x8d, 0x05, 2, 0, 0, 0, 0xff, 0xe0][..], &table].concat();
        let bytes = relaxed(&[&dispatch, &row(17), &row(17 + len)], &blocks).bytes;
        let row = MOVE.repeat(moves);
        let is_start = |&at: &usize| bytes[at..].starts_with(&row);
        (0..bytes.len()).filter(is_start).collect::<Vec<_>>()
    };
    assert_eq!(starts(13), [64, 128]);
    assert_eq!(starts(6), [32, 64]);
}

#[test]
fn dispatches_of_interpreters_lie_in_one_line() {
    // Fourteen moves; a loop of six more and a jump through a table to two blocks. One block is long, and its branches
    // lead back to the loop header.
    let (before, looped) = (MOVE.repeat(14), MOVE.repeat(6));
    let dispatch = [&looped[..], &[0x48, 0x8d, 0x05, 2, 0, 0, 0, 0xff, 0xe0]].concat();
    let code = |ways: i32| {
        let table = [8, 8 + 120 + 6 * ways].map(i32::to_le_bytes).concat();
        let back: Vec<u8> = (1..=ways).flat_map(|way| jb(42 - (77 + 120 + 6 * way))).collect();
        let blocks = [0, 42, 77, 77 + 120 + 6 * ways as u32];
        relaxed(&[&before, &dispatch, &table, &MOVE.repeat(40), &back, &[RET]], &blocks).bytes
    };
    let interpreter = code(8);
    assert_eq!(interpreter[42..64], nops(22));
    assert_eq!(interpreter[64..82], looped);
    assert_eq!(interpreter[82..91], [&dispatch[18..21], &[203, 0, 0, 0, 0xff, 0xe0]].concat());
    assert_eq!(interpreter[292..], [96 - 292, 288 - 292].map(i32::to_le_bytes).concat());
    // The loop may be entered often for few rounds.
    assert_eq!(code(7)[42..60], looped);
}

/// Builds a branch and a table that lead to a cold part, which has a constant; 64 bytes of the cold part lie behind the
/// hot one.
fn with_cold_part(last_hot: &[u8]) -> MachineCode {
    let lea = [0x48, 0x8d, 0x05, 2, 0, 0, 0];
    // lea table(%rip), %rax; jmp *%rax; entries for the hot block behind the table, and for the cold one.
    let hot = 9 + 8;
    let behind = hot + 6 + last_hot.len() as i32;
    let table = [8, behind - 9].map(i32::to_le_bytes).concat();
    let load = [0x0f, 0x28, 0x05, 5 + 60 + 1 + 3, 0, 0, 0];
    let cold = [&load[..], &jmp(hot - (behind + 12)), &MOVE.repeat(20), &[RET], &[0; 3], &[7; 16]].concat();
    let far = jb(behind - (hot + 6));
    let bytes = [&lea[..], &[0xff, 0xe0], &table, &far, last_hot, &cold].concat();
    let mut code = MachineCode { align: 16, bytes, ..MachineCode::default() };
    let blocks = [0, hot as u32, behind as u32];
    relax(&mut code, &Layout { blocks: &blocks, cold: behind as u32, ..Layout::UNKNOWN });
    code
}

#[test]
fn cold_parts_may_lie_apart() {
    let mut code = with_cold_part(&[RET]);
    let cold = code.cold.clone().expect("a cold part");
    assert_eq!(cold.start % code.align, 0);
    let together = code.bytes.clone();
    let number = |bytes: &[u8], at: u32| {
        let bytes = bytes[at as usize..][..4].iter().rev();
        bytes.fold(0, |all, &byte| all << 8 | i32::from(byte))
    };
    // The distances of the table's place, the branch, the jump back, and the first table entry; the constant lies in
    // the same part as its reader.
    assert_eq!(cold.distances.len(), 4);
    code.shift_cold(0x1000);
    for (&at, by) in cold.distances.iter().zip([0x1000, 0x1000, -0x1000, -0x1000]) {
        assert_eq!(number(&code.bytes, at), number(&together, at) + by, "at {at}");
    }
    code.shift_cold(-0x1000);
    assert_eq!(code.bytes, together);
    // Jumps between the parts are long, because their distance is not known yet.
    let branch = cold.distances[1] as usize;
    assert_eq!(together[branch - 2..branch], [0x0f, 0x82]);
}

#[test]
fn cold_parts_that_hot_code_runs_into_do_not_lie_apart() {
    assert_eq!(with_cold_part(&MOVE).cold, None);
}

#[test]
fn jumps_to_an_emptied_end_of_the_hot_part_lead_to_the_cold_part() {
    // A branch over a return to a removed block of the hot part, which runs into the cold part.
    let (emptied, cold) = (nops(3), MOVE.repeat(21));
    let bytes = [&jb(1)[..], &[RET], &emptied, &cold, &[RET]].concat();
    // The same holds where jumps are not threaded.
    for passes in [Passes::ALL, PassSet::all().with(Pass::JumpThreading, false).for_function(0)] {
        let mut code = MachineCode { align: 16, bytes: bytes.clone(), ..MachineCode::default() };
        relax(&mut code, &Layout { blocks: &[0, 7, 10], cold: 10, passes, ..Layout::UNKNOWN });
        let apart = code.cold.clone().expect("a cold part");
        // The branch follows the cold part: its distance is one of those between the parts.
        assert_eq!((apart.start, apart.distances.as_slice()), (16, &[2][..]));
        assert_eq!(code.bytes[..7], [&jb(10)[..], &[RET]].concat());
        code.shift_cold(0x1000);
        assert_eq!(code.bytes[..6], jb(0x100a));
    }
}

#[test]
fn code_from_which_control_would_get_lost_is_known() {
    let place = |old, kind| CodeItem { old, old_len: 1, kind, new: old, len: 1 };
    let plain = |old| place(old, Kind::Plain { padding: 0 });
    let check = |pieces: &[CodeItem], apart: Option<u32>| {
        let goes_on = |piece: &CodeItem| piece.kind != Kind::TableJump;
        let effects = pieces.iter().map(|piece| Effect { goes_on: goes_on(piece), ..Effect::NONE });
        let apart = apart.map(|begin| ColdSplit { begin, align: 16 });
        reach::check(pieces, &effects.collect::<Vec<_>>(), (&[], apart))
    };
    let leaves = |old| place(old, Kind::TableJump);
    let empty = |old| place(old, Kind::Nothing);
    assert_eq!(check(&[plain(0), empty(1), leaves(2)], None), Ok(()));
    // Control runs into another part, into constants, past the end.
    assert_eq!(check(&[plain(0), empty(1), leaves(2)], Some(2)), Err(Lost::Behind(0)));
    assert_eq!(check(&[leaves(0), plain(1), place(2, Kind::Constants)], None), Err(Lost::Behind(1)));
    assert_eq!(check(&[leaves(0), plain(1), empty(2)], None), Err(Lost::Behind(1)));
    // Control jumps to a removed piece, into the middle of nowhere, to data.
    let jump = |to| place(0, Kind::Jump { to });
    assert_eq!(check(&[jump(2), empty(1), leaves(2)], Some(2)), Ok(()));
    assert_eq!(check(&[jump(1), empty(1), leaves(2)], None), Err(Lost::To(0, 1)));
    assert_eq!(check(&[jump(3), empty(1), leaves(2)], None), Err(Lost::To(0, 3)));
    let entry = place(1, Kind::Entry { table: 1, to: 2 });
    assert_eq!(check(&[leaves(0), entry, place(2, Kind::Constants)], None), Err(Lost::To(1, 2)));
    // An exception lands at a removed piece.
    let pieces = [leaves(0), empty(1), leaves(2)];
    let effects = [Effect { goes_on: false, ..Effect::NONE }; 3];
    assert_eq!(reach::check(&pieces, &effects, (&[2], None)), Ok(()));
    assert_eq!(reach::check(&pieces, &effects, (&[1], None)), Err(Lost::Landing(1)));
}

/// shl $2, %rax; mov 0x1000(%rax), %eax; mov (%rax), %rcx
const CELL: [u8; 13] = [0x48, 0xc1, 0xe0, 2, 0x8b, 0x80, 0, 0x10, 0, 0, 0x48, 0x8b, 0x08];
/// mov $0x1000, %eax; mov 8(%rax), %rcx
const PLACE: [u8; 9] = [0xb8, 0, 0x10, 0, 0, 0x48, 0x8b, 0x48, 8];
/// mov %rdx, %rsi; call *%rcx
const PASS: [u8; 3] = [0x48, 0x89, 0xd6];
const CALL: [u8; 2] = [0xff, 0xd1];

#[test]
fn calls_of_what_stands_in_memory_are_one_instruction() {
    let direct = relaxed(&[&PLACE, &PASS, &CALL, &[RET]], &[0]).bytes;
    assert_eq!(direct, [&PASS[..], &[0xff, 0x14, 0x25, 8, 0x10, 0, 0, RET]].concat());
    let dispatched = relaxed(&[&CELL, &PASS, &CALL, &[RET]], &[0]).bytes;
    // mov 0x1000(, %rax, 4), %ecx; mov %rdx, %rsi; call *(%rcx)
    let read = [0x8b, 0x0c, 0x85, 0, 0x10, 0, 0];
    assert_eq!(dispatched, [&read[..], &PASS, &[0xff, 0x51, 0, RET]].concat());
    // mov %rdx, %rax: an argument overwrites the index.
    let overwritten = relaxed(&[&CELL, &[0x48, 0x89, 0xd0], &CALL, &[RET]], &[0]).bytes;
    assert_eq!(overwritten, [&read[..], &[0x48, 0x89, 0xd0, 0xff, 0x51, 0, RET]].concat());
    // shl $2, %rsi; mov 0x1000(%rsi), %r8d; mov (%r8), %r8; mov %rdx, %rsi; call *%r8
    let shift = [0x48, 0xc1, 0xe6, 2];
    let cell = [0x44, 0x8b, 0x86, 0, 0x10, 0, 0, 0x4d, 0x8b, 0x00];
    let apart = relaxed(&[&shift, &cell, &PASS, &[0x41, 0xff, 0xd0], &[RET]], &[0]).bytes;
    // mov 0x1000(, %rsi, 4), %r8d; mov %rdx, %rsi; call *(%r8)
    let read = [0x44, 0x8b, 0x04, 0xb5, 0, 0x10, 0, 0];
    assert_eq!(apart, [&read[..], &PASS, &[0x41, 0xff, 0x50, 0, RET]].concat());
    // mov 0x1000(%rax), %r10d; mov %rcx, %rsi, or not; mov (%r10), %rcx: the target is busy, or it is free.
    let make = [&CELL[..4], &[0x44, 0x8b, 0x90, 0, 0x10, 0, 0]].concat();
    let busy = [&make[..], &[0x48, 0x89, 0xce, 0x49, 0x8b, 0x0a], &CALL, &[RET]].concat();
    assert_eq!(relaxed(&[&busy], &[0]).bytes, busy);
    let free = relaxed(&[&make, &[0x49, 0x8b, 0x0a], &CALL, &[RET]], &[0]).bytes;
    assert_eq!(free, [0x8b, 0x0c, 0x85, 0, 0x10, 0, 0, 0xff, 0x51, 0, RET]);
    // Scaled by eight: shl $3, %rax.
    let eight = [&[0x48, 0xc1, 0xe0, 3], &CELL[4..], &CALL, &[RET]].concat();
    assert_eq!(relaxed(&[&eight], &[0]).bytes, eight);
    // An argument is the shifted index.
    let passed = [&shift[..], &cell, &[0x41, 0xff, 0xd0], &[RET]].concat();
    assert_eq!(relaxed(&[&passed], &[0]).bytes, passed);
}

#[test]
fn calls_whose_registers_are_used_stay_as_they_are() {
    // mov %rcx, %rsi; mov %rdx, %rcx; mov %rax, %rsi
    let uses: [&[u8]; 3] = [&[0x48, 0x89, 0xce], &[0x48, 0x89, 0xd1], &[0x48, 0x89, 0xc6]];
    for made in [&PLACE[..], &CELL] {
        for between in uses {
            let code = [made, between, &CALL, &[RET]].concat();
            assert_eq!(relaxed(&[&code], &[0]).bytes, code, "{between:x?}");
        }
    }
    // The place is an argument of the callee, too: mov $0x1000, %edx; mov 8(%rdx), %rcx; call *%rcx.
    let passed = [&[0xba, 0, 0x10, 0, 0, 0x48, 0x8b, 0x4a, 8][..], &CALL, &[RET]].concat();
    assert_eq!(relaxed(&[&passed], &[0]).bytes, passed);
    // A jump leads behind the load; or the loaded address may be needed behind the call: mov 8(%rax), %rbx; call *%rbx.
    let split = [&PLACE[..], &PASS, &CALL, &[RET]].concat();
    assert_eq!(relaxed(&[&split], &[0, 9]).bytes, split);
    let preserved = [&PLACE[..5], &[0x48, 0x8b, 0x58, 8], &PASS, &[0xff, 0xd3, RET]].concat();
    assert_eq!(relaxed(&[&preserved], &[0]).bytes, preserved);
}

#[test]
fn a_jump_that_a_table_leads_to_stays() {
    // lea table(%rip), %rax; jmp *%rax; the table, of A and X. A: jb L; X: jmp M; L: a move; M: ret
    let lea = [0x48, 0x8d, 0x05, 2, 0, 0, 0, 0xff, 0xe0];
    let table = [8i32, 14].map(i32::to_le_bytes).concat();
    let code = relaxed(&[&lea, &table, &jb(5), &jmp(3), &MOVE, &[RET]], &[0, 17, 23, 28, 31]);
    let insts = Decoder::new(64, &code.bytes[..code.data[0].0 as usize], DecoderOptions::NONE);
    let jumps = insts.into_iter().filter(|inst| inst.is_jmp_short() && inst.mnemonic() == Mnemonic::Jmp);
    assert_eq!(jumps.count(), 1);
}

#[test]
fn tables_of_places_are_kept_true() {
    let parts: [&[u8]; 5] =
        [&jb(8), &[0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0], &[0xff, 0xd0], &nops(3), &[0x0f, 0x0b]];
    let trap = |pc| TrapSite { pc, code: TrapCode::Unreachable, origin: None };
    let mut code = MachineCode { bytes: parts.concat(), ..MachineCode::default() };
    code.traps = vec![trap(21)];
    code.relocs = vec![Reloc { offset: 8, target: LibCall::Probestack, addend: 0 }];
    code.calls = vec![CallSite { return_pc: 18, origin: None }];
    let positions =
        |all: [(u32, u32); 4]| Positions::new(all.map(|(pc, offset)| Position { pc, offset, frame: 0 }));
    code.positions = positions([(0, 1), (6, 2), (16, 3), (21, 4)]);
    let mut shorter = code.clone();
    // A jump into the middle of an instruction: nothing is understood, so nothing changes.
    relax(&mut shorter, &Layout { blocks: &[0], ..Layout::UNKNOWN });
    assert_eq!(shorter.bytes, code.bytes);
    code.bytes[2..6].copy_from_slice(&10i32.to_le_bytes());
    relax(&mut code, &Layout { blocks: &[0], ..Layout::UNKNOWN });
    assert_eq!((code.bytes.len(), code.bytes[1]), (16, 10));
    assert_eq!((code.traps[0].pc, code.calls[0].return_pc, code.relocs[0].offset), (14, 14, 4));
    assert_eq!(code.positions, positions([(0, 1), (2, 2), (12, 3), (14, 4)]));
}

/// Relaxes a call, a return, and the code where an exception lands that leaves the call.
fn with_landing(before: &[u8], landing: &[u8], blocks: &[u32]) -> MachineCode {
    let bytes = [before, &CALL, &[RET], landing].concat();
    let mut code = MachineCode { align: 16, bytes, ..MachineCode::default() };
    let return_pc = before.len() as u32 + 2;
    code.calls = vec![CallSite { return_pc, origin: None }];
    code.landings = vec![Landing { return_pc, pc: return_pc + 1, frame: 32 }];
    relax(&mut code, &Layout { blocks, ..Layout::UNKNOWN });
    code
}

#[test]
fn landings_move_with_their_code() {
    // Padding before the call and at the landing goes.
    let code = with_landing(&nops(3), &[&nops(4)[..], &MOVE, &[RET]].concat(), &[0, 6]);
    assert_eq!(code.bytes, [&CALL[..], &[RET], &MOVE, &[RET]].concat());
    assert_eq!(code.landings, [Landing { return_pc: 2, pc: 3, frame: 32 }]);
}

#[test]
fn nothing_is_known_where_an_exception_lands() {
    // mov %rax, 8(%rsp); call *%rcx; ret; landing: mov 8(%rsp), %rax; add %rax, %rdx; ret
    let store = [0x48, 0x89, 0x44, 0x24, 8];
    let landing = [&[0x48, 0x8b, 0x44, 0x24, 8][..], &[0x48, 0x01, 0xc2, RET]].concat();
    let code = with_landing(&store, &landing, &[0, 8]);
    assert_eq!(code.bytes, [&store[..], &CALL, &[RET], &landing].concat());
    // Nor is a jump left out to which only an exception leads: jb 1f; landing: jmp 2f; 1: a move; 2: ret.
    let jumps = [&jb(5)[..], &jmp(3), &MOVE, &[RET]].concat();
    let bytes = [&CALL[..], &jumps].concat();
    let mut code = MachineCode { align: 16, bytes, ..MachineCode::default() };
    code.landings = vec![Landing { return_pc: 2, pc: 8, frame: 0 }];
    relax(&mut code, &Layout { blocks: &[0, 2, 8, 13, 16], ..Layout::UNKNOWN });
    assert_eq!(code.bytes, [&CALL[..], &[0x72, 2, 0xeb, 3], &MOVE, &[RET]].concat());
    assert_eq!(code.landings[0].pc, 4);
}

#[test]
fn code_with_a_landing_that_is_not_understood_stays_as_it_is() {
    // The landing is no basic block, or its call is no call.
    let landing = [&nops(4)[..], &MOVE, &[RET]].concat();
    let code = with_landing(&nops(3), &landing, &[0]);
    assert_eq!(code.bytes, [&nops(3)[..], &CALL, &[RET], &landing].concat());
    let bytes = [&MOVE[..], &nops(3), &[RET]].concat();
    let mut code = MachineCode { align: 16, bytes: bytes.clone(), ..MachineCode::default() };
    code.landings = vec![Landing { return_pc: 3, pc: 6, frame: 0 }];
    relax(&mut code, &Layout { blocks: &[0, 6], ..Layout::UNKNOWN });
    assert_eq!(code.bytes, bytes);
}
