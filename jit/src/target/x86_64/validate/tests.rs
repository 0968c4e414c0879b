//! Pairs of short pieces of code that do the same, and pairs that do not.

use super::convention::Conventions;
use super::*;
use crate::abi::TrapCode;
use crate::code::{CallSite, ColdPart, Landing, TrapSite};

const RET: [u8; 1] = [0xc3];
/// mov %rdi, -8(%rsp)
const SPILL: [u8; 5] = [0x48, 0x89, 0x7c, 0x24, 0xf8];
/// mov -8(%rsp), %rax
const RELOAD: [u8; 5] = [0x48, 0x8b, 0x44, 0x24, 0xf8];
/// mov %rdi, %rax
const COPY: [u8; 3] = [0x48, 0x89, 0xf8];
/// mov %rsi, (%rdx)
const STORE: [u8; 3] = [0x48, 0x89, 0x32];
/// call *%rbx
const CALL: [u8; 2] = [0xff, 0xd3];
/// lea -8(%rsp), %rdi
const ADDRESS: [u8; 5] = [0x48, 0x8d, 0x7c, 0x24, 0xf8];
/// mov %rdi, (%rdx)
const SHARE: [u8; 3] = [0x48, 0x89, 0x3a];
/// xor %eax, %eax
const ZERO: [u8; 2] = [0x31, 0xc0];

fn code(parts: &[&[u8]]) -> MachineCode {
    MachineCode { bytes: parts.concat(), align: 16, ..MachineCode::default() }
}

fn checked(before: MachineCode, after: &MachineCode) -> Result<(), String> {
    let original = Original { code: &before, conventions: &Conventions::unknown(), is_pinned: true };
    check(&original, after, &[])
}

#[track_caller]
fn accept(before: &[&[u8]], after: &[&[u8]]) {
    if let Err(report) = checked(code(before), &code(after)) {
        panic!("{report}");
    }
}

#[track_caller]
fn refuse(before: &[&[u8]], after: &[&[u8]]) -> String {
    checked(code(before), &code(after)).expect_err("they differ")
}

#[test]
fn what_does_nothing_may_be_left_out_and_jumps_and_numbers_may_be_short() {
    // nopl; add $1, %rdi; jb over the return; jmp to the second
    let long = [0x48, 0x81, 0xc7, 1, 0, 0, 0];
    let before: [&[u8]; 6] = [&[0x0f, 0x1f, 0], &long, &[0x0f, 0x82, 1, 0, 0, 0], &RET, &COPY, &RET];
    let short = [0x48, 0x83, 0xc7, 1];
    accept(&before, &[&short, &[0x72, 1], &RET, &COPY, &RET]);
    refuse(&before, &[&[0x48, 0x83, 0xc7, 2], &[0x72, 1], &RET, &COPY, &RET]);
    refuse(&before, &[&short, &[0x73, 1], &RET, &COPY, &RET]);
    refuse(&before, &[&short, &[0x72, 0], &RET, &COPY, &RET]);
    // add $-1 is not add $255, which has no short form.
    refuse(&[&[0x48, 0x81, 0xc7, 255, 0, 0, 0], &COPY, &RET], &[&[0x48, 0x83, 0xc7, 255], &COPY, &RET]);
}

#[test]
fn a_branch_around_a_jump_is_a_branch_the_other_way() {
    // cmp %rsi, %rdi; jl 1f; jmp 2f; 1: ret; 2: copy; ret
    let compare = [0x48, 0x39, 0xf7];
    let before: [&[u8]; 6] = [&compare, &[0x7c, 2], &[0xeb, 1], &RET, &COPY, &RET];
    accept(&before, &[&compare, &[0x7d, 1], &RET, &COPY, &RET]);
    for condition in (0x70..0x80).filter(|&condition| condition != 0x7d) {
        refuse(&before, &[&compare, &[condition, 1], &RET, &COPY, &RET]);
    }
}

