//! x86-64 Linux.
//!
//! Wasm code passes integer arguments in rdi, rsi, rdx, rcx, r8, r9 and vectors in xmm0 to xmm7. Across calls it keeps
//! values in its frame or in the registers that System V has callees preserve, and it has a frame pointer: `[rbp]` is the
//! caller's, `[rbp + 8]` the return address.

use std::arch::{asm, naked_asm};
use std::ffi::c_void;
use std::mem::offset_of;

use libc::{REG_EFL, REG_R15, REG_RBP, REG_RIP, REG_RSP, ucontext_t};
use wprof_jit::abi::{self, TrapCode};
use wprof_jit::compile::{MachineCode, TrapSite};

use crate::runtime::abi::{ArrayCall, VmActivation, VmContext, VmStoreContext, VmValue};
use crate::runtime::call_records::RecentCalls;
use crate::runtime::{builtins, lazy, resume as resumption};

/// Bytes of each lazy stub.
pub const STUB_SIZE: usize = 16;
/// Bytes before the first stub of a chunk: a jump to the common part, which may be too far for a short jump.
pub const STUBS_HEADER: usize = 16;

/// The code of the stubs `first..first + count`, position independent; `in_memory` for functions that return there.
pub fn lazy_stubs(first: u32, count: u32, in_memory: bool) -> Vec<u8> {
    let common = if in_memory { lazy_common_in_memory } else { lazy_common };
    let mut code = vec![0xff, 0x25, 0, 0, 0, 0]; // jmp [rip + 0]
    code.extend_from_slice(&(common as *const () as usize as u64).to_le_bytes());
    code.resize(STUBS_HEADER, 0xcc);
    for index in first..first + count {
        let start = code.len();
        code.push(0xb8); // mov eax, index
        code.extend_from_slice(&index.to_le_bytes());
        code.push(0xe9); // jmp header
        let next = code.len() as i32 + 4;
        code.extend_from_slice(&(-next).to_le_bytes());
        code.resize(start + STUB_SIZE, 0xcc);
    }
    code
}

/// A function of any type that traps at once.
pub fn raise(code: TrapCode) -> MachineCode {
    let site = TrapSite { pc: 0, code, origin: None };
    MachineCode { bytes: vec![0x0f, 0x0b], align: 16, traps: vec![site], ..MachineCode::default() } // ud2
}

/// The common part of all lazy stubs: compiles what was called and jumps there, with all arguments as they came.
///
/// eax is the index, `$callee` the callee's vmctx or host context, `$caller` the caller's vmctx, an instance's;
/// `$pass` moves the callee's vmctx to rdi and the caller's to rsi. With too little stack left to compile on, it
/// raises a stack overflow in the caller's stead.
macro_rules! lazy_common {
    ($name:ident, $callee:literal, $caller:literal, $pass:literal) => {
        #[unsafe(naked)]
        extern "C" fn $name() {
            naked_asm!(
                concat!("mov r11, [", $caller, " + {store}]"),
                "cmp rsp, [r11 + {limit}]",
                "jb 2f",
                "push rbp",
                "mov rbp, rsp",
                "sub rsp, 176",
                "movups [rsp], xmm0",
                "movups [rsp + 16], xmm1",
                "movups [rsp + 32], xmm2",
                "movups [rsp + 48], xmm3",
                "movups [rsp + 64], xmm4",
                "movups [rsp + 80], xmm5",
                "movups [rsp + 96], xmm6",
                "movups [rsp + 112], xmm7",
                "mov [rsp + 128], rdi",
                "mov [rsp + 136], rsi",
                "mov [rsp + 144], rdx",
                "mov [rsp + 152], rcx",
                "mov [rsp + 160], r8",
                "mov [rsp + 168], r9",
                $pass,
                "mov edx, eax",
                "call {compile}",
                "movups xmm0, [rsp]",
                "movups xmm1, [rsp + 16]",
                "movups xmm2, [rsp + 32]",
                "movups xmm3, [rsp + 48]",
                "movups xmm4, [rsp + 64]",
                "movups xmm5, [rsp + 80]",
                "movups xmm6, [rsp + 96]",
                "movups xmm7, [rsp + 112]",
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
                compile = sym lazy::lazy_compile,
            )
        }
    };
}

lazy_common!(lazy_common, "rdi", "rsi", "");
// The address for the results is in rdi.
lazy_common!(lazy_common_in_memory, "rsi", "rdx", "mov rdi, rsi; mov rsi, rdx");

