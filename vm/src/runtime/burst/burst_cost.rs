//! What bursts take of their thread's time, for the engine's account; one that is not afforded is put off.
//!
//! A burst takes from the check that begins it to the one that ends it, and as long as a frame then waits in code for
//! bursts for something to go on in; what it takes to compile functions that are called for the first time is no part of
//! that. That the program gets on meanwhile is not taken off: how long it would take otherwise is not known.

use std::sync::Arc;
use std::time::Duration;

use wprof_profiler::Bursts;

use crate::runtime::counts::account::{Account, Purpose};
use crate::runtime::counts::cpu_time;

/// Bursts are put off for at most so many times the usual number of checks: who knows how long those will take.
const LONGEST: u32 = 8;

/// A burst ends early that comes to more checks in code that does not count: they cost more than those that count, and
/// code for all functions on the stack would, too.
const MOST_MISSED: u32 = 8;

/// After so many lost bursts the next are tried less often.
const MANY_LOST: u32 = 16;

/// The bursts of one store.
#[derive(Debug)]
pub struct BurstCost {
    account: Arc<Account>,
    /// What the thread had had when the burst began, or when it ended for a frame that waits.
    since: Option<Duration>,
    /// How many times as many checks as usual the next one is put off for.
    put_off: u32,
    /// How many checks of the burst that runs were in code that does not count.
    missed: u32,
    /// How many have been lost, one after the other.
    lost: u32,
    /// What it took when it was last read what bursts have seen.
    reading: Duration,
}

impl BurstCost {
    /// Nothing has run yet.
    pub fn new(account: Arc<Account>) -> BurstCost {
        BurstCost { account, since: None, put_off: 0, missed: 0, lost: 0, reading: Duration::ZERO }
    }

    /// Puts a burst off that is due, if it is not afforded. Gives whether it did.
    pub fn puts_off(&mut self, bursts: &mut Bursts) -> bool {
        if bursts.counts() || self.account.affords_burst() {
            self.put_off = 0;
            return false;
        }
        self.put_off = (2 * self.put_off).clamp(1, LONGEST);
        bursts.put_off(self.put_off);
        true
    }

    /// A check in a burst has found no code that counts; whether there were too many of these.
    pub fn misses(&mut self) -> bool {
        self.missed += 1;
        self.missed > MOST_MISSED
    }

    /// A check has been decided at which the thread had had time until `fired`, and before which the bursts were so.
    /// Its frame is in code for bursts, or is not, and stays where it is, or does not.
    pub fn book(
        &mut self,
        before: &Bursts,
        bursts: &mut Bursts,
        fired: Duration,
        (in_bursts, stays): (bool, bool),
    ) {
        self.wait_for_means(before, bursts);
        if !before.counts() {
            self.missed = 0;
        }
        if bursts.counts() {
            let began = self.since.filter(|_| before.counts());
            self.since = Some(began.unwrap_or(fired));
            return;
        }
        let now = cpu_time::of_thread();
        let since = self.since.take().filter(|_| before.counts() || in_bursts).unwrap_or(fired);
        self.since = (in_bursts && stays).then_some(now);
        self.account.spend(Purpose::Bursts, now.saturating_sub(since));
    }

    /// Where one burst after the other is lost, since code for it is not afforded, they come less often.
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

    /// A function is called for the first time: what compiling it takes is not the burst's, if one runs.
    pub fn begin_first_call(&self) -> Option<Duration> {
        self.since.map(|_| cpu_time::of_thread())
    }

    /// It is compiled.
    pub fn end_first_call(&mut self, began: Duration) {
        if let Some(since) = &mut self.since {
            *since += cpu_time::of_thread().saturating_sub(began);
        }
    }

    /// What had begun before `left` has taken no more when it is `now`, by the clock of another thread.
    pub fn move_by(&mut self, left: Duration, now: Duration) {
        self.since = self.since.map(|since| now.saturating_sub(left.saturating_sub(since)));
    }

    /// Whether it is afforded to read what bursts have seen.
    pub fn affords_reading(&self) -> bool {
        self.account.affords(self.reading)
    }

    /// It has been read; the thread had had time until `began`. Gives how long it took.
    pub fn book_reading(&mut self, began: Duration) -> Duration {
        self.reading = cpu_time::of_thread().saturating_sub(began);
        self.account.spend(Purpose::Reading, self.reading);
        self.reading
    }
}
