//! What perf looks for in a process: a page of the jitdump that is mapped executable, and its clock.

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
    /// If the file may not be mapped executable, such as on a file system mounted so.
    pub(crate) fn new(file: &File) -> io::Result<Marker> {
        let protection = ProtFlags::READ | ProtFlags::EXEC;
        // SAFETY: a new private mapping at an address of the kernel's choice touches no memory of ours.
        let page = unsafe { mmap(ptr::null_mut(), PAGE, protection, MapFlags::PRIVATE, file, 0) }?;
        NonNull::new(page.cast()).map(Marker).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        // SAFETY: we mapped it, and nobody else knows the address.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), PAGE) };
    }
}

/// The time of `perf record -k mono`, in nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of ours.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
