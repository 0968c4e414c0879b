//! The thread that drains rings of samples that fill up.
//!
//! It waits until a signal handler finds that a ring is half full. So it costs nothing where stores are entered
//! often, because such stores drain their rings themselves.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use super::ring::Ring;
use crate::runtime::interruption::fork;
use crate::runtime::interruption::generation::Generation;

static RINGS: Mutex<Vec<Weak<Ring>>> = Mutex::new(Vec::new());

/// The event that wakes the thread; -1 before it is started.
static EVENT: AtomicI32 = AtomicI32::new(-1);

/// The generation of the process in which the thread was started.
static STARTED: AtomicU32 = AtomicU32::new(u32::MAX);

fn rings() -> MutexGuard<'static, Vec<Weak<Ring>>> {
    RINGS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers a ring, for as long as it exists.
pub fn add(ring: &Arc<Ring>) {
    let mut rings = rings();
    rings.retain(|ring| ring.strong_count() > 0);
    rings.push(Arc::downgrade(ring));
    start();
}

/// Starts the thread if `fork` has left it behind.
pub fn restart_in_child() {
    if STARTED.load(Ordering::Relaxed) != Generation::current().number() {
        let _rings = rings();
        start();
    }
}

/// Wakes the thread. Async-signal-safe.
pub fn notify() {
    let one = 1_u64.to_ne_bytes();
    let event = EVENT.load(Ordering::SeqCst);
    if event >= 0 {
        // SAFETY: the buffer has the eight bytes that an event takes; the descriptor is never closed.
        unsafe { libc::write(event, one.as_ptr().cast(), one.len()) };
    }
}

/// Starts the thread, unless it exists; without it samples are lost where nobody drains them. The list must be
/// locked.
fn start() {
    let process = Generation::current().number();
    if STARTED.load(Ordering::Relaxed) == process {
        return;
    }
    // SAFETY: the call creates a new descriptor.
    let event = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
    if event < 0 {
        return;
    }
    if thread::Builder::new().name("wprof-samples".into()).spawn(move || run(event)).is_err() {
        // SAFETY: nobody else has the descriptor.
        unsafe { libc::close(event) };
        return;
    }
    // The parent's event stays open, because the parent's thread waits for it.
    EVENT.store(event, Ordering::SeqCst);
    STARTED.store(process, Ordering::Relaxed);
}

/// The main loop of the thread, which runs as long as the process.
fn run(event: RawFd) {
    let mut count = [0_u8; 8];
    loop {
        // SAFETY: the buffer has the eight bytes that an event provides.
        unsafe { libc::read(event, count.as_mut_ptr().cast(), count.len()) };
        // No lock of the library may be held while the process is copied.
        let _quiet = fork::quiet();
        let all: Vec<Arc<Ring>> = rings().iter().filter_map(Weak::upgrade).collect();
        all.iter().for_each(|ring| ring.drain_if_due());
    }
}
