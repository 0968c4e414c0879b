//! Waiting in the system, in a way that an interruption or a deadline can end.
//!
//! A signal wakes the thread when its store is to stop. But a signal that arrives just before the thread begins
//! to wait wakes nobody, and no signal is sent if the embedder only interrupts. So the thread waits in slices and
//! checks between them.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;

use super::clocks::Clocks;
use super::fail::Outcome;
use super::guest::Guest;

/// How long an interruption may go unnoticed: short for people, long for a processor.
const SLICE: Duration = Duration::from_millis(50);

/// Waits until one of the descriptors is ready, or for a time. Returns how many are ready.
///
/// # Errors
/// Returns an error if the program is to stop, the thread is to let others take their turn, or the system cannot
/// wait.
pub fn wait(guest: &Guest<'_>, fds: &mut [PollFd<'_>], time: Option<Duration>) -> Outcome<usize> {
    if guest.are_turns_taken() && time != Some(Duration::ZERO) {
        guest.check()?;
        match ready(fds, Duration::ZERO) {
            Ok(0) | Err(Errno::INTR) => return Err(guest.give_up()),
            ready => return Ok(ready?),
        }
    }
    // A time beyond the range of the system's clock never ends.
    let end = time.and_then(|time| Instant::now().checked_add(time));
    loop {
        guest.check()?;
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        let slice = left.map_or(SLICE, |left| left.min(SLICE));
        match ready(fds, slice) {
            Ok(0) if left == Some(slice) => return Ok(0),
            Ok(0) | Err(Errno::INTR) => {}
            Ok(count) => return Ok(count),
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Waits until one of the descriptors is ready, or until no time is left. `left` returns the time that is left;
/// it is asked repeatedly, because a clock may jump meanwhile.
///
/// # Errors
/// Returns an error as [`wait`] does.
pub fn wait_until(
    guest: &Guest<'_>,
    clocks: &dyn Clocks,
    fds: &mut [PollFd<'_>],
    left: impl Fn() -> Option<Duration>,
) -> Outcome {
    loop {
        let left = left();
        let count = match left {
            Some(Duration::ZERO) => ready(fds, Duration::ZERO).or_else(unless_interrupted)?,
            // Simulated time may pass at once.
            Some(left) => match ready(fds, Duration::ZERO).or_else(unless_interrupted)? {
                0 if clocks.pass(left) => 0,
                0 => wait(guest, fds, Some(left.min(SLICE)))?,
                count => count,
            },
            None => wait(guest, fds, None)?,
        };
        if count > 0 || left == Some(Duration::ZERO) {
            return Ok(());
        }
        guest.check()?;
    }
}

/// Treats a signal as no event.
fn unless_interrupted(errno: Errno) -> Result<usize, Errno> {
    if errno == Errno::INTR { Ok(0) } else { Err(errno) }
}

/// Returns how many descriptors are ready within a short time.
///
/// # Errors
/// Returns an error if a signal arrives, or the system fails.
pub fn ready(fds: &mut [PollFd<'_>], time: Duration) -> Result<usize, Errno> {
    poll(fds, Some(&Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() }))
}
