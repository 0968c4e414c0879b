//! Waking a thread that waits in a system call: a signal with an empty handler makes the call fail with `EINTR`.
//!
//! The signal is SIGURG, which is ignored by default and which programs hardly use; an existing handler is kept.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Once;

const SIGNAL: libc::c_int = libc::SIGURG;

thread_local! {
    static ID: Cell<i32> = const { Cell::new(0) };
}

/// Returns the system's id of this thread.
#[inline]
pub fn thread_id() -> i32 {
    if ID.get() == 0 {
        // SAFETY: `gettid` has no preconditions.
        ID.set(unsafe { libc::gettid() });
    }
    ID.get()
}

/// Forgets the cached id, because the thread continues in another process.
pub fn forget_thread_id() {
    ID.set(0);
}

/// Wakes a thread of this process; 0 is no thread.
pub fn send(thread: i32) {
    install();
    if thread != 0 {
        // SAFETY: at worst the thread no longer exists, which is a harmless error.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, SIGNAL) };
    }
}

/// Installs the handler, without SA_RESTART so that system calls fail, unless there is a handler.
fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler has the signature that the flags require, and does nothing.
        unsafe {
            let mut present = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
            libc::sigaction(SIGNAL, ptr::null(), &mut present);
            if matches!(present.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) {
                let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
                action.sa_sigaction = ignore_signal as *const () as usize;
                action.sa_flags = libc::SA_ONSTACK;
                libc::sigemptyset(&mut action.sa_mask);
                libc::sigaction(SIGNAL, &action, ptr::null_mut());
            }
        }
    });
}

extern "C" fn ignore_signal(_: libc::c_int) {}
