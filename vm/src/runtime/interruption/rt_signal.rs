//! Signals of the library: real-time signals that the process does not use.

use std::mem::MaybeUninit;
use std::ptr;

use libc::{c_int, c_void, siginfo_t};

/// The handler of a signal.
pub type Handler = unsafe extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

/// Installs a handler for a signal without one; `None` if all have handlers. Interrupted system calls are
/// restarted.
pub fn install(handler: Handler) -> Option<c_int> {
    (libc::SIGRTMIN() + 1..=libc::SIGRTMAX()).find(|&signal| install_for(signal, handler))
}

/// Installs a handler for this signal if it has none; returns whether it did.
fn install_for(signal: c_int, handler: Handler) -> bool {
    // SAFETY: the handler has the signature that the flags require.
    unsafe {
        let mut present = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        if libc::sigaction(signal, ptr::null(), &mut present) != 0 || present.sa_sigaction != libc::SIG_DFL {
            return false;
        }
        let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(signal, &action, ptr::null_mut()) == 0
    }
}
