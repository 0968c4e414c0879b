//! The signal handler of the sampler: records the stacks of the stores that the thread is in.
//!
//! For the store that the thread entered last, the handler knows where the thread is. It is in machine code,
//! whose frame pointer and address are in the registers; or in the host, which machine code has called in one of
//! three ways: by a trampoline, which leaves the frame pointer in the store's context, and then `host` tells
//! which function runs; by a builtin or a stub, which leave their return address (`left_pc`); or in none of these
//! ways, which is the engine's own work. All other stores wait for a host function.
//!
//! Invariant: whatever the handler finds, it reads only words of a stack above its stack pointer, or of code.

use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;

use libc::{c_int, c_void, siginfo_t, ucontext_t};

use super::callers::Callers;
use super::record::{Record, Tag};
use super::{FOR_COLLECTOR, FOR_ENGINE, drain, timer};
use crate::arch::{self, Registers};
use crate::runtime::code::registry;
use crate::runtime::interruption::rt_signal;
use crate::runtime::stacks::activation::{self, Activation};

/// Maximum number of stores that receive a sample from one signal.
const MOST_STORES: usize = 4;

/// Returns the signal of the timers, once its handler is installed; `None` if the process uses all signals.
pub fn signal() -> Option<c_int> {
    static SIGNAL: OnceLock<Option<c_int>> = OnceLock::new();
    *SIGNAL.get_or_init(|| rt_signal::install(handler))
}

unsafe extern "C" fn handler(_: c_int, _: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the interrupted context, which nothing else refers to. The functions called here may
    // change the thread's error number.
    unsafe {
        let errno = *libc::__errno_location();
        let registers = arch::registers(&*context.cast::<ucontext_t>());
        match timer::time_of_signal().map(|time_ns| sample(registers, time_ns)) {
            None => {}
            Some(0) => timer::note_idle(),
            Some(_) => timer::note_busy(),
        }
        *libc::__errno_location() = errno;
    }
}

/// Adds a sample to each store that the thread is in and that is sampled. Returns their number.
unsafe fn sample(registers: Registers, time_ns: u64) -> usize {
    let newest = activation::newest();
    let (mut activation, mut told) = (newest, 0);
    // SAFETY: the chain contains live activations only, whose stores exist; a store's ring lives as long as the
    // store.
    while let Some(current) = unsafe { activation.as_ref() }
        && told < MOST_STORES
    {
        // SAFETY: as above.
        unsafe {
            if let Some(ring) = (*current.context).samples.as_ref()
                && is_newest_of_store(newest, current)
            {
                let mut record = Record::new(time_ns);
                write_store((&mut record, time_ns), current, registers, ptr::eq(current, newest));
                if ring.push(record.words()) {
                    drain::notify();
                }
                told += 1;
            }
        }
        activation = current.previous;
    }
    told
}

/// Returns whether no later entry is into the same store.
unsafe fn is_newest_of_store(newest: *const Activation, of: &Activation) -> bool {
    let mut activation = newest;
    // SAFETY: as in `sample`; `of` is on the chain.
    while let Some(current) = unsafe { activation.as_ref() } {
        if current.context == of.context {
            return ptr::eq(current, of);
        }
        activation = current.previous;
    }
    false
}

/// Writes the frames of all entries into a store; `newest` is the last of them.
unsafe fn write_store(
    (record, time_ns): (&mut Record, u64),
    newest: &Activation,
    registers: Registers,
    is_running: bool,
) {
    let context = newest.context;
    let mut stack = Stack::new(newest, registers.sp);
    let mut callers = Callers::new(time_ns);
    // SAFETY: the instance lives as long as its store.
    let instance_of = |entry: &Activation| unsafe { (*entry.vmctx).instance as u32 };
    record.begin_entry(instance_of(newest));
    // SAFETY: as in `sample`. Only raw pointers refer to the context.
    let (mut fp, mut host) = unsafe {
        match is_running {
            true => (write_innermost(record, newest, registers, &stack), None),
            false if (*context).left_pc != 0 => (write_left(record, newest), None),
            false => (Some((*context).exit_fp), Some((*context).host)),
        }
    };
    let mut activation = newest;
    loop {
        if let Some(number) = host.and_then(|host| host.checked_sub(1)) {
            record.push(Tag::Host(number as u32).word());
        }
        // SAFETY: the trampoline has written it, or not yet.
        let is_whole = fp.is_none_or(|fp| unsafe {
            stack.write_callers(record, &mut callers, fp, (*activation.vm.get()).fp)
        });
        if !is_whole {
            record.push(Tag::Cut.word());
        }
        record.push(Tag::Entry(instance_of(activation)).word());
        let left = (activation.saved_exit_fp, activation.saved_host);
        // SAFETY: as in `sample`.
        let Some(outer) = (unsafe { entry_before(activation) }) else { return };
        activation = outer;
        record.begin_entry(instance_of(activation));
        stack = Stack::new(activation, registers.sp);
        (fp, host) = (Some(left.0), Some(left.1));
    }
}

