//! A simulated cache of one or two levels, and the energy that its accesses take.
//!
//! Input: accesses, in order. Output: for each, the lines used, and those missed in each level.
//! Invariant: the second level sees exactly the lines that the first misses, whole, in the order of their addresses, so
//! the first level's misses are the same with and without a second. Levels are independent: what one drops may stay in
//! the other. Energy is charged by the level that has the line, as in Vaswani 2007, section 5.3.
//! Oracle: two lists of lines in a row, in `tests/it/data_cache.rs`.

use super::data_cache::{CacheShape, DataCache};

/// The energy of an access to each level of the memory, in picojoules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccessEnergy {
    /// For each line used.
    pub first: u32,
    /// For each line that the first level misses, if there is a second.
    pub second: u32,
    /// For each line that all levels miss.
    pub memory: u32,
}

impl AccessEnergy {
    /// Caches of 32 KiB and 1 MiB, and DRAM, by M. Horowitz, Computing's energy problem, ISSCC 2014, figure 1.1.9 (45 nm).
    pub const USUAL: Self = Self { first: 20, second: 100, memory: 2000 };
}

/// The lines that accesses used and missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelMisses {
    /// Number of lines used.
    pub lines: u64,
    /// Number of lines missed in the first level.
    pub first: u64,
    /// Number of lines missed in both levels; 0 if there is one level.
    pub second: u64,
}

impl LevelMisses {
    /// Adds what other accesses did.
    pub fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.first += other.first;
        self.second += other.second;
    }
}

/// A cache of one or two levels.
#[derive(Clone, Debug)]
pub struct CacheLevels {
    first: DataCache,
    second: Option<DataCache>,
}

impl CacheLevels {
    /// Creates empty caches.
    pub fn new(first: CacheShape, second: Option<CacheShape>) -> Self {
        Self { first: DataCache::new(first), second: second.map(DataCache::new) }
    }

    /// Simulates a load or store of `bytes` bytes at `address` in the memory numbered `memory`.
    pub fn touch(&mut self, memory: u64, address: u64, bytes: u64) -> LevelMisses {
        let line = u64::from(self.first.shape().line());
        let mut seen =
            LevelMisses { lines: self.first.shape().lines_of(address, bytes), ..LevelMisses::default() };
        let second = &mut self.second;
        seen.first = self.first.touch_each(memory, address, bytes, |missed| {
            let missed = second.as_mut().map_or(0, |second| second.touch(memory, missed, line));
            // A line of the first level is one miss, however short the lines of the second are.
            seen.second += missed.min(1);
        });
        seen
    }

    /// Returns the energy that accesses took, in picojoules.
    pub fn energy(&self, seen: LevelMisses, costs: AccessEnergy) -> u64 {
        let [first, second, memory] = [costs.first, costs.second, costs.memory].map(u64::from);
        let beyond = match self.second {
            Some(_) => (seen.first * second).saturating_add(seen.second * memory),
            None => seen.first * memory,
        };
        (seen.lines * first).saturating_add(beyond)
    }
}
