//! x86-64 Linux: see `arch` for the register conventions of machine code.

use std::arch::naked_asm;
use std::ffi::c_void;
use std::mem::offset_of;

use wprof_jit::abi;

use crate::runtime::control::throw::Landed;
use crate::runtime::control::{allocation_reports, builtins, lazy, raise, resume as resumption, throw};
use crate::runtime::counts::call_records::RecentCalls;
use crate::runtime::instances::abi::{ArrayCall, VmActivation, VmContext, VmStoreContext, VmValue};
use crate::runtime::samples::{FOR_ENGINE, FOR_PROGRAM};

/// Pushes or pops registers, in this order.
macro_rules! registers {
    ($operation:ident $($register:ident)*) => {
        concat!($(stringify!($operation), " ", stringify!($register), "\n"),*)
    };
}

/// Saves the vector registers, all or those of arguments, at the stack pointer, or restores them.
macro_rules! vectors {
    ($operation:ident all) => {
        vectors!($operation 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    ($operation:ident arguments) => {
        vectors!($operation 0 1 2 3 4 5 6 7)
    };
    (save $($number:literal)*) => {
        concat!($("movups [rsp + 16 * ", $number, "], xmm", $number, "\n"),*)
    };
    (restore $($number:literal)*) => {
        concat!($("movups xmm", $number, ", [rsp + 16 * ", $number, "]\n"),*)
    };
}

/// The common part of all lazy stubs: compiles the called function and jumps to it, with all arguments unchanged.
///
/// eax holds the index, `$callee` the callee's vmctx or host context, `$caller` the caller's vmctx, an instance's;
/// `$pass` moves the callee's vmctx to rdi and the caller's to rsi. If too little stack is left to compile on, the stub
/// raises a stack overflow on behalf of the caller.
macro_rules! lazy_common {
    ($name:ident, $callee:literal, $caller:literal, $pass:literal) => {
        #[unsafe(naked)]
        extern "C" fn $name() {
            naked_asm!(
                concat!("mov r11, [", $caller, " + {store}]"),
                "cmp rsp, [r11 + {limit}]",
                "jb 2f",
                "mov r10, [rsp]",
                "mov [r11 + {left_fp}], rbp",
                "mov qword ptr [r11 + {left_for}], {engine}",
                "mov [r11 + {left_pc}], r10",
                "push rbp",
                "mov rbp, rsp",
                "sub rsp, 176",
                vectors!(save arguments),
                "mov [rsp + 128], rdi",
                "mov [rsp + 136], rsi",
                "mov [rsp + 144], rdx",
                "mov [rsp + 152], rcx",
                "mov [rsp + 160], r8",
                "mov [rsp + 168], r9",
                $pass,
                "mov edx, eax",
                "call {compile}",
                vectors!(restore arguments),
                "mov rdi, [rsp + 128]",
                "mov rsi, [rsp + 136]",
                "mov rdx, [rsp + 144]",
                "mov rcx, [rsp + 152]",
                "mov r8, [rsp + 160]",
                "mov r9, [rsp + 168]",
                "mov rsp, rbp",
                "pop rbp",
                "jmp rax",
                "2:",
                concat!("mov [r11 + {failed_callee}], ", $callee),
                "mov [r11 + {failed_index}], eax",
                "jmp [r11 + {raise}]",
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
    };
}

lazy_common!(lazy_common_in_registers, "rdi", "rsi", "");
// rdi holds the address for the results.
lazy_common!(lazy_common_in_memory, "rsi", "rdx", "mov rdi, rsi; mov rsi, rdx");

/// Returns the address of the common part for functions that return in registers, or in memory.
pub fn lazy_common(in_memory: bool) -> usize {
    let common = if in_memory { lazy_common_in_memory } else { lazy_common_in_registers };
    common as *const () as usize
}

/// Defines builtins that first check that enough stack is left for the host, and fail otherwise. Wasm may call
/// them with almost no stack left, and an overflow in host code could not be recovered from. While a builtin runs, the
/// store's context tells the timer handler its call site, and whether its time belongs to the program.
macro_rules! guarded {
    ($($name:ident = $target:path, $failure:literal, $left_for:path;)*) => {
        $(#[unsafe(naked)]
        pub extern "C" fn $name() {
            naked_asm!(
                "mov rax, [rdi + {store}]",
                "cmp rsp, [rax + {limit}]",
                "jb 2f",
                "mov r10, [rsp]",
                "mov [rax + {left_fp}], rbp",
                "mov qword ptr [rax + {left_for}], {why}",
                "mov [rax + {left_pc}], r10",
                "push rax",
                "call {target}",
                "pop rcx",
                "mov qword ptr [rcx + {left_pc}], 0",
                "ret",
                "2:",
                "mov rax, {failure}",
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

/// `Builtin::Throw`: resumes where the runtime says, with the exception in the register that landings expect.
#[unsafe(naked)]
pub extern "C" fn throw() {
    naked_asm!(
        "mov rax, [rdi + {store}]",
        "cmp rsp, [rax + {limit}]",
        "jb 2f",
        "push rbp",
        "mov rbp, rsp",
        "sub rsp, {size}",
        "mov [rbp - 8], rax",
        "mov rdx, [rbp + 8]",
        "mov rcx, [rbp]",
        "mov [rax + {left_fp}], rcx",
        "mov qword ptr [rax + {left_for}], {program}",
        "mov [rax + {left_pc}], rdx",
        "mov r8, r15",
        "mov r9, rsp",
        "call {target}",
        "mov rdx, [rbp - 8]",
        "mov qword ptr [rdx + {left_pc}], 0",
        "test eax, eax",
        "je 3f",
        "mov rax, [rsp + {exception}]",
        "mov r15, [rsp + {pinned}]",
        "mov rcx, [rsp + {pc}]",
        "mov rbp, [rsp + {fp}]",
        "mov rsp, [rsp + {sp}]",
        "jmp rcx",
        "3:",
        "mov rsp, rbp",
        "pop rbp",
        "2:",
        "mov eax, 1",
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
        pinned = const offset_of!(Landed, pinned),
        pc = const offset_of!(Landed, pc),
        fp = const offset_of!(Landed, fp),
        sp = const offset_of!(Landed, sp),
    )
}

/// `Builtin::Raise`: ends wasm code as a trap does, without a fault. Takes no arguments, so that stubs that know no vmctx
/// can call it; the stack need not be aligned.
#[unsafe(naked)]
pub extern "C" fn raise() {
    naked_asm!(
        "mov rdi, [rsp]",
        "lea rsi, [rsp + 8]",
        "mov rdx, rbp",
        "mov rcx, r15",
        "sub rsp, {size}",
        "and rsp, -16",
        "mov r8, rsp",
        "call {target}",
        "mov rcx, [rsp + {pc}]",
        "mov rbp, [rsp + {fp}]",
        "mov rsp, [rsp + {sp}]",
        "jmp rcx",
        size = const size_of::<Landed>(),
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
        "push rbp",
        "mov rbp, rsp",
        "mov rsi, rbp",
        "mov rdx, r15",
        "call {target}",
        "mov r15, rdx",
        "pop rbp",
        "ret",
        target = sym raise::poll,
    )
}

/// A builtin that preserves all registers except its results, for rare calls from wasm code.
/// `$before` runs first; with all registers saved, `$call` calls the builtin and `$result` takes its result; `$after`
/// follows the code.
macro_rules! preserving {
    ($before:expr, $call:expr, $result:expr, $after:expr, $($operands:tt)*) => {
        naked_asm!(
            $before,
            "push rbp",
            "mov rbp, rsp",
            registers!(push rax rcx rdx rsi rdi r8 r9 r10 r11),
            "sub rsp, 264",
            vectors!(save all),
            $call,
            $result,
            vectors!(restore all),
            "add rsp, 264",
            registers!(pop r11 r10 r9 r8 rdi rsi rdx rcx rax),
            "pop rbp",
            "ret",
            $after,
            $($operands)*
        )
    };
}

#[cfg(test)]
mod preserved;
mod readings;
pub use readings::*;

/// See `abi::find_record_signature`. Searches the [`RecentCalls`] first, which hold the records of alternating indirect
/// callees.
#[unsafe(naked)]
pub extern "C" fn find_record() {
    preserving!(
        "push rax
        push r8
        push r9
        mov eax, esi
        add rax, rdi
        mov r8, [rdi + {store}]
        mov r8, [r8 + {recent}]
        lea r9d, [rcx + rax]
        imul r9d, r9d, {factor}
        shr r9d, {shift}
        shl r9, 4
        add r8, r9
        cmp [r8], rcx
        jne 2f
        mov r8, [r8 + 8]
        cmp [r8 + {key}], rax
        jne 2f
        mov [rcx], r8
        pop r9
        pop r8
        pop rax
        ret
        2:
        pop r9
        pop r8
        pop rax",
        "call {target}",
        "",
        "",
        target = sym builtins::find_record,
        store = const abi::vmctx::STORE,
        recent = const offset_of!(VmStoreContext, recent_calls),
        factor = const RecentCalls::FACTOR,
        shift = const RecentCalls::SHIFT,
        key = const abi::call_record::KEY,
    )
}

/// See `abi::check_signature`. The builtin takes the return address, the pinned register and the frame, and
/// returns the new value of that register.
#[unsafe(naked)]
pub extern "C" fn check() {
    preserving!(
        "cmp rsp, [rdi + {limit}]\njb 2f",
        "mov rsi, [rbp + 8]\nmov rdx, r15\nmov rcx, [rbp]\nmov r8, rbp\ncall {target}",
        "mov r15, rax",
        "2:\nmov qword ptr [rdi + {go_on}], 0\nret",
        target = sym builtins::check,
        limit = const offset_of!(VmStoreContext, stack_limit),
        go_on = const offset_of!(VmStoreContext, go_on),
    )
}

/// See `abi::check_pinned_signature`. However far the count was below zero, it is treated as -1.
#[unsafe(naked)]
pub extern "C" fn check_pinned() {
    preserving!(
        "cmp rsp, [r15 + {limit}]\njb 2f",
        "mov rdi, r15\nmov rsi, [rbp + 8]\nmov rdx, -1\nmov rcx, [rbp]\nmov r8, rbp\ncall {target}",
        "mov r15, rax",
        "2:\nmov qword ptr [r15 + {go_on}], 0\nmov r15, -1\nret",
        target = sym builtins::check,
        limit = const offset_of!(VmStoreContext, stack_limit),
        go_on = const offset_of!(VmStoreContext, go_on),
    )
}

/// See `abi::leave_signature`. No check has been counted since the one that fired.
#[unsafe(naked)]
pub extern "C" fn leave() {
    naked_asm!(
        "mov rdi, [r15 + {leaving}]",
        "mov rsi, rdi",
        "mov r10, [r15 + {go_on}]",
        "mov r15, [r15 + {checks}]",
        "jmp r10",
        leaving = const offset_of!(VmStoreContext, leaving),
        go_on = const offset_of!(VmStoreContext, go_on),
        checks = const offset_of!(VmStoreContext, checks),
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
        "push rbp",
        "mov rbp, rsp",
        "mov rax, [rbp + 16]",
        "mov [rax - 8], rsp",
        "lea rsp, [rax - 16]",
        "call r9",
        "mov rsp, rbp",
        "pop rbp",
        "ret"
    )
}

/// The target to which the signal handler redirects a thread by [`redirect`](crate::arch::redirect): saves all
/// registers, lets [`go_on`](resumption::go_on) change them, and resumes with them.
#[unsafe(naked)]
pub extern "C" fn resume() {
    naked_asm!(
        registers!(push rbp r15 r14 r13 r12 r11 r10 r9 r8 rdi rsi rbp rsp rbx rdx rcx rax),
        "lea rbp, [rsp + 128]",
        "sub rsp, 264",
        vectors!(save all),
        "mov rdi, rsp",
        "call {target}",
        vectors!(restore all),
        "add rsp, 264",
        registers!(pop rax rcx rdx rbx),
        "add rsp, 16",
        registers!(pop rsi rdi r8 r9 r10 r11 r12 r13 r14 r15 rbp),
        "iretq",
        target = sym resumption::go_on,
    )
}

/// Marks data segment `esi` of the instance `rdi` as dropped. Uses no stack, since it cannot fail.
#[unsafe(naked)]
pub extern "C" fn data_drop() {
    naked_asm!(
        "mov esi, esi",
        "mov rax, [rdi + {dropped}]",
        "mov byte ptr [rax + 2 * rsi], 1",
        "xor eax, eax",
        "ret",
        dropped = const offset_of!(VmContext, dropped),
    )
}

/// Marks element segment `esi` of the instance `rdi` as dropped, without stack too.
#[unsafe(naked)]
pub extern "C" fn elem_drop() {
    naked_asm!(
        "mov esi, esi",
        "mov rax, [rdi + {dropped}]",
        "mov byte ptr [rax + 2 * rsi + 1], 1",
        "xor eax, eax",
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
        registers!(push rbp rbx r12 r13 r14 r15),
        "sub rsp, 8",
        "stmxcsr [rsp]",
        "fnstcw [rsp + 4]",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "ldmxcsr [rsp]",
        "fldcw [rsp + 4]",
        "add rsp, 8",
        registers!(pop r15 r14 r13 r12 rbx rbp),
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
    /// Exceptions masked, rounding to nearest: the initial state of each thread. For vectors, and for the x87 unit.
    const CONTROL: usize = 0x037f << 32 | 0x1f80;
    // In pop order: control words, r15, r14, r13, r12, rbx, rbp, the return address; then the end of the frame chain.
    let words = [CONTROL, 0, 0, run as usize, data as usize, 0, 0, begin as *const () as usize, 0, 0];
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
    naked_asm!("mov rdi, r12", "call r13", "ud2")
}
