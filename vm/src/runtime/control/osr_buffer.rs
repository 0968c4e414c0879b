//! The OSR buffer of a store: a frame that continues in another version of its function passes its values in it.
//!
//! Invariant: no other code runs between the version that writes it and the version that reads it, so one buffer
//! per store is enough.

use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use wprof_jit::abi::{store_context, value};

use crate::runtime::instances::abi::VmValue;

const SIZE: usize = store_context::OSR_VALUES as usize * value::SIZE as usize;

/// The OSR buffer. It takes no memory until it is used. Code reads only what has been written to it for that code, so
/// stores of an engine may have it one after the other.
#[derive(Debug)]
pub struct OsrBuffer(NonNull<VmValue>);

// SAFETY: the buffer owns the memory alone. Only machine code of the store that owns it accesses the memory, and
// the store's own methods while no machine code runs.
unsafe impl Send for OsrBuffer {}
// SAFETY: as for `Send`; methods with a shared reference only read.
unsafe impl Sync for OsrBuffer {}

impl OsrBuffer {
    /// Creates a buffer of `OSR_VALUES` values.
    ///
    /// # Errors
    /// Returns an error if the system has no address space for the buffer.
    pub fn new() -> std::io::Result<OsrBuffer> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address that the kernel chooses disturbs nothing.
        let base = unsafe { mmap_anonymous(ptr::null_mut(), SIZE, access, MapFlags::PRIVATE)? };
        Ok(OsrBuffer(NonNull::new(base.cast()).expect("the kernel does not map page 0")))
    }

    /// Returns the address that machine code writes to and reads from.
    pub fn address(&self) -> *mut VmValue {
        self.0.as_ptr()
    }
}

impl Drop for OsrBuffer {
    fn drop(&mut self) {
        // SAFETY: `new` mapped it with this size; only machine code of the store that owns it knows the address.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), SIZE) };
    }
}
