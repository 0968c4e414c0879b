//! CPU time, which passes neither while a thread waits nor while others have the processor.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Returns the CPU time of this thread.
pub fn of_thread() -> Duration {
    read(ClockId::ThreadCPUTime)
}

/// Returns the CPU time of all threads of the process.
pub fn of_process() -> Duration {
    read(ClockId::ProcessCPUTime)
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}
