//! Extended paths in a profile: the most frequent ones that bursts have seen.

use serde::{Deserialize, Serialize};

use super::{Extension, PathOf};

/// The most frequent extended paths of a module, and what they are extended over. Their sampling rates are those of
/// the functions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtendedProfile {
    /// The edges or calls that the paths cross.
    pub extension: Extension,
    /// The paths, ascending by their pieces.
    pub paths: Vec<ExtendedPath>,
}

/// The count of an extended path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExtendedPath {
    /// The paths that it consists of, in the order in which they end.
    pub pieces: Vec<PathOf>,
    /// The number of times the extended path was seen.
    pub count: u64,
}

impl ExtendedProfile {
    /// Returns the paths, most frequent first.
    pub fn by_count(&self) -> Vec<&ExtendedPath> {
        let mut all: Vec<&ExtendedPath> = self.paths.iter().collect();
        all.sort_by_key(|path| std::cmp::Reverse(path.count));
        all
    }

    pub(crate) fn normalize(&mut self) {
        self.paths.sort();
        self.paths.dedup_by(|next, kept| {
            let same = next.pieces == kept.pieces;
            if same {
                kept.count = kept.count.saturating_add(next.count);
            }
            same
        });
    }

    pub(crate) fn is_normal(&self) -> bool {
        self.paths.is_sorted_by(|a, b| a.pieces < b.pieces)
            && self.paths.iter().all(|path| !path.pieces.is_empty())
    }

    /// Returns the sum of both, if they have the same extension.
    pub(crate) fn merged(&self, other: &ExtendedProfile) -> Option<ExtendedProfile> {
        let mut sum = self.clone();
        sum.paths.extend_from_slice(&other.paths);
        sum.normalize();
        (self.extension == other.extension).then_some(sum)
    }
}