#[test]
fn copies_of_what_a_register_has_may_be_left_out() {
    accept(&[&SPILL, &STORE, &RELOAD, &RET], &[&SPILL, &STORE, &COPY, &RET]);
    accept(&[&SPILL, &SPILL, &RELOAD, &RET], &[&SPILL, &RELOAD, &RET]);
    // The register is dead behind the return: mov -8(%rsp), %rcx.
    accept(&[&SPILL, &[0x48, 0x8b, 0x4c, 0x24, 0xf8], &COPY, &RET], &[&SPILL, &COPY, &RET]);
    refuse(&[&SPILL, &RELOAD, &RET], &[&SPILL, &RET]);
    refuse(&[&RELOAD, &RET], &[&COPY, &RET]);
    // A store in between overlaps the slot: mov %esi, -4(%rsp); one to its neighbour does not: mov %esi, (%rsp).
    let part = [0x89, 0x74, 0x24, 0xfc];
    refuse(&[&SPILL, &part, &RELOAD, &RET], &[&SPILL, &part, &COPY, &RET]);
    let beside = [0x89, 0x74, 0x24, 0];
    accept(&[&SPILL, &beside, &RELOAD, &RET], &[&SPILL, &beside, &COPY, &RET]);
}

#[test]
fn what_others_may_write_is_not_known() {
    let around = |between: &[u8], last: &[u8]| [&SPILL, between, last, &RET].concat();
    // Other code knows the slot's address by then.
    let shared = [&[0x48, 0x89, 0xf8][..], &ADDRESS, &SHARE, &STORE].concat();
    let (before, after) = (around(&shared, &RELOAD), around(&shared, &[]));
    assert_eq!(before.len() - 5, after.len());
    refuse(&[&before], &[&after]);
    // Nobody has written there yet: mov %rdi, -16(%rsp).
    let kept = [&[0x48, 0x89, 0xf8][..], &ADDRESS, &[0x48, 0x89, 0x7c, 0x24, 0xf0]].concat();
    accept(&[&around(&kept, &RELOAD)], &[&around(&kept, &[])]);
    // With an index, the store may be anywhere in the frame: mov %rsi, (%rsp, %rdx).
    let indexed = [0x48, 0x89, 0x34, 0x14];
    refuse(&[&around(&indexed, &RELOAD)], &[&around(&indexed, &COPY)]);
    // A callee does not write below the top of its caller's frame unless it knows an address there; sub $16, %rsp.
    let frame = |copy: &[u8]| {
        let (enter, leave) = ([0x48, 0x83, 0xec, 16], [0x48, 0x83, 0xc4, 16]);
        // mov %rbx, 8(%rsp); call; mov 8(%rsp), %rax
        [&enter[..], &[0x48, 0x89, 0x5c, 0x24, 8], &CALL, copy, &leave, &RET].concat()
    };
    accept(&[&frame(&[0x48, 0x8b, 0x44, 0x24, 8])], &[&frame(&[0x48, 0x89, 0xd8])]);
    // Callees preserve neither %rcx nor the stack below the stack pointer.
    refuse(&[&SPILL, &CALL, &RELOAD, &RET], &[&SPILL, &CALL, &COPY, &RET]);
}

#[test]
fn places_in_the_frame_may_be_named() {
    // lea -8(%rsp), %rdi; add (%rdi), %eax became add -8(%rsp), %eax.
    let named = |offset| [0x03, 0x44, 0x24, offset];
    accept(&[&ADDRESS, &[0x03, 0x07], &RET], &[&named(0xf8), &RET]);
    refuse(&[&ADDRESS, &[0x03, 0x07], &RET], &[&named(0xf4), &RET]);
    // add %rsi, %rdi; add (%rdi), %eax
    refuse(&[&ADDRESS, &[0x48, 0x01, 0xf7, 0x03, 0x07], &RET], &[&[0x48, 0x01, 0xf7], &named(0xf8), &RET]);
}

