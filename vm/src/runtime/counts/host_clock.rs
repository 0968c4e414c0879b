//! How long the host functions of a store run.
//!
//! Invariant: a function's own time is without what it calls back, and without host functions that it calls. So each
//! span of time takes off those right within it, and own times never add up to more than has passed.
//! Measured in ticks of the time-stamp counter, whose rate follows from the system's clock when somebody asks.

use std::time::Instant;

use crate::arch;

/// The clock of one store.
#[derive(Debug)]
pub struct HostClock {
    started: Instant,
    first_tick: u64,
    /// The ticks of the spans that have ended within the one that runs.
    within: u64,
}

/// Time that has begun.
#[derive(Debug)]
pub struct Span {
    first_tick: u64,
    /// What [`HostClock::within`] was around it.
    around: u64,
}

impl HostClock {
    /// Begins to run.
    pub fn start() -> HostClock {
        HostClock { started: Instant::now(), first_tick: arch::cycles(), within: 0 }
    }

    /// A host function, or code that one has called, begins.
    pub fn begin(&mut self) -> Span {
        Span { around: std::mem::take(&mut self.within), first_tick: arch::cycles() }
    }

    /// It ends. Gives its own ticks.
    pub fn end(&mut self, span: Span) -> u64 {
        let ticks = arch::cycles().saturating_sub(span.first_tick);
        let own = ticks.saturating_sub(self.within);
        self.within = span.around.saturating_add(ticks);
        own
    }

    /// So many ticks have passed while what runs did not: they are nobody's.
    pub fn note_wait(&mut self, ticks: u64) {
        self.within = self.within.saturating_add(ticks);
    }

    /// What so many ticks are in nanoseconds, by all that has passed.
    pub fn nanoseconds(&self, ticks: u64) -> u64 {
        let passed = arch::cycles().saturating_sub(self.first_tick).max(1);
        let nanoseconds = u128::from(ticks) * self.started.elapsed().as_nanos() / u128::from(passed);
        u64::try_from(nanoseconds).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_runs_within_is_not_ones_own() {
        let mut clock = HostClock::start();
        let outer = clock.begin();
        let inner = clock.begin();
        std::thread::sleep(Duration::from_millis(20));
        let inner = clock.end(inner);
        let last = clock.begin();
        let last = clock.end(last);
        let outer = clock.end(outer);
        assert!(clock.nanoseconds(inner) >= 20_000_000);
        // Half of it, should this thread have to wait.
        assert!(outer < inner / 2 && last < inner / 2, "{outer} {inner} {last}");
        assert!(clock.nanoseconds(outer + inner + last) <= clock.started.elapsed().as_nanos() as u64);
    }
}