/// Builtins with a check in front that enough stack is left for the host; if not, the builtin fails. Wasm may call
/// them with next to none, and an overflow in host code could not be recovered from.
macro_rules! guarded {
    ($($name:ident = $target:path, $failure:literal;)*) => {
        $(#[unsafe(naked)]
        pub extern "C" fn $name() {
            naked_asm!(
                "mov rax, [rdi + {store}]",
                "cmp rsp, [rax + {limit}]",
                "jb 2f",
                "jmp {target}",
                "2:",
                "mov rax, {failure}",
                "ret",
                store = const offset_of!(VmContext, store),
                limit = const offset_of!(VmStoreContext, stack_limit),
                target = sym $target,
                failure = const $failure,
            )
        })*
    };
}

guarded! {
    memory_grow = builtins::memory_grow, -1;
    memory_copy = builtins::memory_copy, 1;
    memory_fill = builtins::memory_fill, 1;
    memory_init = builtins::memory_init, 1;
    table_grow = builtins::table_grow, -1;
    table_copy = builtins::table_copy, 1;
    table_fill = builtins::table_fill, 1;
    table_init = builtins::table_init, 1;
    promote = builtins::promote, 0;
    count_path = builtins::count_path, 1;
    take_row = builtins::take_row, 1;
    count_target = builtins::count_target, 1;
    record_burst = builtins::record_burst, 1;
    record_access = builtins::record_access, 1;
    begin_trial = builtins::begin_trial, 1;
    end_trial = builtins::end_trial, 0;
    memory_wait = builtins::memory_wait, 3;
    memory_notify = builtins::memory_notify, -1;
}

/// A builtin that changes no register but what it is to change, for wasm code that hardly ever has to call it.
/// `$before` comes first; with all registers saved `$call` calls it, and `$result` takes what it gives; `$after`
/// stands behind.
macro_rules! preserving {
    ($before:expr, $call:expr, $result:expr, $after:expr, $($operands:tt)*) => {
        naked_asm!(
            $before,
            "push rbp",
            "mov rbp, rsp",
            "push rax",
            "push rcx",
            "push rdx",
            "push rsi",
            "push rdi",
            "push r8",
            "push r9",
            "push r10",
            "push r11",
            "sub rsp, 264",
            "movups [rsp], xmm0",
            "movups [rsp + 16], xmm1",
            "movups [rsp + 32], xmm2",
            "movups [rsp + 48], xmm3",
            "movups [rsp + 64], xmm4",
            "movups [rsp + 80], xmm5",
            "movups [rsp + 96], xmm6",
            "movups [rsp + 112], xmm7",
            "movups [rsp + 128], xmm8",
            "movups [rsp + 144], xmm9",
            "movups [rsp + 160], xmm10",
            "movups [rsp + 176], xmm11",
            "movups [rsp + 192], xmm12",
            "movups [rsp + 208], xmm13",
            "movups [rsp + 224], xmm14",
            "movups [rsp + 240], xmm15",
            $call,
            $result,
            "movups xmm0, [rsp]",
            "movups xmm1, [rsp + 16]",
            "movups xmm2, [rsp + 32]",
            "movups xmm3, [rsp + 48]",
            "movups xmm4, [rsp + 64]",
            "movups xmm5, [rsp + 80]",
            "movups xmm6, [rsp + 96]",
            "movups xmm7, [rsp + 112]",
            "movups xmm8, [rsp + 128]",
            "movups xmm9, [rsp + 144]",
            "movups xmm10, [rsp + 160]",
            "movups xmm11, [rsp + 176]",
            "movups xmm12, [rsp + 192]",
            "movups xmm13, [rsp + 208]",
            "movups xmm14, [rsp + 224]",
            "movups xmm15, [rsp + 240]",
            "add rsp, 264",
            "pop r11",
            "pop r10",
            "pop r9",
            "pop r8",
            "pop rdi",
            "pop rsi",
            "pop rdx",
            "pop rcx",
            "pop rax",
            "pop rbp",
            "ret",
            $after,
            $($operands)*
        )
    };
}

/// The same on the runtime's own stack, as the stack may have ended: nothing but the return address is left on that.
macro_rules! preserving_on_own_stack {
    ($target:path) => {
        preserving!(
            "mov [rdi + {saved}], rsp\nmov rsp, [rdi + {own_stack}]\ncall 3f\nmov rsp, [rdi + {saved}]\nret\n3:",
            "call {target}",
            "",
            "",
            target = sym $target,
            saved = const offset_of!(VmStoreContext, saved),
            own_stack = const offset_of!(VmStoreContext, own_stack),
        )
    };
}

/// See `abi::touch_lines_signature`.
#[unsafe(naked)]
pub extern "C" fn touch_lines() {
    preserving_on_own_stack!(builtins::touch_lines)
}

