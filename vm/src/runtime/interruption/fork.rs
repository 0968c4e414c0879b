//! `fork`: the state of the runtime in a child process.
//!
//! The child has a copy of all memory and only the thread that called `fork`. So it gets:
//! - machine code of its own ([`reservation`](crate::runtime::code::reservation)): parent and child may compile,
//!   free and run code independently;
//! - no thread of the library. The work of a thread for an engine or a store is done without it, or by a new
//!   thread: the owner of a thread keeps the [`Generation`](generation::Generation) in which it was started, and compares;
//! - no lock of the library that is held: `fork` waits until nothing is being compiled ([`quiet`]), and holds the
//!   locks that do not belong to an engine while the process is copied.
//!
//! Invariant: locks are taken in the order in which `prepare` takes them.
//!
//! Not covered: another thread of the embedder that is inside this library during `fork`, except to run or
//! compile wasm. As with any library, its locks stay held in the child.

use std::cell::UnsafeCell;
use std::sync::{Once, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{generation, thread_wakeup, timer_thread};
use crate::runtime::code::reservation::ForkCopies;
use crate::runtime::code::{arena, registry};
use crate::types::defined;

/// Read-locked while something is compiled, which takes locks of an engine and claims functions.
static COMPILING: RwLock<()> = RwLock::new(());

/// Keeps `fork` waiting until the result is dropped. It must not be nested, because a waiting `fork` blocks
/// further readers.
pub fn quiet() -> RwLockReadGuard<'static, ()> {
    COMPILING.read().unwrap_or_else(PoisonError::into_inner)
}

/// The locks held from before `fork` until after it.
struct Held {
    copies: ForkCopies,
    _types: defined::Held,
    _objects: registry::Held,
    _spaces: arena::Held,
    _timers: timer_thread::Held,
    _compiling: RwLockWriteGuard<'static, ()>,
}

struct Slot(UnsafeCell<Option<Held>>);

// SAFETY: only `prepare`, `in_parent` and `in_child` access it, while `COMPILING` is held exclusively.
unsafe impl Sync for Slot {}

static HELD: Slot = Slot(UnsafeCell::new(None));

/// Registers the handlers around every `fork`.
pub fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the functions exist as long as the process: this library is not unloaded, because its signal
        // handlers cannot be removed either.
        let refused = unsafe { libc::pthread_atfork(Some(prepare), Some(in_parent), Some(in_child)) };
        // If there is no memory for the handlers, children have no code at all (`reservation`), so the parent's
        // code is safe.
        debug_assert_eq!(refused, 0, "no handlers for fork");
    });
}

unsafe extern "C" fn prepare() {
    let compiling = COMPILING.write().unwrap_or_else(PoisonError::into_inner);
    let (timers, spaces) = (timer_thread::hold(), arena::hold());
    let (objects, copies) = (registry::hold(), ForkCopies::take());
    let types = defined::hold();
    let held = Held {
        copies,
        _types: types,
        _objects: objects,
        _spaces: spaces,
        _timers: timers,
        _compiling: compiling,
    };
    // SAFETY: this thread holds `COMPILING`, and its previous holder has taken its `Held` away.
    unsafe { *HELD.0.get() = Some(held) };
}

unsafe extern "C" fn in_parent() {
    // SAFETY: this thread has run `prepare`, and so holds `COMPILING`.
    drop(unsafe { (*HELD.0.get()).take() });
}

unsafe extern "C" fn in_child() {
    generation::begin();
    thread_wakeup::forget_thread_id();
    // SAFETY: as in `in_parent`: this is the thread that has run `prepare`, and the only thread.
    if let Some(Held { copies, .. }) = unsafe { (*HELD.0.get()).take() } {
        copies.install();
    }
}
