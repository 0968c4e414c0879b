//! The cost of bursts in CPU time of their thread, for the engine's account; a burst that the account cannot
//! afford is postponed.
//!
//! A burst takes the time from the check that begins it to the check that ends it, and beyond that while a frame
//! waits in burst code for code to continue in. The time to compile functions that are called for the first time
//! is not included. The progress of the program meanwhile is not subtracted, because how long it would take
//! otherwise is unknown.

use std::sync::Arc;
use std::time::Duration;

use wprof_profiler::Bursts;

use crate::runtime::counts::account::{Account, Purpose};
use crate::runtime::counts::cpu_time;

/// A burst is postponed for at most this many times the usual number of checks, because nobody knows how long
/// those will take.
const LONGEST: u32 = 8;

/// A burst ends early if it comes to more checks than this in code that does not count: such checks cost more
/// than those that count, and so would burst code for all functions on the stack.
const MOST_MISSED: u32 = 8;

/// Number of consecutive lost bursts after which the next ones are tried less often.
const MANY_LOST: u32 = 16;

/// The cost of the bursts of one store.
#[derive(Debug)]
pub struct BurstCost {
    account: Arc<Account>,
    /// The thread's CPU time when the burst began, or when it ended for a frame that waits.
    since: Option<Duration>,
    /// The factor by which the next burst is postponed, in units of the usual number of checks.
    put_off: u32,
    /// Number of checks of the current burst in code that does not count.
    missed: u32,
    /// Number of consecutive lost bursts.
    lost: u32,
    /// The time that the last reading of the counts took.
    reading: Duration,
}

impl BurstCost {
    /// Starts with no cost.
    pub fn new(account: Arc<Account>) -> BurstCost {
        BurstCost { account, since: None, put_off: 0, missed: 0, lost: 0, reading: Duration::ZERO }
    }

    /// Postpones a burst that is due, if the account cannot afford it. Returns whether it did.
    pub fn puts_off(&mut self, bursts: &mut Bursts) -> bool {
        if bursts.counts() || self.account.affords_burst() {
            self.put_off = 0;
            return false;
        }
        self.put_off = (2 * self.put_off).clamp(1, LONGEST);
        bursts.put_off(self.put_off);
        true
    }

    /// Records a check in a burst that found no counting code; returns whether there were too many of them.
    pub fn misses(&mut self) -> bool {
        self.missed += 1;
        self.missed > MOST_MISSED
    }

    /// Books a decided check, for which the thread took `took` since it fired. `before` is the state of the bursts before
    /// it. `in_bursts` tells whether its frame is in burst code, `stays` whether it stays where it is.
    ///
    /// The clock of the thread is read only where a burst begins or ends: a skipped burst would take longer for that than
    /// for everything else, and use up what is granted.
    pub fn book(
        &mut self,
        before: &Bursts,
        bursts: &mut Bursts,
        took: Duration,
        (in_bursts, stays): (bool, bool),
    ) {
        self.wait_for_means(before, bursts);
        if !before.counts() {
            self.missed = 0;
        }
        if bursts.counts() {
            let began = self.since.filter(|_| before.counts());
            self.since = Some(began.unwrap_or_else(|| cpu_time::of_thread().saturating_sub(took)));
            return;
        }
        let since = self.since.take().filter(|_| before.counts() || in_bursts);
        let is_waiting = in_bursts && stays;
        let now = (since.is_some() || is_waiting).then(cpu_time::of_thread);
        self.since = now.filter(|_| is_waiting);
        let cost = since.zip(now).map_or(took, |(since, now)| now.saturating_sub(since));
        self.account.spend(Purpose::Bursts, cost);
    }

    /// Returns how long the thread has taken for a check that fired at this reading of the counter of cycles.
    pub fn took(&self, fired: u64) -> Duration {
        self.account.took(fired)
    }

    /// Makes bursts less frequent if one after the other is lost because the account cannot afford burst code.
    fn wait_for_means(&mut self, before: &Bursts, bursts: &mut Bursts) {
        if bursts.lost == before.lost {
            self.lost = if bursts.counts() { 0 } else { self.lost };
            return;
        }
        self.lost += 1;
        let times = self.lost / MANY_LOST;
        if times > 0 {
            bursts.put_off(times.min(LONGEST));
        }
    }

    /// Notes that a function is called for the first time: its compilation is not part of the current burst.
    pub fn begin_first_call(&self) -> Option<Duration> {
        self.since.map(|_| cpu_time::of_thread())
    }

    /// Excludes the compilation that began at `began` from the burst.
    pub fn end_first_call(&mut self, began: Duration) {
        if let Some(since) = &mut self.since {
            *since += cpu_time::of_thread().saturating_sub(began);
        }
    }

    /// Moves the burst to the clock of another thread: between `left` on the old thread and `now` on the new one
    /// it has taken no time.
    pub fn move_by(&mut self, left: Duration, now: Duration) {
        self.since = self.since.map(|since| now.saturating_sub(left.saturating_sub(since)));
    }

    /// Returns whether the account affords reading the counts of bursts.
    pub fn affords_reading(&self) -> bool {
        self.account.affords(self.reading)
    }

    /// Books a reading of the counts that began at `began`. Returns how long it took.
    pub fn book_reading(&mut self, began: Duration) -> Duration {
        self.reading = cpu_time::of_thread().saturating_sub(began);
        self.account.spend(Purpose::Reading, self.reading);
        self.reading
    }
}
