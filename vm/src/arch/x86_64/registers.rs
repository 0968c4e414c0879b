//! Registers: those of the running thread, and those of interrupted machine code.

use std::arch::asm;

use libc::{REG_EFL, REG_R15, REG_RBP, REG_RIP, REG_RSP, ucontext_t};

use super::stores::stored_register;
use crate::arch::frame_state::FrameState;

/// Returns the approximate stack pointer.
#[inline(always)]
pub fn stack_pointer() -> usize {
    let sp: usize;
    // SAFETY: the assembly only reads a register.
    unsafe { asm!("mov {}, rsp", out(reg) sp, options(nomem, nostack, preserves_flags)) };
    sp
}

/// Returns the callee-saved registers. Functions that save them do so above the stack pointer.
#[inline(never)]
pub fn preserved_registers() -> [u64; 6] {
    let mut all = [0; 6];
    // SAFETY: the assembly only reads registers, and writes them to the array, whose address is in a caller-saved
    // register.
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
    /// The program counter.
    pub pc: usize,
    /// The stack pointer.
    pub sp: usize,
    /// The frame pointer.
    pub fp: usize,
}

impl Registers {
    /// Returns registers with which code continues that has a frame.
    pub fn new(pc: usize, sp: usize, fp: usize) -> Registers {
        Registers { pc, sp, fp }
    }

    /// Adds the link register of a function that has stored no return address: this processor has none.
    #[must_use]
    pub fn with_link(self, _link: usize) -> Registers {
        self
    }

    /// Returns the return address of a function that was interrupted at its first instruction.
    ///
    /// # Safety
    /// The registers are those of such a function.
    pub unsafe fn return_address(&self) -> usize {
        // SAFETY: the caller guarantees that the return address is on top of the stack.
        unsafe { *(self.sp as *const usize) }
    }

    /// Returns where the return address may be, before a function has a frame and after its first instruction, given a
    /// reader of words on the stack, which returns 0 for what is not readable.
    pub fn return_candidates(&self, word: impl Fn(usize) -> u64) -> [u64; 2] {
        [self.sp, self.sp.wrapping_add(8)].map(word)
    }
}

/// Returns the pinned register of an interrupted context.
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

/// Returns the time-stamp counter.
pub fn cycles() -> u64 {
    // SAFETY: every x86-64 processor has a time-stamp counter.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Has the cache line at an address loaded, if there is memory; does nothing else.
pub fn prefetch(address: usize) {
    // SAFETY: prefetching reads nothing that the program sees, and never faults.
    unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address as *const i8) };
}

const PUSH_FRAME_POINTER: u8 = 0x55;
const POP_FRAME_POINTER: u8 = 0x5d;
/// `ret`, with or without the number of bytes to pop.
const RETURNS: [u8; 2] = [0xc3, 0xc2];
/// The first bytes of jumps that leave a function for another.
const JUMPS: [u8; 4] = [0xe9, 0xeb, 0xff, 0x41];

/// Returns how much of its frame the function at `start` has when it is at `pc`. The function ends behind `pc`.
///
/// # Safety
/// The function's code is readable.
pub unsafe fn frame_state(start: usize, pc: usize) -> FrameState {
    // SAFETY: the caller guarantees it.
    let byte = |at: usize| unsafe { *(at as *const u8) };
    match pc.wrapping_sub(start) {
        0 => FrameState::None,
        1 if byte(start) == PUSH_FRAME_POINTER => FrameState::Saved,
        _ if RETURNS.contains(&byte(pc)) => FrameState::None,
        _ if byte(pc - 1) == POP_FRAME_POINTER && JUMPS.contains(&byte(pc)) => FrameState::None,
        _ => FrameState::Whole,
    }
}

/// All registers of interrupted machine code, as the runtime saves them on the stack before it examines them.
#[repr(C)]
pub struct Interrupted {
    vectors: [[u64; 2]; 16],
    padding: u64,
    /// General registers by their encoding, except the stack pointer and the frame pointer, which have fields of
    /// their own.
    general: [u64; 16],
    fp: u64,
    frame: ReturnFrame,
}

/// The frame that `iretq` pops. Only this instruction sets pc, flags and stack pointer at once, so it needs no
/// register and no space on the stack that it returns to.
#[repr(C)]
struct ReturnFrame {
    pc: u64,
    code_segment: u64,
    flags: u64,
    sp: u64,
    stack_segment: u64,
}

impl Interrupted {
    /// Returns where the code was interrupted, or is to continue.
    pub fn registers(&self) -> Registers {
        Registers { pc: self.frame.pc as usize, sp: self.frame.sp as usize, fp: self.fp as usize }
    }

    /// Changes where the code continues.
    pub fn set_registers(&mut self, registers: Registers) {
        (self.frame.pc, self.frame.sp) = (registers.pc as u64, registers.sp as u64);
        self.fp = registers.fp as u64;
    }

    /// Returns the frame pointer of the code that saved the registers. It points to the interrupted code's frame
    /// pointer, which is followed by that code's pc as if it were a return address.
    pub fn frame_pointer(&self) -> usize {
        (&raw const self.fp).addr()
    }

    /// Returns the pinned register.
    pub fn pinned(&mut self) -> &mut i64 {
        let register: *mut i64 = (&raw mut self.general[15]).cast();
        // SAFETY: the field belongs to `self`, and has the size and alignment of an `i64`.
        unsafe { &mut *register }
    }

    /// Returns the value that the store instruction at the pc would store.
    ///
    /// # Safety
    /// The caller guarantees the same as for [`end_of_store`](super::end_of_store).
    pub unsafe fn stored_value(&self) -> u64 {
        // SAFETY: the caller guarantees that there is machine code at the pc.
        match stored_register(unsafe { *(self.registers().pc as *const [u8; 4]) }) {
            4 => self.frame.sp,
            5 => self.fp,
            register => self.general[register],
        }
    }
}

/// Makes interrupted code continue at `to`, on the stack that ends at `stack`. The frame needed to continue where
/// it was interrupted is on top of that stack.
///
/// # Safety
/// The caller guarantees that nothing uses the stack below `stack`, and that `to` expects this frame.
pub unsafe fn redirect(context: &mut ucontext_t, stack: usize, to: extern "C" fn()) {
    let (code_segment, stack_segment): (u64, u64);
    // SAFETY: the assembly only reads registers.
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
    // SAFETY: the caller guarantees that the stack is unused.
    unsafe { place.write(frame) };
    set_registers(context, Registers { pc: to as *const () as usize, sp: place.addr(), ..registers });
}
