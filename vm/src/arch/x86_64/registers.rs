//! Registers: our own, and those of machine code that was interrupted.

use std::arch::asm;

use libc::{REG_EFL, REG_R15, REG_RBP, REG_RIP, REG_RSP, ucontext_t};

use super::stores::stored_register;

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

/// The time-stamp counter.
pub fn cycles() -> u64 {
    // SAFETY: every x86-64 processor has one.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// All registers of machine code that was interrupted, as the runtime saves them on the stack before it looks at them.
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

    /// The frame pointer of whoever has saved them: below it the interrupted code's, and its pc as if that were a return address.
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
    /// As [`end_of_store`](super::end_of_store).
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
