//! A simulated branch predictor: how many conditional branches of a program a processor would guess wrong.
//!
//! Input: branches, in order, each with its place and which way it went. Output: whether each was guessed.
//! Invariant: what it says depends on the branches alone, so one program with one input has the same mispredictions on any
//! machine.
//! Source: gshare of McFarling, *Combining Branch Predictors*, WRL Technical Note TN-36, 1993, section 7: 64 Kbit, as
//! 2^15 counters of two bits, chosen by the place, whose bits are mixed first, and the last 15 ways, which are exclusively or'ed.
//! Counters begin at weakly not taken. Processors of today guess better, so what this one misses is an upper bound of a
//! kind; what depends on data that nobody can foresee, all of them miss.
//! Oracle: tables and histories that are written out, in `tests/it/predictor.rs`.

/// How many bits choose a counter, and how many ways are remembered.
pub const HISTORY: u32 = 15;

/// Counters from here on guess that the branch is taken.
const TAKEN: u8 = 2;
const MOST: u8 = 3;

/// What has been learned of branches.
#[derive(Clone, Debug)]
pub struct BranchPredictor {
    counters: Vec<u8>,
    /// The last ways, the newest lowest; 1 is taken.
    history: u32,
}

impl Default for BranchPredictor {
    fn default() -> Self {
        Self { counters: vec![TAKEN - 1; 1 << HISTORY], history: 0 }
    }
}

impl BranchPredictor {
    /// The branch at `place` goes one way. Whether that was guessed.
    pub fn predict(&mut self, place: u32, is_taken: bool) -> bool {
        let counter = &mut self.counters[(mixed(place) ^ self.history) as usize];
        let is_guessed = (*counter >= TAKEN) == is_taken;
        *counter = if is_taken { (*counter + 1).min(MOST) } else { counter.saturating_sub(1) };
        self.history = (self.history << 1 | u32::from(is_taken)) & ((1 << HISTORY) - 1);
        is_guessed
    }
}

/// Bits of a place, of which those of near ones are far apart: the high bits of its product with an odd number near 2^32 over
/// the golden ratio (Knuth, The Art of Computer Programming 3, section 6.4).
pub fn mixed(place: u32) -> u32 {
    place.wrapping_mul(0x9e37_79b1) >> (u32::BITS - HISTORY)
}

/// What became of a conditional branch.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct BranchOutcome {
    /// Index of its function.
    pub function: u32,
    /// Byte offset in the module.
    pub offset: u32,
    /// How often it was executed.
    pub executed: u64,
    /// How often it was taken.
    pub taken: u64,
    /// How often the simulated predictor guessed wrong.
    pub mispredicted: u64,
}

impl BranchOutcome {
    /// Adds what the same branch did elsewhere; saturates.
    pub(crate) fn add(&mut self, other: &Self) {
        self.executed = self.executed.saturating_add(other.executed);
        self.taken = self.taken.saturating_add(other.taken);
        self.mispredicted = self.mispredicted.saturating_add(other.mispredicted);
    }
}
