//! Activations: entries of this thread into wasm code that have not returned yet.
//!
//! They live on the stack, in the frames that entered, and form a chain from the newest to the oldest. The signal
//! handler looks at the newest only: it is the one whose wasm code is running.

use std::cell::{Cell, UnsafeCell};
use std::ops::Range;
use std::ptr;

use wprof_jit::abi::TrapCode;

use super::many_frames::ManyFrames;
use crate::runtime::counts::metrics::Sums;
use crate::runtime::instances::abi::{VmActivation, VmContext, VmStoreContext};
use crate::runtime::interruption::interrupt::InterruptPage;

/// What the signal handler found.
#[derive(Debug)]
pub struct TrapRecord {
    /// Why; `None` for stack overflow.
    pub code: Option<TrapCode>,
    /// The frame that trapped, at the instruction that faulted.
    pub top: RawFrame,
    /// All frames from there to the activation, innermost first, at their return addresses.
    pub callers: ManyFrames,
    /// Whether the innermost of them has thrown again what had come back to its call.
    pub is_thrown_again: bool,
    /// The time-stamp counter then.
    pub cycles: u64,
}

/// A frame of wasm code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawFrame {
    /// Where it is.
    pub pc: usize,
    /// The vmctx of its instance; null if it does not say, as plain code does not.
    pub vmctx: *const VmContext,
    /// What it holds for its path register, if it has come to hold one: nothing of meaning where that is known.
    pub path: Option<u64>,
    /// Its sums of metrics.
    pub sums: Sums,
    /// The address of its call record, if it has one and anything is measured or counted there; valid if any sum is not
    /// zero, or the frame has come beyond its entry.
    pub record: Option<u64>,
}

/// One entry.
pub struct Activation {
    /// Written by the trampoline that enters, read by the signal handler.
    pub vm: UnsafeCell<VmActivation>,
    /// The entry below this one.
    pub previous: *const Activation,
    /// Context of the store that was entered.
    pub context: *mut VmStoreContext,
    /// The instance of the function that was entered.
    pub vmctx: *const VmContext,
    /// That store's `exit_fp` at the time: where wasm had left for the host that made this entry.
    pub saved_exit_fp: usize,
    /// The same store's `host` at the time: which function of the host made this entry.
    pub saved_host: usize,
    /// How many frames there might have been besides at the time, where their number is limited.
    pub saved_frames_left: i64,
    /// The addresses of the stack that wasm code runs on.
    pub stack: Range<usize>,
    /// Whether that is one of ours, which `entries::enter_on_stack` has gone over to.
    pub is_on_own_stack: bool,
    /// That store's interrupt page.
    pub interrupt: *const InterruptPage,
    /// Left by the signal handler when it unwinds to here.
    pub trap: UnsafeCell<Option<TrapRecord>>,
}

thread_local! {
    static NEWEST: Cell<*const Activation> = const { Cell::new(ptr::null()) };
}

/// This thread's newest activation, or null.
pub fn newest() -> *const Activation {
    NEWEST.get()
}

/// Takes a chain in place of this thread's, which is given back: a fiber brings its own.
#[inline(never)]
pub fn replace_newest(newest: *const Activation) -> *const Activation {
    NEWEST.replace(newest)
}

/// Runs `body` with `activation` as the newest, which it is no more when `body` ends, however it does.
pub fn run<R>(activation: &Activation, body: impl FnOnce() -> R) -> R {
    let _linked = Linked::new(activation);
    body()
}

/// An activation on the chain. The borrow keeps it where it is.
struct Linked<'a>(&'a Activation);

impl<'a> Linked<'a> {
    // Neither this nor the end is inlined: the thread may be another when `body` ends, and its data elsewhere.
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
        // Fibers of others that leave in another order than they came, or on another thread, would leave the chain pointing to
        // frames that are gone. Ours take their part of the chain along.
        if !ptr::eq(NEWEST.get(), self.0) {
            crate::runtime::interruption::signals::die(
                "wasm calls of one thread must return in reverse order: do not switch fibers in between",
            );
        }
        NEWEST.set(self.0.previous);
    }
}
