//! The memory of a heap, which is all reserved when the heap is made and takes pages as they are touched.
//!
//! Places are offsets from its start. Machine code has addresses.

use std::io;
use std::ops::Range;
use std::ptr::{self, NonNull};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// The memory.
#[derive(Debug)]
pub struct Space {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a range of memory that this owns alone. Machine code of the store that has the heap looks into it, and methods
// here only while none of that runs, as they are reached through the store.
unsafe impl Send for Space {}
// SAFETY: as above; what takes a shared reference only reads.
unsafe impl Sync for Space {}

impl Space {
    /// Memory of `len` bytes, all zero.
    ///
    /// # Errors
    /// If the system has no room for it.
    pub fn new(len: usize) -> io::Result<Space> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice disturbs nothing.
        let base = unsafe { mmap_anonymous(ptr::null_mut(), len.max(1), access, flags)? };
        Ok(Space { base: NonNull::new(base.cast()).expect("the kernel does not map page 0"), len })
    }

    /// Bytes in it.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The address of a place.
    pub fn address(&self, at: usize) -> usize {
        self.base.as_ptr().expose_provenance() + at
    }

    /// The place that has an address, if it is one of this memory's.
    pub fn place(&self, address: u64) -> Option<usize> {
        let at = (address as usize).wrapping_sub(self.base.as_ptr().addr());
        (at < self.len).then_some(at)
    }

    fn pointer(&self, at: usize, len: usize) -> NonNull<u8> {
        assert!(at <= self.len && len <= self.len - at, "within the heap");
        // SAFETY: within the mapping, as was just found out.
        unsafe { self.base.add(at) }
    }

    /// The bytes of a range.
    pub fn bytes(&self, range: Range<usize>) -> &[u8] {
        let pointer = self.pointer(range.start, range.len());
        // SAFETY: initialized memory, which nobody writes meanwhile: see `Sync`.
        unsafe { std::slice::from_raw_parts(pointer.as_ptr(), range.len()) }
    }

    /// The bytes of a range.
    pub fn bytes_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        let pointer = self.pointer(range.start, range.len());
        // SAFETY: as in `bytes`, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(pointer.as_ptr(), range.len()) }
    }

    /// The `u32` at a place.
    pub fn u32(&self, at: usize) -> u32 {
        // SAFETY: `pointer` has found it within the mapping, all of which is initialized.
        unsafe { self.pointer(at, 4).cast::<u32>().read_unaligned() }
    }

    /// The `u64` at a place.
    pub fn u64(&self, at: usize) -> u64 {
        // SAFETY: as above.
        unsafe { self.pointer(at, 8).cast::<u64>().read_unaligned() }
    }

    /// Changes the `u64` at a place.
    pub fn set_u64(&mut self, at: usize, value: u64) {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { self.pointer(at, 8).cast::<u64>().write_unaligned(value) };
    }

    /// Gives whole pages of a range back to the system. What it had is zero afterwards, or as it was if the system refuses.
    pub fn discard(&mut self, range: Range<usize>) -> bool {
        let pointer = self.pointer(range.start, range.len());
        // SAFETY: private memory without a file, which this owns; the borrow is exclusive.
        unsafe { madvise(pointer.as_ptr().cast(), range.len(), Advice::LinuxDontNeed) }.is_ok()
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this size. The heap goes with its store, when none of that's code runs.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len.max(1)) };
    }
}
