//! Processor time, which passes neither while somebody waits nor while others have the processor.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// What this thread has had.
pub fn of_thread() -> Duration {
    read(ClockId::ThreadCPUTime)
}

/// What all threads of the process have had.
pub fn of_process() -> Duration {
    read(ClockId::ProcessCPUTime)
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}