/// See `abi::read_metrics_signature`: brings all readings up to date.
#[unsafe(naked)]
pub extern "C" fn read_metrics() {
    preserving_on_own_stack!(builtins::read_metrics)
}

/// See `abi::read_metrics_signature`: brings cycles up to date, which are the first metric.
#[unsafe(naked)]
pub extern "C" fn read_cycles() {
    naked_asm!(
        "mov [rdi + {saved}], rax",
        "mov [rdi + {saved} + 8], rdx",
        "rdtsc",
        "shl rdx, 32",
        "or rax, rdx",
        "mov [rdi + {metrics}], rax",
        "mov rdx, [rdi + {saved} + 8]",
        "mov rax, [rdi + {saved}]",
        "ret",
        saved = const offset_of!(VmStoreContext, saved),
        metrics = const offset_of!(VmStoreContext, metrics),
    )
}

/// See `abi::find_record_signature`. Looks among the [`RecentCalls`] first, which have what indirect calls by turns
/// lead to.
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

/// See `abi::check_signature`. The builtin is told the place of the call, the pinned register and the frame, and
/// gives that register.
#[unsafe(naked)]
pub extern "C" fn check() {
    preserving!(
        "cmp rsp, [rdi + {limit}]\njb 2f",
        "mov rsi, [rbp + 8]\nmov rdx, r15\nmov rcx, [rbp]\ncall {target}",
        "mov r15, rax",
        "2:\nmov qword ptr [rdi + {go_on}], 0\nret",
        target = sym builtins::check,
        limit = const offset_of!(VmStoreContext, stack_limit),
        go_on = const offset_of!(VmStoreContext, go_on),
    )
}

/// See `abi::check_pinned_signature`. Whatever the count was below zero, it is one now.
#[unsafe(naked)]
pub extern "C" fn check_pinned() {
    preserving!(
        "cmp rsp, [r15 + {limit}]\njb 2f",
        "mov rdi, r15\nmov rsi, [rbp + 8]\nmov rdx, -1\nmov rcx, [rbp]\ncall {target}",
        "mov r15, rax",
        "2:\nmov qword ptr [r15 + {go_on}], 0\nmov r15, -1\nret",
        target = sym builtins::check,
        limit = const offset_of!(VmStoreContext, stack_limit),
        go_on = const offset_of!(VmStoreContext, go_on),
    )
}

/// See `abi::leave_signature`. Since a check has fired none has been counted.
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

/// Calls an entry trampoline on another stack: `top` is where that begins. The word below has the stack pointer on this one.
///
/// # Safety
/// As of the trampoline. Nothing else uses that stack until this returns.
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

/// All registers of machine code that was interrupted, as [`resume`] saves them on the stack.
#[repr(C)]
pub struct Interrupted {
    vectors: [[u64; 2]; 16],
    padding: u64,
    /// As instructions number them. Those of the stack and frame pointers are not these.
    general: [u64; 16],
    fp: u64,
    frame: ReturnFrame,
}

/// What `iretq` takes from the stack: the only instruction that sets pc, flags and stack pointer at once, so that it
/// needs no register and no place on the stack that it returns to.
#[repr(C)]
struct ReturnFrame {
    pc: u64,
    code_segment: u64,
    flags: u64,
    sp: u64,
    stack_segment: u64,
}

impl Interrupted {
    /// Where the code was interrupted, or is to go on.
    pub fn registers(&self) -> Registers {
        Registers { pc: self.frame.pc as usize, sp: self.frame.sp as usize, fp: self.fp as usize }
    }

    /// Changes where it goes on.
    pub fn set_registers(&mut self, registers: Registers) {
        (self.frame.pc, self.frame.sp) = (registers.pc as u64, registers.sp as u64);
        self.fp = registers.fp as u64;
    }

    /// The frame pointer of [`resume`]: below it the interrupted code's, and its pc as if that were a return address.
    pub fn frame_pointer(&self) -> usize {
        (&raw const self.fp).addr()
    }

    /// The pinned register.
    pub fn pinned(&mut self) -> &mut i64 {
        let register: *mut i64 = (&raw mut self.general[15]).cast();
        // SAFETY: a field of ours, of the same size and alignment.
        unsafe { &mut *register }
    }

    /// What the store at its pc was to store.
    ///
    /// # Safety
    /// As [`end_of_store`].
    pub unsafe fn stored_value(&self) -> u64 {
        // SAFETY: as there.
        match stored_register(unsafe { *(self.registers().pc as *const [u8; 4]) }) {
            4 => self.frame.sp,
            5 => self.fp,
            register => self.general[register],
        }
    }
}

