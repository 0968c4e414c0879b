//! The path table: counts of the paths of functions that have too many paths for counters. The counts of recent
//! paths are in rows among the instance's counters (`abi::path_row`), until another path takes the row.
//!
//! Invariant: the counts are exact, or the table reports that they are not: with more than [`MAX_ROWS`] different
//! paths it accepts no new ones. The paths seen in bursts are kept in a hot path table instead, in bounded
//! memory: it has the most frequent paths, and forgets others.

use hashbrown::HashMap;
use smallvec::SmallVec;
use wprof_jit::abi::path_row;
use wprof_profiler::{HotPathTable, PathDescriptor, TableShape};

/// About a gigabyte.
const MAX_ROWS: usize = 1 << 25;

/// How often a path ran, followed by the figures measured along it.
pub type Figures = SmallVec<[u64; 2]>;

/// The paths of one instance that have run.
#[derive(Debug, Default)]
pub struct PathTable {
    /// By function, then by number as in rows: the path's number, with that of the call record, or 0, in the
    /// upper bits.
    paths: HashMap<u32, HashMap<u64, Figures>>,
    /// The total number of paths.
    rows: usize,
    is_full: bool,
    /// The shape of a bounded table; `hot` then has the paths, once there are any.
    bounded: Option<TableShape>,
    hot: Option<HotPathTable>,
}

impl PathTable {
    /// Creates an empty table, for all paths or for the most frequent ones.
    pub fn new(bounded: Option<TableShape>) -> PathTable {
        PathTable { bounded, ..PathTable::default() }
    }

    /// Counts a path of a function without measured figures.
    pub fn count(&mut self, func: u32, number: u64) {
        self.add(func, number, &[1], MAX_ROWS);
    }

    /// Adds the counts of a row for a path of function `func`, in a call record or not, and empties the row. A
    /// row without counts belongs to no path.
    pub fn empty_row(&mut self, func: u32, row: &mut [u64]) {
        let [key, figures @ ..] = row else { return };
        if figures.first().is_some_and(|count| *count > 0) {
            self.add(func, *key - 1, figures, MAX_ROWS);
        }
        row.fill(0);
    }

    fn add(&mut self, func: u32, number: u64, added: &[u64], most: usize) {
        if let Some(shape) = self.bounded {
            let [times, measured @ ..] = added else { return };
            let table = || HotPathTable::of_shape(shape).with_metrics(measured.len());
            self.hot.get_or_insert_with(table).add(descriptor(func, number), *times, measured);
            return;
        }
        let paths = self.paths.entry(func).or_default();
        if let Some(figures) = paths.get_mut(&number) {
            figures.iter_mut().zip(added).for_each(|(sum, more)| *sum = sum.wrapping_add(*more));
        } else if self.rows < most {
            self.rows += 1;
            paths.insert(number, added.into());
        } else {
            self.is_full = true;
        }
    }

    /// Returns whether some paths found no room.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Returns the paths of function `func`, in no particular order, if call records do not matter.
    pub fn counts(&self, func: u32) -> impl Iterator<Item = (u64, Figures)> {
        let hot = self.hot.iter().flat_map(HotPathTable::measured_paths);
        let hot = hot.filter(move |(path, ..)| path.start == func);
        let figures = |count, measured: &[u64]| [count].iter().chain(measured).copied().collect();
        let hot = hot.map(move |(path, count, measured)| (path.outcomes.into(), figures(count, measured)));
        self.in_records(func).map(|(_, path)| path).chain(hot)
    }

    /// Returns the paths of function `func`, each with its call record, or 0.
    pub fn in_records(&self, func: u32) -> impl Iterator<Item = (u32, (u64, Figures))> {
        self.paths.get(&func).into_iter().flatten().map(|(&number, figures)| {
            let (record, number) = path_row::split(number);
            (record, (number, figures.clone()))
        })
    }
}

/// Returns the descriptor of a path by its number, which consists of the outcomes of its branches and has at most
/// 32 bits.
fn descriptor(func: u32, number: u64) -> PathDescriptor {
    PathDescriptor { start: func, branches: 0, outcomes: number as u32 }
}

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::*;

    #[test]
    fn a_full_table_goes_on_counting_what_it_knows_and_says_that_it_is_full() {
        let mut table = PathTable::default();
        for (func, number, measured) in [(1, 7, 5), (1, 8, 0), (1, 7, 2), (2, 7, 1)] {
            table.add(func, number, &[1, measured], 2);
        }
        let mut found: Vec<_> = table.counts(1).collect();
        found.sort_unstable();
        assert_eq!(found, [(7, smallvec![2, 7]), (8, smallvec![1, 0])]);
        assert!(table.is_full() && table.counts(2).next().is_none());
    }

    #[test]
    fn a_bounded_table_has_the_paths_of_each_function_that_ran_most() {
        let mut table = PathTable::new(Some(TableShape::USUAL));
        for number in 0..1_000_000 {
            table.count(1, number);
            table.count(2, 7);
        }
        assert_eq!(table.counts(2).collect::<Vec<_>>(), [(7, smallvec![1_000_000])]);
        assert!(
            table.counts(1).count() <= TableShape::USUAL.sets * TableShape::USUAL.ways && !table.is_full()
        );
    }

    #[test]
    fn a_bounded_table_adds_up_what_was_measured_along_each_path() {
        let mut table = PathTable::new(Some(TableShape::USUAL));
        for measured in 0..10 {
            table.add(1, 3, &[1, measured, 1], MAX_ROWS);
            table.add(1, 4, &[1, 0, measured], MAX_ROWS);
        }
        let mut found: Vec<_> = table.counts(1).collect();
        found.sort_unstable();
        assert_eq!(found, [(3, smallvec![10, 45, 10]), (4, smallvec![10, 0, 45])]);
    }
}
