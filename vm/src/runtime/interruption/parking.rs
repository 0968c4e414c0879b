//! Threads that wait at addresses of a shared memory.
//!
//! The lock of the table makes `wait` atomic: a notifier takes it too, so no notification is lost between the
//! check of the value and the wait. Threads are woken in the order of their arrival. Source: the threads
//! proposal, "Wait and Notify operators".

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hashbrown::HashMap;

/// How long an interruption may go unnoticed: short for people, long for a processor.
const SLICE: Duration = Duration::from_millis(50);

/// The reason why a waiting thread continues; the numbers are those that wasm gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Woken {
    /// The thread was notified.
    Notified = 0,
    /// The value is not the expected one; the thread has not waited.
    NotEqual = 1,
    /// The time elapsed.
    TimedOut = 2,
}

/// A waiting thread.
#[derive(Debug, Default)]
struct Waiter {
    /// Notified when the waiter is removed from the table.
    bell: Condvar,
}

type Table = HashMap<u64, VecDeque<Arc<Waiter>>>;

/// The threads that wait at one memory, by address.
#[derive(Debug, Default)]
pub struct Parking {
    table: Mutex<Table>,
}

impl Parking {
    /// Waits at an address, if its value `is_expected`: until it is notified, or until an instant, or until
    /// `check` fails.
    ///
    /// # Errors
    /// Returns the error of `check`, which is called several times a second.
    pub fn wait<E>(
        &self,
        address: u64,
        is_expected: impl FnOnce() -> bool,
        until: Option<Instant>,
        mut check: impl FnMut() -> Result<(), E>,
    ) -> Result<Woken, E> {
        let mut table = self.lock();
        if !is_expected() {
            return Ok(Woken::NotEqual);
        }
        let waiter = Arc::new(Waiter::default());
        table.entry(address).or_default().push_back(waiter.clone());
        loop {
            if !is_waiting(&table, address, &waiter) {
                return Ok(Woken::Notified);
            }
            // The check may take long, and may wake other threads here.
            drop(table);
            let checked = check();
            table = self.lock();
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let outcome = match (checked, left) {
                (Err(error), _) => Some(Err(error)),
                (Ok(()), _) if !is_waiting(&table, address, &waiter) => Some(Ok(Woken::Notified)),
                (Ok(()), Some(Duration::ZERO)) => Some(Ok(Woken::TimedOut)),
                _ => None,
            };
            if let Some(outcome) = outcome {
                remove(&mut table, address, &waiter);
                return outcome;
            }
            let slice = left.map_or(SLICE, |left| left.min(SLICE));
            let woken = waiter.bell.wait_timeout(table, slice);
            table = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Wakes at most `most` threads that wait at an address, and returns their number.
    pub fn notify(&self, address: u64, most: u32) -> u32 {
        let mut table = self.lock();
        let Some(waiters) = table.get_mut(&address) else { return 0 };
        let count = waiters.len().min(most as usize);
        waiters.drain(..count).for_each(|waiter| waiter.bell.notify_one());
        if waiters.is_empty() {
            table.remove(&address);
        }
        count as u32
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_waiting(table: &Table, address: u64, waiter: &Arc<Waiter>) -> bool {
    table.get(&address).is_some_and(|waiters| waiters.iter().any(|other| Arc::ptr_eq(other, waiter)))
}

fn remove(table: &mut Table, address: u64, waiter: &Arc<Waiter>) {
    let Some(waiters) = table.get_mut(&address) else { return };
    waiters.retain(|other| !Arc::ptr_eq(other, waiter));
    if waiters.is_empty() {
        table.remove(&address);
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn go_on() -> Result<(), Infallible> {
        Ok(())
    }

    #[test]
    fn threads_are_woken_in_their_order_at_their_address_only() {
        let parking = Parking::default();
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for number in 1..=3 {
                threads.push(scope.spawn(|| parking.wait(8, || true, None, go_on)));
                while parking.lock().get(&8).map_or(0, VecDeque::len) < number {
                    std::thread::yield_now();
                }
            }
            assert_eq!((parking.notify(16, 5), parking.notify(8, 0), parking.notify(8, 1)), (0, 0, 1));
            assert_eq!(threads.remove(0).join().expect("no panic"), Ok(Woken::Notified));
            assert!(threads.iter().all(|thread| !thread.is_finished()));
            assert_eq!(parking.notify(8, u32::MAX), 2);
            assert!(
                threads
                    .into_iter()
                    .all(|thread| thread.join().is_ok_and(|woken| woken == Ok(Woken::Notified)))
            );
        });
        assert!(parking.lock().is_empty(), "nothing is left of who waited");
    }

    #[test]
    fn nobody_waits_longer_than_wanted() {
        let parking = Parking::default();
        assert_eq!(parking.wait(0, || false, None, go_on), Ok(Woken::NotEqual));
        let until = Instant::now() + Duration::from_millis(5);
        assert_eq!(parking.wait(0, || true, Some(until), go_on), Ok(Woken::TimedOut));
        assert!(Instant::now() >= until);
        let mut left = 3;
        let check = || {
            left -= 1;
            if left == 0 { Err("stop") } else { Ok(()) }
        };
        assert_eq!(parking.wait(0, || true, None, check), Err("stop"));
        assert!(parking.lock().is_empty());
    }
}
