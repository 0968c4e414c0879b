//! Code that the passes should or should not rewrite, checked by the validator, which finds faults in a pass that other
//! tests miss.

use super::super::{pinned, relax};
use super::convention::Conventions;
use super::*;
use crate::abi::TrapCode;
use crate::code::{CallSite, TrapSite};
use crate::options::Passes;

const RET: [u8; 1] = [0xc3];
/// mov %rdi, -8(%rsp)
const SPILL: [u8; 5] = [0x48, 0x89, 0x7c, 0x24, 0xf8];
/// mov -8(%rsp), %rax
const RELOAD: [u8; 5] = [0x48, 0x8b, 0x44, 0x24, 0xf8];
/// mov %rsi, (%rdx)
const STORE: [u8; 3] = [0x48, 0x89, 0x32];
/// lea -8(%rsp), %r8
const ADDRESS: [u8; 5] = [0x4c, 0x8d, 0x44, 0x24, 0xf8];
/// mov %rdi, %rax
const COPY: [u8; 3] = [0x48, 0x89, 0xf8];
/// add %rdi, %rcx
const USE: [u8; 3] = [0x48, 0x01, 0xf9];

/// Encodes a jump or branch with a four-byte distance.
fn jump(opcode: &[u8], distance: i32) -> Vec<u8> {
    [opcode, &distance.to_le_bytes()].concat()
}

/// Returns a layout: the starts of the basic blocks, the start of the cold ones, and the number of results.
fn layout(blocks: &[u32], cold: u32, results: usize) -> relax::Layout<'_> {
    relax::Layout {
        blocks,
        cold,
        transparent_calls: &[],
        returned: relax::returned(results),
        jump_tables: None,
        passes: Passes::ALL,
    }
}

/// Relaxes code; returns the new code, and the validator's verdict on it.
fn relaxed_by(mut code: MachineCode, layout: &relax::Layout<'_>) -> (MachineCode, Result<(), String>) {
    let original = Original { code: &code.clone(), conventions: &Conventions::unknown(), is_pinned: true };
    let hints = relax::relax(&mut code, layout);
    let checked = check(&original, &code, &hints);
    (code, checked)
}

/// Relaxes code without a cold part, and checks that the result does the same.
#[track_caller]
fn relaxed(code: MachineCode, blocks: &[u32], results: usize) -> MachineCode {
    let layout = layout(blocks, u32::MAX, results);
    match relaxed_by(code, &layout) {
        (code, Ok(())) => code,
        (_, Err(report)) => panic!("{report}"),
    }
}

/// Relaxes bytes without tables, of which callers may read two results; returns how many bytes were saved.
#[track_caller]
fn rewritten(parts: &[&[u8]], blocks: &[u32]) -> usize {
    let code = MachineCode { bytes: parts.concat(), align: 16, ..MachineCode::default() };
    code.bytes.len() - relaxed(code, blocks, 2).bytes.len()
}

#[test]
fn what_a_register_has_is_copied_unless_it_changed() {
    assert_eq!(rewritten(&[&SPILL, &USE, &RELOAD, &RET], &[0]), 2);
    // mov %rsi, -8(%rbp), where %rbp is the stack pointer, and its old value was pushed and is popped.
    let through_frame = [0x48, 0x89, 0x75, 0xf8];
    let (enter, leave) = ([0x55, 0x48, 0x89, 0xe5], [0x5d]);
    assert_eq!(rewritten(&[&enter, &SPILL, &through_frame, &RELOAD, &leave, &RET], &[0]), 0);
    // The store overlaps the slot: mov %esi, -4(%rsp), and mov %rsi, -12(%rsp); mov %esi, -12(%rsp) lies beside it.
    assert_eq!(rewritten(&[&SPILL, &[0x89, 0x74, 0x24, 0xfc], &RELOAD, &RET], &[0]), 0);
    assert_eq!(rewritten(&[&SPILL, &[0x89, 0x74, 0x24, 0xf4], &RELOAD, &RET], &[0]), 2);
    assert_eq!(rewritten(&[&SPILL, &[0x48, 0x89, 0x74, 0x24, 0xf4], &RELOAD, &RET], &[0]), 0);
    // Other code knows the slot's address: mov %r8, (%rdx).
    assert_eq!(rewritten(&[&SPILL, &ADDRESS, &[0x4c, 0x89, 0x02], &STORE, &RELOAD, &RET], &[0]), 0);
    // call *%rbx changes the register; mov %rsi, -16(%rsp, %rcx) may change the slot.
    assert_eq!(rewritten(&[&SPILL, &[0xff, 0xd3], &RELOAD, &RET], &[0]), 0);
    assert_eq!(rewritten(&[&SPILL, &[0x48, 0x89, 0x74, 0x0c, 0xf0], &RELOAD, &RET], &[0]), 0);
}

