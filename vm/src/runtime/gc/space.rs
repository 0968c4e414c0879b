//! The memory of a heap, which is reserved as a whole when the heap is created, and takes pages as they are
//! touched.
//!
//! Places are offsets from its start; machine code uses addresses.

use std::io;
use std::ops::Range;
use std::ptr::NonNull;

use rustix::mm::{Advice, madvise};

use crate::arch;
use crate::runtime::linear_memory::mapping::Mapping;

/// The memory of a heap. Machine code of the store that owns the heap accesses it; the methods here are reached
/// through the store, and so only while none of that code runs.
#[derive(Debug)]
pub struct Space(Mapping);

impl Space {
    /// Reserves memory of `len` bytes, all zero.
    ///
    /// # Errors
    /// Returns an error if the system has no memory for it.
    pub fn new(len: usize) -> io::Result<Space> {
        Mapping::zeroed(len.max(1)).map(Space)
    }

    /// Returns the size in bytes.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.size()
    }

    /// Returns the address of a place.
    pub fn address(&self, at: usize) -> usize {
        self.0.base().as_ptr().expose_provenance() + at
    }

    /// Returns the place at an address, if it lies in this memory.
    pub fn place(&self, address: u64) -> Option<usize> {
        let at = (address as usize).wrapping_sub(self.0.base().as_ptr().addr());
        (at < self.0.size()).then_some(at)
    }

    fn pointer(&self, at: usize, len: usize) -> NonNull<u8> {
        assert!(at <= self.0.size() && len <= self.0.size() - at, "within the heap");
        // SAFETY: the range is within the mapping, as was just checked.
        unsafe { self.0.base().add(at) }
    }

    /// Returns the bytes of a range.
    pub fn bytes(&self, range: Range<usize>) -> &[u8] {
        let pointer = self.pointer(range.start, range.len());
        // SAFETY: the memory is initialized, and nobody writes it meanwhile: see `Space`.
        unsafe { std::slice::from_raw_parts(pointer.as_ptr(), range.len()) }
    }

    /// Returns the bytes of a range, mutably.
    pub fn bytes_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        let pointer = self.pointer(range.start, range.len());
        // SAFETY: as in `bytes`, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(pointer.as_ptr(), range.len()) }
    }

    /// Returns the `u32` at a place.
    pub fn u32(&self, at: usize) -> u32 {
        // SAFETY: `pointer` has checked that it is within the mapping, all of which is initialized.
        unsafe { self.pointer(at, 4).cast::<u32>().read_unaligned() }
    }

    /// Returns the `u64` at a place.
    pub fn u64(&self, at: usize) -> u64 {
        // SAFETY: as in `u32`.
        unsafe { self.pointer(at, 8).cast::<u64>().read_unaligned() }
    }

    /// Has the memory at a place fetched, which is faster to read a little later.
    pub fn prefetch(&self, at: usize) {
        arch::prefetch(self.0.base().as_ptr().addr().wrapping_add(at));
    }

    /// Writes the `u64` at a place.
    pub fn set_u64(&mut self, at: usize, value: u64) {
        // SAFETY: as in `u32`, and the borrow is exclusive.
        unsafe { self.pointer(at, 8).cast::<u64>().write_unaligned(value) };
    }

    /// Returns whole pages of a range to the system. Their contents are zero afterwards, or unchanged if the
    /// system refuses; returns whether they are zero.
    pub fn discard(&mut self, range: Range<usize>) -> bool {
        let pointer = self.pointer(range.start, range.len());
        // SAFETY: the mapping is private memory without a file, which `self` owns; the borrow is exclusive.
        unsafe { madvise(pointer.as_ptr().cast(), range.len(), Advice::LinuxDontNeed) }.is_ok()
    }
}
