//! AArch64 Linux: see `arch` for the register conventions of machine code. Code for this target has no pinned register
//! (`jit::target`).

use std::arch::naked_asm;
use std::ffi::c_void;
use std::mem::offset_of;

use wprof_jit::abi;

use crate::runtime::control::throw::Landed;
use crate::runtime::control::{allocation_reports, builtins, lazy, raise, resume as resumption, throw};
use crate::runtime::counts::call_records::RecentCalls;
use crate::runtime::instances::abi::{ArrayCall, VmActivation, VmContext, VmStoreContext, VmValue};
use crate::runtime::samples::{FOR_ENGINE, FOR_PROGRAM};

/// Stores or loads pairs of registers, each at its number times its size behind a base.
macro_rules! pairs {
    ($operation:literal, $class:literal, $base:literal, $size:literal: $($first:literal $second:literal)*) => {
        concat!($($operation, " ", $class, $first, ", ", $class, $second, ", [", $base, ", #", $size, " * ", $first, "]\n"),*)
    };
}

/// Stores or loads the vector registers, all or those of arguments, at the stack pointer.
macro_rules! vectors {
    ($operation:literal all) => {
        pairs!($operation, "q", "sp", 16: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27
            28 29 30 31)
    };
    ($operation:literal arguments) => {
        pairs!($operation, "q", "sp", 16: 0 1 2 3 4 5 6 7)
    };
}

/// The common part of all lazy stubs: compiles the called function and jumps to it, with all arguments unchanged.
///
/// w17 holds the index, x2 the callee's vmctx or host context, x3 the caller's vmctx, an instance's. If too little
/// stack is left to compile on, the stub raises a stack overflow on behalf of the caller.
#[unsafe(naked)]
extern "C" fn lazy_stub() {
    naked_asm!(
        "ldr x16, [x3, #{store}]",
        "ldr x9, [x16, #{limit}]",
        "cmp sp, x9",
        "b.lo 2f",
        "mov x9, #{engine}",
        "str x29, [x16, #{left_fp}]",
        "str x9, [x16, #{left_for}]",
        "str x30, [x16, #{left_pc}]",
        "stp x29, x30, [sp, #-16]!",
        "mov x29, sp",
        "sub sp, sp, #192",
        vectors!("stp" arguments),
        "stp x2, x3, [sp, #128]",
        "stp x4, x5, [sp, #144]",
        "stp x6, x7, [sp, #160]",
        "str x8, [sp, #176]",
        "mov x0, x2",
        "mov x1, x3",
        "mov w2, w17",
        "bl {compile}",
        "mov x16, x0",
        vectors!("ldp" arguments),
        "ldp x2, x3, [sp, #128]",
        "ldp x4, x5, [sp, #144]",
        "ldp x6, x7, [sp, #160]",
        "ldr x8, [sp, #176]",
        "mov sp, x29",
        "ldp x29, x30, [sp], #16",
        "br x16",
        "2:",
        "str x2, [x16, #{failed_callee}]",
        "str w17, [x16, #{failed_index}]",
        "ldr x16, [x16, #{raise}]",
        "br x16",
        failed_callee = const offset_of!(VmStoreContext, failed_callee),
        failed_index = const offset_of!(VmStoreContext, failed_index),
        store = const offset_of!(VmContext, store),
        limit = const offset_of!(VmStoreContext, stack_limit),
        raise = const offset_of!(VmStoreContext, raise),
        left_pc = const offset_of!(VmStoreContext, left_pc),
        left_fp = const offset_of!(VmStoreContext, left_fp),
        left_for = const offset_of!(VmStoreContext, left_for),
        engine = const FOR_ENGINE,
        compile = sym lazy::lazy_compile,
    )
}

/// Returns the address of the common part, the same for functions that return in registers or in memory: the address
/// for results has a register of its own.
pub fn lazy_common(_in_memory: bool) -> usize {
    lazy_stub as *const () as usize
}

