//! The stack on which this thread's signal handlers run, because the thread's own stack may be exhausted when a
//! signal arrives.
//!
//! It is set up by the first entry into wasm, and freed at thread exit. The previous one is not restored then,
//! because its owner may have freed it.

use std::mem::MaybeUninit;
use std::ptr;

use super::guarded_stack::GuardedStack;

const SIZE: usize = 256 << 10;

struct AltStack(Option<GuardedStack>);

thread_local! {
    static ALT_STACK: AltStack = AltStack(install());
}

/// Ensures that this thread has a large enough signal stack.
pub fn ensure() {
    ALT_STACK.with(|_| {});
}

fn current() -> libc::stack_t {
    let mut stack = MaybeUninit::<libc::stack_t>::zeroed();
    // SAFETY: the call reads the current setting into a structure of the right type, for which all zeros is a
    // valid value.
    unsafe {
        libc::sigaltstack(ptr::null(), stack.as_mut_ptr());
        stack.assume_init()
    }
}

/// Installs a stack and returns it, or `None` if the present one is large enough or the system refuses.
fn install() -> Option<GuardedStack> {
    let present = current();
    if present.ss_flags & libc::SS_DISABLE == 0 && present.ss_size >= SIZE {
        return None;
    }
    let stack = GuardedStack::new(SIZE).ok()?;
    let setting = libc::stack_t { ss_sp: stack.low().cast(), ss_flags: 0, ss_size: SIZE };
    // SAFETY: the memory belongs to the stack, which nobody else uses, and stays until `AltStack::drop` has
    // disabled it.
    let is_set = unsafe { libc::sigaltstack(&setting, ptr::null_mut()) == 0 };
    is_set.then_some(stack)
}

impl Drop for AltStack {
    fn drop(&mut self) {
        let Some(stack) = &self.0 else { return };
        if current().ss_sp == stack.low().cast() {
            let none = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: SIZE };
            // SAFETY: the call removes the setting that `install` made, before its memory is freed.
            unsafe { libc::sigaltstack(&none, ptr::null_mut()) };
        }
    }
}
