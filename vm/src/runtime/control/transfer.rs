//! A store's transfer buffer: where a frame that goes on in another version of its function leaves its values.
//!
//! Invariant: nobody runs between the version that writes it and the one that reads it, so one per store is enough.

use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use wprof_jit::abi::{store_context, value};

use crate::runtime::instances::abi::VmValue;

const SIZE: usize = store_context::TRANSFER_VALUES as usize * value::SIZE as usize;

/// The buffer. Takes no memory until it is used.
#[derive(Debug)]
pub struct TransferBuffer(NonNull<VmValue>);

// SAFETY: memory that this owns alone. Only machine code of the store that has it looks into it, and the store's own
// methods while none runs.
unsafe impl Send for TransferBuffer {}
// SAFETY: as above; what they do by a shared reference is to read.
unsafe impl Sync for TransferBuffer {}

impl TransferBuffer {
    /// A buffer of `TRANSFER_VALUES` values.
    ///
    /// # Errors
    /// If the system has no address space for it.
    pub fn new() -> std::io::Result<TransferBuffer> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice disturbs nothing.
        let base = unsafe { mmap_anonymous(ptr::null_mut(), SIZE, access, MapFlags::PRIVATE)? };
        Ok(TransferBuffer(NonNull::new(base.cast()).expect("the kernel does not map page 0")))
    }

    /// What machine code writes and reads.
    pub fn address(&self) -> *mut VmValue {
        self.0.as_ptr()
    }
}

impl Drop for TransferBuffer {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this size; only machine code of the store that owns it knows it.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), SIZE) };
    }
}
