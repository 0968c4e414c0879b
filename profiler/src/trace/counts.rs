//! How much of a run one function makes up.

use std::ops::AddAssign;

/// What was regenerated of one function, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceCounts {
    /// Blocks executed.
    pub blocks: u64,
    /// Of these, blocks left that have several successors.
    pub predicates: u64,
    /// Bits that their edges wrote.
    pub bits: u64,
}

impl AddAssign for TraceCounts {
    fn add_assign(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.predicates += other.predicates;
        self.bits += other.bits;
    }
}