#[test]
fn stores_and_loads_are_the_same_in_the_same_order() {
    // mov %rdi, (%rdx); mov %esi, (%rdx)
    refuse(&[&STORE, &RET], &[&SHARE, &RET]);
    refuse(&[&STORE, &RET], &[&[0x89, 0x32], &RET]);
    refuse(&[&STORE, &RET], &[&RET]);
    refuse(&[&RET], &[&STORE, &RET]);
    refuse(&[&STORE, &SHARE, &RET], &[&SHARE, &STORE, &RET]);
    // mov (%rdx), %rax before a store and behind it; one whose result is dead
    let load = [0x48, 0x8b, 0x02];
    refuse(&[&load, &STORE, &RET], &[&STORE, &load, &RET]);
    refuse(&[&ZERO, &RET], &[&load, &ZERO, &RET]);
    accept(&[&load, &ZERO, &RET], &[&ZERO, &RET]);
}

#[test]
fn traps_have_the_same_codes_and_are_where_they_were() {
    let trapping = |parts: &[&[u8]], pc, code| {
        let traps = vec![TrapSite { pc, code, origin: None }];
        MachineCode { traps, ..self::code(parts) }
    };
    let (nop, load) = ([0x90], [0x48, 0x8b, 0x02]);
    let before = || trapping(&[&nop, &load, &RET], 1, TrapCode::Host);
    assert!(checked(before(), &trapping(&[&load, &RET], 0, TrapCode::Host)).is_ok());
    assert!(checked(before(), &trapping(&[&load, &RET], 0, TrapCode::IntegerOverflow)).is_err());
    assert!(checked(before(), &code(&[&load, &RET])).is_err());
    // The instruction would trap later.
    let late = trapping(&[&ZERO, &RET], 2, TrapCode::Host);
    assert!(checked(trapping(&[&load, &ZERO, &RET], 0, TrapCode::Host), &late).is_err());
    // ud2
    let ud2 = |code| trapping(&[&[0x0f, 0x0b]], 0, code);
    assert!(checked(ud2(TrapCode::Host), &ud2(TrapCode::IntegerOverflow)).is_err());
}

#[test]
fn what_is_written_over_unread_may_be_anything() {
    // mov %rax, 8(%rsp), or mov %rcx, 8(%rsp); mov %rdi, 8(%rsp)
    let (one, other) = ([0x48, 0x89, 0x44, 0x24, 8], [0x48, 0x89, 0x4c, 0x24, 8]);
    let over = [0x48, 0x89, 0x7c, 0x24, 8];
    accept(&[&one, &over, &RET], &[&other, &over, &RET]);
    // The slot is not overwritten; half of it is (mov %edi, 8(%rsp)); it is read before (mov 8(%rsp), %rdx); a callee
    // sees it (call *%rbx).
    refuse(&[&one, &RET], &[&other, &RET]);
    let half = [0x89, 0x7c, 0x24, 8];
    refuse(&[&one, &half, &RET], &[&other, &half, &RET]);
    for between in [&[0x48, 0x8b, 0x54, 0x24, 8][..], &[0xff, 0xd3]] {
        refuse(&[&one, between, &over, &RET], &[&other, between, &over, &RET]);
    }
}

#[test]
fn constants_beside_the_code_are_no_jump_tables() {
    // movslq constant(%rip), %rax; ret; the constant, with more or less padding before and behind it.
    let load = |distance: u8| [0x48, 0x63, 0x05, distance, 0, 0, 0];
    accept(&[&load(5), &RET, &[0; 4], &[1, 2, 3, 4]], &[&load(1), &RET, &[1, 2, 3, 4]]);
    refuse(&[&load(5), &RET, &[0; 4], &[1, 2, 3, 4]], &[&load(1), &RET, &[1, 2, 3, 5]]);
}

