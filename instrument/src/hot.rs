//! Counters that are variables: those of code that seems to run often.
//!
//! A variable is added to in place, without an address, which engines do faster than in a memory; but it takes more of
//! the module, since it is declared, and copied to its counter when somebody wants to read that.

use std::collections::BTreeMap;

/// The most variables; engines allow a million in a module.
const MOST: u32 = 200_000;

/// Which counters are variables.
#[derive(Debug)]
pub struct Hot {
    first: u32,
    /// By counter that was met, its variable, if it is one.
    known: BTreeMap<u32, Option<u32>>,
    count: u32,
}

impl Hot {
    /// None yet; the first will be that global.
    pub fn new(first: u32) -> Hot {
        Hot { first, known: BTreeMap::new(), count: 0 }
    }

    /// The global of a counter, if it is one; that is decided where it is first added to.
    pub fn global(&mut self, counter: u32, is_hot: bool) -> Option<u32> {
        let Hot { first, known, count } = self;
        *known.entry(counter).or_insert_with(|| {
            let is_one = is_hot && *count < MOST;
            *count += u32::from(is_one);
            is_one.then(|| *first + *count - 1)
        })
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// All counters that are variables, with their globals.
    pub fn all(&self) -> impl Iterator<Item = (u32, u32)> {
        self.known.iter().filter_map(|(counter, global)| Some((*counter, (*global)?)))
    }
}
