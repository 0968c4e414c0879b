//! Activations: entries of this thread into wasm code that have not returned yet.
//!
//! They live in the stack frames of the entries, and form a chain from the newest to the oldest. The signal
//! handler uses only the newest, whose wasm code is running.

use std::cell::{Cell, UnsafeCell};
use std::ops::Range;
use std::ptr;

use wprof_jit::abi::TrapCode;

use super::many_frames::ManyFrames;
use super::raw_frame::RawFrame;
use crate::runtime::instances::abi::{VmActivation, VmContext, VmStoreContext};
use crate::runtime::interruption::interrupt_page::InterruptPage;

/// The findings of the signal handler at a trap.
#[derive(Debug)]
pub struct TrapRecord {
    /// The reason; `None` for stack overflow.
    pub code: Option<TrapCode>,
    /// The trapped frame, at the faulting instruction.
    pub top: RawFrame,
    /// All frames between it and the activation, innermost first, at their return addresses.
    pub callers: ManyFrames,
    /// Whether the innermost caller has rethrown an exception that had come back to its call.
    pub is_thrown_again: bool,
    /// The time-stamp counter at the trap.
    pub cycles: u64,
}

/// An entry into wasm code.
pub struct Activation {
    /// Written by the entering trampoline, read by the signal handler.
    pub vm: UnsafeCell<VmActivation>,
    /// The next older entry.
    pub previous: *const Activation,
    /// Context of the entered store.
    pub context: *mut VmStoreContext,
    /// The instance of the entered function.
    pub vmctx: *const VmContext,
    /// The store's `exit_fp` at the entry: where wasm had left for the host that made this entry.
    pub saved_exit_fp: usize,
    /// The store's `host` at the entry: the host function that made this entry.
    pub saved_host: usize,
    /// The number of further frames allowed at the entry, if frames are limited.
    pub saved_frames_left: i64,
    /// The address range of the stack that wasm code runs on.
    pub stack: Range<usize>,
    /// Whether that is a stack of the runtime, to which `entries::enter_on_stack` has switched.
    pub is_on_own_stack: bool,
    /// The store's interrupt page.
    pub interrupt: *const InterruptPage,
    /// Set by the signal handler when it unwinds to this activation.
    pub trap: UnsafeCell<Option<TrapRecord>>,
}

thread_local! {
    static NEWEST: Cell<*const Activation> = const { Cell::new(ptr::null()) };
}

/// Returns this thread's newest activation, or null.
pub fn newest() -> *const Activation {
    NEWEST.get()
}

/// Replaces this thread's chain and returns the old one: a fiber has its own chain.
#[inline(never)]
pub fn replace_newest(newest: *const Activation) -> *const Activation {
    NEWEST.replace(newest)
}

/// Runs `body` with `activation` as the newest, and unlinks it when `body` ends in any way.
pub fn run<R>(activation: &Activation, body: impl FnOnce() -> R) -> R {
    let _linked = Linked::new(activation);
    body()
}

/// An activation on the chain. The borrow keeps it in place.
struct Linked<'a>(&'a Activation);

impl<'a> Linked<'a> {
    // Neither this function nor `drop` is inlined: `body` may end on another thread, with other thread-local data.
    #[inline(never)]
    fn new(activation: &'a Activation) -> Linked<'a> {
        debug_assert!(ptr::eq(activation.previous, NEWEST.get()));
        NEWEST.set(activation);
        Linked(activation)
    }
}

impl Drop for Linked<'_> {
    #[inline(never)]
    fn drop(&mut self) {
        // Foreign fibers that leave in another order than they entered, or on another thread, would leave the chain
        // pointing to dead frames. Fibers of this runtime take their part of the chain along.
        if !ptr::eq(NEWEST.get(), self.0) {
            crate::runtime::interruption::signals::die(
                "wasm calls of one thread must return in reverse order: do not switch fibers in between",
            );
        }
        NEWEST.set(self.0.previous);
    }
}