/// Makes interrupted code continue at `to`, on the stack that ends at `stack`, with what it takes to go on where it was
/// interrupted on top of that.
///
/// # Safety
/// The stack is nobody's from there on, and `to` knows what to do.
pub unsafe fn redirect(context: &mut ucontext_t, stack: usize, to: extern "C" fn()) {
    let (code_segment, stack_segment): (u64, u64);
    // SAFETY: only reads registers.
    unsafe {
        asm!("mov {0:e}, cs", "mov {1:e}, ss", out(reg) code_segment, out(reg) stack_segment,
            options(nomem, nostack, preserves_flags));
    }
    let registers = registers(context);
    let frame = ReturnFrame {
        pc: registers.pc as u64,
        code_segment,
        flags: context.uc_mcontext.gregs[REG_EFL as usize] as u64,
        sp: registers.sp as u64,
        stack_segment,
    };
    let place = ((stack & !15) - 48) as *mut ReturnFrame;
    // SAFETY: the stack is nobody's.
    unsafe { place.write(frame) };
    set_registers(context, Registers { pc: to as *const () as usize, sp: place.addr(), ..registers });
}

/// Where the signal handler leads a thread by [`redirect`]: saves all registers, has [`resume::go_on`](resumption::go_on)
/// change them, and goes on with them.
#[unsafe(naked)]
pub extern "C" fn resume() {
    naked_asm!(
        "push rbp",
        "push r15",
        "push r14",
        "push r13",
        "push r12",
        "push r11",
        "push r10",
        "push r9",
        "push r8",
        "push rdi",
        "push rsi",
        "push rbp",
        "push rsp",
        "push rbx",
        "push rdx",
        "push rcx",
        "push rax",
        "lea rbp, [rsp + 128]",
        "sub rsp, 264",
        "movups [rsp], xmm0",
        "movups [rsp + 16], xmm1",
        "movups [rsp + 32], xmm2",
        "movups [rsp + 48], xmm3",
        "movups [rsp + 64], xmm4",
        "movups [rsp + 80], xmm5",
        "movups [rsp + 96], xmm6",
        "movups [rsp + 112], xmm7",
        "movups [rsp + 128], xmm8",
        "movups [rsp + 144], xmm9",
        "movups [rsp + 160], xmm10",
        "movups [rsp + 176], xmm11",
        "movups [rsp + 192], xmm12",
        "movups [rsp + 208], xmm13",
        "movups [rsp + 224], xmm14",
        "movups [rsp + 240], xmm15",
        "mov rdi, rsp",
        "call {target}",
        "movups xmm0, [rsp]",
        "movups xmm1, [rsp + 16]",
        "movups xmm2, [rsp + 32]",
        "movups xmm3, [rsp + 48]",
        "movups xmm4, [rsp + 64]",
        "movups xmm5, [rsp + 80]",
        "movups xmm6, [rsp + 96]",
        "movups xmm7, [rsp + 112]",
        "movups xmm8, [rsp + 128]",
        "movups xmm9, [rsp + 144]",
        "movups xmm10, [rsp + 160]",
        "movups xmm11, [rsp + 176]",
        "movups xmm12, [rsp + 192]",
        "movups xmm13, [rsp + 208]",
        "movups xmm14, [rsp + 224]",
        "movups xmm15, [rsp + 240]",
        "add rsp, 264",
        "pop rax",
        "pop rcx",
        "pop rdx",
        "pop rbx",
        "add rsp, 16",
        "pop rsi",
        "pop rdi",
        "pop r8",
        "pop r9",
        "pop r10",
        "pop r11",
        "pop r12",
        "pop r13",
        "pop r14",
        "pop r15",
        "pop rbp",
        "iretq",
        target = sym resumption::go_on,
    )
}

/// Brings cycles up to date as machine code does.
///
/// # Safety
/// The context is a store's.
pub unsafe fn read_cycles_of(context: *mut VmStoreContext) {
    // SAFETY: the code takes the context in rdi, and changes no register.
    unsafe {
        std::mem::transmute::<extern "C" fn(), extern "C" fn(*mut VmStoreContext)>(read_cycles)(context)
    }
}

