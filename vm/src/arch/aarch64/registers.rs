//! Registers: those of the running thread, and those of interrupted machine code.

use std::arch::asm;

use libc::ucontext_t;

use crate::arch::frame_state::FrameState;

/// The number of the register that Cranelift pins.
const PINNED: usize = 21;
const FRAME_POINTER: usize = 29;
const LINK: usize = 30;

/// Returns the approximate stack pointer.
#[inline(always)]
pub fn stack_pointer() -> usize {
    let sp: usize;
    // SAFETY: the assembly only reads a register.
    unsafe { asm!("mov {}, sp", out(reg) sp, options(nomem, nostack, preserves_flags)) };
    sp
}

/// Returns the callee-saved registers that may hold integers. Functions that save them do so above the stack pointer.
#[inline(never)]
pub fn preserved_registers() -> [u64; 12] {
    let mut all = [0; 12];
    // SAFETY: the assembly only reads registers, and writes them to the array, whose address is in a caller-saved
    // register.
    unsafe {
        asm!("stp x19, x20, [x9]", "stp x21, x22, [x9, #16]", "stp x23, x24, [x9, #32]", "stp x25, x26, [x9, #48]",
            "stp x27, x28, [x9, #64]", "stp x29, x30, [x9, #80]", in("x9") all.as_mut_ptr(),
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
    /// The link register: the return address of a function that has not stored it yet.
    pub link: usize,
}

impl Registers {
    /// Returns registers with which code continues that has a frame.
    pub fn new(pc: usize, sp: usize, fp: usize) -> Registers {
        Registers { pc, sp, fp, link: 0 }
    }

    /// Adds the link register of a function that has stored no return address.
    #[must_use]
    pub fn with_link(self, link: usize) -> Registers {
        Registers { link, ..self }
    }

    /// Returns the return address of a function that was interrupted at its first instruction.
    ///
    /// # Safety
    /// The registers are those of such a function.
    pub unsafe fn return_address(&self) -> usize {
        self.link
    }

    /// Returns where the return address may be, before a function has a frame and after its first instruction, given a
    /// reader of words on the stack, which returns 0 for what is not readable.
    pub fn return_candidates(&self, _word: impl Fn(usize) -> u64) -> [u64; 2] {
        [self.link as u64; 2]
    }
}

/// Returns the pinned register of an interrupted context.
pub fn pinned(context: &mut ucontext_t) -> &mut i64 {
    let register: *mut i64 = (&raw mut context.uc_mcontext.regs[PINNED]).cast();
    // SAFETY: the field belongs to the context, and has the size and alignment of an `i64`.
    unsafe { &mut *register }
}

/// Reads the registers of an interrupted context.
pub fn registers(context: &ucontext_t) -> Registers {
    let all = &context.uc_mcontext;
    Registers {
        pc: all.pc as usize,
        sp: all.sp as usize,
        fp: all.regs[FRAME_POINTER] as usize,
        link: all.regs[LINK] as usize,
    }
}

/// Changes where an interrupted context continues, in code that has a frame.
pub fn set_registers(context: &mut ucontext_t, registers: Registers) {
    let all = &mut context.uc_mcontext;
    (all.pc, all.sp) = (registers.pc as u64, registers.sp as u64);
    all.regs[FRAME_POINTER] = registers.fp as u64;
}

/// Returns the virtual counter. Its frequency is that of the system's timer, not the processor's clock.
pub fn cycles() -> u64 {
    let ticks: u64;
    // SAFETY: Linux lets programs read the counter, which has no effect.
    unsafe { asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags)) };
    ticks
}

/// Has the cache line at an address loaded, if there is memory; does nothing else.
pub fn prefetch(address: usize) {
    // SAFETY: prefetching reads nothing that the program sees, and never faults.
    unsafe { asm!("prfm pldl1keep, [{}]", in(reg) address, options(readonly, nostack, preserves_flags)) };
}

/// Returns the address behind the instruction at `pc`.
///
/// # Safety
/// The caller guarantees that there is machine code at `pc`.
pub unsafe fn end_of_store(pc: usize) -> usize {
    pc + 4
}

/// `stp x29, x30, [sp, #-16]!`
const SAVE_FRAME: u32 = 0xa9bf_7bfd;
/// `ldp x29, x30, [sp], #16`
const RESTORE_FRAME: u32 = 0xa8c1_7bfd;
/// `ret`
const RETURN: u32 = 0xd65f_03c0;

/// Returns how much of its frame the function at `start` has when it is at `pc`. The function ends behind `pc`.
///
/// # Safety
/// The function's code is readable.
pub unsafe fn frame_state(start: usize, pc: usize) -> FrameState {
    // SAFETY: the caller guarantees it; instructions are aligned words.
    let word = |at: usize| unsafe { *(at as *const u32) };
    match pc.wrapping_sub(start) {
        0 => FrameState::None,
        4 if word(start) == SAVE_FRAME => FrameState::Saved,
        _ if word(pc) == RETURN || word(pc - 4) == RESTORE_FRAME => FrameState::None,
        _ => FrameState::Whole,
    }
}

/// All registers of interrupted machine code, as the runtime saves them on the stack before it examines them.
#[repr(C)]
pub struct Interrupted {
    vectors: [[u64; 2]; 32],
    general: [u64; 29],
    fp: u64,
    frame: ReturnFrame,
}

/// The registers that have to be set last.
#[repr(C)]
struct ReturnFrame {
    pc: u64,
    sp: u64,
    flags: u64,
    /// Stored by the code that saves the registers. Cranelift's functions have stored it in their frames, and keep
    /// nothing in the register, so that it need not be restored.
    link: u64,
}

impl Interrupted {
    /// Returns where the code was interrupted, or is to continue.
    pub fn registers(&self) -> Registers {
        let ReturnFrame { pc, sp, link, .. } = self.frame;
        Registers { pc: pc as usize, sp: sp as usize, fp: self.fp as usize, link: link as usize }
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
        let register: *mut i64 = (&raw mut self.general[PINNED]).cast();
        // SAFETY: the field belongs to `self`, and has the size and alignment of an `i64`.
        unsafe { &mut *register }
    }

    /// Returns the value that the store instruction at the pc would store.
    ///
    /// # Safety
    /// The caller guarantees the same as for [`end_of_store`](super::end_of_store).
    pub unsafe fn stored_value(&self) -> u64 {
        // SAFETY: the caller guarantees that there is machine code at the pc.
        match unsafe { *(self.registers().pc as *const u32) } as usize & 31 {
            29 => self.fp,
            30 => self.frame.link,
            31 => 0,
            register => self.general[register],
        }
    }
}

/// Makes interrupted code continue at `to`, on the stack that ends at `stack`. What the code needs to continue where
/// it was interrupted is on top of that stack.
///
/// # Safety
/// The caller guarantees that nothing uses the stack below `stack`, and that `to` expects this frame.
pub unsafe fn redirect(context: &mut ucontext_t, stack: usize, to: extern "C" fn()) {
    let registers = registers(context);
    let frame = ReturnFrame {
        pc: registers.pc as u64,
        sp: registers.sp as u64,
        flags: context.uc_mcontext.pstate,
        link: 0,
    };
    let place = ((stack & !15) - size_of::<ReturnFrame>()) as *mut ReturnFrame;
    // SAFETY: the caller guarantees that the stack is unused.
    unsafe { place.write(frame) };
    set_registers(context, Registers { pc: to as *const () as usize, sp: place.addr(), ..registers });
}
