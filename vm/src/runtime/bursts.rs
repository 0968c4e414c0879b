//! Bursts of a store: what is done when a check fires.
//!
//! Invariant: `VmStoreContext` has the counts while machine code runs, and is changed here only while it waits for us.
//! Source: Hirzel & Chilimbi 2001, section 2; the decisions are `wprof_profiler::Bursts`.

use std::sync::Arc;
use std::time::Duration;

use wprof_jit::abi::check;
use wprof_jit::compile::Origin;
use wprof_profiler::{BurstEvent, BurstLengths, Bursts, Rate, Version};

use super::burst_spans::BurstSpans;
use super::burst_time::BurstTime;
use super::code::registry;
use super::fork;
use super::loaded::LoadedModule;
use super::pace::Pace;
use super::store::{Pending, StoreOpaque};
use crate::arch;
use crate::{Error, ErrorKind, ProfilingConfig, Result, Trap, Trigger};

/// Where a frame is that has come to a check.
struct Place {
    module: Arc<dyn LoadedModule>,
    func: u32,
    /// Its entry, 0, or a loop header.
    block: u32,
    /// Whether it is in code for bursts.
    in_bursts: bool,
    /// Whether it is in baseline code.
    is_baseline: bool,
}

impl Place {
    /// The check whose call returns to `pc`.
    fn of(pc: usize) -> Option<Place> {
        let object = registry::find_return(pc)?;
        let (module, _) = object.function.as_ref()?;
        let Origin { func, block, .. } = object.origin_of_return(pc)?;
        let (in_bursts, is_baseline) = (object.code.in_bursts, object.code.counts_heat);
        Some(Place { module: module.upgrade()?, func, block, in_bursts, is_baseline })
    }

    /// Code for bursts in which the frame may go on: none at the entry of baseline code, and in a loop only if there is
    /// code to come back to. Has both compiled.
    fn burst_code(&self) -> Option<usize> {
        match self.block {
            0 if self.is_baseline => None,
            0 => self.module.clone().burst_code(self.func, 0),
            header => {
                let comes_back = self.module.clone().comes_back(self.func, header, self.is_baseline);
                self.module.clone().burst_code(self.func, header).filter(|_| comes_back)
            }
        }
    }
}

/// What the layer above does when a round of bursts is over: has functions of the module reoptimized that the bursts
/// have shown to be hot, or to do something else than before. Gives after how many bursts, of which so many have begun,
/// the next round is over.
pub type OnRound = fn(&mut StoreOpaque, &Arc<dyn LoadedModule>, u64) -> u64;

/// Who gets profiles while the program runs.
pub trait Snapshots: Send + Sync {
    /// Whether it is time for one.
    fn is_due(&self) -> bool;

    /// Takes one of a store whose program waits at a check between two bursts.
    fn take(&mut self, store: &StoreOpaque);
}

/// Timers tick no more often than that.
const SHORTEST_TICK: Duration = Duration::from_micros(10);

impl StoreOpaque {
    /// The first phase, if there are to be bursts.
    ///
    /// # Errors
    /// If the system has no thread for a timer.
    pub fn start_bursts(&mut self) -> Result<()> {
        let ProfilingConfig::Adaptive(adaptive) = self.engine().config().profiling else { return Ok(()) };
        self.bursts = Some(Bursts::new(self.begin_by_trigger(Some(adaptive.lengths), adaptive.trigger)?));
        self.pace = adaptive.budget.map(Pace::new);
        self.burst_spans = self.engine().config().has_time_line.then(|| BurstSpans::new(self.started));
        self.burst_time = match adaptive.trigger {
            Trigger::Checks => None,
            Trigger::Time(every) => Some(BurstTime::start(every)),
        };
        self.next_round = self.engine().reoptimization().map_or(u64::MAX, |policy| policy.first_round);
        self.write_bursts();
        Ok(())
    }

    /// From now on bursts are so long, and so far apart; `None` for none.
    ///
    /// # Errors
    /// If the store has no bursts, or the system no thread for a timer.
    pub fn set_bursts(&mut self, lengths: Option<BurstLengths>) -> Result<()> {
        let ProfilingConfig::Adaptive(adaptive) = self.engine().config().profiling else {
            let message = "the engine has no bursts: use ProfilingConfig::Adaptive";
            return Err(Error::new(ErrorKind::Type, message));
        };
        let lengths = self.begin_by_trigger(lengths, adaptive.trigger)?;
        self.read_bursts(false);
        self.bursts.iter_mut().for_each(|bursts| bursts.set_lengths(lengths));
        self.pace = adaptive.budget.map(Pace::new);
        self.write_bursts();
        Ok(())
    }

