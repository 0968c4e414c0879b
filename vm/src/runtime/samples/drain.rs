//! The thread that takes samples out of rings that fill.
//!
//! It waits until a signal handler finds that a ring is half full, so that it costs nothing where stores are entered often,
//! which is when they take their samples themselves.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use super::ring::Ring;
use crate::runtime::interruption::fork::{self, Generation};

static RINGS: Mutex<Vec<Weak<Ring>>> = Mutex::new(Vec::new());

/// By what the thread is told that there is something to do; -1 before it is started.
static EVENT: AtomicI32 = AtomicI32::new(-1);

/// The number of the process in which it was started.
static STARTED: AtomicU32 = AtomicU32::new(u32::MAX);

fn rings() -> MutexGuard<'static, Vec<Weak<Ring>>> {
    RINGS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks after a ring as long as it is there.
pub fn add(ring: &Arc<Ring>) {
    let mut rings = rings();
    rings.retain(|ring| ring.strong_count() > 0);
    rings.push(Arc::downgrade(ring));
    start();
}

/// Sees to it that the thread is there, which `fork` has left behind.
pub fn restart_in_child() {
    if STARTED.load(Ordering::Relaxed) != Generation::current().number() {
        let _rings = rings();
        start();
    }
}

/// Makes the thread look. Async-signal-safe.
pub fn notify() {
    let one = 1_u64.to_ne_bytes();
    let event = EVENT.load(Ordering::SeqCst);
    if event >= 0 {
        // SAFETY: the buffer has the eight bytes that an event takes; the descriptor is never closed.
        unsafe { libc::write(event, one.as_ptr().cast(), one.len()) };
    }
}

/// Starts the thread, unless there is one; without one samples are lost where nobody takes them. The list is locked.
fn start() {
    let process = Generation::current().number();
    if STARTED.load(Ordering::Relaxed) == process {
        return;
    }
    // SAFETY: makes a new descriptor.
    let event = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
    if event < 0 {
        return;
    }
    if thread::Builder::new().name("wprof-samples".into()).spawn(move || run(event)).is_err() {
        // SAFETY: nobody else has it.
        unsafe { libc::close(event) };
        return;
    }
    // A parent's stays open: it is the parent's thread that waits for it.
    EVENT.store(event, Ordering::SeqCst);
    STARTED.store(process, Ordering::Relaxed);
}

/// What the thread does, as long as the process is there.
fn run(event: RawFd) {
    let mut count = [0_u8; 8];
    loop {
        // SAFETY: the buffer has the eight bytes that an event gives.
        unsafe { libc::read(event, count.as_mut_ptr().cast(), count.len()) };
        // No lock of ours may be held when the process is copied.
        let _quiet = fork::quiet();
        let all: Vec<Arc<Ring>> = rings().iter().filter_map(Weak::upgrade).collect();
        all.iter().for_each(|ring| ring.drain_if_due());
    }
}
