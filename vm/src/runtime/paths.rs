//! The table of paths: counts of the paths of functions that have too many for counters.
//!
//! Invariant: exact, or it says that it is not: with more than [`MAX_ROWS`] different paths it takes no new ones.

use hashbrown::HashMap;

/// About a gigabyte.
const MAX_ROWS: usize = 1 << 25;

/// The paths of one instance that have run.
#[derive(Debug, Default)]
pub struct PathTable {
    /// By function, by number.
    counts: HashMap<u32, HashMap<u64, u64>>,
    /// How many there are in all.
    rows: usize,
    is_full: bool,
}

impl PathTable {
    /// Counts a path of function `func`.
    pub fn count(&mut self, func: u32, number: u64) {
        self.count_within(func, number, MAX_ROWS);
    }

    fn count_within(&mut self, func: u32, number: u64, most: usize) {
        let counts = self.counts.entry(func).or_default();
        if let Some(count) = counts.get_mut(&number) {
            *count += 1;
        } else if self.rows < most {
            self.rows += 1;
            counts.insert(number, 1);
        } else {
            self.is_full = true;
        }
    }

    /// Whether there were paths that had no room.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// The paths of function `func`, in no order.
    pub fn of(&self, func: u32) -> impl Iterator<Item = (u64, u64)> {
        self.counts.get(&func).into_iter().flatten().map(|(&number, &count)| (number, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_goes_on_counting_what_it_knows_and_says_that_it_is_full() {
        let mut table = PathTable::default();
        for (func, number) in [(1, 7), (1, 8), (1, 7), (2, 7)] {
            table.count_within(func, number, 2);
        }
        let mut found: Vec<_> = table.of(1).collect();
        found.sort_unstable();
        assert_eq!(found, [(7, 2), (8, 1)]);
        assert!(table.is_full() && table.of(2).next().is_none());
    }
}
