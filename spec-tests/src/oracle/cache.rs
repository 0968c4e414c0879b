//! The stupid data cache: a list of lines for each set, searched and cut.
//!
//! Source: algorithms.md, section 12.

use std::collections::BTreeMap;

use wprof_profiler::CacheShape;

/// Small, so that programs miss often: 2 KiB, 2 ways, lines of 32 bytes.
const WAYS: usize = 2;
const LINE: u64 = 32;
const SETS: u64 = 32;

/// The shape of the cache that [`StupidCache`] simulates.
///
/// # Panics
/// Never: there is such a cache.
pub fn small_cache() -> CacheShape {
    let ways = WAYS as u32;
    CacheShape::new(ways * (LINE * SETS) as u32, ways, LINE as u32).expect("powers of two")
}

/// By set, its lines, those used last at the end.
#[derive(Debug, Default)]
pub struct StupidCache(BTreeMap<u64, Vec<(u32, u64)>>);

impl StupidCache {
    /// The lines missed by an access to one of the memories.
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