/// Returns the previous entry into the same store.
unsafe fn entry_before(of: &Activation) -> Option<&Activation> {
    let mut activation = of.previous;
    // SAFETY: as in `sample`.
    while let Some(current) = unsafe { activation.as_ref() } {
        if current.context == of.context {
            return Some(current);
        }
        activation = current.previous;
    }
    None
}

/// Writes where the thread is. Returns the frame pointer from which its callers are found, if they can be found.
unsafe fn write_innermost(
    record: &mut Record,
    newest: &Activation,
    registers: Registers,
    stack: &Stack,
) -> Option<usize> {
    if registry::is_code(registers.pc) {
        record.push(Tag::Interrupted.word());
        record.push(registers.pc as u64);
        // SAFETY: the stack contains it.
        let word = |at| if stack.has(at) { unsafe { *(at as *const u64) } } else { 0 };
        registers.return_candidates(word).into_iter().for_each(|caller| record.push(caller));
        return Some(registers.fp);
    }
    // SAFETY: the context lives as long as the store.
    unsafe {
        let context = newest.context;
        // It may run for the host as well, and is then what the host's function waits for.
        if (*context).left_for == FOR_COLLECTOR {
            record.push(Tag::Collector.word());
        }
        if (*context).left_pc != 0 {
            return write_left(record, newest);
        }
        if (*context).host != 0 {
            record.push(Tag::Host((*context).host as u32 - 1).word());
            return Some((*context).exit_fp);
        }
    }
    // SAFETY: as above.
    if unsafe { (*newest.context).left_for } != FOR_COLLECTOR {
        record.push(Tag::Engine.word());
    }
    None
}

/// Writes where machine code waits for a builtin or a stub. Returns its frame pointer.
unsafe fn write_left(record: &mut Record, newest: &Activation) -> Option<usize> {
    // SAFETY: the context lives as long as the store.
    let (pc, fp, left_for) =
        unsafe { ((*newest.context).left_pc, (*newest.context).left_fp, (*newest.context).left_for) };
    if left_for == FOR_ENGINE {
        record.push(Tag::Engine.word());
    }
    record.push(pc as u64);
    Some(fp)
}

/// The readable part of the stack of an entry.
struct Stack(Range<usize>);

impl Stack {
    /// Returns the stack of an activation, without the part below the stack pointer, if that lies in it, because
    /// the pages there may not exist yet.
    fn new(activation: &Activation, sp: usize) -> Stack {
        let Range { start, end } = activation.stack;
        Stack(if (start..end).contains(&sp) { sp..end } else { start..end })
    }

    /// Returns whether the stack contains a word at the address.
    fn has(&self, at: usize) -> bool {
        at.is_multiple_of(size_of::<usize>()) && at >= self.0.start && at.saturating_add(8) <= self.0.end
    }

    /// Writes the return addresses of the callers of the frame at `fp`, up to the trampoline at `end`, without
    /// repetition; returns whether it came there.
    unsafe fn write_callers(
        &self,
        record: &mut Record,
        callers: &mut Callers,
        mut fp: usize,
        end: usize,
    ) -> bool {
        while fp != end {
            if callers.is_at_end() || !self.has(fp) || !self.has(fp.wrapping_add(8)) {
                break;
            }
            // SAFETY: the stack contains both words.
            let (caller, pc) = unsafe { (*(fp as *const usize), *((fp + 8) as *const usize)) };
            if caller <= fp || !callers.is_newest(pc) && !registry::is_code(pc.wrapping_sub(1)) {
                break;
            }
            fp = caller;
            if fp != end {
                callers.add(pc, record);
            }
        }
        callers.write(record);
        fp == end
    }
}
