//! How often paths ran, and where frames ended in the middle of one: rows of profiles and of their contexts.
//!
//! Invariant: rows are sorted, and one row stands for what is at one place.

use serde::{Deserialize, Serialize};

use super::metric;
use crate::BlockId;

/// A path that ran to its end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PathCount {
    /// Its number.
    pub id: u64,
    /// How often.
    pub count: u64,
    /// What was measured along it, by metric of the profile. Stored apart.
    #[serde(skip)]
    pub metrics: Vec<u64>,
}

/// Frames that ended in the middle of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnfinishedPath {
    /// Where, and how many.
    pub exit: UnfinishedExit,
    /// The sum of the prefix that had led there.
    pub prefix: u64,
    /// What was measured along it, by metric of the profile. Stored apart.
    #[serde(skip)]
    pub metrics: Vec<u64>,
}

impl UnfinishedPath {
    /// Paths that ended at one place by one way are one.
    fn place(&self) -> (BlockId, u32, u32, u64) {
        let UnfinishedExit { block, offset, ops_executed, count: _ } = self.exit;
        (block, offset, ops_executed, self.prefix)
    }
}

/// Frames that ended in the middle of a block: by a trap, by the end of the program, by an interrupt, or
/// because the profile was taken meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnfinishedExit {
    /// The block.
    pub block: BlockId,
    /// Code offset of the instruction at which it ended.
    pub offset: u32,
    /// Instructions of the block that had been executed, the one at `offset` included if it began.
    pub ops_executed: u32,
    /// Number of frames.
    pub count: u64,
}

impl UnfinishedExit {
    /// Where it is: exits at one place are one.
    fn place(&self) -> (BlockId, u32, u32) {
        (self.block, self.offset, self.ops_executed)
    }
}

/// Sorts paths by number and adds up what is the same.
pub(crate) fn normalize_paths(paths: &mut Vec<PathCount>) {
    paths.sort_unstable();
    paths.dedup_by(|next, kept| {
        let same = next.id == kept.id;
        if same {
            kept.count = kept.count.saturating_add(next.count);
            metric::add(&mut kept.metrics, &next.metrics);
        }
        same
    });
}

/// Sorts unfinished paths by place and adds up what is the same.
pub(crate) fn normalize_unfinished(paths: &mut Vec<UnfinishedPath>) {
    paths.sort_unstable_by_key(UnfinishedPath::place);
    paths.dedup_by(|next, kept| {
        let same = next.place() == kept.place();
        if same {
            kept.exit.count = kept.exit.count.saturating_add(next.exit.count);
            metric::add(&mut kept.metrics, &next.metrics);
        }
        same
    });
}

/// Whether unfinished paths are as [`normalize_unfinished`] makes them.
pub(crate) fn is_normal_unfinished(paths: &[UnfinishedPath]) -> bool {
    paths.is_sorted_by(|a, b| a.place() < b.place())
}

/// Sorts exits and adds up those at one place.
pub(crate) fn normalize_exits(exits: &mut Vec<UnfinishedExit>) {
    exits.sort_unstable();
    exits.dedup_by(|next, kept| {
        let same = next.place() == kept.place();
        if same {
            kept.count = kept.count.saturating_add(next.count);
        }
        same
    });
}

/// Whether exits are as [`normalize_exits`] makes them.
pub(crate) fn are_normal_exits(exits: &[UnfinishedExit]) -> bool {
    exits.is_sorted_by(|a, b| a.place() < b.place())
}