#[test]
fn tables_of_the_runtime_may_be_read_later() {
    // mov $0x1130, %eax; mov (%rax), %rax; mov %rdi, (%rdx); call *%rax: the slot is read behind the store.
    let place = [0xb8, 0x30, 0x11, 0, 0, 0x48, 0x8b, 0];
    let store = [0x48, 0x89, 0x3a];
    let before = [&place[..], &store, &[0xff, 0xd0], &[0xc3]].concat();
    let after = [&store[..], &[0xff, 0x14, 0x25, 0x30, 0x11, 0, 0], &[0xc3]].concat();
    accept(&[&before], &[&after]);
    // The same for the memory at %rsi, which the store may change.
    let before = [&[0x48, 0x8b, 0x06][..], &store, &[0xff, 0xd0], &[0xc3]].concat();
    let after = [&store[..], &[0x48, 0x8b, 0x06], &[0xff, 0xd0], &[0xc3]].concat();
    refuse(&[&before], &[&after]);
}

#[test]
fn a_stack_that_is_probed_in_a_loop_is_known_behind_it() {
    // lea -0x5000(%rsp), %r11; sub $0x1000, %rsp; mov %rsp, (%rsp); cmp %rsp, %r11; jne; mov %rdi, 8(%rsp)
    let probe = [
        &[0x4c, 0x8d, 0x9c, 0x24, 0, 0xb0, 0xff, 0xff][..],
        &[0x48, 0x81, 0xec, 0, 0x10, 0, 0, 0x48, 0x89, 0x24, 0x24, 0x4c, 0x39, 0xdc, 0x75, 0xf0],
        &[0x48, 0x89, 0x7c, 0x24, 8],
    ];
    let probe = probe.concat();
    // mov 8(%rsp), %rax, or mov %rdi, %rax; add $0x5000, %rsp; ret
    let end = [0x48, 0x81, 0xc4, 0, 0x50, 0, 0, 0xc3];
    let before = [&probe[..], &[0x48, 0x8b, 0x44, 0x24, 8], &end].concat();
    let after = [&probe[..], &[0x48, 0x89, 0xf8], &end].concat();
    accept(&[&before], &[&after]);
    let wrong = [&probe[..], &[0x48, 0x89, 0xf0], &end].concat();
    refuse(&[&before], &[&wrong]);
}

#[test]
fn calls_have_the_same_targets_and_arguments() {
    let call = |parts: &[&[u8]], return_pc| {
        let calls = vec![CallSite { return_pc, origin: None }];
        MachineCode { calls, ..code(parts) }
    };
    let (place, merged) = ([0x48, 0x8b, 0x03], [0xff, 0x13]);
    // mov (%rbx), %rax; mov %rdx, %rsi; call *%rax became mov %rdx, %rsi; call *(%rbx).
    let moved = [0x48, 0x89, 0xd6];
    let before = || call(&[&place, &moved, &[0xff, 0xd0], &RET], 8);
    assert_eq!(checked(before(), &call(&[&moved, &merged, &RET], 5)), Ok(()));
    assert!(checked(before(), &call(&[&merged, &RET], 2)).is_err());
    assert!(checked(before(), &call(&[&moved, &[0xff, 0x53, 8], &RET], 6)).is_err());
    // No table entry says where the call returns.
    assert!(checked(before(), &call(&[&moved, &merged, &RET], 4)).is_err());
    // The removed load also made an argument: mov (%rbx), %rdi; call *%rdi.
    let argument = call(&[&[0x48, 0x8b, 0x3b], &[0xff, 0xd7], &RET], 5);
    assert!(checked(argument, &call(&[&merged, &RET], 2)).is_err());
}

