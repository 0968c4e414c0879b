//! The stack that this thread's signal handlers run on: the thread's own may be used up when a signal comes.
//!
//! Set up by the first entry into wasm, freed at thread exit. The previous one is not restored then: whoever set it
//! up may have freed it by that time.

use std::mem::MaybeUninit;
use std::ptr;

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

const GUARD: usize = 4096;
const SIZE: usize = 256 << 10;

struct AltStack(Option<*mut libc::c_void>);

thread_local! {
    static ALT_STACK: AltStack = AltStack(install());
}

/// Makes sure that this thread has a large enough signal stack.
pub fn ensure() {
    ALT_STACK.with(|_| {});
}

fn current() -> libc::stack_t {
    let mut stack = MaybeUninit::<libc::stack_t>::zeroed();
    // SAFETY: reads the current setting into a structure of the right type; all-zero is a valid one.
    unsafe {
        libc::sigaltstack(ptr::null(), stack.as_mut_ptr());
        stack.assume_init()
    }
}

/// Returns the mapping, or `None` if what is there is large enough or the system refuses.
fn install() -> Option<*mut libc::c_void> {
    let present = current();
    if present.ss_flags & libc::SS_DISABLE == 0 && present.ss_size >= SIZE {
        return None;
    }
    // SAFETY: a fresh mapping at an address of the kernel's choice disturbs nothing; its first page becomes the
    // guard. The stack handed to the kernel is the rest of it, and stays mapped until `drop` has disabled it.
    unsafe {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let base = mmap_anonymous(ptr::null_mut(), GUARD + SIZE, access, MapFlags::PRIVATE).ok()?;
        let _ = mprotect(base, GUARD, MprotectFlags::empty());
        let stack = libc::stack_t { ss_sp: base.byte_add(GUARD), ss_flags: 0, ss_size: SIZE };
        if libc::sigaltstack(&stack, ptr::null_mut()) != 0 {
            let _ = munmap(base, GUARD + SIZE);
            return None;
        }
        Some(base)
    }
}

impl Drop for AltStack {
    fn drop(&mut self) {
        let Some(base) = self.0 else { return };
        // SAFETY: `base` is the mapping made by `install`; it is disabled before it goes, if it is still in use.
        unsafe {
            if current().ss_sp == base.byte_add(GUARD) {
                let none =
                    libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: SIZE };
                libc::sigaltstack(&none, ptr::null_mut());
            }
            let _ = munmap(base, GUARD + SIZE);
        }
    }
}