/// Defines builtins that first check that enough stack is left for the host, and fail otherwise. Wasm may call
/// them with almost no stack left, and an overflow in host code could not be recovered from. While a builtin runs, the
/// store's context tells the timer handler its call site, and whether its time belongs to the program.
macro_rules! guarded {
    ($($name:ident = $target:path, $failure:literal, $left_for:path;)*) => {
        $(#[unsafe(naked)]
        pub extern "C" fn $name() {
            naked_asm!(
                "ldr x16, [x0, #{store}]",
                "ldr x17, [x16, #{limit}]",
                "cmp sp, x17",
                "b.lo 2f",
                "mov x17, #{why}",
                "str x29, [x16, #{left_fp}]",
                "str x17, [x16, #{left_for}]",
                "str x30, [x16, #{left_pc}]",
                "stp x16, x30, [sp, #-16]!",
                "bl {target}",
                "ldp x16, x30, [sp], #16",
                "str xzr, [x16, #{left_pc}]",
                "ret",
                "2:",
                "mov x0, #{failure}",
                "ret",
                store = const offset_of!(VmContext, store),
                limit = const offset_of!(VmStoreContext, stack_limit),
                left_pc = const offset_of!(VmStoreContext, left_pc),
                left_fp = const offset_of!(VmStoreContext, left_fp),
                left_for = const offset_of!(VmStoreContext, left_for),
                why = const $left_for,
                target = sym $target,
                failure = const $failure,
            )
        })*
    };
}

guarded_builtins!(guarded);

/// `Builtin::Throw`: resumes where the runtime says, with the exception in the register that landings expect. It is called
/// in the `tail` convention: x2 and x3 hold the arguments.
#[unsafe(naked)]
pub extern "C" fn throw() {
    naked_asm!(
        "ldr x16, [x2, #{store}]",
        "ldr x17, [x16, #{limit}]",
        "cmp sp, x17",
        "b.lo 2f",
        "mov x17, #{program}",
        "str x29, [x16, #{left_fp}]",
        "str x17, [x16, #{left_for}]",
        "str x30, [x16, #{left_pc}]",
        "mov x0, x2",
        "mov x1, x3",
        "mov x2, x30",
        "mov x3, x29",
        "stp x29, x30, [sp, #-16]!",
        "mov x29, sp",
        "sub sp, sp, #{size}",
        "str x16, [x29, #-8]",
        "mov x4, #0",
        "mov x5, sp",
        "bl {target}",
        "ldr x16, [x29, #-8]",
        "str xzr, [x16, #{left_pc}]",
        "cbz w0, 3f",
        "ldr x0, [sp, #{exception}]",
        "ldr x17, [sp, #{pc}]",
        "ldr x29, [sp, #{fp}]",
        "ldr x16, [sp, #{sp}]",
        "mov sp, x16",
        "br x17",
        "3:",
        "mov sp, x29",
        "ldp x29, x30, [sp], #16",
        "2:",
        "mov w0, #1",
        "ret",
        store = const offset_of!(VmContext, store),
        limit = const offset_of!(VmStoreContext, stack_limit),
        // Plus the store's context.
        size = const (size_of::<Landed>() + 8).next_multiple_of(16),
        left_pc = const offset_of!(VmStoreContext, left_pc),
        left_fp = const offset_of!(VmStoreContext, left_fp),
        left_for = const offset_of!(VmStoreContext, left_for),
        program = const FOR_PROGRAM,
        target = sym throw::throw,
        exception = const offset_of!(Landed, exception),
        pc = const offset_of!(Landed, pc),
        fp = const offset_of!(Landed, fp),
        sp = const offset_of!(Landed, sp),
    )
}

/// `Builtin::Raise`: ends wasm code as a trap does, without a fault. Takes no arguments, so that stubs that know no vmctx
/// can call it.
#[unsafe(naked)]
pub extern "C" fn raise() {
    naked_asm!(
        "mov x0, x30",
        "mov x1, sp",
        "mov x2, x29",
        "mov x3, #0",
        "mov x5, x17",
        "sub sp, sp, #{size}",
        "mov x4, sp",
        "bl {target}",
        "ldr x17, [sp, #{pc}]",
        "ldr x29, [sp, #{fp}]",
        "ldr x16, [sp, #{sp}]",
        "mov sp, x16",
        "br x17",
        size = const size_of::<Landed>().next_multiple_of(16),
        target = sym raise::raise,
        pc = const offset_of!(Landed, pc),
        fp = const offset_of!(Landed, fp),
        sp = const offset_of!(Landed, sp),
    )
}

/// `Builtin::Poll`: acts on a request to stop. The frame is the one from which a stack walk begins meanwhile.
#[unsafe(naked)]
pub extern "C" fn poll() {
    naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "mov x29, sp",
        "mov x1, x29",
        "mov x2, #0",
        "bl {target}",
        "ldp x29, x30, [sp], #16",
        "ret",
        target = sym raise::poll,
    )
}

