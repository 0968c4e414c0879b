//! Waiting in the system, in a way that an interruption or a deadline ends.
//!
//! A signal wakes the thread when its store is to stop. But one that comes right before the thread begins to wait wakes
//! nobody, and nobody sends one if the embedder only interrupts. So the thread waits in slices and looks between them.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;

use super::clocks::Clocks;
use super::fail::Outcome;
use super::guest::Guest;

/// How long an interruption may go unnoticed: short for people, long for a processor.
const SLICE: Duration = Duration::from_millis(50);

/// Waits until something happens to one of the descriptors, or for a time. Gives how many are ready.
///
/// # Errors
/// If the program is to stop, the thread is to let others have their turn, or the system does not wait.
pub fn wait(guest: &Guest<'_>, fds: &mut [PollFd<'_>], time: Option<Duration>) -> Outcome<usize> {
    if guest.are_turns_taken() && time != Some(Duration::ZERO) {
        guest.check()?;
        match ready(fds, Duration::ZERO) {
            Ok(0) | Err(Errno::INTR) => return Err(guest.give_up()),
            ready => return Ok(ready?),
        }
    }
    // A time beyond what the system counts does not end.
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

/// Waits until something happens to one of the descriptors, or until no time is left, of which `left` knows how much there
/// is: a clock may jump meanwhile, so it is asked now and then.
///
/// # Errors
/// As [`wait`].
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
            // Time may pass at once.
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

/// A signal is no event.
fn unless_interrupted(errno: Errno) -> Result<usize, Errno> {
    if errno == Errno::INTR { Ok(0) } else { Err(errno) }
}

/// How many descriptors are ready, at once or in a short time.
///
/// # Errors
/// If a signal comes, or the system does not say.
pub fn ready(fds: &mut [PollFd<'_>], time: Duration) -> Result<usize, Errno> {
    poll(fds, Some(&Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() }))
}
