//! Counts of what a function contributes to a run.

use std::ops::AddAssign;

/// The counts regenerated for one function, or for several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceCounts {
    /// Number of blocks executed.
    pub blocks: u64,
    /// Number of these that have several successors and were left.
    pub predicates: u64,
    /// Number of bits that edges of these functions wrote.
    pub bits: u64,
}

impl AddAssign for TraceCounts {
    fn add_assign(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.predicates += other.predicates;
        self.bits += other.bits;
    }
}
