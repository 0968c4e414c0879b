//! The page that stops a store: machine code reads it at polls.
//!
//! An interruption sets a flag and makes the page inaccessible, so that the next poll faults; the flag alone is seen
//! at entries into wasm and at returns from the host. Whoever acts on the flag takes it and makes the page readable
//! again. A poll may fault although the flag is taken, if the two happen at once: then there is nothing to do but
//! make the page readable and poll again.

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

use super::{fire, wake};

const SIZE: usize = 4096;

/// How long after a vain attempt to make a check fire the next one is made.
const AGAIN: Duration = Duration::from_micros(200);

/// One store's page.
#[derive(Debug)]
pub struct InterruptPage {
    page: NonNull<u8>,
    requested: AtomicBool,
    /// The thread that runs the store's wasm code, or host functions for it; 0 if none does.
    thread: AtomicI32,
    /// Where code has checks instead of polls: who makes them fire.
    insisting: OnceLock<Arc<OwnedFd>>,
    /// Held while that is set up.
    starting: Mutex<()>,
}

// SAFETY: the page is only ever read by machine code; changing its protection is thread-safe.
unsafe impl Send for InterruptPage {}
// SAFETY: as above; the flag is atomic.
unsafe impl Sync for InterruptPage {}

impl InterruptPage {
    /// A readable page.
    ///
    /// # Errors
    /// If the system has no memory for it.
    pub fn new() -> std::io::Result<InterruptPage> {
        // SAFETY: a fresh mapping at an address of the kernel's choice disturbs nothing.
        let page = unsafe { mmap_anonymous(ptr::null_mut(), SIZE, ProtFlags::READ, MapFlags::PRIVATE)? };
        let page = NonNull::new(page.cast()).expect("the kernel does not map page 0");
        let (requested, thread) = (AtomicBool::new(false), AtomicI32::new(0));
        Ok(InterruptPage { page, requested, thread, insisting: OnceLock::new(), starting: Mutex::new(()) })
    }

    /// What polls read.
    pub fn address(&self) -> *const u8 {
        self.page.as_ptr()
    }

    /// Asks the store to stop. Async-signal-safe.
    pub fn request(&self) {
        self.requested.store(true, Ordering::SeqCst);
        self.protect(MprotectFlags::empty());
        if let Some(event) = self.insisting.get() {
            signal_event(event);
        }
    }

    /// From now on a request makes the next check of the store's code fire. A thread waits for requests, and insists, as an
    /// attempt may be in vain.
    ///
    /// # Errors
    /// If the system has no thread or event for it.
    pub fn insist(self: &Arc<Self>) -> std::io::Result<()> {
        let _starting = self.starting.lock().unwrap_or_else(PoisonError::into_inner);
        if self.insisting.get().is_some() {
            return Ok(());
        }
        fire::signal();
        // SAFETY: makes a new descriptor, which nobody else has.
        let event = unsafe {
            match libc::eventfd(0, libc::EFD_CLOEXEC) {
                -1 => return Err(std::io::Error::last_os_error()),
                event => Arc::new(OwnedFd::from_raw_fd(event)),
            }
        };
        let (page, seen) = (Arc::downgrade(self), event.clone());
        let work = move || while wait_for_event(&seen) && fire_until_taken(&page) {};
        thread::Builder::new().name("wprof-interrupt".into()).spawn(work)?;
        let _ = self.insisting.set(event);
        Ok(())
    }

    /// Makes the system call fail in which a host function of the store waits, if one does right now. See
    /// [`wake::install`].
    pub fn wake(&self) {
        wake::send(self.thread.load(Ordering::Relaxed));
    }

    /// Notes which thread runs the store from now on; 0 for none.
    pub fn set_thread(&self, id: i32) {
        self.thread.store(id, Ordering::Relaxed);
    }

    /// Whether somebody asked and nobody has acted on it yet.
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Takes the request, if there is one. Async-signal-safe.
    pub fn take(&self) -> bool {
        let requested = self.requested.swap(false, Ordering::SeqCst);
        if requested {
            self.make_readable();
        }
        requested
    }

    /// Makes polls pass again, unless there is a request. Async-signal-safe.
    pub fn make_readable(&self) {
        self.protect(MprotectFlags::READ);
        if self.requested.load(Ordering::SeqCst) {
            self.protect(MprotectFlags::empty());
        }
    }

    fn protect(&self, flags: MprotectFlags) {
        // SAFETY: the page is ours, and all that reads it expects to fault.
        let _ = unsafe { mprotect(self.page.as_ptr().cast(), SIZE, flags) };
    }
}

/// Makes checks fire until the request is taken; whether the page is still there.
fn fire_until_taken(page: &Weak<InterruptPage>) -> bool {
    while let Some(page) = page.upgrade() {
        if !page.is_requested() {
            return true;
        }
        fire::send(page.thread.load(Ordering::Relaxed));
        drop(page);
        thread::sleep(AGAIN);
    }
    false
}

/// Async-signal-safe.
fn signal_event(event: &OwnedFd) {
    let one = 1_u64.to_ne_bytes();
    // SAFETY: the buffer has the eight bytes that an event takes.
    unsafe { libc::write(event.as_raw_fd(), one.as_ptr().cast(), one.len()) };
}

/// Whether there was one.
fn wait_for_event(event: &OwnedFd) -> bool {
    let mut count = [0_u8; 8];
    loop {
        // SAFETY: the buffer has the eight bytes that an event gives.
        let read = unsafe { libc::read(event.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
        if read >= 0 || std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return read == 8;
        }
    }
}

impl Drop for InterruptPage {
    fn drop(&mut self) {
        if let Some(event) = self.insisting.get() {
            signal_event(event);
        }
        // SAFETY: mapped by `new`; machine code reads it only while the store, which holds this, lives.
        let _ = unsafe { munmap(self.page.as_ptr().cast(), SIZE) };
    }
}
