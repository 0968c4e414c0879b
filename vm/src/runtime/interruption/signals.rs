//! The signal handler, which turns faults of wasm code into traps.
//!
//! A fault belongs to wasm code if its pc lies in machine code of this crate and either a trap site is recorded
//! there, or the address is at the end of the stack. Then the handler records the trap and makes the thread
//! continue in the activation's entry trampoline, which returns to the host. A page on demand that is not there
//! yet is read instead ([`DemandPages`](crate::runtime::linear_memory::demand::DemandPages)), whatever code
//! touched it. Every other signal is passed to the previous handler.
//!
//! # What may be done here
//!
//! Invariant: the handler runs no code of the embedder, and does not access the store. It reads only data that is
//! made for it (activations, the store's context through raw pointers, the registries of code and of pages on
//! demand). Where machine code is to continue after the runtime or the embedder has acted, the handler only
//! changes where the thread continues: in `resume`, on an ordinary stack
//! ([`resume`](crate::runtime::control::resume)).
//!
//! Operations that are not async-signal-safe in general are done only when the interrupted pc is in machine code.
//! Then the signal is synchronous, as if that code had called the handler: the thread holds no lock of the
//! library or of the allocator, because no lock is taken or kept while wasm runs, and other threads that hold one
//! continue and release it. So the handler may
//! - look code up in the registry, which takes a lock for reading and counts references ([`registry::find`]);
//! - allocate the list of frames that a trap ends ([`TrapRecord`]), which are gone when the host continues.
//!
//! Where the pc is elsewhere, in host code that may hold any lock, the handler only loads
//! ([`registry::is_code`]), changes the protection of pages, reads a file
//! ([`DemandPages::fault`](crate::runtime::linear_memory::demand::DemandPages::fault)), and calls the previous
//! handler. The other signal handlers of this library: that of [`forced_check`](super::forced_check) acts only on
//! a pc in machine code, where it looks code up and changes a register and two cells; that of
//! [`thread_wakeup`](super::thread_wakeup) does nothing.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Once;

use libc::{c_int, c_void, sigaction, siginfo_t, ucontext_t};
use wprof_jit::abi::TrapCode;

use super::fork;
use crate::arch;
use crate::arch::Registers;
use crate::runtime::code::registry::{self, CodeObject};
use crate::runtime::code::reservation;
use crate::runtime::control::resume;
use crate::runtime::counts::metrics::Sums;
use crate::runtime::entries;
use crate::runtime::linear_memory::demand::Faulted;
use crate::runtime::stacks::activation::{self, Activation, TrapRecord};
use crate::runtime::stacks::many_frames::ManyFrames;
use crate::runtime::stacks::raw_frame::RawFrame;
use crate::runtime::stacks::walk;

const SIGNALS: [c_int; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];

/// The distance below and above the stack pointer within which a fault counts as a stack overflow: the largest
/// frame (`limits::MAX_OPERANDS` and 50,000 locals of 16 bytes each, and some more), and what code pushes.
const BELOW: usize = 32 << 20;
const ABOVE: usize = 64 << 10;

struct Previous(UnsafeCell<[MaybeUninit<sigaction>; SIGNALS.len()]>);

// SAFETY: it is written once, before the handlers that read it are installed.
unsafe impl Sync for Previous {}

static PREVIOUS: Previous = Previous(UnsafeCell::new([const { MaybeUninit::uninit() }; SIGNALS.len()]));

/// Installs the handler, once per process.
pub fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        fork::install();
        for (i, &signal) in SIGNALS.iter().enumerate() {
            // SAFETY: `PREVIOUS` is written before the handler is installed. The handler has the signature that
            // SA_SIGINFO requires.
            let ok = unsafe {
                let previous = (*PREVIOUS.0.get())[i].as_mut_ptr();
                let mut action = MaybeUninit::<sigaction>::zeroed().assume_init();
                action.sa_sigaction = handler as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
                libc::sigemptyset(&mut action.sa_mask);
                sigaction(signal, ptr::null(), previous) == 0
                    && sigaction(signal, &action, ptr::null_mut()) == 0
            };
            assert!(ok, "no handler for signal {signal}: {}", std::io::Error::last_os_error());
        }
    });
}

unsafe extern "C" fn handler(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the interrupted context, which nothing else refers to.
    let ours = unsafe { recover(signal, &*info, &mut *context.cast::<ucontext_t>()) };
    if ours.is_none() {
        // SAFETY: `install` has filled the row; the arguments come from the kernel.
        unsafe { pass_on(signal, info, context) };
    }
}

