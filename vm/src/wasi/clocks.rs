//! The clocks that a program can read and wait for.

use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};

/// A clock of WASI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clock {
    /// The time since 1970; may jump.
    Realtime,
    /// A clock that never goes back; its origin has no meaning.
    Monotonic,
    /// The CPU time of the process.
    ProcessCpu,
    /// The CPU time of the thread.
    ThreadCpu,
}

impl Clock {
    /// Returns the clock with a WASI number.
    pub(super) fn numbered(id: u32) -> Result<Clock, Errno> {
        let all = [Clock::Realtime, Clock::Monotonic, Clock::ProcessCpu, Clock::ThreadCpu];
        all.get(id as usize).copied().ok_or(Errno::INVAL)
    }
}

/// The source of a program's time.
pub trait Clocks: Send + Sync + 'static {
    /// Returns the resolution of a clock.
    fn resolution(&self, clock: Clock) -> Duration;

    /// Returns the time of a clock.
    fn now(&self, clock: Clock) -> Duration;

    /// Lets the given time pass at once, if these clocks are simulated, and returns whether it did. By default it
    /// returns false, and the thread waits instead.
    fn pass(&self, _time: Duration) -> bool {
        false
    }
}

/// The system's clocks. The monotonic clock starts at their creation, so that a program does not learn how long
/// the machine has been running.
pub(super) struct SystemClocks(Instant);

impl SystemClocks {
    pub(super) fn new() -> SystemClocks {
        SystemClocks(Instant::now())
    }
}

impl Clocks for SystemClocks {
    fn resolution(&self, clock: Clock) -> Duration {
        duration(clock_getres(id(clock)))
    }

    fn now(&self, clock: Clock) -> Duration {
        match clock {
            Clock::Monotonic => self.0.elapsed(),
            _ => duration(clock_gettime(id(clock))),
        }
    }
}

fn id(clock: Clock) -> ClockId {
    match clock {
        Clock::Realtime => ClockId::Realtime,
        Clock::Monotonic => ClockId::Monotonic,
        Clock::ProcessCpu => ClockId::ProcessCPUTime,
        Clock::ThreadCpu => ClockId::ThreadCPUTime,
    }
}

/// Converts a time; times before 1970 become 1970, because WASI cannot express them.
fn duration(time: Timespec) -> Duration {
    match u64::try_from(time.tv_sec) {
        Ok(seconds) => Duration::new(seconds, time.tv_nsec as u32),
        Err(_) => Duration::ZERO,
    }
}

/// Returns nanoseconds, as WASI counts time.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
