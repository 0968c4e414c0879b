//! The stack on which wasm code runs.
//!
//! Wasm code uses its stack to the end, where the guard page stops it. So there must be a guard page. Threads
//! have one below their stack, and so has the main thread unless its stack may grow without a limit. Other stacks
//! (fibers, threads whose stack the embedder made) may have anything below them: there wasm runs on a separate
//! stack of the library, and so do the host functions that it calls. An explicit check in each prologue would
//! slow down all programs. The separate stack is also used where the embedder has limited the stack of wasm
//! (`Config::max_wasm_stack`).
//!
//! Host functions are not called when less than a reserve is left.

use std::cell::{Cell, OnceCell, RefCell};
use std::hint;
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;

use super::guarded_stack::GuardedStack;
use crate::arch;

/// Stack that a host function, or the compiler, is guaranteed. Debug code needs more.
const HOST_RESERVE: usize = if cfg!(debug_assertions) { 1 << 20 } else { 512 << 10 };
/// Size of separate stacks: the usual size of the main thread's stack.
const OWN_SIZE: usize = 8 << 20;
/// A main thread with a larger limit counts as unlimited.
const LARGEST: usize = 1 << 30;
/// Maximum number of separate stacks that a thread keeps for later entries.
const MOST_KEPT: usize = 4;

thread_local! {
    /// The addresses of this thread's stack, if it has a guard.
    static GUARDED: OnceCell<Option<Range<usize>>> = const { OnceCell::new() };
    /// The addresses of the separate stack that was entered last and has not been left yet.
    static OWN: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    /// Unused separate stacks.
    static FREE: RefCell<Vec<GuardedStack>> = const { RefCell::new(Vec::new()) };
}

/// The most bytes of a stack that are cleared at an entry: enough for calls that are not deeply nested.
const MOST_CLEARED: usize = 256 << 10;

/// The stack for an entry into wasm.
pub enum Place {
    /// The stack of the caller.
    Here(Range<usize>),
    /// A separate stack.
    Own(OwnStack),
}

/// Where the host is about to make an entry: the addresses of the stack that it is on, if there is a guard below it.
pub struct Here(Option<Range<usize>>);

impl Here {
    /// Returns where this thread is now.
    #[inline]
    pub fn now() -> Here {
        Here(guarded_around(arch::stack_pointer()))
    }

    /// Reports whether less stack is left than a host function needs.
    #[inline]
    pub fn is_low(&self) -> bool {
        self.0.as_ref().is_some_and(|stack| arch::stack_pointer() < limit_of(stack))
    }
}

impl Place {
    /// Finds the stack for an entry from here: one of `size` bytes, if wasm must have exactly that many.
    ///
    /// # Errors
    /// Returns an error if the system has no memory for a stack.
    #[inline]
    pub fn find(here: Here, size: Option<usize>) -> io::Result<Place> {
        let is_right = |stack: &Range<usize>| {
            let (low, high) = OWN.get();
            size.is_none_or(|size| (low..high) == *stack && stack.len() == size)
        };
        match here.0.filter(is_right) {
            Some(stack) => Ok(Place::Here(stack)),
            None => OwnStack::take(size.unwrap_or(OWN_SIZE)).map(Place::Own),
        }
    }

    /// Returns the addresses of that stack.
    pub fn stack(&self) -> Range<usize> {
        match self {
            Place::Here(stack) => stack.clone(),
            Place::Own(own) => own.addresses(),
        }
    }

    /// Returns the lowest stack pointer at which the host may still be called.
    #[inline]
    pub fn limit(&self) -> usize {
        limit_of(&self.stack())
    }

    /// Clears what calls that have returned left in the unused part of the stack from `low` on: later frames may lie
    /// there, and would keep objects alive by words that they have not written yet.
    /// Source: Boehm, Space Efficient Conservative Garbage Collection, PLDI 1993, section 3.1.
    pub fn clear_from(&mut self, low: usize) {
        if !self.stack().contains(&low) {
            return;
        }
        match self {
            Place::Here(_) => clear_below(arch::stack_pointer().saturating_sub(low).min(MOST_CLEARED)),
            Place::Own(own) => {
                if let Some(stack) = &mut own.stack {
                    stack.clear((stack.top().addr() - low).min(MOST_CLEARED));
                }
            }
        }
    }

