//! How much of the time between two bursts has passed in stores that are gone.
//!
//! A store that runs shortly may never come to a burst by itself. So an engine's stores share the time between bursts: each
//! goes on where those before it have ended, and many short stores have as many bursts as a long one.
//! Invariant: each check of a store that has ended counts once. Stores one after the other begin bursts at the same checks
//! in each run.

use std::sync::atomic::{AtomicU64, Ordering};

/// Checks without a burst that no living store has taken over.
#[derive(Debug, Default)]
pub struct BurstPhase(AtomicU64);

impl BurstPhase {
    /// Hands over the checks that have passed; `accept` returns how many of them it takes over. The others are left for the
    /// next store.
    pub fn take(&self, accept: impl FnOnce(u64) -> u64) {
        // The checks guard nothing else.
        let passed = self.0.swap(0, Ordering::Relaxed);
        self.give(passed.saturating_sub(accept(passed)));
    }

    /// Takes back the checks of a store that ends.
    pub fn give(&self, passed: u64) {
        if passed > 0 {
            self.0.fetch_add(passed, Ordering::Relaxed);
        }
    }
}
