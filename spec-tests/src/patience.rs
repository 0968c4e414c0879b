//! How long a child process may take: by the time that processors worked for it, so that a busy machine makes no finding.

use std::fs;
use std::time::{Duration, Instant};

/// Clock ticks per second in what Linux tells programs, on every architecture.
const TICKS: u64 = 100;

/// A child waits for nothing outside, so one that has worked too little for this many times its limit is stuck.
const TIMES: u32 = 15;

/// Measures how long a process has been busy since a moment.
#[derive(Debug)]
pub struct Patience {
    pid: u32,
    since: Instant,
    worked_before: Duration,
}

impl Patience {
    /// Begins to measure a process.
    pub fn new(pid: u32) -> Patience {
        Patience { pid, since: Instant::now(), worked_before: worked(pid).unwrap_or_default() }
    }

    /// Reports whether the process has worked for `limit`, or is stuck: neither working nor done.
    pub fn ends(&self, limit: Duration) -> bool {
        let elapsed = self.since.elapsed();
        if elapsed <= limit {
            return false;
        }
        let worked = worked(self.pid).map_or(elapsed, |now| now.saturating_sub(self.worked_before));
        worked > limit || elapsed > limit * TIMES
    }
}

/// Returns how long processors worked for a process, or nothing if the system does not tell.
fn worked(pid: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in parentheses, may contain anything. User and system time are fields 14 and 15.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some(Duration::from_millis((ticks()? + ticks()?) * 1000 / TICKS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_work_uses_up_patience() {
        let own = std::process::id();
        let before = worked(own).expect("a system with /proc");
        let limit = Duration::from_millis(50);
        let patience = Patience::new(own);
        assert!(!patience.ends(limit));
        let mut sum = 0u64;
        // Other tests of this process work as well, so that its time may grow faster than the clock's.
        while worked(own).expect("a system with /proc") < before + 2 * limit
            || patience.since.elapsed() <= limit
        {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(patience.ends(limit));
    }
}
