//! Counters in global variables, for code that seems to be hot.
//!
//! A variable is incremented in place, without an address, which engines compile to faster code than an update of
//! memory. But it makes the module larger: it is declared, and copied to its counter in memory when counters are read.

use std::collections::BTreeMap;

/// The maximum number of variables; engines allow a million per module.
const MOST: u32 = 200_000;

/// The set of counters that are variables.
#[derive(Debug)]
pub struct Hot {
    first: u32,
    /// For each counter met so far, its variable if it has one.
    known: BTreeMap<u32, Option<u32>>,
    count: u32,
}

impl Hot {
    /// Creates an empty set; the first variable will be global `first`.
    pub fn new(first: u32) -> Hot {
        Hot { first, known: BTreeMap::new(), count: 0 }
    }

    /// Returns the global of a counter, if it has one; this is decided where the counter is first incremented.
    pub fn global(&mut self, counter: u32, is_hot: bool) -> Option<u32> {
        let Hot { first, known, count } = self;
        *known.entry(counter).or_insert_with(|| {
            let is_one = is_hot && *count < MOST;
            *count += u32::from(is_one);
            is_one.then(|| *first + *count - 1)
        })
    }

    /// Returns the global of a counter that must have one.
    pub fn variable(&mut self, counter: u32) -> u32 {
        let Hot { first, known, count } = self;
        let global = known.entry(counter).or_default();
        *global.get_or_insert_with(|| {
            *count += 1;
            *first + *count - 1
        })
    }

    /// Returns the number of variables.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns all counters that are variables, with their globals.
    pub fn all(&self) -> impl Iterator<Item = (u32, u32)> {
        self.known.iter().filter_map(|(counter, global)| Some((*counter, (*global)?)))
    }
}
