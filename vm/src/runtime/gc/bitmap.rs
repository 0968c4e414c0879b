//! A bitmap with a bit for each place where an object may begin.

use std::io;
use std::ops::Range;

use wprof_jit::abi::object::ALIGN;

use super::space::Space;

/// Bytes of the heap that a word of the map covers.
const PER_WORD: usize = 64 * ALIGN as usize;

/// The bits, all zero at first. Pages that are never touched take no memory.
#[derive(Debug)]
pub struct Bitmap(Space);

impl Bitmap {
    /// Creates the map for a heap of `heap` bytes.
    ///
    /// # Errors
    /// Returns an error if the system has no memory for the map.
    pub fn new(heap: usize) -> io::Result<Bitmap> {
        Ok(Bitmap(Space::new(heap.div_ceil(PER_WORD) * 8)?))
    }

    fn place(at: usize) -> (usize, u32) {
        (at / PER_WORD * 8, (at / ALIGN as usize % 64) as u32)
    }

    /// Returns whether the bit of a place is set.
    pub fn get(&self, at: usize) -> bool {
        let (word, bit) = Bitmap::place(at);
        self.0.u64(word) >> bit & 1 != 0
    }

    /// Has the bit of a place fetched from memory.
    pub fn prefetch(&self, at: usize) {
        self.0.prefetch(Bitmap::place(at).0);
    }

    /// Sets the bit of a place; returns whether it was clear.
    pub fn set(&mut self, at: usize) -> bool {
        let (place, bit) = Bitmap::place(at);
        let word = self.0.u64(place);
        self.0.set_u64(place, word | 1 << bit);
        word >> bit & 1 == 0
    }

    /// Returns the last place in `from..=at` whose bit is set.
    pub fn last_in(&self, from: usize, at: usize) -> Option<usize> {
        let (mut place, bit) = Bitmap::place(at);
        let mut word = self.0.u64(place) & (u64::MAX >> (63 - bit));
        while word == 0 {
            if place == 0 || place * 8 * ALIGN as usize <= from {
                return None;
            }
            place -= 8;
            word = self.0.u64(place);
        }
        let found = place * 8 * ALIGN as usize + (63 - word.leading_zeros() as usize) * ALIGN as usize;
        (found >= from).then_some(found)
    }

    /// Copies the bits of another map for a range whose bounds are multiples of 512 bytes.
    pub fn copy(&mut self, other: &Bitmap, range: Range<usize>) {
        let bytes = range.start / PER_WORD * 8..range.end.div_ceil(PER_WORD) * 8;
        self.0.bytes_mut(bytes.clone()).copy_from_slice(other.0.bytes(bytes));
    }

    /// Clears all bits of a range whose bounds are multiples of 512 bytes.
    pub fn clear(&mut self, range: Range<usize>) {
        self.0.bytes_mut(range.start / PER_WORD * 8..range.end.div_ceil(PER_WORD) * 8).fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bit_before_a_place_is_found() {
        let mut bits = Bitmap::new(1 << 16).expect("memory");
        assert_eq!(bits.last_in(0, 4096), None);
        assert!(bits.set(512) && !bits.set(512) && bits.set(8));
        assert_eq!(bits.last_in(0, 4096), Some(512));
        assert_eq!(bits.last_in(0, 512), Some(512));
        assert_eq!(bits.last_in(0, 511 / 8 * 8), Some(8));
        assert_eq!(bits.last_in(1024, 4096), None);
        assert_eq!(bits.last_in(513, 513 / 8 * 8), None);
        let mut copy = Bitmap::new(1 << 16).expect("memory");
        copy.copy(&bits, 512..1024);
        assert!(copy.get(512) && !copy.get(8));
        bits.clear(512..1024);
        assert!(!bits.get(512) && bits.get(8));
    }
}