/// A builtin that preserves all registers but x16 and x17, in which Cranelift keeps nothing, for rare calls from wasm code.
/// `$before` runs first; with all registers saved, `$call` calls the builtin; `$after` follows the code.
macro_rules! preserving {
    ($before:expr, $call:expr, $after:expr, $($operands:tt)*) => {
        naked_asm!(
            $before,
            "stp x29, x30, [sp, #-16]!",
            "mov x29, sp",
            "sub sp, sp, #672",
            vectors!("stp" all),
            "add x17, sp, #512",
            pairs!("stp", "x", "x17", 8: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15),
            "str x18, [x17, #128]",
            $call,
            vectors!("ldp" all),
            "add x17, sp, #512",
            pairs!("ldp", "x", "x17", 8: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15),
            "ldr x18, [x17, #128]",
            "mov sp, x29",
            "ldp x29, x30, [sp], #16",
            "ret",
            $after,
            $($operands)*
        )
    };
}

mod readings;
pub use readings::*;

/// See `abi::find_record_signature`. Searches the [`RecentCalls`] first, which hold the records of alternating indirect
/// callees.
#[unsafe(naked)]
pub extern "C" fn find_record() {
    preserving!(
        "stp x9, x10, [sp, #-16]!
        add x16, x0, w1, uxtw
        ldr x9, [x0, #{store}]
        ldr x9, [x9, #{recent}]
        add w17, w3, w16
        mov w10, #{factor_low}
        movk w10, #{factor_high}, lsl #16
        mul w17, w17, w10
        lsr w17, w17, #{shift}
        add x9, x9, x17, lsl #4
        ldp x17, x9, [x9]
        cmp x17, x3
        b.ne 2f
        ldr x17, [x9, #{key}]
        cmp x17, x16
        b.ne 2f
        str x9, [x3]
        ldp x9, x10, [sp], #16
        ret
        2:
        ldp x9, x10, [sp], #16",
        "bl {target}",
        "",
        target = sym builtins::find_record,
        store = const abi::vmctx::STORE,
        recent = const offset_of!(VmStoreContext, recent_calls),
        factor_low = const RecentCalls::FACTOR & 0xffff,
        factor_high = const (RecentCalls::FACTOR >> 16) & 0xffff,
        shift = const RecentCalls::SHIFT,
        key = const abi::call_record::KEY,
    )
}

/// See `abi::check_signature`. The builtin takes the return address, what would be the pinned register, and the frame.
#[unsafe(naked)]
pub extern "C" fn check() {
    preserving!(
        "ldr x17, [x0, #{limit}]
        cmp sp, x17
        b.lo 2f",
        "ldp x3, x1, [x29]
        mov x2, #0
        mov x4, x29
        bl {target}",
        "2:
        str xzr, [x0, #{go_on}]
        ret",
        target = sym builtins::check,
        limit = const offset_of!(VmStoreContext, stack_limit),
        go_on = const offset_of!(VmStoreContext, go_on),
    )
}

/// Calls an entry trampoline on another stack, which begins at `top`. The word below holds the old stack pointer.
///
/// # Safety
/// Same as for the trampoline. Nothing else uses that stack until this function returns.
#[unsafe(naked)]
pub unsafe extern "C" fn enter_on_stack(
    callee: *mut c_void,
    caller: *mut c_void,
    code: usize,
    values: *mut VmValue,
    activation: *mut VmActivation,
    trampoline: ArrayCall,
    top: *mut u8,
) -> u32 {
    naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "mov x29, sp",
        "mov x9, sp",
        "str x9, [x6, #-8]",
        "sub sp, x6, #16",
        "blr x5",
        "mov sp, x29",
        "ldp x29, x30, [sp], #16",
        "ret",
    )
}

/// The target to which the signal handler redirects a thread by [`redirect`](crate::arch::redirect): saves all
/// registers, lets [`go_on`](resumption::go_on) change them, and resumes with them. The stack pointer is the last to be
/// restored, since what lies below it may be overwritten by handlers of other signals.
#[unsafe(naked)]
pub extern "C" fn resume() {
    naked_asm!(
        "str x30, [sp, #24]",
        "sub sp, sp, #240",
        pairs!("stp", "x", "sp", 8: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29),
        "add x29, sp, #232",
        "sub sp, sp, #512",
        vectors!("stp" all),
        "mov x0, sp",
        "bl {target}",
        vectors!("ldp" all),
        "add x17, sp, #512",
        "ldr x16, [x17, #256]",
        "msr nzcv, x16",
        pairs!("ldp", "x", "x17", 8: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15),
        pairs!("ldp", "x", "x17", 8: 18 19 20 21 22 23 24 25 26 27 28 29),
        "ldr x16, [x17, #128]",
        "ldr x30, [x17, #248]",
        "ldr x17, [x17, #240]",
        "mov sp, x30",
        "br x17",
        target = sym resumption::go_on,
    )
}

/// Marks data segment `w1` of the instance `x0` as dropped. Uses no stack, since it cannot fail.
#[unsafe(naked)]
pub extern "C" fn data_drop() {
    naked_asm!(
        "ldr x16, [x0, #{dropped}]",
        "add x16, x16, w1, uxtw #1",
        "mov w17, #1",
        "strb w17, [x16]",
        "mov w0, #0",
        "ret",
        dropped = const offset_of!(VmContext, dropped),
    )
}

/// Marks element segment `w1` of the instance `x0` as dropped, without stack too.
#[unsafe(naked)]
pub extern "C" fn elem_drop() {
    naked_asm!(
        "ldr x16, [x0, #{dropped}]",
        "add x16, x16, w1, uxtw #1",
        "mov w17, #1",
        "strb w17, [x16, #1]",
        "mov w0, #0",
        "ret",
        dropped = const offset_of!(VmContext, dropped),
    )
}

/// Switches to another stack: stores the position of the current one in `from` and resumes the other at `to`.
///
/// # Safety
/// `to` was stored by this function, or returned by [`prepare_stack`], and nothing has resumed there since.
/// Thread-local data that the caller keeps in use may belong to another thread when this function returns.
#[unsafe(naked)]
pub unsafe extern "C" fn switch_stacks(from: *mut usize, to: usize) {
    naked_asm!(
        "sub sp, sp, #176",
        "stp x19, x20, [sp]",
        "stp x21, x22, [sp, #16]",
        "stp x23, x24, [sp, #32]",
        "stp x25, x26, [sp, #48]",
        "stp x27, x28, [sp, #64]",
        "stp x29, x30, [sp, #80]",
        "stp d8, d9, [sp, #96]",
        "stp d10, d11, [sp, #112]",
        "stp d12, d13, [sp, #128]",
        "stp d14, d15, [sp, #144]",
        "mrs x9, fpcr",
        "str x9, [sp, #160]",
        "mov x9, sp",
        "str x9, [x0]",
        "mov sp, x1",
        "ldr x9, [sp, #160]",
        "msr fpcr, x9",
        "ldp x19, x20, [sp]",
        "ldp x21, x22, [sp, #16]",
        "ldp x23, x24, [sp, #32]",
        "ldp x25, x26, [sp, #48]",
        "ldp x27, x28, [sp, #64]",
        "ldp x29, x30, [sp, #80]",
        "ldp d8, d9, [sp, #96]",
        "ldp d10, d11, [sp, #112]",
        "ldp d12, d13, [sp, #128]",
        "ldp d14, d15, [sp, #144]",
        "add sp, sp, #176",
        "ret",
    )
}

/// Prepares a stack that ends at `top` so that [`switch_stacks`] calls `run` there with `data`. Returns the position to
/// resume.
///
/// # Safety
/// Nothing else uses the stack.
pub unsafe fn prepare_stack(
    top: *mut u8,
    run: unsafe extern "C" fn(*mut c_void) -> !,
    data: *mut c_void,
) -> usize {
    // As `switch_stacks` stores them: x19 to x28, the frame pointer (the end of the frame chain), the return address, d8
    // to d15, and the initial control word of each thread; then the end of the stack.
    let mut words = [0; 24];
    (words[0], words[1], words[11]) = (data as usize, run as usize, begin as *const () as usize);
    // SAFETY: the stack has room for them, and is aligned.
    unsafe {
        let start = top.cast::<usize>().sub(words.len());
        std::ptr::copy_nonoverlapping(words.as_ptr(), start, words.len());
        start as usize
    }
}

/// The first code that runs on a prepared stack.
#[unsafe(naked)]
extern "C" fn begin() {
    naked_asm!("mov x0, x19", "blr x20", "brk #0")
}

/// Defines entries that only code with a pinned register calls.
macro_rules! without_pinned_register {
    ($($name:ident)*) => {
        $(#[doc = concat!("`", stringify!($name), "` of targets with a pinned register. No code of this target calls it.")]
        #[unsafe(naked)]
        pub extern "C" fn $name() {
            naked_asm!("brk #0")
        })*
    };
}

without_pinned_register! { check_pinned leave read_metrics_and_pinned_log read_cycles_and_pinned_log read_pinned_log }
