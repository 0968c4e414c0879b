//! A simulated branch predictor: the number of conditional branches that a processor would mispredict.
//!
//! Input: branches in order, each with its place and direction. Output: whether each was predicted.
//! Invariant: predictions depend only on the branches, so one program with one input has the same mispredictions on any
//! machine.
//! Source: gshare of McFarling, *Combining Branch Predictors*, WRL Technical Note TN-36, 1993, section 7: 64 Kbit, as
//! 2^15 two-bit counters, indexed by the exclusive or of the place, whose bits are mixed first, and the last 15
//! directions. Counters start at weakly not taken. Current processors predict better, so this predictor's misses are an
//! upper bound of a kind; all predictors miss branches on unpredictable data.
//! Oracle: explicit tables and histories, in `tests/it/predictor.rs`.

/// Number of bits of a counter's index, and of remembered directions.
pub const HISTORY: u32 = 15;

/// Minimum counter value that predicts taken.
const TAKEN: u8 = 2;
const MOST: u8 = 3;

/// The learned behaviour of branches.
#[derive(Clone, Debug)]
pub struct BranchPredictor {
    counters: Vec<u8>,
    /// The last directions, the newest in the lowest bit; 1 is taken.
    history: u32,
}

impl Default for BranchPredictor {
    fn default() -> Self {
        Self { counters: vec![TAKEN - 1; 1 << HISTORY], history: 0 }
    }
}

impl BranchPredictor {
    /// Records the direction of the branch at `place`. Returns whether it was predicted.
    pub fn predict(&mut self, place: u32, is_taken: bool) -> bool {
        let counter = &mut self.counters[(mixed(place) ^ self.history) as usize];
        let is_guessed = (*counter >= TAKEN) == is_taken;
        *counter = if is_taken { (*counter + 1).min(MOST) } else { counter.saturating_sub(1) };
        self.history = (self.history << 1 | u32::from(is_taken)) & ((1 << HISTORY) - 1);
        is_guessed
    }
}

/// Returns bits of a place that differ widely for near places: the high bits of its product with an odd number near
/// 2^32 over the golden ratio (Knuth, The Art of Computer Programming 3, section 6.4).
pub fn mixed(place: u32) -> u32 {
    place.wrapping_mul(0x9e37_79b1) >> (u32::BITS - HISTORY)
}

/// The outcomes of a conditional branch.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct BranchOutcome {
    /// Index of its function.
    pub function: u32,
    /// Byte offset in the module.
    pub offset: u32,
    /// Number of executions.
    pub executed: u64,
    /// Number of times that it was taken.
    pub taken: u64,
    /// Number of mispredictions of the simulated predictor.
    pub mispredicted: u64,
}

impl BranchOutcome {
    /// Adds the outcomes of the same branch from elsewhere; saturates.
    pub(crate) fn add(&mut self, other: &Self) {
        self.executed = self.executed.saturating_add(other.executed);
        self.taken = self.taken.saturating_add(other.taken);
        self.mispredicted = self.mispredicted.saturating_add(other.mispredicted);
    }
}
