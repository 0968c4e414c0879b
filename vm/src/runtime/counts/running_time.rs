//! The CPU time of the process since an account was opened, for those who ask often.
//!
//! The system's clock of the process takes microseconds where system calls are slow, as in virtual machines, and checks that
//! fire ask it each time. So it is asked only if the counter of cycles says that enough time has passed, and the last answer
//! holds meanwhile: it is never too high.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::arch;

/// The clock is asked again after this share of the cycles since the start, ...
const SHARE: u64 = 32;
/// ... but after no more than these: about two milliseconds.
const MOST_CYCLES: u64 = 1 << 22;

/// The CPU time of the process since the start.
#[derive(Debug)]
pub struct RunningTime {
    clock: fn() -> Duration,
    /// The clock, the counter of cycles and the time of day at the start.
    started: (Duration, u64, Instant),
    /// The last answer in nanoseconds, and the counter of cycles then.
    answer: AtomicU64,
    asked: AtomicU64,
    /// Nanoseconds that 2^20 cycles take.
    speed: AtomicU64,
}

impl RunningTime {
    /// Begins now, with a clock that only grows.
    pub fn start(clock: fn() -> Duration) -> RunningTime {
        RunningTime {
            clock,
            started: (clock(), arch::cycles(), Instant::now()),
            answer: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            // A guess until the clock is asked: processors count faster than once a nanosecond.
            speed: AtomicU64::new(1 << 20),
        }
    }

    /// A process that has run for this time, and will not run longer.
    #[cfg(test)]
    pub fn at(time: Duration) -> RunningTime {
        let answer = AtomicU64::new(nanoseconds(time));
        RunningTime { answer, asked: AtomicU64::new(u64::MAX), ..RunningTime::start(|| Duration::ZERO) }
    }

    /// Returns the CPU time.
    pub fn now(&self) -> Duration {
        self.ask(arch::cycles());
        self.last()
    }

    /// Returns the CPU time of a short while ago.
    pub fn lately(&self) -> Duration {
        let now = arch::cycles();
        let asked = self.asked.load(Ordering::Relaxed);
        let patience = (now.saturating_sub(self.started.1) / SHARE).min(MOST_CYCLES);
        if now.saturating_sub(asked) > patience {
            self.ask(now);
        }
        self.last()
    }

    /// Returns how long this many cycles take.
    pub fn of_cycles(&self, cycles: u64) -> Duration {
        let speed = u128::from(self.speed.load(Ordering::Relaxed));
        Duration::from_nanos(u64::try_from((u128::from(cycles) * speed) >> 20).unwrap_or(u64::MAX))
    }

    fn ask(&self, now: u64) {
        let (clock, cycles, time) = self.started;
        // Another thread may have asked since.
        self.answer.fetch_max(nanoseconds((self.clock)().saturating_sub(clock)), Ordering::Relaxed);
        self.asked.fetch_max(now, Ordering::Relaxed);
        let cycles = now.saturating_sub(cycles);
        if cycles > 0 {
            let speed = (time.elapsed().as_nanos() << 20) / u128::from(cycles);
            self.speed.store(u64::try_from(speed).unwrap_or(u64::MAX), Ordering::Relaxed);
        }
    }

    fn last(&self) -> Duration {
        Duration::from_nanos(self.answer.load(Ordering::Relaxed))
    }
}

/// Returns a time in nanoseconds, at most what 64 bits hold: 584 years.
pub fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The readings of a clock that jumps: each asks once.
    static ASKED: AtomicU64 = AtomicU64::new(0);

    #[test]
    fn the_clock_is_asked_less_often_than_the_time_and_never_ahead_of_it() {
        let clock = || Duration::from_secs(ASKED.fetch_add(1, Ordering::Relaxed));
        let running = RunningTime::start(clock);
        let before = ASKED.load(Ordering::Relaxed);
        let mut last = Duration::ZERO;
        for _ in 0..10_000 {
            let now = running.lately();
            assert!(now >= last && now <= Duration::from_secs(ASKED.load(Ordering::Relaxed)));
            last = now;
        }
        let asked = ASKED.load(Ordering::Relaxed) - before;
        assert!(asked < 5000, "asked {asked} times");
        assert!(running.now() > last, "it asks at once");
    }

    #[test]
    fn cycles_are_converted_by_the_speed_that_was_seen() {
        let running = RunningTime::start(|| Duration::ZERO);
        assert_eq!(running.of_cycles(1000), Duration::from_nanos(1000));
        running.speed.store(1 << 19, Ordering::Relaxed);
        assert_eq!(running.of_cycles(1000), Duration::from_nanos(500));
        running.now();
        assert_ne!(running.speed.load(Ordering::Relaxed), 1 << 19);
        assert_eq!(RunningTime::at(Duration::from_secs(3)).lately(), Duration::from_secs(3));
    }
}
