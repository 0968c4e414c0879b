//! The signal handler: turns faults of wasm code into traps.
//!
//! A fault is ours if its pc lies in machine code of this crate's and either a trap site is recorded there, or the
//! address is at the end of the stack. Then the handler notes what happened and makes the thread continue in the
//! activation's entry trampoline, which returns to the host. A page that is not there yet is read instead
//! ([`DemandPages`](crate::runtime::linear_memory::demand::DemandPages)), wherever it was touched. Every other signal goes to whoever was there
//! before.
//!
//! # What may be done here
//!
//! Invariant: the handler runs no code of the embedder's, and does not touch the store: what it looks at is made for it
//! (activations, the store's context through raw pointers, the lists of code and of pages on demand). Where machine code
//! is to go on after the runtime, or the embedder, has done something, the handler only changes where the thread
//! continues: in `resume`, on an ordinary stack ([`resume`](crate::runtime::control::resume)).
//!
//! What is not async-signal-safe in general happens only when the interrupted pc is in machine code. Then the signal is
//! synchronous, as if that code had called us: the thread holds no lock of ours or of the allocator's, which nobody takes
//! or keeps while wasm runs, and other threads that hold one go on and release it. So the handler may
//! - look code up in the registry, which takes a lock for reading and counts references ([`registry::find`]);
//! - allocate the list of frames that a trap ends ([`TrapRecord`]), which are gone when the host goes on.
//!
//! Where the pc is elsewhere, in host code that may hold any lock, it only loads ([`registry::is_code`]), changes the
//! protection of pages and reads a file ([`DemandPages::fault`](crate::runtime::linear_memory::demand::DemandPages::fault)), and calls the
//! previous handler. The other handlers of this library: that of [`forced_check`](super::forced_check) acts only on a pc in machine code,
//! where it looks code up and changes a register and two cells; that of [`thread_wakeup`](super::thread_wakeup) does nothing.

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
use crate::runtime::stacks::activation::{self, Activation, RawFrame, TrapRecord};
use crate::runtime::stacks::many_frames::ManyFrames;
use crate::runtime::stacks::walk;

const SIGNALS: [c_int; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];

/// How far below and above the stack pointer a fault is one of the stack: the largest frame (`limits::MAX_OPERANDS`
/// and 50,000 locals of 16 bytes each, and some more), and what code pushes.
const BELOW: usize = 32 << 20;
const ABOVE: usize = 64 << 10;

struct Previous(UnsafeCell<[MaybeUninit<sigaction>; SIGNALS.len()]>);

// SAFETY: written once, before the handlers that read it are installed.
unsafe impl Sync for Previous {}

static PREVIOUS: Previous = Previous(UnsafeCell::new([const { MaybeUninit::uninit() }; SIGNALS.len()]));

/// Installs the handler, once per process.
pub fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        fork::install();
        for (i, &signal) in SIGNALS.iter().enumerate() {
            // SAFETY: `PREVIOUS` is written before the handler is in place. The handler has the signature that
            // SA_SIGINFO asks for.
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
        // SAFETY: `install` has filled the row; the arguments are the kernel's.
        unsafe { pass_on(signal, info, context) };
    }
}

/// Handles a trap of wasm code; `None` if it is none.
unsafe fn recover(signal: c_int, info: &siginfo_t, context: &mut ucontext_t) -> Option<()> {
    let registers = arch::registers(context);
    // SAFETY: the fault is this thread's.
    let faulted = unsafe { touch(signal, info) };
    if faulted == Some(Faulted::Read) {
        return Some(());
    }
    if !registry::is_code(registers.pc) {
        // Where a page was lost the host finds zeros, and wasm code does not go on when it returns.
        return faulted.map(drop);
    }
    // SAFETY: a fault comes with an address.
    if reservation::has_lost_code() && unsafe { info.si_addr() }.addr() == registers.pc {
        die("this child process runs machine code of which the system had no memory for a copy");
    }
    // SAFETY: the chain holds live activations only.
    let activation = unsafe { activation::newest().as_ref() }?;
    // SAFETY: the trampoline has written it; wasm code, which is running, does not change it.
    let vm = unsafe { &*activation.vm.get() };
    if vm.handler == 0 {
        return None;
    }
    let object = registry::find(registers.pc)?;
    let code = match object.trap_at(registers.pc).map(|site| site.code) {
        _ if faulted.is_some() => Some(TrapCode::Host),
        Some(TrapCode::Interrupt) if poll_again(activation) => return Some(()),
        Some(code) => {
            // SAFETY: wasm code of this activation is running.
            if let Some(stack) = unsafe { resume::stack_for(code, activation, registers.sp) } {
                // SAFETY: that stack is nobody else's from there on, and what continues there knows the frame.
                unsafe { arch::redirect(context, stack, entries::resume) };
                return Some(());
            }
            Some(code)
        }
        None if is_stack_overflow(signal, info, registers) => None,
        None => return None,
    };
    // SAFETY: as in `resume::go_on`: the store's context is there, and nothing refers to it while wasm code runs.
    unsafe { resume::store_pinned(activation, *arch::pinned(context)) };
    // SAFETY: the registers are those of a wasm frame of this activation.
    let record = unsafe { record(code, &object, registers, vm.fp) };
    // SAFETY: only this thread touches it, and the host only looks after wasm code has ended.
    unsafe { *activation.trap.get() = Some(record) };
    arch::set_registers(context, Registers { pc: vm.handler, sp: vm.sp, fp: vm.fp });
    Some(())
}

