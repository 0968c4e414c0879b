//! `fork`: what the runtime of a child process is.
//!
//! The child has a copy of all memory and only the thread that called `fork`. So it gets:
//! - machine code of its own ([`reservation`](crate::runtime::code::reservation)): parent and child may compile, free and run
//!   code without noticing each other;
//! - no thread of ours. What a thread did for an engine or a store is done without it, or by a new one: whoever has a
//!   thread keeps the [`Generation`] that it was started in, and compares;
//! - no lock of ours that is held: `fork` waits until nothing is being compiled ([`quiet`]), and holds the locks that
//!   are not an engine's own while the process is copied.
//!
//! Invariant: locks are taken in the order in which `prepare` takes them.
//! What is not covered: another thread of the embedder's that is inside this library during `fork`, in anything but
//! running or compiling wasm. As with any library, its locks stay held in the child.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Once, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{thread_wakeup, timer_thread};
use crate::runtime::code::reservation::Copies;
use crate::runtime::code::{arena, registry};
use crate::types::defined;

/// How many `fork`s lie between this process and the first that used the library.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Read while something is compiled, which takes locks of an engine's and claims functions.
static COMPILING: RwLock<()> = RwLock::new(());

/// One process of a line of parents and children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation(u32);

impl Generation {
    /// That of this process.
    pub fn current() -> Generation {
        Generation(FORKS.load(Ordering::Relaxed))
    }

    /// Its number.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Whether it is that of this process: whether its threads are there.
    pub fn is_current(self) -> bool {
        self == Generation::current()
    }
}

impl Default for Generation {
    fn default() -> Generation {
        Generation::current()
    }
}

/// Keeps `fork` waiting until it is dropped. Not to be nested: a `fork` that waits lets nobody in.
pub fn quiet() -> RwLockReadGuard<'static, ()> {
    COMPILING.read().unwrap_or_else(PoisonError::into_inner)
}

/// What is held from before `fork` until after it.
struct Held {
    copies: Copies,
    _types: defined::Held,
    _objects: registry::Held,
    _spaces: arena::Held,
    _timers: timer_thread::Held,
    _compiling: RwLockWriteGuard<'static, ()>,
}

struct Slot(UnsafeCell<Option<Held>>);

// SAFETY: only `prepare`, `in_parent` and `in_child` touch it, between taking and releasing `COMPILING` exclusively.
unsafe impl Sync for Slot {}

static HELD: Slot = Slot(UnsafeCell::new(None));

/// Has the system call us around every `fork`, from now on.
pub fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the functions are there as long as the process is: this library is not unloaded, as its signal
        // handlers could not be either.
        let refused = unsafe { libc::pthread_atfork(Some(prepare), Some(in_parent), Some(in_child)) };
        // Without memory for it children have no code at all (`reservation`), so that the parent's is safe.
        debug_assert_eq!(refused, 0, "no handlers for fork");
    });
}

unsafe extern "C" fn prepare() {
    let compiling = COMPILING.write().unwrap_or_else(PoisonError::into_inner);
    let (timers, spaces) = (timer_thread::hold(), arena::hold());
    let (objects, copies) = (registry::hold(), Copies::take());
    let types = defined::hold();
    let held = Held {
        copies,
        _types: types,
        _objects: objects,
        _spaces: spaces,
        _timers: timers,
        _compiling: compiling,
    };
    // SAFETY: we hold `COMPILING`, and whoever held it before has taken its `Held` away.
    unsafe { *HELD.0.get() = Some(held) };
}

unsafe extern "C" fn in_parent() {
    // SAFETY: this thread has run `prepare`, and so holds `COMPILING`.
    drop(unsafe { (*HELD.0.get()).take() });
}

unsafe extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    thread_wakeup::forget_thread_id();
    // SAFETY: as in `in_parent`: this is the thread that has run `prepare`, and the only one.
    if let Some(Held { copies, .. }) = unsafe { (*HELD.0.get()).take() } {
        copies.install();
    }
}