    /// Returns the start of the stack, if it is a separate one.
    pub fn top(&self) -> Option<*mut u8> {
        match self {
            Place::Here(_) => None,
            Place::Own(own) => own.stack.as_ref().map(GuardedStack::top),
        }
    }
}

/// Clears that many bytes of the stack below the caller, or somewhat more.
#[inline(never)]
fn clear_below(bytes: usize) {
    const STEP: usize = 4096;
    let cleared = hint::black_box([0_u8; STEP]);
    if bytes > STEP {
        clear_below(bytes - STEP);
    }
    // The array must be there until the calls below have returned.
    hint::black_box(&cleared);
}

/// Sets the bounds of the guarded stack that this thread is on, and returns the previous ones.
#[inline(never)]
pub fn replace_own(bounds: (usize, usize)) -> (usize, usize) {
    OWN.replace(bounds)
}

#[inline]
fn limit_of(stack: &Range<usize>) -> usize {
    stack.start + HOST_RESERVE.min(stack.len() / 4)
}

/// Returns the addresses of the stack that contains `sp`, if there is a guard below it.
#[inline]
fn guarded_around(sp: usize) -> Option<Range<usize>> {
    let (low, high) = OWN.get();
    if (low..high).contains(&sp) {
        return Some(low..high);
    }
    GUARDED.with(|stack| stack.get_or_init(guarded_stack).clone()).filter(|stack| stack.contains(&sp))
}

/// A separate stack, for one entry.
pub struct OwnStack {
    /// The stack, until it is returned.
    stack: Option<GuardedStack>,
    around: (usize, usize),
}

impl OwnStack {
    fn take(size: usize) -> io::Result<OwnStack> {
        let of_size = |free: &mut Vec<GuardedStack>| {
            let at = free.iter().rposition(|stack| stack.top().addr() - stack.low().addr() == size)?;
            Some(free.remove(at))
        };
        let kept = FREE.try_with(|free| of_size(&mut free.borrow_mut())).ok().flatten();
        let stack = kept.map_or_else(|| GuardedStack::new(size), Ok)?;
        let around = OWN.replace((stack.low().addr(), stack.top().addr()));
        Ok(OwnStack { stack: Some(stack), around })
    }

    fn addresses(&self) -> Range<usize> {
        self.stack.as_ref().map_or(0..0, |stack| stack.low().addr()..stack.top().addr())
    }
}

impl Drop for OwnStack {
    // Not inlined: a call that waits may end on another thread, with other thread-local data.
    #[inline(never)]
    fn drop(&mut self) {
        OWN.set(self.around);
        let Some(stack) = self.stack.take() else { return };
        // While the thread exits, the stack cannot be kept.
        let _ = FREE.try_with(|free| {
            let mut free = free.borrow_mut();
            if free.len() == MOST_KEPT {
                // The oldest may have a size that is not needed any more.
                free.remove(0);
            }
            free.push(stack);
        });
    }
}

/// Returns the addresses of this thread's stack as the system knows it, if a guard below it stops overflows.
fn guarded_stack() -> Option<Range<usize>> {
    let mut attr = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut low, mut size, mut guard) = (ptr::null_mut(), 0, 0);
    // SAFETY: the first call, which is checked, initialises the attributes, and the last one destroys them.
    let known = unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attr.as_mut_ptr()) != 0 {
            return None;
        }
        let known = libc::pthread_attr_getstack(attr.as_ptr(), &mut low, &mut size) == 0
            && libc::pthread_attr_getguardsize(attr.as_ptr(), &mut guard) == 0;
        libc::pthread_attr_destroy(attr.as_mut_ptr());
        known
    };
    let stack = low.addr()..low.addr() + size;
    // The kernel has put this on the stack of the main thread, which it lets grow up to a limit and no further.
    // SAFETY: `getauxval` has no preconditions.
    let is_main = stack.contains(&(unsafe { libc::getauxval(libc::AT_RANDOM) } as usize));
    let is_guarded = guard > 0 || is_main && has_limit() && size <= LARGEST;
    (known && is_guarded).then_some(stack)
}

/// Returns whether the main thread's stack has a limit.
fn has_limit() -> bool {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the structure has the right type.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) == 0 };
    known && limit.rlim_cur != libc::RLIM_INFINITY
}