#[test]
fn what_holds_on_some_ways_is_copied() {
    // jb over the spill
    rewritten(&[&jump(&[0x0f, 0x82], 5), &SPILL, &RELOAD, &RET], &[0, 6, 11]);
    // In a loop that changes the register: inc %rdi.
    let change = [0x48, 0xff, 0xc7];
    rewritten(&[&SPILL, &RELOAD, &USE, &change, &jump(&[0x0f, 0x82], -17), &RET], &[0, 5, 22]);
    rewritten(&[&SPILL, &RELOAD, &USE, &jump(&[0x0f, 0x82], -14), &RET], &[0, 5, 19]);
}

#[test]
fn jumps_lead_where_they_led() {
    // cmp %rsi, %rdi; a branch around a jump, of each condition
    for condition in 0x80..0x90 {
        let parts: [&[u8]; 6] =
            [&[0x48, 0x39, 0xf7], &jump(&[0x0f, condition], 5), &jump(&[0xe9], 1), &RET, &COPY, &RET];
        assert_eq!(rewritten(&parts, &[0, 9, 14, 15]), 9);
    }
    // A jump to a jump, which leads over an instruction.
    let parts: [&[u8]; 6] = [&jump(&[0x0f, 0x82], 1), &RET, &jump(&[0xe9], 4), &USE, &RET, &RELOAD];
    rewritten(&[&parts.concat(), &RET], &[0, 6, 7, 12, 16]);
}

#[test]
fn numbers_are_what_they_were() {
    for number in [1, 127, 128, 255, 256, -1, -128, -129, i32::MAX, i32::MIN] {
        for operation in 0..8 {
            // An operation of 64 bits on %rdi, and of 32 on %esi; all but those that carry are shortened.
            let wide = [&[0x48, 0x81, 0xc7 | operation << 3][..], &number.to_le_bytes()].concat();
            let narrow = [&[0x81, 0xc6 | operation << 3][..], &number.to_le_bytes()].concat();
            // mov %rdi, %rax; mov %esi, %edx
            rewritten(&[&wide, &narrow, &[0x48, 0x89, 0xf8, 0x89, 0xf2], &RET], &[0]);
        }
    }
}

#[test]
fn places_in_the_frame_are_named_as_long_as_they_are_there() {
    // add (%r8), %eax; sub %r9, %r8; add (%r8), %eax; xor %r8d, %r8d
    let (read, clear) = ([0x41, 0x03, 0x00], [0x45, 0x31, 0xc0]);
    rewritten(&[&ADDRESS, &read, &clear, &RET], &[0]);
    rewritten(&[&ADDRESS, &[0x4d, 0x29, 0xc8], &read, &clear, &RET], &[0]);
    // sub $8, %rsp in between; add 4(%r8), %eax
    let (enter, leave) = ([0x48, 0x83, 0xec, 8], [0x48, 0x83, 0xc4, 8]);
    rewritten(&[&ADDRESS, &enter, &read, &leave, &RET], &[0]);
    rewritten(&[&ADDRESS, &[0x41, 0x03, 0x40, 4], &clear, &RET], &[0]);
}

#[test]
fn calls_are_merged_if_their_arguments_stay() {
    // mov $4096, %r10d; mov 8(%r10), %rax; call *%rax; the same with %ecx, which may be an argument register.
    let call = |make: &[u8], read: &[u8]| {
        let bytes = [make, &[0, 0x10, 0, 0], read, &[0xff, 0xd0], &RET].concat();
        let calls = vec![CallSite { return_pc: bytes.len() as u32 - 1, origin: None }];
        let len = bytes.len();
        let code = MachineCode { bytes, align: 16, calls, ..MachineCode::default() };
        len - relaxed(code, &[0], 2).bytes.len()
    };
    assert_eq!(call(&[0x41, 0xba], &[0x49, 0x8b, 0x42, 8]), 5);
    assert_eq!(call(&[0xb9], &[0x48, 0x8b, 0x41, 8]), 0);
}

