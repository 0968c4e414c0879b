//! Counters of the operating system: Linux's `perf_event_open`.
//!
//! Invariant: a counter belongs to the thread that opened it, and counts the thread's own work, not that of the
//! kernel on its behalf.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::FromRawFd;

use wprof_jit::plan::SystemEvent;

/// The first version of the kernel's `perf_event_attr`, which every kernel accepts.
#[derive(Default)]
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    breakpoint_address: u64,
}

/// Excludes the work of the kernel and of a hypervisor.
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;

/// `PERF_FLAG_FD_CLOEXEC`.
const CLOSE_ON_EXEC: u64 = 8;

/// An open counter.
#[derive(Debug)]
pub struct SystemCounter(File);

impl SystemCounter {
    /// Opens a counter, which begins to count.
    ///
    /// # Errors
    /// Returns an error if the machine has no such counter, or the system does not allow it.
    pub fn open(event: SystemEvent) -> io::Result<SystemCounter> {
        let (kind, config) = event.numbers();
        let flags = EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR;
        let size = size_of::<Attributes>() as u32;
        let attributes = Attributes { kind, size, config, flags, ..Attributes::default() };
        let (this_thread, any_processor, no_group) = (0, -1, -1);
        // SAFETY: the attributes have the size that they declare, and the kernel only reads them.
        let file = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                this_thread,
                any_processor,
                no_group,
                CLOSE_ON_EXEC,
            )
        };
        match i32::try_from(file) {
            // SAFETY: the kernel has just opened the descriptor for this call.
            Ok(file) if file >= 0 => Ok(SystemCounter(unsafe { File::from_raw_fd(file) })),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Returns the number of events so far; 0 if the system cannot tell.
    pub fn read(&self) -> u64 {
        let mut count = [0; 8];
        match (&self.0).read_exact(&mut count) {
            Ok(()) => u64::from_ne_bytes(count),
            Err(_) => 0,
        }
    }
}
