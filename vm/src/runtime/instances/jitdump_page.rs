//! What perf needs from a process: a page of the jitdump that is mapped executable, and the clock of the records.

use std::fs::File;
use std::io;
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

const PAGE: usize = 4096;

/// The mapping that tells perf where the jitdump is.
#[derive(Debug)]
pub(crate) struct Marker(NonNull<u8>);

// SAFETY: the page is never read or written, only mapped and unmapped.
unsafe impl Send for Marker {}

impl Marker {
    /// Maps the first page of a file.
    ///
    /// # Errors
    /// Returns an error if the file may not be mapped executable, for example because of the mount options of its
    /// file system.
    pub(crate) fn new(file: &File) -> io::Result<Marker> {
        let protection = ProtFlags::READ | ProtFlags::EXEC;
        // SAFETY: a new private mapping at an address that the kernel chooses touches no memory in use.
        let page = unsafe { mmap(ptr::null_mut(), PAGE, protection, MapFlags::PRIVATE, file, 0) }?;
        NonNull::new(page.cast()).map(Marker).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        // SAFETY: `new` mapped it, and nobody else knows the address.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), PAGE) };
    }
}

/// Returns the time of `perf record -k mono`, in nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer leads to the local timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
