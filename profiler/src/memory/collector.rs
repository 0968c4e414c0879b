//! The work of a garbage collector.

use serde::{Deserialize, Serialize};

/// The work of a program's garbage collector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collector {
    /// Number of collections.
    pub collections: u64,
    /// The time that the program waited for them, in nanoseconds.
    pub paused_ns: u64,
    /// The longest wait, in nanoseconds.
    pub longest_ns: u64,
    /// Bytes that the last collection has kept; of several runs or threads, the sum.
    pub live: u64,
}

impl Collector {
    /// Returns the sum of the work in two runs, or in two threads; saturates.
    #[must_use]
    pub fn merged(self, other: Self) -> Self {
        Self {
            collections: self.collections.saturating_add(other.collections),
            paused_ns: self.paused_ns.saturating_add(other.paused_ns),
            longest_ns: self.longest_ns.max(other.longest_ns),
            live: self.live.saturating_add(other.live),
        }
    }
}