#[test]
fn the_pinned_register_counts_in_place() {
    // mov %r15, %rax; lea -1(%rax), %rax; mov %rax, %r15; test %rax, %rax; jl 1f; ret; 1: mov %rdi, %rax; ret
    let before = |condition: u8| {
        let count = [0x4c, 0x89, 0xf8, 0x48, 0x8d, 0x40, 0xff, 0x49, 0x89, 0xc7, 0x48, 0x85, 0xc0];
        [&count[..], &ZERO.map(|_| 0x90), &[condition, 3], &[0x31, 0xc0, 0xc3], &COPY, &RET].concat()
    };
    let after = |number, condition: u8| {
        [&[0x49, 0x83, 0xc7, number][..], &[condition, 3], &[0x31, 0xc0, 0xc3], &COPY, &RET].concat()
    };
    // For these conditions the validator assumes that nothing overflows; a carry is possible.
    for condition in [0x74, 0x75, 0x78, 0x79, 0x7c, 0x7d, 0x7e, 0x7f] {
        accept(&[&before(condition)], &[&after(0xff, condition)]);
        refuse(&[&before(condition)], &[&after(0xfe, condition)]);
    }
    for condition in [0x70, 0x72, 0x76] {
        refuse(&[&before(condition)], &[&after(0xff, condition)]);
    }
}

#[test]
fn flags_do_not_depend_on_those_that_are_written_over() {
    // mov %r15, %rax; lea 1(%rax), %rax; mov %rax, %r15 became add $1, %r15, which changes the flags.
    let count = [0x4c, 0x89, 0xf8, 0x48, 0x8d, 0x40, 1, 0x49, 0x89, 0xc7];
    let add = [0x49, 0x83, 0xc7, 1];
    // nop; nop; a comparison; jp over mov %rdi, %rax; ret; xor %eax, %eax; ret
    let rest = |compare: &[u8]| [&[0x90, 0x90], compare, &[0x7a, 4], &COPY, &RET, &ZERO, &RET].concat();
    // vucomiss %xmm1, %xmm0 writes all flags; shl %cl, %rdi writes none if %cl is zero, and bt %esi, %edi writes one.
    accept(&[&count, &rest(&[0xc5, 0xf8, 0x2e, 0xc1])], &[&add, &rest(&[0xc5, 0xf8, 0x2e, 0xc1])]);
    for compare in [&[0x48, 0xd3, 0xe7][..], &[0x0f, 0xa3, 0xf7]] {
        refuse(&[&count, &rest(compare)], &[&add, &rest(compare)]);
    }
}

#[test]
fn shifts_look_at_the_lowest_bits_of_their_distance() {
    // shrx %esi, %edi, %eax
    let shift = [0xc4, 0xe2, 0x4b, 0xf7, 0xc7];
    // movzbl %sil, %esi; shr $8, %esi
    let (byte, next) = ([0x40, 0x0f, 0xb6, 0xf6], [0xc1, 0xee, 8]);
    // The value of rsi is dead afterwards.
    accept(&[&byte, &shift, &RET], &[&shift, &RET]);
    refuse(&[&byte, &shift, &RET], &[&next, &shift, &RET]);
}

/// movzbl (%rdi), %eax; mov $1, %ecx; mov %eax, %eax; cmp %ecx, %eax; cmovb %eax, %ecx
const CLAMPED: [u8; 15] = [0x0f, 0xb6, 0x07, 0xb9, 1, 0, 0, 0, 0x89, 0xc0, 0x39, 0xc8, 0x0f, 0x42, 0xc8];
/// lea 9(%rip), %rdx, where the table is; movslq (%rdx, %rcx, 4), %rcx; add %rcx, %rdx; jmp *%rdx
const SWITCH: [u8; 16] = [0x48, 0x8d, 0x15, 9, 0, 0, 0, 0x48, 0x63, 0x0c, 0x8a, 0x48, 0x01, 0xca, 0xff, 0xe2];

