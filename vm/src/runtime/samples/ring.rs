//! The ring that the signal handler writes samples to.
//!
//! A sample is a word with the number of words that follow, then these words: see [`Record`]. There is one writer
//! at a time, the thread that has the store, and one reader, which holds the lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::address_lookup;
use super::stacks::TimedStacks;

/// Number of words in a ring: half a megabyte, whose pages are touched on demand.
const WORDS: usize = 1 << 16;

/// Maximum number of words in a sample.
pub const LARGEST: usize = 320;

/// Maximum number of frames of one store in a sample.
pub const MOST_FRAMES: usize = 256;

/// A word that is not an address: its kind is in the upper half, a number in the lower half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// Machine code was interrupted: its address follows, and the two words on top of its stack.
    Interrupted,
    /// A host function runs, by its number in the store.
    Host(u32),
    /// The engine runs.
    Engine,
    /// The garbage collector runs.
    Collector,
    /// The frames further out were not recorded.
    Cut,
    /// The host has entered this instance; it applies to all frames since the previous such mark.
    Entry(u32),
}

/// The bit that no address has.
const IS_MARK: u64 = 1 << 63;

impl Tag {
    /// Returns the word of the mark.
    pub fn word(self) -> u64 {
        let (kind, number) = match self {
            Tag::Interrupted => (0, 0),
            Tag::Host(number) => (1, number),
            Tag::Engine => (2, 0),
            Tag::Cut => (3, 0),
            Tag::Entry(instance) => (4, instance),
            Tag::Collector => (5, 0),
        };
        IS_MARK | kind << 32 | u64::from(number)
    }

    /// Returns the mark that a word encodes; `None` if it is an address.
    pub fn from_word(word: u64) -> Option<Tag> {
        if word & IS_MARK == 0 {
            return None;
        }
        Some(match (word & !IS_MARK) >> 32 {
            0 => Tag::Interrupted,
            1 => Tag::Host(word as u32),
            4 => Tag::Entry(word as u32),
            3 => Tag::Cut,
            5 => Tag::Collector,
            _ => Tag::Engine,
        })
    }
}

/// A sample under construction, on the handler's stack: its time in nanoseconds, then its frames, innermost
/// first.
pub struct Record {
    words: [u64; LARGEST],
    len: usize,
    frames: usize,
}

impl Record {
    /// Starts a sample that stands for `time_ns` nanoseconds.
    pub fn new(time_ns: u64) -> Record {
        let mut record = Record { words: [0; LARGEST], len: 0, frames: 0 };
        record.push(time_ns);
        record
    }

    /// Appends a word, if there is room.
    pub fn push(&mut self, word: u64) {
        if let Some(place) = self.words.get_mut(self.len) {
            *place = word;
            self.len += 1;
        }
    }

    /// Appends a frame; returns whether there was room.
    pub fn push_frame(&mut self, pc: usize) -> bool {
        let has_room = self.frames < MOST_FRAMES;
        if has_room {
            self.frames += 1;
            self.push(pc as u64);
        }
        has_room
    }

    /// Returns the words written so far.
    pub fn words(&self) -> &[u64] {
        &self.words[..self.len]
    }
}

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
    pub fn push(&self, record: &[u64]) -> bool {
        let written = self.written.load(Ordering::Relaxed);
        let used = (written - self.read.load(Ordering::Acquire)) as usize;
        if used + record.len() + 1 > WORDS {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return true;
        }
        let words = std::iter::once(record.len() as u64).chain(record.iter().copied());
        for (word, at) in words.zip(written..) {
            self.words[at as usize % WORDS].store(word, Ordering::Relaxed);
        }
        self.written.store(written + record.len() as u64 + 1, Ordering::Release);
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
    use super::*;

    #[test]
    fn marks_are_told_from_addresses_and_from_each_other() {
        let all =
            [Tag::Interrupted, Tag::Host(7), Tag::Engine, Tag::Cut, Tag::Entry(u32::MAX), Tag::Collector];
        assert_eq!(all.map(|mark| Tag::from_word(mark.word())), all.map(Some));
        assert_eq!(Tag::from_word(0x7fff_ffff_ffff), None);
    }

    #[test]
    fn a_full_ring_loses_samples_and_counts_them() {
        let ring = Ring::new(1000);
        let record = [1_000_000, Tag::Engine.word(), Tag::Entry(0).word()];
        let mut told = 0;
        let fit = WORDS as u64 / 4;
        for _ in 0..fit + 10 {
            told += u64::from(ring.push(&record));
        }
        assert!(told > fit / 3, "{told}");
        let stacks = ring.stacks();
        assert_eq!((stacks.total().samples, stacks.lost), (fit, 10));
        assert_eq!(stacks.total().time_ns, fit * 1_000_000);
        assert!(!ring.push(&record), "there is room again");
        assert_eq!(ring.stacks().total().samples, fit + 1);
    }

    #[test]
    fn a_deep_stack_is_cut() {
        let mut record = Record::new(1);
        let pushed = (0..1000).filter(|_| record.push_frame(5)).count();
        record.push(Tag::Cut.word());
        record.push(Tag::Entry(0).word());
        assert_eq!((pushed, record.words().len()), (MOST_FRAMES, MOST_FRAMES + 3));
    }
}
