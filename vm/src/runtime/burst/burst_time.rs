//! The share of a store's time that is in bursts, where time begins bursts and nobody counts checks.
//!
//! Bursts take the same share of the time wherever they are. If they had a fixed number of checks, slow loops
//! would be counted more often than they run; so each burst continues until it has taken long enough.
//!
//! The clock is the CPU time of the thread, so a waiting program takes none. Burst code is slower than other
//! code, so the share of time in bursts is larger than their share of the work: figures scaled by it are low.

use std::time::{Duration, Instant};

use wprof_profiler::Rate;

use crate::runtime::counts::cpu_time;
use crate::runtime::counts::running_time::nanoseconds;

/// A burst takes at least one part in this many of the time between the starts of two bursts.
const SHARE: u32 = 100;

/// The times of one store's phases.
#[derive(Debug)]
pub struct BurstTime {
    /// The minimum duration of a burst.
    least: Duration,
    /// The start of the current phase.
    began: Instant,
    since: Duration,
    between: Duration,
    within: Duration,
}

impl BurstTime {
    /// Begins the first phase; bursts are to begin once per `every`.
    pub fn start(every: Duration) -> BurstTime {
        let (least, began) = (every / SHARE, Instant::now());
        BurstTime {
            least,
            began,
            since: cpu_time::of_thread(),
            between: Duration::ZERO,
            within: Duration::ZERO,
        }
    }

    /// Returns whether the current burst is to continue.
    pub fn is_short(&self) -> bool {
        self.began.elapsed() < self.least
    }

    /// Ends a phase: a burst, or the time between two bursts.
    pub fn end_phase(&mut self, was_burst: bool) {
        self.began = Instant::now();
        let now = cpu_time::of_thread();
        let phase = now.saturating_sub(std::mem::replace(&mut self.since, now));
        *(if was_burst { &mut self.within } else { &mut self.between }) += phase;
    }

    /// Moves the current phase to the clock of another thread: between `left` on the old thread and `now` on the
    /// new one it has taken no time.
    pub fn move_by(&mut self, left: Duration, now: Duration) {
        self.since = now.saturating_sub(left.saturating_sub(self.since));
    }

    /// Returns the nanoseconds of completed phases between bursts.
    pub fn between(&self) -> u64 {
        nanoseconds(self.between)
    }

    /// Returns the share of time in bursts, including the current phase.
    pub fn rate(&self, is_burst: bool) -> Rate {
        let phase = cpu_time::of_thread().saturating_sub(self.since);
        let counted = if is_burst { self.within + phase } else { self.within };
        Rate { counted: nanoseconds(counted), of: nanoseconds(self.within + self.between + phase) }
    }
}
