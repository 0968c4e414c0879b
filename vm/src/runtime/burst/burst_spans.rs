//! The times at which bursts ran, for timelines.

use std::time::Instant;

use wprof_profiler::{BurstSpan, Downsampled};

use crate::runtime::counts::running_time::nanoseconds;

/// Maximum number of bursts that are kept.
const MOST: usize = 4096;

/// The times of some bursts.
#[derive(Debug)]
pub struct BurstSpans {
    since: Instant,
    /// The current burst.
    open: Option<BurstSpan>,
    ended: Downsampled<BurstSpan>,
}

impl BurstSpans {
    /// Starts without bursts. Times are relative to `since`.
    pub fn new(since: Instant) -> BurstSpans {
        BurstSpans { since, open: None, ended: Downsampled::new(MOST) }
    }

    /// Begins a burst after `checks` checks.
    pub fn begin(&mut self, checks: u64) {
        self.open = Some(BurstSpan { began_ns: self.now(), took_ns: 0, checks });
    }

    /// Ends the current burst.
    pub fn end(&mut self) {
        if let Some(burst) = self.open.take() {
            let took_ns = self.now().saturating_sub(burst.began_ns);
            self.ended.push(BurstSpan { took_ns, ..burst });
        }
    }

    /// Returns the bursts that were kept, and the current one.
    pub fn all(&self) -> Vec<BurstSpan> {
        let open =
            self.open.map(|burst| BurstSpan { took_ns: self.now().saturating_sub(burst.began_ns), ..burst });
        self.ended.kept().iter().copied().chain(open).collect()
    }

    fn now(&self) -> u64 {
        nanoseconds(self.since.elapsed())
    }
}
