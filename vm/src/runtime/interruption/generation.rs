//! Which process this is, in a line of parents and children.
//!
//! A child process has no thread of the library and no timer: who owns one keeps the [`Generation`] in which it was made, and
//! compares.

use std::sync::atomic::{AtomicU32, Ordering};

/// Number of `fork`s between the first process that used the library and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// A process in a line of parents and children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation(u32);

impl Generation {
    /// Returns the generation of this process.
    pub fn current() -> Generation {
        Generation(FORKS.load(Ordering::Relaxed))
    }

    /// Returns the number.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Returns whether it is the generation of this process, so that its threads exist.
    pub fn is_current(self) -> bool {
        self == Generation::current()
    }
}

impl Default for Generation {
    fn default() -> Generation {
        Generation::current()
    }
}

/// Begins a generation: this process was just made by `fork`.
pub fn begin() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}
