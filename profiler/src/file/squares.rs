//! The section of how unequal the times of samples are.

use serde::{Deserialize, Serialize};

use crate::{Profile, ThreadProfile, TimeProfile};

/// Sums of squares of sampled times: see [`TimeProfile::squares`]. Zeros at the end are left out.
#[derive(Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Squares {
    whole: u64,
    /// By thread.
    threads: Vec<u64>,
}

impl Squares {
    pub(super) fn new(profile: &Profile) -> Self {
        let squares = |time: &Option<TimeProfile>| time.as_ref().map_or(0, |time| time.squares);
        let mut threads: Vec<u64> = profile.threads.iter().map(|thread| squares(&thread.time)).collect();
        let len = threads.iter().rposition(|&squares| squares > 0).map_or(0, |last| last + 1);
        threads.truncate(len);
        Self { whole: squares(&profile.time), threads }
    }

    pub(super) fn add_to(self, whole: Option<&mut TimeProfile>, threads: &mut [ThreadProfile]) {
        if let Some(time) = whole {
            time.squares = self.whole;
        }
        for (thread, squares) in threads.iter_mut().zip(self.threads) {
            if let Some(time) = &mut thread.time {
                time.squares = squares;
            }
        }
    }
}
