//! The page that stops a store: machine code reads it at polls.
//!
//! An interruption sets a flag and makes the page inaccessible, so that the next poll faults; the flag alone is seen
//! at entries into wasm and at returns from the host. Whoever acts on the flag takes it and makes the page readable
//! again. A poll may fault although the flag is taken, if the two happen at once: then there is nothing to do but
//! make the page readable and poll again.

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

use super::wake;

const SIZE: usize = 4096;

/// One store's page.
#[derive(Debug)]
pub struct InterruptPage {
    page: NonNull<u8>,
    requested: AtomicBool,
    /// The thread that runs the store's wasm code, or host functions for it; 0 if none does.
    thread: AtomicI32,
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
        Ok(InterruptPage { page, requested: AtomicBool::new(false), thread: AtomicI32::new(0) })
    }

    /// What polls read.
    pub fn address(&self) -> *const u8 {
        self.page.as_ptr()
    }

    /// Asks the store to stop. Async-signal-safe.
    pub fn request(&self) {
        self.requested.store(true, Ordering::SeqCst);
        self.protect(MprotectFlags::empty());
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

impl Drop for InterruptPage {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`; machine code reads it only while the store, which holds this, lives.
        let _ = unsafe { munmap(self.page.as_ptr().cast(), SIZE) };
    }
}
