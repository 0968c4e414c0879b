//! The bounds of the running thread's stack.
//!
//! Wasm code uses it to the end: the guard page stops it. Host functions are not called any more when less than a
//! reserve is left.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr;

use crate::arch;

/// Stack that a host function, or the compiler, may count on. Debug code needs more.
const HOST_RESERVE: usize = if cfg!(debug_assertions) { 1 << 20 } else { 512 << 10 };
/// Assumed where the system does not tell.
const UNKNOWN_SIZE: usize = 1 << 20;

thread_local! {
    static LIMIT: Cell<usize> = const { Cell::new(0) };
}

/// The lowest stack pointer of this thread at which the host may still be called.
pub fn host_limit() -> usize {
    LIMIT.with(|limit| {
        if limit.get() == 0 {
            let (low, size) =
                bounds().unwrap_or_else(|| (arch::stack_pointer() - UNKNOWN_SIZE, UNKNOWN_SIZE));
            limit.set(low + HOST_RESERVE.min(size / 4));
        }
        limit.get()
    })
}

/// Lowest address and size of this thread's stack.
fn bounds() -> Option<(usize, usize)> {
    let mut attr = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut low, mut size) = (ptr::null_mut(), 0);
    // SAFETY: the attributes are initialised by the first call, which is checked, and destroyed by the last.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attr.as_mut_ptr()) != 0 {
            return None;
        }
        let known = libc::pthread_attr_getstack(attr.as_ptr(), &mut low, &mut size) == 0;
        libc::pthread_attr_destroy(attr.as_mut_ptr());
        known.then_some((low as usize, size))
    }
}
