//! Assignment of the counters of a module's instances.
//!
//! Counters of functions are assigned upwards from the first counter, counters of burst code downwards from the
//! last. Invariant: a function gets its counters once, however often and in however many runs it is compiled; the
//! code cache records them, even for a function that was only compiled ahead. So the functions of a module never
//! take more counters than all of them need together, in whatever order they are compiled, and a capacity that
//! suffices for all suffices for any order. Burst code is never cached, and neither are its counters.

use hashbrown::HashMap;

use crate::code_cache::FunctionCounters;

/// The counters that are assigned.
#[derive(Debug, Default)]
pub struct Counters {
    of_functions: HashMap<u32, FunctionCounters>,
    /// Index behind the last counter of a function.
    end: u64,
    /// Number of counters assigned to burst code, from the last one downwards.
    from_last: u64,
}

impl Counters {
    /// Returns the index of the first of `count` counters of a function: its own counters if it has them,
    /// otherwise the next free ones; `None` if they would exceed `limit`.
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

    /// Returns the index of the first of `count` counters for burst code, out of `capacity` counters in all;
    /// `None` if not enough are free.
    pub fn of_bursts(&mut self, count: u32, capacity: u64) -> Option<u32> {
        let from_last = self.from_last + u64::from(count);
        let first = capacity.checked_sub(from_last).filter(|&first| first >= self.end)?;
        self.from_last = from_last;
        u32::try_from(first).ok()
    }

    /// Returns the counters of a function, if it has any.
    pub fn get(&self, func: u32) -> Option<FunctionCounters> {
        self.of_functions.get(&func).copied()
    }

    /// Returns the counters of all functions, by ascending function index.
    pub fn all(&self) -> Vec<FunctionCounters> {
        let mut all: Vec<_> = self.of_functions.values().copied().collect();
        all.sort_unstable_by_key(|counters| counters.func);
        all
    }

    /// Restores the counters that an earlier run assigned; `None` if they overlap or exceed `capacity`.
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
