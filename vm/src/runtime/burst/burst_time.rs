//! How much of a store's time is in bursts, where time begins them and nobody counts checks.
//!
//! Bursts take the same share of the time wherever they are. If they had the same number of checks, slow loops would be
//! counted more often than they run; so each goes on until it has taken long enough.
//!
//! Measured is the processor time of the thread, so that a program that waits takes none. Code for bursts is slower
//! than other code, and so its share of the time is larger than its share of the work: figures that are scaled by it
//! are low.

use std::time::{Duration, Instant};

use wprof_profiler::Rate;

use crate::runtime::counts::cpu_time;

/// A burst takes at least this part of the time from one to the next.
const SHARE: u32 = 100;

/// The times of one store's phases.
#[derive(Debug)]
pub struct BurstTime {
    /// How long bursts are at least.
    least: Duration,
    /// When the phase began that runs.
    began: Instant,
    since: Duration,
    between: Duration,
    within: Duration,
}

impl BurstTime {
    /// The first phase begins, and bursts are to begin so often.
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

    /// Whether the burst that runs is to go on.
    pub fn is_short(&self) -> bool {
        self.began.elapsed() < self.least
    }

    /// A phase has ended, of a burst or between bursts.
    pub fn end_phase(&mut self, was_burst: bool) {
        self.began = Instant::now();
        let now = cpu_time::of_thread();
        let phase = now.saturating_sub(std::mem::replace(&mut self.since, now));
        *(if was_burst { &mut self.within } else { &mut self.between }) += phase;
    }

    /// The phase that runs has taken no more when it is `now`, by the clock of another thread, than when it was `left`.
    pub fn move_by(&mut self, left: Duration, now: Duration) {
        self.since = now.saturating_sub(left.saturating_sub(self.since));
    }

    /// Nanoseconds between bursts, of phases that have ended.
    pub fn between(&self) -> u64 {
        nanoseconds(self.between)
    }

    /// The share of bursts, the phase that runs included.
    pub fn rate(&self, is_burst: bool) -> Rate {
        let phase = cpu_time::of_thread().saturating_sub(self.since);
        let counted = if is_burst { self.within + phase } else { self.within };
        Rate { counted: nanoseconds(counted), of: nanoseconds(self.within + self.between + phase) }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