#[test]
fn each_index_leads_where_it_led() {
    let entries = |entries: &[i32]| entries.iter().flat_map(|entry| entry.to_le_bytes()).collect::<Vec<u8>>();
    // Two entries, then their targets.
    let before: [&[u8]; 7] = [&CLAMPED, &SWITCH, &entries(&[8, 11]), &ZERO, &RET, &COPY, &RET];
    // The index is the byte itself: movslq (%rdx, %rax, 4), %rcx.
    let mut untested = SWITCH;
    untested[10] = 0x82;
    let after = |wrong: Option<usize>, count: usize| {
        let mut table = vec![1024 + 3; 256];
        table[0] = 1024;
        if let Some(wrong) = wrong {
            table[wrong] = 2048 - table[wrong] + 3;
        }
        [&CLAMPED[..3], &untested, &entries(&table)[..4 * count], &ZERO, &RET, &COPY, &RET].concat()
    };
    accept(&before, &[&after(None, 256)]);
    for wrong in [0, 1, 2, 255] {
        refuse(&before, &[&after(Some(wrong), 256)]);
    }
    refuse(&before, &[&after(None, 255)]);
    // movzwl (%rdi), %eax may exceed a byte.
    let word = [&[0x0f, 0xb7][..], &CLAMPED[2..]].concat();
    let before: [&[u8]; 7] = [&word, &SWITCH, &entries(&[8, 11]), &ZERO, &RET, &COPY, &RET];
    let mut after = after(None, 256);
    after[1] = 0xb7;
    refuse(&before, &[&after]);
}

#[test]
fn control_does_not_run_out_of_the_hot_part() {
    let apart = |parts: &[&[u8]], start, distances: &[u32]| {
        let cold = Some(ColdPart { start, distances: distances.to_vec() });
        MachineCode { cold, ..code(parts) }
    };
    // cmp %rsi, %rdi; jl cold; ret; padding up to 16; cold: copy; ret
    let compare = [0x48, 0x39, 0xf7];
    let before = || code(&[&compare, &[0x0f, 0x8c, 1, 0, 0, 0], &RET, &COPY, &RET]);
    let jump = [0x0f, 0x8c, 7, 0, 0, 0];
    let filled = |last: &[u8]| [&compare[..], &jump, last, &[0x90; 7][last.len()..], &COPY, &RET].concat();
    assert_eq!(checked(before(), &apart(&[&filled(&RET)], 16, &[5])), Ok(()));
    // Control falls through into the cold part, which may lie elsewhere; the distance is missing from the table, or is
    // at another place.
    let falls = code(&[&compare, &[0x0f, 0x8c, 0, 0, 0, 0], &COPY, &RET]);
    assert!(checked(falls, &apart(&[&filled(&[])], 16, &[5])).is_err());
    assert!(checked(before(), &apart(&[&filled(&RET)], 16, &[])).is_err());
    assert!(checked(before(), &apart(&[&filled(&RET)], 16, &[4])).is_err());
    // Without parts, control runs into no-ops and goes on.
    let falls = code(&[&compare, &[0x0f, 0x8c, 0, 0, 0, 0], &COPY, &RET]);
    assert_eq!(checked(falls, &code(&[&filled(&[])])), Ok(()));
    // Control runs off the end.
    refuse(&[&COPY, &RET], &[&COPY]);
}

#[test]
fn loops_that_end_are_not_loops_that_do_not() {
    // jmp to itself; a return instead
    refuse(&[&[0xeb, 0xfe]], &[&RET]);
    let original =
        Original { code: &code(&[&[0xeb, 0xfe]]), conventions: &Conventions::unknown(), is_pinned: false };
    assert!(check(&original, &code(&[&RET]), &[(0, 0)]).is_err());
    assert_eq!(check(&original, &code(&[&[0xe9, 0xfb, 0xff, 0xff, 0xff]]), &[(0, 0)]), Ok(()));
}

