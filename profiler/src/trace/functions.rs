//! The functions of a trace, by index.

use super::TracedFunction;

/// Upper bound of function indices: more functions than any module may have.
const MAX_FUNCTIONS: u32 = 1 << 20;

/// The place of an index without a function.
const NONE: u32 = u32::MAX;

/// All functions of a trace. Lookup by index takes two steps and no hashing, as replay does it for each block.
#[derive(Clone, Debug, Default)]
pub struct TracedFunctions {
    /// By index: the function's position in `all`, or [`NONE`].
    slots: Vec<u32>,
    all: Vec<(u32, TracedFunction)>,
}

impl TracedFunctions {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a function; returns false if its index is already taken or beyond any module's.
    pub fn insert(&mut self, index: u32, function: TracedFunction) -> bool {
        if index >= MAX_FUNCTIONS || self.get(index).is_some() {
            return false;
        }
        let place = index as usize;
        self.slots.resize(self.slots.len().max(place + 1), NONE);
        self.slots[place] = self.all.len() as u32;
        self.all.push((index, function));
        true
    }

    /// Returns the function with an index.
    pub fn get(&self, index: u32) -> Option<&TracedFunction> {
        Some(self.at(self.slot(index)?))
    }

    /// Returns the dense number of the function with an index.
    #[inline]
    pub(super) fn slot(&self, index: u32) -> Option<usize> {
        self.slots.get(index as usize).filter(|&&slot| slot != NONE).map(|&slot| slot as usize)
    }

    /// Returns the function with a dense number.
    #[inline]
    pub(super) fn at(&self, slot: usize) -> &TracedFunction {
        &self.all[slot].1
    }

    /// Iterates over the indices, by dense number.
    pub(super) fn indices(&self) -> impl Iterator<Item = u32> {
        self.all.iter().map(|&(index, _)| index)
    }
}

impl FromIterator<(u32, TracedFunction)> for TracedFunctions {
    /// Collects functions. Only the first of several with one index is kept; indices beyond any module's are dropped.
    fn from_iter<I: IntoIterator<Item = (u32, TracedFunction)>>(functions: I) -> Self {
        let mut all = Self::new();
        functions.into_iter().for_each(|(index, function)| {
            all.insert(index, function);
        });
        all
    }
}
