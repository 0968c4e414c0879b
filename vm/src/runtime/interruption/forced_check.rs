//! Forcing the next check of running code to fire, from another thread, without polls in the code.
//!
//! A signal that finds the thread in code of a function sets the count of checks to zero, in the thread's saved
//! registers, or the count of the burst. A signal that finds the thread elsewhere (in the host, in a trampoline,
//! between the load and the store of a count) may have no effect, so the sender repeats it until a check has
//! fired. Invariant: the pinned register is changed only in code of functions, where it always is the count of
//! checks. The contract: ARCHITECTURE.md, "The contract with machine code".

use std::sync::OnceLock;

use libc::{c_int, c_void, siginfo_t, ucontext_t};
use wprof_jit::abi::store_context;

use super::rt_signal;
use crate::arch;
use crate::runtime::code::registry;
use crate::runtime::stacks::activation;

/// Sends the signal to a thread of this process; 0 is no thread.
pub fn send(thread: i32) {
    if let (Some(signal), true) = (signal(), thread != 0) {
        // SAFETY: at worst the thread no longer exists, which is a harmless error.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal) };
    }
}

/// Returns the signal, once its handler is installed; `None` if the process uses all signals.
pub fn signal() -> Option<c_int> {
    static SIGNAL: OnceLock<Option<c_int>> = OnceLock::new();
    *SIGNAL.get_or_init(|| rt_signal::install(handler))
}

unsafe extern "C" fn handler(_: c_int, _: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the interrupted context, which nothing else refers to.
    unsafe { force(&mut *context.cast::<ucontext_t>()) };
}

/// Makes the next check of the interrupted code fire; `None` if it is not code of a function with checks.
unsafe fn force(context: &mut ucontext_t) -> Option<()> {
    let pc = arch::registers(context).pc;
    // A thread in machine code holds no lock of the library, so the registry may be used.
    registry::find(pc)?.function.as_ref()?;
    // SAFETY: the chain contains live activations only.
    let activation = unsafe { activation::newest().as_ref() }?;
    let store = activation.context;
    // SAFETY: the store that was entered holds the page.
    let page = unsafe { &*activation.interrupt };
    // SAFETY: the context lives as long as the store whose code runs, and nothing refers to it meanwhile.
    unsafe {
        // During a burst, a tick is meant for that burst.
        let is_due = page.has_ticked() && (*store).counts == 0;
        if !is_due && !page.is_requested() {
            return None;
        }
        (*store).burst = (*store).burst.min(1);
        if (*store).pinned == store_context::CHECKS as usize {
            let checks = arch::pinned(context);
            // While a check fires, the register holds the address of the store's context.
            if *checks != store.addr() as i64 {
                *checks = (*checks).min(0);
            }
        } else {
            // If checks are counted at all, their count is in memory.
            (*store).checks = (*store).checks.min(0);
        }
    }
    Some(())
}