/// Has a page of a memory's read that is not there, if that is what has faulted: in wasm code, or in the host where it works
/// on its behalf.
///
/// # Safety
/// For the handler of a signal of this thread's.
unsafe fn touch(signal: c_int, info: &siginfo_t) -> Option<Faulted> {
    if signal != libc::SIGSEGV || info.si_code <= 0 {
        return None;
    }
    // SAFETY: a fault comes with an address. The newest activation is live, and so are the store that it entered, its
    // context and its list of pages, which is not a part of what the host may have borrowed. Only this thread has that
    // store, so that only it touches these pages.
    unsafe {
        let activation = activation::newest().as_ref()?;
        let pages = (*activation.context).demand.as_ref()?;
        pages.fault(info.si_addr().addr())
    }
}

/// Ends the process, and says why. Async-signal-safe.
pub fn die(why: &str) -> ! {
    for part in ["wprof: ", why, "\n"] {
        // SAFETY: the buffer has as many bytes.
        unsafe { libc::write(libc::STDERR_FILENO, part.as_ptr().cast(), part.len()) };
    }
    std::process::abort()
}

/// Whether a poll that faulted has lost its reason meanwhile.
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
    // SAFETY: SIGSEGV and SIGBUS come with an address.
    let address = || unsafe { info.si_addr() } as usize;
    matches!(signal, libc::SIGSEGV | libc::SIGBUS)
        && (registers.sp.saturating_sub(BELOW)..registers.sp + ABOVE).contains(&address())
}

/// The frames of a trap in `object`.
///
/// # Safety
/// The registers are those of machine code of the newest activation of this thread, which ends at the frame pointer `end`.
pub unsafe fn record(
    code: Option<TrapCode>,
    object: &CodeObject,
    registers: Registers,
    end: usize,
) -> TrapRecord {
    let Registers { pc, sp, fp } = registers;
    // A frame that does not fit on the stack has not left its vmctx there yet.
    let overflowed = matches!(code, None | Some(TrapCode::StackOverflow));
    let is_complete = pc != object.start && !(overflowed && object.is_entry(pc));
    let cycles = arch::cycles();
    let mut top = RawFrame { pc, vmctx: ptr::null(), path: None, sums: Sums::default(), record: None };
    let mut callers = ManyFrames::default();
    // SAFETY: the frame pointer is a wasm frame's of this activation: this frame's or, at the first instruction, which
    // would have made it, the caller's; there the return address is on top of the stack.
    unsafe {
        if is_complete {
            top = walk::frame(pc, Some(object), fp);
        }
        if pc == object.start && fp != end {
            let pc = *(sp as *const usize);
            callers.push(walk::frame(pc, registry::find_return(pc).as_deref(), fp));
        }
        callers.extend(walk::callers(fp, end));
    }
    TrapRecord { code, top, callers, is_thrown_again: false, cycles }
}

/// Does what the process would have done without us.
unsafe fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let i = SIGNALS.iter().position(|&s| s == signal).expect("installed for these only");
    // SAFETY: `install` has filled the row before the handler could be called. A handler found there has the
    // signature that its flags say.
    unsafe {
        let previous = (*PREVIOUS.0.get())[i].assume_init_ref();
        let sent = (*info).si_code <= 0;
        match previous.sa_sigaction {
            libc::SIG_IGN if sent => {}
            libc::SIG_DFL | libc::SIG_IGN => {
                // The fault comes again when we return; a signal that was sent does not.
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
