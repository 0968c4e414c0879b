//! The memory of a heap, which is all reserved when the heap is made and takes pages as they are touched.
//!
//! Places are offsets from its start. Machine code has addresses.

use std::io;
use std::ops::Range;
use std::ptr::NonNull;

use rustix::mm::{Advice, madvise};

use crate::runtime::linear_memory::mapping::Mapping;

/// The memory. Machine code of the store that has the heap looks into it, and methods here only while none of that runs,
/// as they are reached through the store.
#[derive(Debug)]
pub struct Space(Mapping);

impl Space {
    /// Memory of `len` bytes, all zero.
    ///
    /// # Errors
    /// If the system has no room for it.
    pub fn new(len: usize) -> io::Result<Space> {
        Mapping::zeroed(len.max(1)).map(Space)
    }

    /// Bytes in it.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.size()
    }

    /// The address of a place.
    pub fn address(&self, at: usize) -> usize {
        self.0.base().as_ptr().expose_provenance() + at
    }

    /// The place that has an address, if it is one of this memory's.
    pub fn place(&self, address: u64) -> Option<usize> {
        let at = (address as usize).wrapping_sub(self.0.base().as_ptr().addr());
        (at < self.0.size()).then_some(at)
    }

    fn pointer(&self, at: usize, len: usize) -> NonNull<u8> {
        assert!(at <= self.0.size() && len <= self.0.size() - at, "within the heap");
        // SAFETY: within the mapping, as was just found out.
        unsafe { self.0.base().add(at) }
    }

    /// The bytes of a range.
    pub fn bytes(&self, range: Range<usize>) -> &[u8] {
        let pointer = self.pointer(range.start, range.len());
        // SAFETY: initialized memory, which nobody writes meanwhile: see `Space`.
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
