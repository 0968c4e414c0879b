//! The functions of a trace by index.

use super::TracedFunction;

/// More functions than any module may have.
const MAX_FUNCTIONS: u32 = 1 << 20;

/// No function.
const NONE: u32 = u32::MAX;

/// All functions of a trace. Found by index in two steps, without hashing: replay does it for each block.
#[derive(Clone, Debug, Default)]
pub struct TracedFunctions {
    /// By index: a place in `all`, or [`NONE`].
    slots: Vec<u32>,
    all: Vec<(u32, TracedFunction)>,
}

impl TracedFunctions {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one; false if it is there already, or no module has so many.
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

    /// The function with an index.
    pub fn get(&self, index: u32) -> Option<&TracedFunction> {
        Some(self.at(self.slot(index)?))
    }

    /// A dense number of the function with an index.
    #[inline]
    pub(super) fn slot(&self, index: u32) -> Option<usize> {
        self.slots.get(index as usize).filter(|&&slot| slot != NONE).map(|&slot| slot as usize)
    }

    /// The function of a dense number.
    #[inline]
    pub(super) fn at(&self, slot: usize) -> &TracedFunction {
        &self.all[slot].1
    }

    /// The indices, by dense number.
    pub(super) fn indices(&self) -> impl Iterator<Item = u32> {
        self.all.iter().map(|&(index, _)| index)
    }
}

impl FromIterator<(u32, TracedFunction)> for TracedFunctions {
    /// Of several with one index, and of those that no module has, there are none but the first.
    fn from_iter<I: IntoIterator<Item = (u32, TracedFunction)>>(functions: I) -> Self {
        let mut all = Self::new();
        functions.into_iter().for_each(|(index, function)| {
            all.insert(index, function);
        });
        all
    }
}
