//! Extended paths in a profile: those that bursts have seen run most.

use serde::{Deserialize, Serialize};

use super::{Extension, PathOf};

/// The extended paths of a module that ran most, and over what they are extended. What is sampled at what rate, the
/// functions say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtendedProfile {
    /// Over what.
    pub extension: Extension,
    /// Ascending by what they are made of.
    pub paths: Vec<ExtendedPath>,
}

/// How often an extended path ran.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExtendedPath {
    /// The paths that it is made of, in the order in which they end.
    pub pieces: Vec<PathOf>,
    /// How often it was seen.
    pub count: u64,
}

impl ExtendedProfile {
    /// The most frequent ones first.
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

    /// The sum of both, if they are extended over the same.
    pub(crate) fn merged(&self, other: &ExtendedProfile) -> Option<ExtendedProfile> {
        let mut sum = self.clone();
        sum.paths.extend_from_slice(&other.paths);
        sum.normalize();
        (self.extension == other.extension).then_some(sum)
    }
}
