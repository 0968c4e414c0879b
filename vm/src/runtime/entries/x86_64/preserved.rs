//! Tests that stubs by `preserving!` change no register: passes over machine code rely on that.

use std::arch::naked_asm;

/// What the general registers that callees may change hold, in the order of [`called_with`], then the vector registers.
type Values = [u64; 9 + 2 * 16];

/// Moves the general registers, or the vector registers, between themselves and [`Values`] at r12.
macro_rules! moved {
    (load $($register:ident $index:literal)*) => {
        concat!($("mov ", stringify!($register), ", [r12 + 8 * ", $index, "]\n"),*)
    };
    (store $($register:ident $index:literal)*) => {
        concat!($("mov [r12 + 8 * ", $index, "], ", stringify!($register), "\n"),*)
    };
    (load_vectors $($number:literal)*) => {
        concat!($("movups xmm", $number, ", [r12 + 72 + 16 * ", $number, "]\n"),*)
    };
    (store_vectors $($number:literal)*) => {
        concat!($("movups [r12 + 72 + 16 * ", $number, "], xmm", $number, "\n"),*)
    };
}

/// Calls `stub` with `values` in the registers, and stores there what they hold when it has returned.
#[unsafe(naked)]
extern "C" fn called_with(stub: extern "C" fn(), values: &mut Values) {
    naked_asm!(
        registers!(push rbp rbx r12),
        "mov rbx, rdi",
        "mov r12, rsi",
        moved!(load_vectors 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15),
        moved!(load rax 0 rcx 1 rdx 2 rsi 3 rdi 4 r8 5 r9 6 r10 7 r11 8),
        "call rbx",
        moved!(store rax 0 rcx 1 rdx 2 rsi 3 rdi 4 r8 5 r9 6 r10 7 r11 8),
        moved!(store_vectors 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15),
        registers!(pop r12 rbx rbp),
        "ret",
    )
}

/// Changes all registers that a callee may change.
#[unsafe(naked)]
extern "C" fn change_all() {
    macro_rules! changed {
        ($($register:ident)*; $($number:literal)*) => {
            concat!(
                $("mov ", stringify!($register), ", -1\n",)*
                $("pcmpeqd xmm", $number, ", xmm", $number, "\n"),*
            )
        };
    }
    naked_asm!(changed!(rax rcx rdx rsi rdi r8 r9 r10 r11; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15), "ret")
}

#[unsafe(naked)]
extern "C" fn preserving_stub() {
    preserving!("", "call {target}", "", "", target = sym change_all)
}

#[test]
fn stubs_that_preserve_registers_change_none() {
    let before: Values = std::array::from_fn(|index| 0x0101_0101_0101_0101 * (1 + index as u64));
    let mut after = before;
    called_with(change_all, &mut after);
    assert!(after.iter().all(|&value| value == u64::MAX), "this test sees each register: {after:x?}");
    after = before;
    called_with(preserving_stub, &mut after);
    assert_eq!(after, before);
}
