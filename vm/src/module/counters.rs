//! Which counters of a module's instances belong to what.
//!
//! Counters of functions are given out from the first one up, those of code for bursts from the last one down.
//! Invariant: a function gets counters once, however often and in however many runs it is compiled: the code cache keeps
//! which ones it has, also if it was only compiled ahead. So the functions of a module never take more counters than
//! they have together, in whatever order they are compiled, and a place for all is a place for any of them.
//! Code for bursts is never kept, and neither are its counters.

use hashbrown::HashMap;

use crate::code_cache::FunctionCounters;

/// Which counters are taken.
#[derive(Debug, Default)]
pub struct Counters {
    of_functions: HashMap<u32, FunctionCounters>,
    /// Those of functions are below this index.
    end: u64,
    /// How many are taken from the last one down.
    from_last: u64,
}

impl Counters {
    /// Index of the first of `count` counters of a function: those that it has, else the next ones; `None` if they would
    /// not be below `limit`.
    pub fn of_function(&mut self, func: u32, count: u32, limit: u64) -> Option<u32> {
        if let Some(known) = self.of_functions.get(&func).filter(|known| known.count == count) {
            return Some(known.first);
        }
        let taken = FunctionCounters { func, first: u32::try_from(self.end).ok()?, count };
        if taken.end() + self.from_last > limit {
            return None;
        }
        self.end = taken.end();
        self.of_functions.insert(func, taken);
        Some(taken.first)
    }

    /// Index of the first of `count` counters of code for bursts, of `capacity` that there are; `None` if so many are not
    /// free.
    pub fn of_bursts(&mut self, count: u32, capacity: u64) -> Option<u32> {
        let from_last = self.from_last + u64::from(count);
        let first = capacity.checked_sub(from_last).filter(|&first| first >= self.end)?;
        self.from_last = from_last;
        u32::try_from(first).ok()
    }

    /// Those of a function, if it has any.
    pub fn get(&self, func: u32) -> Option<FunctionCounters> {
        self.of_functions.get(&func).copied()
    }

    /// Those of all functions, by ascending index.
    pub fn all(&self) -> Vec<FunctionCounters> {
        let mut all: Vec<_> = self.of_functions.values().copied().collect();
        all.sort_unstable_by_key(|counters| counters.func);
        all
    }

    /// Counters as an earlier run gave them out; `None` if they overlap or are not below `capacity`.
    pub fn restored(all: &[FunctionCounters], capacity: u64) -> Option<Counters> {
        let mut by_place = all.to_vec();
        by_place.sort_unstable_by_key(|counters| counters.first);
        let overlap = by_place.windows(2).any(|pair| pair[0].end() > u64::from(pair[1].first));
        let end = by_place.last().map_or(0, FunctionCounters::end);
        let of_functions: HashMap<_, _> = all.iter().map(|counters| (counters.func, *counters)).collect();
        let is_sound = !overlap && end <= capacity && of_functions.len() == all.len();
        is_sound.then_some(Counters { of_functions, end, from_last: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_find_room_in_whatever_order_runs_compile_them() {
        let (sizes, capacity) = ([3, 1, 4, 1, 5], 14);
        let mut kept = Vec::new();
        for run in [[4, 2, 0], [1, 4, 3], [3, 0, 1], [2, 1, 4]] {
            let mut counters = Counters::restored(&kept, capacity).expect("as they were given out");
            for func in run {
                assert!(counters.of_function(func, sizes[func as usize], capacity).is_some());
            }
            kept = counters.all();
        }
        assert_eq!(kept.iter().map(|counters| counters.count).collect::<Vec<_>>(), sizes);
    }

    #[test]
    fn functions_and_bursts_share_what_there_is() {
        let mut counters = Counters::default();
        assert_eq!(counters.of_bursts(4, 10), Some(6));
        assert_eq!(counters.of_function(0, 7, 10), None);
        assert_eq!(counters.of_function(0, 5, 10), Some(0));
        assert_eq!(counters.of_bursts(2, 10), None);
        assert_eq!(counters.of_bursts(1, 10), Some(5));
        assert_eq!(counters.of_function(0, 5, 10), Some(0));
    }

    #[test]
    fn counters_of_two_functions_at_once_are_not_restored() {
        let of = |func, first, count| FunctionCounters { func, first, count };
        assert!(Counters::restored(&[of(0, 4, 2), of(1, 0, 4)], 6).is_some());
        assert!(Counters::restored(&[of(0, 3, 2), of(1, 0, 4)], 6).is_none());
        assert!(Counters::restored(&[of(0, 4, 3), of(1, 0, 4)], 6).is_none());
        assert!(Counters::restored(&[of(1, 4, 2), of(1, 0, 4)], 6).is_none());
    }
}