#[test]
fn traps_and_results_stay_where_they_were() {
    // nopl; mov (%rdx), %rax with a trap; mov -8(%rsp), %rcx, which is dead; mov -8(%rsp), %rdx
    let bytes = |last: u8| {
        [
            &[0x0f, 0x1f, 0][..],
            &[0x48, 0x8b, 0x02],
            &[0x48, 0x8b, 0x4c, 0x24, 0xf8],
            &[0x48, 0x8b, last, 0x24, 0xf8],
            &RET,
        ]
        .concat()
    };
    let code = |last, results| {
        let traps = vec![TrapSite { pc: 3, code: TrapCode::Host, origin: None }];
        let code = MachineCode { bytes: bytes(last), align: 16, traps, ..MachineCode::default() };
        relaxed(code, &[0], results).bytes.len()
    };
    assert_eq!([code(0x54, 2), code(0x44, 2), code(0x54, 1), code(0x44, 1)], [12, 12, 4, 9]);
}

#[test]
fn jump_tables_lead_where_they_led() {
    // movzbl or movzwl (%rdi), %eax; mov $2, %ecx; mov %eax, %eax; cmp %ecx, %eax; cmovb %eax, %ecx
    for load in [0xb6, 0xb7] {
        let index =
            [&[0x0f, load, 0x07, 0xb9, 2, 0, 0, 0][..], &[0x89, 0xc0, 0x39, 0xc8, 0x0f, 0x42, 0xc8]].concat();
        let jump = [0x48, 0x8d, 0x15, 9, 0, 0, 0, 0x48, 0x63, 0x0c, 0x8a, 0x48, 0x01, 0xca, 0xff, 0xe2];
        let table = [18, 12, 19].map(i32::to_le_bytes).concat();
        // reload; ret; ret; xor %eax, %eax; ret
        let parts: [&[u8]; 7] = [&index, &jump, &table, &RELOAD, &RET, &RET, &[0x31, 0xc0, 0xc3]];
        let bytes = [&SPILL[..], &parts.concat()].concat();
        relaxed(MachineCode { bytes, align: 16, ..MachineCode::default() }, &[0, 48, 54, 55], 2);
    }
}

#[test]
fn counts_in_the_pinned_register_stay() {
    // mov %r15, %rax; lea -1(%rax), %rax; mov %rax, %r15; mov %r15, %rax; test %rax, %rax; jl over the return
    let count = [0x4c, 0x89, 0xf8, 0x48, 0x8d, 0x40, 0xff, 0x49, 0x89, 0xc7];
    let test = [0x4c, 0x89, 0xf8, 0x48, 0x85, 0xc0];
    // lea 1(%rax, %rax), %rcx; mov %rcx, %r15, behind a test
    let doubled = [0x4c, 0x89, 0xf8, 0x48, 0x8d, 0x4c, 0x00, 1, 0x49, 0x89, 0xcf];
    let rest = [&jump(&[0x0f, 0x8c], 3)[..], &[0x31, 0xc0, 0xc3], &USE, &[0x31, 0xc0, 0xc3]].concat();
    for parts in [[&count[..], &test], [&test, &[]], [&count, &[0x48, 0x31, 0xc0]]] {
        let mut code =
            MachineCode { bytes: [&parts.concat()[..], &rest].concat(), align: 16, ..MachineCode::default() };
        let original =
            Original { code: &code.clone(), conventions: &Conventions::unknown(), is_pinned: true };
        pinned::rewrite(&mut code.bytes[..parts.concat().len()]);
        assert_eq!(check(&original, &code, &[]), Ok(()));
    }
    let mut code = MachineCode {
        bytes: [&doubled[..], &[0x31, 0xc9, 0x31, 0xc0, 0xc3]].concat(),
        ..MachineCode::default()
    };
    let original = Original { code: &code.clone(), conventions: &Conventions::unknown(), is_pinned: true };
    pinned::rewrite(&mut code.bytes[..doubled.len()]);
    assert_ne!(original.code.bytes, code.bytes);
    assert_eq!(check(&original, &code, &[]), Ok(()));
}

#[test]
fn the_end_of_the_hot_part_is_not_run_into() {
    // A branch over a return to a removed block of the hot part, which runs into the cold part.
    let cold = [&COPY.repeat(21)[..], &RET].concat();
    let bytes = [&jump(&[0x0f, 0x82], 1)[..], &RET, &[0x0f, 0x1f, 0], &cold].concat();
    let code = MachineCode { bytes, align: 16, ..MachineCode::default() };
    let layout = layout(&[0, 7, 10], 10, 1);
    let (code, checked) = relaxed_by(code, &layout);
    assert!(code.cold.is_some());
    assert_eq!(checked, Ok(()));
}
