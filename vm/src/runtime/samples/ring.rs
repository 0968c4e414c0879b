//! The ring that the signal handler writes samples to.
//!
//! A sample is a word with the number of words that follow, then these words: see
//! [`Record`](super::record::Record). There is one writer at a time, the thread that has the store, and one reader,
//! which holds the lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::address_lookup;
use super::stacks::TimedStacks;

/// Number of words in a ring: half a megabyte, whose pages are touched on demand.
const WORDS: usize = 1 << 16;

/// The ring of one store's samples.
#[derive(Debug)]
pub struct Ring {
    words: Box<[AtomicU64]>,
    /// Total number of words written, and of words read.
    written: AtomicU64,
    read: AtomicU64,
    /// Number of samples for which there was no room.
    lost: AtomicU64,
    rate: u32,
    stacks: Mutex<TimedStacks>,
}

impl Ring {
    /// Creates an empty ring, for threads that are sampled `rate` times a second.
    pub fn new(rate: u32) -> Ring {
        Ring {
            words: zeros(),
            written: AtomicU64::new(0),
            read: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            rate,
            stacks: Mutex::default(),
        }
    }

    /// Returns how often per second threads are sampled.
    pub fn rate(&self) -> u32 {
        self.rate
    }

    /// Adds a sample, or counts it as lost; returns whether the ring should be drained soon. Only the thread that
    /// has the store may call it. Async-signal-safe.
    pub fn push(&self, sample: impl Iterator<Item = u64> + Clone) -> bool {
        let written = self.written.load(Ordering::Relaxed);
        let used = (written - self.read.load(Ordering::Acquire)) as usize;
        let len = sample.clone().count();
        if used + len + 1 > WORDS {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return true;
        }
        for (word, at) in std::iter::once(len as u64).chain(sample).zip(written..) {
            self.words[at as usize % WORDS].store(word, Ordering::Relaxed);
        }
        self.written.store(written + len as u64 + 1, Ordering::Release);
        used > WORDS / 2
    }

    /// Drains the samples if there are many.
    pub fn drain_if_due(&self) {
        let used = self.written.load(Ordering::Relaxed) - self.read.load(Ordering::Relaxed);
        if used > WORDS as u64 / 4 {
            drop(self.drain());
        }
    }

    /// Drains the samples.
    pub fn drain(&self) -> MutexGuard<'_, TimedStacks> {
        let mut stacks = self.stacks.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut at, end) = (self.read.load(Ordering::Relaxed), self.written.load(Ordering::Acquire));
        let word = |at: u64| self.words[at as usize % WORDS].load(Ordering::Relaxed);
        while at < end {
            let behind = at + 1 + word(at);
            let sample: Vec<u64> = (at + 1..behind).map(word).collect();
            address_lookup::add(&mut stacks, &sample);
            at = behind;
            self.read.store(at, Ordering::Release);
        }
        stacks.lost = self.lost.load(Ordering::Relaxed);
        stacks
    }

    /// Returns all stacks so far.
    pub fn stacks(&self) -> TimedStacks {
        self.drain().clone()
    }
}

/// Allocates zeros, whose pages the system provides when they are touched.
fn zeros() -> Box<[AtomicU64]> {
    let words = Box::into_raw(vec![0_u64; WORDS].into_boxed_slice());
    // SAFETY: both types have the same size, alignment and values, and nobody else has the pointer.
    unsafe { Box::from_raw(words as *mut [AtomicU64]) }
}

#[cfg(test)]
mod tests {
    use super::super::record::Tag;
    use super::*;

    #[test]
    fn a_full_ring_loses_samples_and_counts_them() {
        let ring = Ring::new(1000);
        let record = [1_000_000, Tag::Engine.word(), Tag::Entry(0).word()];
        let mut told = 0;
        let fit = WORDS as u64 / 4;
        for _ in 0..fit + 10 {
            told += u64::from(ring.push(record.into_iter()));
        }
        assert!(told > fit / 3, "{told}");
        let stacks = ring.stacks();
        assert_eq!((stacks.total().samples, stacks.lost), (fit, 10));
        assert_eq!(stacks.total().time_ns, fit * 1_000_000);
        assert!(!ring.push(record.into_iter()), "there is room again");
        assert_eq!(ring.stacks().total().samples, fit + 1);
    }
}
