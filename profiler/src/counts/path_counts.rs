//! Counts of finished paths and of frames that ended within a path: the rows of profiles and of their contexts.
//!
//! Invariant: rows are sorted, and each place has one row.

use serde::{Deserialize, Serialize};

use super::metric;
use crate::BlockId;

/// The count of a finished path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PathCount {
    /// Number of the path.
    pub id: u64,
    /// The number of times the path ran.
    pub count: u64,
    /// Figures measured along the path, one per metric of the profile. Stored separately.
    #[serde(skip)]
    pub metrics: Vec<u64>,
}

/// Frames that ended within a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnfinishedPath {
    /// The place where frames ended, and their number.
    pub exit: UnfinishedExit,
    /// Path sum of the prefix that led there.
    pub prefix: u64,
    /// Figures measured along the prefix, one per metric of the profile. Stored separately.
    #[serde(skip)]
    pub metrics: Vec<u64>,
}

impl UnfinishedPath {
    /// Returns the key under which unfinished paths are merged: the exit and the prefix.
    fn place(&self) -> (BlockId, u32, u32, u64) {
        let UnfinishedExit { block, offset, ops_executed, count: _ } = self.exit;
        (block, offset, ops_executed, self.prefix)
    }
}

/// Frames that ended in the middle of a block: by a trap, the end of the program or an interrupt, or because the
/// profile was taken while they ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnfinishedExit {
    /// Block in which the frames ended.
    pub block: BlockId,
    /// Code offset of the instruction at which the frames ended.
    pub offset: u32,
    /// Instructions of the block that were executed, including the one at `offset` if it began.
    pub ops_executed: u32,
    /// Number of frames.
    pub count: u64,
}

impl UnfinishedExit {
    /// Returns the key under which exits are merged.
    fn place(&self) -> (BlockId, u32, u32) {
        (self.block, self.offset, self.ops_executed)
    }
}

/// Sorts paths by number and merges those of the same number.
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

/// Sorts unfinished paths by place and merges those at the same place.
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

/// Reports whether unfinished paths are sorted and merged as [`normalize_unfinished`] leaves them.
pub(crate) fn is_normal_unfinished(paths: &[UnfinishedPath]) -> bool {
    paths.is_sorted_by(|a, b| a.place() < b.place())
}

/// Sorts exits and merges those at the same place.
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

/// Reports whether exits are sorted and merged as [`normalize_exits`] leaves them.
pub(crate) fn are_normal_exits(exits: &[UnfinishedExit]) -> bool {
    exits.is_sorted_by(|a, b| a.place() < b.place())
}