    /// Sets the timer by which bursts begin, if that is how; gives the lengths that are left to count.
    fn begin_by_trigger(&self, lengths: Option<BurstLengths>, trigger: Trigger) -> Result<BurstLengths> {
        let never = BurstLengths::new(BurstLengths::FOREVER, 1);
        let Trigger::Time(every) = trigger else { return Ok(lengths.unwrap_or(never)) };
        let ticks = lengths.map(|_| every.max(SHORTEST_TICK));
        self.interrupt().set_ticks(ticks).map_err(|e| Error::system("no thread for a timer", e))?;
        Ok(lengths.map_or(never, |lengths| BurstLengths::new(BurstLengths::FOREVER, lengths.instrumented)))
    }

    /// The share of checks that were in bursts so far; where time begins bursts, that of the thread's time.
    pub fn burst_rate(&self) -> Option<Rate> {
        let bursts = self.bursts.as_ref()?;
        Some(self.burst_time.as_ref().map_or_else(|| bursts.rate(), |time| time.rate(bursts.counts())))
    }

    /// The burst that runs has begun.
    fn burst_began(&self) -> BurstEvent {
        let checks = self.bursts.as_ref().map_or(0, Bursts::checks_before);
        self.burst_time.as_ref().map_or(BurstEvent::Begin { checks }, |time| BurstEvent::BeginByTime {
            nanoseconds: time.between(),
        })
    }

    /// Whether what code for bursts counts is to be counted; always without bursts.
    pub fn counts_in_burst(&self) -> bool {
        self.bursts.as_ref().is_none_or(Bursts::counts)
    }

    /// Decides where the frame with this frame pointer goes on whose check has fired, by a call that returns to `pc`:
    /// see `abi::check_signature`.
    pub fn check_fired(&mut self, pc: usize, fp: usize) {
        let go_on = match self.interrupt().take() {
            Some(request) => {
                *self.pending.get_mut() = Some(Pending::Error(Trap::from(request).into()));
                check::TRAP
            }
            None => self.next_code(pc, fp).map_or(0, |address| address as i64),
        };
        // SAFETY: the context lives as long as the store, and machine code waits for us.
        unsafe { (*self.context().as_ptr()).go_on = go_on };
    }

    /// The host goes over to wasm code: a burst that is due begins at the next check.
    pub fn heed_tick(&mut self) {
        if self.burst_time.is_some() && self.interrupt().has_ticked() && !self.counts_in_burst() {
            // SAFETY: the context lives as long as the store, and machine code waits for us.
            unsafe {
                let context = self.context().as_ptr();
                (*context).checks = (*context).checks.min(0);
            }
        }
    }

    /// The version in which the frame goes on, unless it stays.
    fn next_code(&mut self, pc: usize, fp: usize) -> Option<usize> {
        let fired = arch::cycles();
        let has_ticked = self.interrupt().take_tick();
        let at = Place::of(pc).expect("checks are in functions of live modules");
        self.read_bursts(at.in_bursts);
        let before = self.bursts;
        if !at.in_bursts {
            self.take_snapshot();
        }
        // A signal may make a check fire for what an earlier one has seen.
        let is_late = self.burst_time.is_some() && !has_ticked && !at.in_bursts && !self.counts_in_burst();
        let quiet = fork::quiet();
        let version = if is_late { self.wait_for_tick() } else { self.decide(&at) };
        self.look_for_hot_code(&at);
        drop(quiet);
        self.keep_pace(before, fired);
        if version.is_some() {
            self.forgive_check(!at.in_bursts);
            if !at.in_bursts {
                self.pass_burst_context(pc, fp);
            }
        }
        self.write_bursts();
        version
    }

    /// Nothing is due: the count, which a signal has ended, begins anew. The frame stays.
    fn wait_for_tick(&mut self) -> Option<usize> {
        self.bursts.iter_mut().for_each(|bursts| bursts.set_lengths(bursts.lengths()));
        None
    }