#[test]
fn what_holds_on_one_way_does_not_hold_on_all() {
    // cmp %rsi, %rdi; jl 1f; spill; 1: reload; ret
    let compare = [0x48, 0x39, 0xf7, 0x7c, 5];
    refuse(&[&compare, &SPILL, &RELOAD, &RET], &[&compare, &SPILL, &COPY, &RET]);
    // spill; 1: reload, or a copy; add $-1, %rsi; jne 1b; ret
    let round = |copy: &[u8], change: &[u8]| {
        let back = 0u8.wrapping_sub(copy.len() as u8 + change.len() as u8 + 6);
        [&SPILL, copy, change, &[0x48, 0x83, 0xc6, 0xff, 0x75, back], &RET].concat()
    };
    accept(&[&round(&RELOAD, &[])], &[&round(&COPY, &[])]);
    // inc %rdi, or mov %rsi, -8(%rsp), in the loop.
    let increment = [0x48, 0xff, 0xc7];
    refuse(&[&round(&RELOAD, &increment)], &[&round(&COPY, &increment)]);
    let spill = [0x48, 0x89, 0x74, 0x24, 0xf8];
    refuse(&[&round(&RELOAD, &spill)], &[&round(&COPY, &spill)]);
}

/// push %rbp; mov %rsp, %rbp; sub $32, %rsp
const ENTER: [u8; 8] = [0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 32];
/// leave; ret
const LEAVE: [u8; 2] = [0xc9, 0xc3];
/// mov %rbx, (%rsp); mov %r12, 8(%rsp); mov %r13, 16(%rsp); mov %r14, 24(%rsp)
const SAVE: [u8; 19] = [
    0x48, 0x89, 0x1c, 0x24, 0x4c, 0x89, 0x64, 0x24, 8, 0x4c, 0x89, 0x6c, 0x24, 16, 0x4c, 0x89, 0x74, 0x24, 24,
];
/// The same the other way.
const RESTORE: [u8; 19] = [
    0x48, 0x8b, 0x1c, 0x24, 0x4c, 0x8b, 0x64, 0x24, 8, 0x4c, 0x8b, 0x6c, 0x24, 16, 0x4c, 0x8b, 0x74, 0x24, 24,
];

/// Where the call returns.
const BEHIND: usize = ENTER.len() + SAVE.len() + CALL.len();

/// A call, what follows its return, and what follows an exception, which lands `frame` bytes below the frame pointer.
fn landing(frame: u32, parts: [&[u8]; 2]) -> MachineCode {
    let [back, caught] = parts.map(|part| [part, &RESTORE, &LEAVE].concat());
    let mut code = code(&[&ENTER, &SAVE, &CALL, &back, &caught]);
    let return_pc = BEHIND as u32;
    code.calls = vec![CallSite { return_pc, origin: None }];
    code.landings = vec![Landing { return_pc, pc: return_pc + back.len() as u32, frame }];
    code
}

#[test]
fn an_exception_lands_in_both_versions() {
    let nop: &[u8] = &[0x0f, 0x1f, 0];
    let accepts = |before: MachineCode, after: MachineCode| checked(before, &after).is_ok();
    assert!(accepts(landing(32, [nop, nop]), landing(32, [&[], &[]])));
    // The exception is in %rax: mov %rax, %rdx; mov %rdx, %rax, or a zero.
    let around: &[u8] = &[0x48, 0x89, 0xc2, 0x48, 0x89, 0xd0];
    assert!(accepts(landing(32, [nop, around]), landing(32, [&[], &[]])));
    assert!(!accepts(landing(32, [nop, nop]), landing(32, [&[], &ZERO])));
    // What the frame holds is known, and what callee-saved registers hold is not, though it is behind the call.
    let empty = || landing(32, [nop, nop]);
    let without_restore = |code: &mut MachineCode, at: usize| {
        code.bytes.drain(at..at + RESTORE.len());
    };
    let mut back = landing(32, [&[], &[]]);
    without_restore(&mut back, BEHIND);
    back.landings[0].pc -= RESTORE.len() as u32;
    assert!(accepts(empty(), back));
    let mut caught = landing(32, [&[], &[]]);
    without_restore(&mut caught, BEHIND + RESTORE.len() + LEAVE.len());
    assert!(!accepts(empty(), caught));
    // The stack pointer is elsewhere, or the exception lands nowhere.
    assert!(!accepts(empty(), landing(8, [&[], &[]])));
    let mut nowhere = landing(32, [&[], &[]]);
    nowhere.landings.clear();
    assert!(!accepts(empty(), nowhere));
}
