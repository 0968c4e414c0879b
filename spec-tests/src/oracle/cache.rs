//! The naive data cache: a list of lines for each set, searched linearly and truncated.
//!
//! Source: Ammons, Ball & Larus 1997, section 3.

use std::collections::BTreeMap;

use wprof_profiler::{CacheShape, DataReference, TraceEvent};

/// A small cache, so that programs miss often: 2 KiB, 2 ways, lines of 32 bytes.
const WAYS: usize = 2;
const LINE: u64 = 32;
const SETS: u64 = 32;

/// Returns the shape of the cache that [`StupidCache`] simulates.
///
/// # Panics
/// Never panics: this shape is valid.
pub fn small_cache() -> CacheShape {
    let ways = WAYS as u32;
    CacheShape::new(ways * (LINE * SETS) as u32, ways, LINE as u32).expect("powers of two")
}

/// The lines of each set, the most recently used line last.
#[derive(Debug, Default)]
pub struct StupidCache(BTreeMap<u64, Vec<(u32, u64)>>);

impl StupidCache {
    /// Returns the number of lines that an access to a memory misses.
    pub fn touch(&mut self, memory: u32, address: u64, bytes: u64) -> u64 {
        let bytes = (0..bytes).map(|byte| address.saturating_add(byte) / LINE);
        let mut lines: Vec<u64> = bytes.collect();
        lines.dedup();
        let mut misses = 0;
        for line in lines {
            let set = self.0.entry(line % SETS).or_default();
            let known = set.len();
            set.retain(|&other| other != (memory, line));
            misses += u64::from(set.len() == known);
            set.push((memory, line));
            if set.len() > WAYS {
                set.remove(0);
            }
        }
        misses
    }
}

/// The references of a trace, and the cache that they go through.
#[derive(Debug, Default)]
pub struct Accesses {
    cache: StupidCache,
    /// References of a bulk operation that may still trap, and then touches nothing.
    open: Vec<DataReference>,
    /// Whether some operation's outcome never became known.
    pub is_unsure: bool,
}

impl Accesses {
    /// Adds a reference of the innermost frame. Returns the misses that have become known.
    pub fn reference(&mut self, reference: &DataReference) -> u64 {
        let is_next = self.open.last().is_some_and(|open| open.access.site != reference.access.site);
        let missed = if is_next { self.touch_open() } else { 0 };
        self.open.push(*reference);
        missed + if reference.access.bytes.is_some() { self.touch_open() } else { 0 }
    }

    /// Announces another event. Returns the misses of the innermost frame before the event.
    pub fn before(&mut self, event: TraceEvent) -> u64 {
        if let TraceEvent::Unwound { .. } = event {
            self.is_unsure |= !self.open.is_empty();
            self.open.clear();
        }
        self.touch_open()
    }

    fn touch_open(&mut self) -> u64 {
        let open = std::mem::take(&mut self.open);
        let touch = |DataReference { access, address, bytes, .. }: DataReference| {
            self.cache.touch(access.memory, address, bytes)
        };
        open.into_iter().map(touch).sum()
    }
}
