//! The clock for the time in host functions of a store.
//!
//! Invariant: a function's own time excludes the code that it calls back, and the host functions that it calls.
//! So each span subtracts the spans directly within it, and own times never add up to more than the elapsed time.
//! Time is measured in ticks of the time-stamp counter, whose rate is derived from the system's clock on demand.

use std::time::Instant;

use crate::arch;

/// The clock of one store.
#[derive(Debug)]
pub struct HostClock {
    started: Instant,
    first_tick: u64,
    /// The ticks of the ended spans within the current one.
    within: u64,
}

/// A span of time that has begun.
#[derive(Debug)]
pub struct Span {
    first_tick: u64,
    /// The value of [`HostClock::within`] for the enclosing span.
    around: u64,
}

impl HostClock {
    /// Starts the clock.
    pub fn start() -> HostClock {
        HostClock { started: Instant::now(), first_tick: arch::cycles(), within: 0 }
    }

    /// Begins the span of a host function, or of code that a host function calls.
    pub fn begin(&mut self) -> Span {
        Span { around: std::mem::take(&mut self.within), first_tick: arch::cycles() }
    }

    /// Ends a span. Returns its own ticks.
    pub fn end(&mut self, span: Span) -> u64 {
        let ticks = arch::cycles().saturating_sub(span.first_tick);
        let own = ticks.saturating_sub(self.within);
        self.within = span.around.saturating_add(ticks);
        own
    }

    /// Excludes `ticks` from all spans, because the current one was suspended.
    pub fn note_wait(&mut self, ticks: u64) {
        self.within = self.within.saturating_add(ticks);
    }

    /// Converts ticks to nanoseconds, by the average rate so far.
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
        // Half of it allows for this thread having to wait.
        assert!(outer < inner / 2 && last < inner / 2, "{outer} {inner} {last}");
        assert!(clock.nanoseconds(outer + inner + last) <= clock.started.elapsed().as_nanos() as u64);
    }
}
