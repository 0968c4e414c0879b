//! The table of paths: counts of the paths of functions that have too many for counters. What paths of late have counted is
//! in rows among the instance's counters (`abi::path_row`), until another path takes the row.
//!
//! Invariant: exact, or it says that it is not: with more than [`MAX_ROWS`] different paths it takes no new ones.

use hashbrown::HashMap;
use smallvec::SmallVec;

/// About a gigabyte.
const MAX_ROWS: usize = 1 << 25;

/// How often a path ran, then what was measured along it.
pub type Figures = SmallVec<[u64; 2]>;

/// The paths of one instance that have run.
#[derive(Debug, Default)]
pub struct PathTable {
    /// By function and the address of its call record, or 0, by number.
    paths: HashMap<(u32, u64), HashMap<u64, Figures>>,
    /// How many there are in all.
    rows: usize,
    is_full: bool,
}

impl PathTable {
    /// Counts a path of a function, in a call record if that is not 0, along which so much was measured.
    pub fn count(&mut self, place: (u32, u64), number: u64, measured: &[u64]) {
        let figures: Figures = [1].iter().chain(measured).copied().collect();
        self.add(place, number, &figures, MAX_ROWS);
    }

    /// Adds what a row has counted of a path of function `func`, and empties it. A row that has not counted yet is nobody's.
    pub fn empty_row(&mut self, func: u32, row: &mut [u64]) {
        let [key, figures @ ..] = row else { return };
        if figures.first().is_some_and(|count| *count > 0) {
            self.add((func, 0), *key - 1, figures, MAX_ROWS);
        }
        row.fill(0);
    }

    fn add(&mut self, place: (u32, u64), number: u64, added: &[u64], most: usize) {
        let paths = self.paths.entry(place).or_default();
        if let Some(figures) = paths.get_mut(&number) {
            figures.iter_mut().zip(added).for_each(|(sum, more)| *sum = sum.wrapping_add(*more));
        } else if self.rows < most {
            self.rows += 1;
            paths.insert(number, added.into());
        } else {
            self.is_full = true;
        }
    }

    /// Whether there were paths that had no room.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// The paths of function `func`, in no order, if call records do not matter.
    pub fn of(&self, func: u32) -> impl Iterator<Item = (u64, &[u64])> {
        self.of_record(func, 0)
    }

    /// Those in the call record at an address.
    pub fn of_record(&self, func: u32, record: u64) -> impl Iterator<Item = (u64, &[u64])> {
        self.paths
            .get(&(func, record))
            .into_iter()
            .flatten()
            .map(|(&number, figures)| (number, figures.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_goes_on_counting_what_it_knows_and_says_that_it_is_full() {
        let mut table = PathTable::default();
        for (func, number, measured) in [(1, 7, 5), (1, 8, 0), (1, 7, 2), (2, 7, 1)] {
            table.add((func, 0), number, &[1, measured], 2);
        }
        let mut found: Vec<_> = table.of(1).collect();
        found.sort_unstable();
        assert_eq!(found, [(7, &[2, 7][..]), (8, &[1, 0][..])]);
        assert!(table.is_full() && table.of(2).next().is_none());
    }
}
