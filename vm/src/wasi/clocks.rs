//! The clocks that a program reads and waits for.

use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};

/// A clock of WASI's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clock {
    /// The time since 1970; may jump.
    Realtime,
    /// Never goes back; where it begins has no meaning.
    Monotonic,
    /// The processor time of the process.
    ProcessCpu,
    /// The processor time of the thread.
    ThreadCpu,
}

impl Clock {
    /// The clock with a number of WASI's.
    pub(super) fn numbered(id: u32) -> Result<Clock, Errno> {
        let all = [Clock::Realtime, Clock::Monotonic, Clock::ProcessCpu, Clock::ThreadCpu];
        all.get(id as usize).copied().ok_or(Errno::INVAL)
    }
}

/// Where the time of a program comes from.
pub trait Clocks: Send + Sync + 'static {
    /// The step of a clock.
    fn resolution(&self, clock: Clock) -> Duration;

    /// The time of a clock.
    fn now(&self, clock: Clock) -> Duration;

    /// Lets so much time pass at once, if it is for these clocks to say: whether it is. Otherwise the thread waits for
    /// them, as it does by default.
    fn pass(&self, _time: Duration) -> bool {
        false
    }
}

/// The system's clocks. The monotonic one begins when they are made, so that a program does not learn how long the
/// machine has been running.
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

/// A time before 1970 is 1970: WASI has no other.
fn duration(time: Timespec) -> Duration {
    match u64::try_from(time.tv_sec) {
        Ok(seconds) => Duration::new(seconds, time.tv_nsec as u32),
        Err(_) => Duration::ZERO,
    }
}

/// Nanoseconds, as WASI counts time.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
