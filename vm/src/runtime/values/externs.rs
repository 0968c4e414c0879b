//! Host values that wasm code holds: a store's arena of `externref`s.
//!
//! In wasm an externref is a handle: an index into the arena plus one, above the tag bits that distinguish it
//! from the words of objects (`abi::object`); null is 0. Handles in tables, in globals and on the stack of wasm
//! code that waits for the host keep their values alive. A collection marks those and frees the rest; it runs
//! when the host is entered, by a call from wasm or to it. The stack does not tell which of its words are
//! handles, so each word that could be one counts (Boehm & Weiser 1988): a number may keep a value alive longer
//! than needed, but no value is freed too early. So machine code needs no stack maps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wprof_jit::abi::object::{HOST, TAG_BITS, TAG_MASK};

use crate::ExternRef;

/// The arena of a store's host values.
#[derive(Debug)]
pub struct ExternArena {
    slots: Vec<Option<ExternRef>>,
    free: Vec<u32>,
    /// The number of live values at which the next collection is due.
    threshold: usize,
    /// By slot, whether the current collection keeps it.
    marked: Vec<bool>,
    /// Bytes charged for values, including garbage.
    charged: Arc<AtomicU64>,
    /// The number of charged bytes at which the next collection is due.
    bytes_threshold: u64,
}

/// The bytes charged for a value, which are returned when it is dropped.
#[derive(Debug)]
pub struct Charge {
    bytes: u64,
    of: Arc<AtomicU64>,
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.of.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// The least number of values that makes a collection worthwhile.
const FIRST_THRESHOLD: usize = 1024;
/// The least number of charged bytes that makes a collection worthwhile.
const FIRST_BYTES: u64 = 16 << 20;

impl Default for ExternArena {
    fn default() -> Self {
        ExternArena {
            slots: Vec::new(),
            free: Vec::new(),
            threshold: FIRST_THRESHOLD,
            marked: Vec::new(),
            charged: Arc::default(),
            bytes_threshold: FIRST_BYTES,
        }
    }
}

impl ExternArena {
    /// Adds `value`, and returns the handle by which wasm code refers to it.
    pub fn insert(&mut self, value: Option<ExternRef>) -> u64 {
        if value.is_none() {
            return 0;
        }
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 live externrefs")
        });
        self.slots[index as usize] = value;
        (u64::from(index) + 1) << TAG_BITS | HOST
    }

    /// Returns the value of a handle.
    ///
    /// # Panics
    /// Panics if it is not a handle of this arena.
    pub fn get(&self, handle: u64) -> Option<ExternRef> {
        let index = index_of(handle)?;
        let value = &self.slots[index];
        Some(value.clone().expect("a handle that wasm still holds is not collected"))
    }

    /// Returns the number of values held.
    #[inline]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Charges `bytes` for a future value; `None` if the total would exceed `limit`.
    pub fn charge(&self, bytes: u64, limit: u64) -> Option<Charge> {
        // Only this store's thread adds to it.
        let after = self.charged.load(Ordering::Relaxed).checked_add(bytes)?;
        (after <= limit).then(|| {
            self.charged.fetch_add(bytes, Ordering::Relaxed);
            Charge { bytes, of: self.charged.clone() }
        })
    }

    /// Returns whether it is time to collect: see [`ExternArena::end_collection`].
    #[inline]
    pub fn is_due(&self) -> bool {
        self.len() >= self.threshold || self.charged.load(Ordering::Relaxed) >= self.bytes_threshold
    }

    /// Begins a collection, which keeps the values of the handles in `live`.
    pub fn begin_collection(&mut self, live: &[u64]) {
        self.marked.clear();
        self.marked.resize(self.slots.len(), false);
        live.iter().for_each(|&handle| self.keep(handle));
    }

    /// Keeps the value of this word in the current collection, if it is a handle.
    pub fn keep(&mut self, word: u64) {
        if let Some(mark) = index_of(word).and_then(|index| self.marked.get_mut(index)) {
            *mark = true;
        }
    }

    /// Ends the collection: frees all other values, or none if there may be handles that are not known. The next one is
    /// due when the number of values, or the charged bytes, have doubled, and they take as much as the `live` bytes of
    /// the heap that it has to mark.
    pub fn end_collection(&mut self, are_all_known: bool, live: u64) {
        for (index, slot) in self.slots.iter_mut().enumerate().filter(|_| are_all_known) {
            if !self.marked[index] && slot.take().is_some() {
                self.free.push(index as u32);
            }
        }
        let charged = self.charged.load(Ordering::Relaxed);
        self.threshold = next_threshold(self.len(), live).max(FIRST_THRESHOLD);
        self.bytes_threshold = charged.saturating_add(charged.max(live)).max(FIRST_BYTES);
    }
}

/// The bytes that a value takes at least.
const LEAST_BYTES: u64 = 64;

/// Returns the number of values at which the next collection is due if so many survived the last one, and so many bytes
/// of objects: a byte that is allocated pays for marking one.
pub fn next_threshold(survivors: usize, live: u64) -> usize {
    survivors + survivors.max((live / LEAST_BYTES) as usize)
}

/// Returns the index of a handle, if the word may be one.
fn index_of(word: u64) -> Option<usize> {
    let number = usize::try_from(word >> TAG_BITS).ok().filter(|_| word & TAG_MASK == HOST)?;
    number.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_marked_values_survive_a_collection() {
        let mut arena = ExternArena::default();
        let handles: Vec<u64> = (0..10).map(|i| arena.insert(Some(ExternRef::new(i)))).collect();
        arena.begin_collection(&[0]);
        handles.iter().copied().skip(1).step_by(2).chain([0, 11, HOST, u64::MAX]).for_each(|h| arena.keep(h));
        arena.end_collection(false, 0);
        assert_eq!(arena.len(), 10);
        arena.end_collection(true, 0);
        assert_eq!(arena.len(), 5);
        assert_eq!(arena.get(handles[1]).and_then(|v| v.downcast_ref::<i32>().copied()), Some(1));
        assert_eq!(arena.insert(None), 0);
        arena.insert(Some(ExternRef::new(0)));
        assert_eq!(arena.slots.len(), 10, "free slots are reused");
    }
}