    /// From round to round, has functions reoptimized that bursts have shown to be hot, or to do something else than
    /// before.
    fn look_for_hot_code(&mut self, at: &Place) {
        let begun = self.bursts.as_ref().map_or(0, |bursts| bursts.begun_by_length);
        if at.in_bursts || begun < self.next_round {
            return;
        }
        self.next_round = (self.on_round)(self, &at.module, begun);
    }

    /// Hands over a profile if it is time.
    fn take_snapshot(&mut self) {
        let Some(mut snapshots) = self.snapshots.take_if(|snapshots| snapshots.is_due()) else { return };
        snapshots.take(self);
        self.snapshots = Some(snapshots);
    }

    /// The version in which the frame goes on, unless it stays.
    fn decide(&mut self, at: &Place) -> Option<usize> {
        let before = self.bursts?;
        let version = self.next_version(at);
        let counts = self.counts_in_burst();
        if counts != before.counts() {
            self.burst_time.iter_mut().for_each(|time| time.end_phase(!counts));
        }
        self.note_burst(&before);
        version
    }

    /// A check that fired at `fired`, before which the bursts were so, has been decided.
    fn keep_pace(&mut self, before: Option<Bursts>, fired: u64) {
        let (Some(before), Some(bursts), Some(pace)) = (before, &mut self.bursts, &mut self.pace) else {
            return;
        };
        match (before.counts(), bursts.counts()) {
            (false, true) => pace.begin_burst(bursts.checks_between(), fired),
            (true, false) => bursts.set_lengths(pace.end_burst(bursts.lengths())),
            _ if bursts.lost > before.lost => pace.begin_anew(),
            _ => {}
        }
    }

    /// Keeps that a burst has begun, or ended, for those who want to know.
    fn note_burst(&mut self, before: &Bursts) {
        let Some(bursts) = &self.bursts else { return };
        match (before.counts(), bursts.counts()) {
            (false, true) => {
                let began = self.burst_began();
                let checks = match began {
                    BurstEvent::Begin { checks } => checks,
                    _ => 0,
                };
                self.burst_log.get_mut().iter_mut().for_each(|log| log.push(began));
                self.begin_extended_paths();
                self.burst_spans.iter_mut().for_each(|spans| spans.begin(checks));
            }
            (true, false) => self.burst_spans.iter_mut().for_each(BurstSpans::end),
            _ => {}
        }
    }

    fn next_version(&mut self, at: &Place) -> Option<usize> {
        let bursts = self.bursts.as_mut()?;
        let begun = bursts.begun;
        let is_last = bursts.counts() && bursts.instrumented == 1;
        if is_last && self.burst_time.as_ref().is_some_and(BurstTime::is_short) {
            bursts.prolong(bursts.lengths().instrumented);
        }
        let version = if at.in_bursts { bursts.check_in_burst() } else { bursts.fired() };
        match (at.in_bursts, version) {
            (false, Version::Checking) | (true, Version::Instrumented) => None,
            (false, Version::Instrumented) => {
                let code = at.burst_code();
                // In a burst that goes on the next check asks again.
                if code.is_none() && bursts.begun > begun {
                    bursts.lose();
                }
                code
            }
            (true, Version::Checking) => {
                let code = at.module.clone().checking_code(at.func, at.block);
                if code.is_none() {
                    bursts.wait();
                }
                code
            }
        }
    }

    /// The version in which the frame goes on comes to the same check, which has been counted.
    fn forgive_check(&mut self, in_bursts: bool) {
        let Some(bursts) = &mut self.bursts else { return };
        let count = if in_bursts { &mut bursts.instrumented } else { &mut bursts.checking };
        *count = count.saturating_add(1);
    }

    /// Takes the counts from machine code, which has counted the check.
    fn read_bursts(&mut self, in_bursts: bool) {
        let context = self.context().as_ptr();
        let Some(bursts) = &mut self.bursts else { return };
        // SAFETY: the context lives as long as the store, and machine code waits for us.
        (bursts.checking, bursts.instrumented) = unsafe { ((*context).checks, (*context).burst) };
        if in_bursts {
            bursts.instrumented += 1;
        }
    }

    /// Gives the counts to machine code, that of checks never negative.
    fn write_bursts(&mut self) {
        let context = self.context().as_ptr();
        let Some(bursts) = &self.bursts else { return };
        // SAFETY: as above.
        unsafe {
            ((*context).checks, (*context).burst) = (bursts.checking, bursts.instrumented);
            (*context).counts = bursts.counts().into();
        }
    }
}