/// Handles a trap of wasm code; `None` if the signal is no trap.
unsafe fn recover(signal: c_int, info: &siginfo_t, context: &mut ucontext_t) -> Option<()> {
    let registers = arch::registers(context);
    // SAFETY: the fault belongs to this thread.
    let faulted = unsafe { touch(signal, info) };
    if faulted == Some(Faulted::Read) {
        return Some(());
    }
    if !registry::is_code(registers.pc) {
        // After a page was lost the host reads zeros, and wasm code does not continue when the host returns.
        return faulted.map(drop);
    }
    // SAFETY: a fault has an address.
    if reservation::has_lost_code() && unsafe { info.si_addr() }.addr() == registers.pc {
        die("this child process runs machine code of which the system had no memory for a copy");
    }
    // SAFETY: the chain contains live activations only.
    let activation = unsafe { activation::newest().as_ref() }?;
    // SAFETY: the trampoline has written it; wasm code, which is running, does not change it.
    let vm = unsafe { &*activation.vm.get() };
    // SAFETY: the store that was entered holds the page.
    if vm.handler == 0 || !unsafe { (*activation.interrupt).uses_signals() } {
        return None;
    }
    let object = registry::find(registers.pc)?;
    let code = match object.trap_at(registers.pc).map(|site| site.code) {
        _ if faulted.is_some() => Some(TrapCode::Host),
        Some(TrapCode::Interrupt) if poll_again(activation) => return Some(()),
        Some(code) => {
            // SAFETY: wasm code of this activation is running.
            if let Some(stack) = unsafe { resume::stack_for(code, activation, registers.sp) } {
                // SAFETY: nothing else uses that stack below this pointer, and `resume` expects the frame.
                unsafe { arch::redirect(context, stack, entries::resume) };
                return Some(());
            }
            Some(code)
        }
        None if is_stack_overflow(signal, info, registers) => None,
        None => return None,
    };
    // SAFETY: as in `resume::go_on`: the store's context is live, and nothing refers to it while wasm code runs.
    unsafe { resume::store_pinned(activation, *arch::pinned(context)) };
    // SAFETY: the registers are those of a wasm frame of this activation.
    let record = unsafe { record(code, &object, registers, vm.fp) };
    // SAFETY: only this thread accesses it, and the host only reads it after wasm code has ended.
    unsafe { *activation.trap.get() = Some(record) };
    arch::set_registers(context, Registers::new(vm.handler, vm.sp, vm.fp));
    Some(())
}

/// Reads a missing page of a memory, if the fault touched one: in wasm code, or in the host where it works on
/// behalf of wasm code.
///
/// # Safety
/// For the handler of a signal of this thread.
unsafe fn touch(signal: c_int, info: &siginfo_t) -> Option<Faulted> {
    if signal != libc::SIGSEGV || info.si_code <= 0 {
        return None;
    }
    // SAFETY: a fault has an address. The newest activation is live, and so are the store that it entered, its
    // context and its list of pages, which is not part of what the host may have borrowed. Only this thread has
    // that store, so only it touches these pages.
    unsafe {
        let activation = activation::newest().as_ref()?;
        let pages = (*activation.context).demand.as_ref()?;
        pages.fault(info.si_addr().addr())
    }
}

/// Ends the process with a message. Async-signal-safe.
pub fn die(why: &str) -> ! {
    for part in ["wprof: ", why, "\n"] {
        // SAFETY: the buffer has `part.len()` bytes.
        unsafe { libc::write(libc::STDERR_FILENO, part.as_ptr().cast(), part.len()) };
    }
    std::process::abort()
}

/// Returns whether the request behind a faulted poll has been taken meanwhile.
fn poll_again(activation: &Activation) -> bool {
    // SAFETY: the store that was entered holds the page.
    let page = unsafe { &*activation.interrupt };
    let again = !page.is_requested();
    if again {
        page.make_readable();
    }
    again
}

fn is_stack_overflow(signal: c_int, info: &siginfo_t, registers: Registers) -> bool {
    // SAFETY: SIGSEGV and SIGBUS have an address.
    let address = || unsafe { info.si_addr() } as usize;
    matches!(signal, libc::SIGSEGV | libc::SIGBUS)
        && (registers.sp.saturating_sub(BELOW)..registers.sp + ABOVE).contains(&address())
}

/// Returns the record of a trap in `object`, with its frames.
///
/// # Safety
/// The caller guarantees that the registers are those of machine code of the newest activation of this thread,
/// which ends at the frame pointer `end`.
pub unsafe fn record(
    code: Option<TrapCode>,
    object: &CodeObject,
    registers: Registers,
    end: usize,
) -> TrapRecord {
    let (pc, fp) = (registers.pc, registers.fp);
    // A frame that did not fit on the stack has not stored its vmctx there yet.
    let overflowed = matches!(code, None | Some(TrapCode::StackOverflow));
    let is_complete = pc != object.start && !(overflowed && object.is_entry(pc));
    let cycles = arch::cycles();
    let mut top = RawFrame { pc, vmctx: ptr::null(), path: None, sums: Sums::default(), record: None };
    let mut callers = ManyFrames::default();
    // SAFETY: the frame pointer is that of a wasm frame of this activation: of this frame or, at the first
    // instruction, before the frame is set up, of the caller.
    unsafe {
        if is_complete {
            top = walk::frame(pc, Some(object), fp);
        }
        if pc == object.start && fp != end {
            let pc = registers.return_address();
            callers.push(walk::frame(pc, registry::find_return(pc).as_deref(), fp));
        }
        callers.extend(walk::callers(fp, end));
    }
    TrapRecord { code, top, callers, is_thrown_again: false, cycles }
}

/// Does what the process would have done without this handler.
unsafe fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let i = SIGNALS.iter().position(|&s| s == signal).expect("installed for these only");
    // SAFETY: `install` has filled the row before the handler could be called. A handler found there has the
    // signature that its flags tell.
    unsafe {
        let previous = (*PREVIOUS.0.get())[i].assume_init_ref();
        let sent = (*info).si_code <= 0;
        match previous.sa_sigaction {
            libc::SIG_IGN if sent => {}
            libc::SIG_DFL | libc::SIG_IGN => {
                // The fault recurs when the handler returns; a signal that was sent does not.
                sigaction(signal, previous, ptr::null_mut());
                if sent {
                    libc::raise(signal);
                }
            }
            address if previous.sa_flags & libc::SA_SIGINFO != 0 => {
                type Handler = unsafe extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
                std::mem::transmute::<usize, Handler>(address)(signal, info, context);
            }
            address => std::mem::transmute::<usize, unsafe extern "C" fn(c_int)>(address)(signal),
        }
    }
}