/// The time-stamp counter.
pub fn cycles() -> u64 {
    // SAFETY: every x86-64 processor has one.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Marks data segment `esi` of the instance `rdi` as dropped. Cannot fail, so it must not need stack.
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

/// Marks element segment `esi` of the instance `rdi` as dropped, likewise.
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

/// The stack pointer, about.
#[inline(always)]
pub fn stack_pointer() -> usize {
    let sp: usize;
    // SAFETY: only reads a register.
    unsafe { asm!("mov {}, rsp", out(reg) sp, options(nomem, nostack, preserves_flags)) };
    sp
}

/// The registers that a function leaves as they were: where they are saved, if they are, lies above the stack pointer.
#[inline(never)]
pub fn preserved_registers() -> [u64; 6] {
    let mut all = [0; 6];
    // SAFETY: only reads registers, and writes them to the array, whose address is in one that need not be preserved.
    unsafe {
        asm!("mov [rax], rbx", "mov [rax + 8], rbp", "mov [rax + 16], r12", "mov [rax + 24], r13",
            "mov [rax + 32], r14", "mov [rax + 40], r15", in("rax") all.as_mut_ptr(),
            options(nostack, preserves_flags));
    }
    all
}

/// The registers that tell where code was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// The instruction.
    pub pc: usize,
    /// The stack pointer.
    pub sp: usize,
    /// The frame pointer.
    pub fp: usize,
}

/// The pinned register of an interrupted context.
pub fn pinned(context: &mut ucontext_t) -> &mut i64 {
    &mut context.uc_mcontext.gregs[REG_R15 as usize]
}

/// Reads the registers of an interrupted context.
pub fn registers(context: &ucontext_t) -> Registers {
    let reg = |i: i32| context.uc_mcontext.gregs[i as usize] as usize;
    Registers { pc: reg(REG_RIP), sp: reg(REG_RSP), fp: reg(REG_RBP) }
}

/// Changes where an interrupted context continues.
pub fn set_registers(context: &mut ucontext_t, registers: Registers) {
    let mut set = |i: i32, v: usize| context.uc_mcontext.gregs[i as usize] = v as i64;
    set(REG_RIP, registers.pc);
    set(REG_RSP, registers.sp);
    set(REG_RBP, registers.fp);
}

/// The address behind the instruction at `pc`, which stores a register where another one points to.
///
/// # Safety
/// There is machine code at `pc`.
pub unsafe fn end_of_store(pc: usize) -> usize {
    // SAFETY: such an instruction has three bytes, and is never a function's last.
    pc + store_length(unsafe { *(pc as *const [u8; 4]) })
}

/// The number of the register that `mov [base], register` stores: three bits of the operands and one of the prefix.
fn stored_register([prefix, _, operands, _]: [u8; 4]) -> usize {
    usize::from(prefix >> 2 & 1) << 3 | usize::from(operands >> 3 & 7)
}

/// The length of `mov [base], register` of 64 bits, given its first bytes: prefix, opcode, operands, and what some
/// bases need besides: rsp and r12 a further byte, rbp and r13 a distance. A constant address takes both.
fn store_length([prefix, opcode, operands, scaled]: [u8; 4]) -> usize {
    assert!(prefix & 0xf8 == 0x48 && opcode == 0x89, "not a store: {prefix:x} {opcode:x} {operands:x}");
    let is_constant = operands & 0xc7 == 0x04 && scaled & 7 == 5;
    let distance = match operands >> 6 {
        0 if is_constant => 4,
        0 => 0,
        1 => 1,
        _ => 4,
    };
    3 + usize::from(operands & 7 == 4) + distance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_measured() {
        // mov [rcx], rax; mov [r12], r15; mov [rbp + 0], rdx; mov [r13 + 0], r15; mov [rsp + 256], rax; mov [0], rax
        let all = [
            [0x48, 0x89, 0x01, 0xcc],
            [0x4d, 0x89, 0x3c, 0x24],
            [0x48, 0x89, 0x55, 0x00],
            [0x4d, 0x89, 0x7d, 0x00],
            [0x48, 0x89, 0x84, 0x24],
            [0x48, 0x89, 0x04, 0x25],
        ];
        assert_eq!(all.map(store_length), [3, 4, 4, 4, 8, 8]);
        assert_eq!(all.map(stored_register), [0, 15, 2, 15, 0, 0]);
    }

    #[test]
    fn stubs_carry_their_index_and_jump_to_the_header() {
        let code = lazy_stubs(7, 3, false);
        assert_eq!(code.len(), STUBS_HEADER + 3 * STUB_SIZE);
        let stub = &code[STUBS_HEADER + STUB_SIZE..];
        assert_eq!(stub[..5], [0xb8, 8, 0, 0, 0]);
        let jump = i32::from_le_bytes(stub[6..10].try_into().expect("four bytes"));
        assert_eq!(jump + (STUBS_HEADER + STUB_SIZE + 10) as i32, 0);
    }
}
