//! The bursts of a store: their state, and their counts.
//!
//! Invariant: `VmStoreContext` holds the counts while machine code runs, and is changed here only while machine
//! code waits for the host. Source: Hirzel & Chilimbi 2001, section 2; `wprof_profiler::Bursts` decides.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wprof_profiler::{Accuracy, BurstBudget, BurstEvent, BurstLengths, BurstPolicy, Bursts, Rate, Version};

use super::burst_cost::BurstCost;
use super::burst_log::BurstLog;
use super::burst_pacing::PhaseTimer;
use super::burst_spans::BurstSpans;
use super::burst_spread::SpreadReader;
use super::burst_time::BurstTime;
use super::check_place::Place;
use super::skipped_bursts::Skipped;
use crate::config::Config;
use crate::runtime::counts::call_records::CallRecords;
use crate::runtime::counts::cpu_time;
use crate::runtime::instances::abi::VmStoreContext;
use crate::runtime::instances::engine_core::EngineCore;
use crate::runtime::instances::exclusive::Exclusive;
use crate::runtime::instances::loaded::LoadedModule;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::instances::store_ptr::StorePtr;
use crate::runtime::interruption::interrupt_page::InterruptPage;
use crate::{Error, ProfilingConfig, Result, Trigger};

/// The hook of the layer above for the end of a round of bursts: it orders the reoptimization of the module's
/// functions that bursts have shown to be hot, or to behave differently than before. Its argument is the number
/// of bursts begun so far; it returns the number at which the next round ends.
pub type OnRound = fn(&mut StoreOpaque, &Arc<dyn LoadedModule>, u64) -> u64;

/// The receiver of profiles while the program runs.
pub trait Snapshots: Send + Sync {
    /// Returns whether a snapshot is due.
    fn is_due(&self) -> bool;

    /// Takes a snapshot of a store whose program waits at a check between two bursts.
    fn take(&mut self, store: &StoreOpaque);
}

/// The bursts of a store, and the state that depends on them.
pub struct StoreBursts {
    /// Holds the counts while machine code runs.
    context: StorePtr<VmStoreContext>,
    /// What begins bursts.
    trigger: Trigger,
    /// The state of the bursts.
    counts: Bursts,
    /// The pace that a policy sets, if there is one.
    pace: Option<PhaseTimer>,
    /// The cost of bursts, for the engine's account, if it has one.
    cost: Option<BurstCost>,
    /// The share of time in bursts, if time begins them.
    time: Option<BurstTime>,
    /// Where bursts were skipped.
    skipped: Skipped,
    /// The times at which bursts ran, if there is a timeline.
    spans: Option<BurstSpans>,
    /// What single bursts saw.
    spread: SpreadReader,
    /// The number of bursts at which the next round ends, and the hook for it.
    next_round: u64,
    on_round: OnRound,
    /// The receiver of profiles while the program runs.
    snapshots: Option<Box<dyn Snapshots>>,
    /// The events in bursts, if they are recorded.
    log: Exclusive<Option<BurstLog>>,
}

/// The shortest interval of timer ticks.
const SHORTEST_TICK: Duration = Duration::from_micros(10);

impl StoreBursts {
    /// Begins the first phase, if there are to be bursts; `on_round` is called at the end of each round. The time line
    /// begins at `started`.
    ///
    /// # Errors
    /// Returns an error if the system cannot start a timer thread.
    pub fn start(
        engine: &EngineCore,
        context: StorePtr<VmStoreContext>,
        interrupt: &Arc<InterruptPage>,
        started: Instant,
        on_round: OnRound,
    ) -> Result<Option<StoreBursts>> {
        let config = engine.config();
        let ProfilingConfig::Adaptive(adaptive) = config.profiling else { return Ok(None) };
        let trigger = adaptive.trigger;
        let lengths = begin_by_trigger(interrupt, Some(adaptive.lengths), trigger)?;
        let mut counts = Bursts::new(lengths);
        engine.burst_phase().take(|passed| counts.go_on_from(passed));
        let mut bursts = StoreBursts {
            context,
            trigger,
            counts,
            pace: policy(config).map(PhaseTimer::new),
            cost: engine.account().cloned().map(BurstCost::new),
            time: match trigger {
                Trigger::Checks => None,
                Trigger::Time(every) => Some(BurstTime::start(every)),
            },
            skipped: Skipped::default(),
            spans: config.observed.time_line.then(|| BurstSpans::new(started)),
            spread: SpreadReader::default(),
            next_round: engine.reoptimization().map_or(u64::MAX, |policy| policy.first_round),
            on_round,
            snapshots: None,
            log: Exclusive::default(),
        };
        bursts.write();
        Ok(Some(bursts))
    }

    /// Returns the state of the bursts.
    pub fn counts(&self) -> &Bursts {
        &self.counts
    }

    /// Returns how many checks of the time between two bursts are over, for the engine's next store.
    pub fn carried(&self) -> u64 {
        self.up_to_now().passed_since_burst()
    }

    /// Returns where bursts were skipped.
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// Returns the times at which bursts ran, if there is a timeline.
    pub fn spans(&self) -> Option<&BurstSpans> {
        self.spans.as_ref()
    }

    /// Returns the event for the start of the current burst.
    fn began(&self) -> BurstEvent {
        let checks = self.counts.checks_before();
        self.time.as_ref().map_or(BurstEvent::Begin { checks }, |time| BurstEvent::BeginByTime {
            nanoseconds: time.between(),
        })
    }

    /// Excludes the time since the thread's CPU time was `left` from the burst; the store may now run on another
    /// thread.
    pub fn go_on_after(&mut self, left: Duration) {
        let now = cpu_time::of_thread();
        if let Some(cost) = &mut self.cost {
            cost.move_by(left, now);
        }
        if let Some(time) = &mut self.time {
            time.move_by(left, now);
        }
    }

    /// Returns whether a tick of the timer is to begin the next burst.
    fn waits_for_tick(&self) -> bool {
        self.time.is_some() && !self.counts.counts()
    }

    /// Returns the version in which the frame continues, unless it stays.
    pub fn decide(&mut self, at: &Place, has_ticked: bool) -> Option<usize> {
        // A signal may make a check fire for a tick that an earlier check has already seen.
        if self.waits_for_tick() && !has_ticked && !at.in_bursts {
            return self.wait_for_tick();
        }
        let counted = self.counts.counts();
        let version = self.next_version(at);
        let counts = self.counts.counts();
        if counts != counted {
            self.time.iter_mut().for_each(|time| time.end_phase(!counts));
        }
        version
    }

    /// Restarts the count that a signal has ended, because no burst is due. The frame stays.
    fn wait_for_tick(&mut self) -> Option<usize> {
        self.counts.set_lengths(self.counts.lengths());
        None
    }

    /// Returns the version in which the frame continues, unless it stays; prolongs a burst that is too short in
    /// time.
    fn next_version(&mut self, at: &Place) -> Option<usize> {
        let bursts = &mut self.counts;
        let begun = bursts.begun;
        let is_last = bursts.counts() && bursts.instrumented == 1;
        if is_last && self.time.as_ref().is_some_and(BurstTime::is_short) {
            bursts.prolong(bursts.lengths().instrumented);
        }
        let version = if at.in_bursts { bursts.check_in_burst() } else { bursts.fired() };
        match (at.in_bursts, version) {
            (false, Version::Checking) | (true, Version::Instrumented) => None,
            (false, Version::Instrumented) => {
                let has_begun = bursts.begun > begun;
                if has_begun && self.pace.as_mut().is_some_and(|pace| !pace.begins(at.site())) {
                    let checks = bursts.leave_out();
                    self.skipped.add(&at.module, at.func, checks);
                    return None;
                }
                let sees_all = bursts.lengths().instrumented == BurstLengths::FOREVER;
                let code = at.burst_code(self.cost.is_some(), sees_all);
                match code.is_none() {
                    true if has_begun => {
                        let checks = bursts.lose();
                        let stands_for = if self.time.is_some() { 1 } else { checks };
                        self.skipped.add(&at.module, at.func, stands_for);
                    }
                    true => {
                        let is_too_many = self.cost.as_mut().is_some_and(BurstCost::misses);
                        let left = if is_too_many { bursts.instrumented } else { 0 };
                        self.skipped.miss(&at.module, at.func, 1 + left.max(0).cast_unsigned());
                        match is_too_many {
                            true => bursts.cut(),
                            // The next check asks again.
                            false => bursts.miss(),
                        }
                    }
                    false => {}
                }
                code
            }
            (true, Version::Checking) => {
                let code = at.module.clone().checking_code(at.func, at.block, bursts.is_stuck());
                if code.is_none() {
                    bursts.wait();
                }
                code
            }
        }
    }

    /// Adjusts the pace after a check that fired at `fired` has been decided; `before` is the state of the bursts
    /// before it.
    pub fn keep_pace(&mut self, before: &Bursts, fired: u64) {
        let (bursts, Some(pace)) = (&mut self.counts, &mut self.pace) else { return };
        match (before.counts(), bursts.counts()) {
            (false, true) => pace.begin_burst(bursts.checks_between(), fired),
            (true, false) => {
                if let Some(lengths) = pace.end_burst(bursts.lengths()) {
                    bursts.set_lengths(lengths);
                }
            }
            _ if bursts.lost > before.lost => pace.begin_anew(),
            _ => {}
        }
    }

    /// Postpones a burst that is due, if the account cannot afford it. Returns whether it did.
    pub fn puts_off(&mut self) -> bool {
        let counts = &mut self.counts;
        self.cost.as_mut().is_some_and(|cost| cost.puts_off(counts))
    }

    /// Books the check in the account, without a reading of the counts that was booked on its own; `frame` tells whether the
    /// frame is in burst code, and whether it stays.
    pub fn keep_account(&mut self, before: &Bursts, (fired, reading): (u64, Duration), frame: (bool, bool)) {
        if let Some(cost) = &mut self.cost {
            let took = cost.took(fired).saturating_sub(reading);
            cost.book(before, &mut self.counts, took, frame);
        }
    }

    /// Notes that a function is called for the first time: its compilation is not part of the current burst.
    pub fn begin_first_call(&self) -> Option<Duration> {
        self.cost.as_ref().and_then(BurstCost::begin_first_call)
    }

    /// Excludes the compilation that began at `began` from the burst.
    pub fn end_first_call(&mut self, began: Option<Duration>) {
        if let Some((cost, began)) = self.cost.as_mut().zip(began) {
            cost.end_first_call(began);
        }
    }

    /// Uncounts the check, because the version in which the frame continues comes to the same check again.
    pub fn forgive_check(&mut self, in_bursts: bool) {
        let bursts = &mut self.counts;
        let count = if in_bursts { &mut bursts.instrumented } else { &mut bursts.checking };
        *count = count.saturating_add(1);
    }

    /// Notes that code for bursts calls a function that has none, so that the call is not counted.
    pub fn note_uncounted(&mut self, module: &Arc<dyn LoadedModule>, func: u32) {
        if func < module.info().imported_funcs + module.info().defined_funcs() {
            self.skipped.add_uncounted(module, func, (self.counts.begun, self.counts.planned_checks()));
        }
    }

    /// Hands over the receiver of profiles if a snapshot is due.
    pub fn take_due_snapshots(&mut self) -> Option<Box<dyn Snapshots>> {
        self.snapshots.take_if(|snapshots| snapshots.is_due())
    }

    /// Sets the receiver of profiles while the program runs.
    pub fn set_snapshots(&mut self, snapshots: Option<Box<dyn Snapshots>>) {
        self.snapshots = snapshots;
    }

    /// Sets the recording of bursts, and returns the previous one.
    pub fn set_log(&mut self, log: Option<BurstLog>) -> Option<BurstLog> {
        std::mem::replace(self.log.get_mut(), log)
    }

    /// Returns the recording of bursts, if there is one.
    pub fn log(&mut self) -> Option<&mut BurstLog> {
        self.log.get_mut().as_mut()
    }

    /// Records an event of an instance of `module`, if a burst is running and is recorded.
    pub fn record(&mut self, module: &Arc<dyn LoadedModule>, event: BurstEvent) {
        if self.are_counting()
            && let Some(log) = self.log()
        {
            log.push_of(module, event);
        }
    }

    /// Returns whether a burst is running.
    #[inline]
    pub fn are_counting(&self) -> bool {
        self.counts.counts()
    }

    /// Returns whether the first burst never ends.
    pub fn see_all(&self) -> bool {
        self.counts.lengths().instrumented == BurstLengths::FOREVER
    }

    /// Sets the lengths of bursts and of the time between them; `None` stops bursts.
    ///
    /// # Errors
    /// Returns an error if the system cannot start a timer thread.
    pub fn set_lengths(
        &mut self,
        engine: &EngineCore,
        interrupt: &Arc<InterruptPage>,
        lengths: Option<BurstLengths>,
    ) -> Result<()> {
        let lengths = begin_by_trigger(interrupt, lengths, self.trigger)?;
        self.read(false);
        self.counts.set_lengths(lengths);
        self.pace = policy(engine.config()).map(PhaseTimer::new);
        self.write();
        Ok(())
    }

    /// Returns the share of checks that were in bursts so far; if time begins bursts, the share of the thread's
    /// time.
    pub fn rate(&self) -> Rate {
        self.time.as_ref().map_or_else(|| self.up_to_now().rate(), |time| time.rate(self.counts.counts()))
    }

    /// Returns how many checks bursts have counted.
    pub fn checks_seen(&self) -> u64 {
        self.up_to_now().rate().counted
    }

    /// Returns how many checks bursts have seen for each check that a begun burst stands for or, if time begins bursts,
    /// for each burst: as many they would have seen in skipped ones.
    pub fn checks_seen_per_due(&self) -> f64 {
        let counts = &self.counts;
        let (unseen, seen) = (counts.unseen(), self.checks_seen() as f64);
        let BurstLengths { checking, instrumented, .. } = counts.lengths();
        let (due, planned) = match self.time {
            Some(_) => (counts.begun, f64::from(instrumented)),
            None => (unseen.of - unseen.counted, f64::from(instrumented) / f64::from(checking)),
        };
        if due > 0 && seen > 0.0 { seen / due as f64 } else { planned }
    }

    /// Predicts the accuracy of what bursts have counted in the functions of an instance; `None` if too little was seen:
    /// see [`SpreadReader::accuracy`].
    pub fn accuracy(&self, records: &CallRecords, instance: u32) -> Option<Accuracy> {
        self.spread.accuracy(records, instance, (self.counts.begun, self.rate()))
    }

    /// Lets a burst that is due begin at the next check, when the host enters wasm code.
    pub fn heed_tick(&mut self, interrupt: &InterruptPage) {
        if self.waits_for_tick() && interrupt.has_ticked() {
            // SAFETY: the context lives as long as the store, and machine code waits for the host.
            unsafe {
                let context = self.context.as_ptr();
                (*context).checks = (*context).checks.min(0);
            }
        }
    }

    /// Counts the check of a function that the host is about to enter; returns whether it fires.
    pub fn count_entry(&mut self) -> bool {
        let context = self.context.as_ptr();
        // SAFETY: the context lives as long as the store, and machine code does not run.
        unsafe {
            (*context).checks -= 1;
            (*context).checks < 0
        }
    }

    /// Tells burst code whether the function that the host is about to enter has passed a check.
    pub fn pass(&mut self, in_burst: bool) {
        // SAFETY: the context lives as long as the store, and machine code does not run.
        unsafe { (*self.context.as_ptr()).passed = in_burst.into() };
    }

    /// Returns whether the frame that has called the host, in burst code, counts the work of its callees.
    pub fn count_for_callee(&self) -> bool {
        // SAFETY: the context lives as long as the store, and machine code waits for the host.
        unsafe { (*self.context.as_ptr()).passed > 0 }
    }

    /// Returns the hook for the end of a round, if the round ends at a check: see [`OnRound`].
    pub fn end_of_round(&self, at: &Place) -> Option<OnRound> {
        let is_afforded = self.cost.as_ref().is_none_or(BurstCost::affords_reading);
        let is_end = !at.in_bursts && self.counts.begun_by_length >= self.next_round && is_afforded;
        is_end.then_some(self.on_round)
    }

    /// Returns the thread's time, if there is an account, before counts are read for the end of a round.
    pub fn begin_reading(&self) -> Option<Duration> {
        self.cost.as_ref().map(|_| cpu_time::of_thread())
    }

    /// Begins the next round, which ends with so many bursts. Returns how long reading the counts took, if there is an
    /// account.
    pub fn begin_round(&mut self, next: u64, began: Option<Duration>) -> Duration {
        self.next_round = next;
        self.cost.as_mut().zip(began).map_or(Duration::ZERO, |(cost, began)| cost.book_reading(began))
    }

    /// Records that a burst has begun or ended since `before`, in the timeline, the log and what single bursts saw; returns
    /// whether one has begun.
    pub fn note(&mut self, before: &Bursts, records: Option<&CallRecords>) -> bool {
        match (before.counts(), self.counts.counts()) {
            (false, true) => {
                let began = self.began();
                let checks = match began {
                    BurstEvent::Begin { checks } => checks,
                    _ => 0,
                };
                self.spans.iter_mut().for_each(|spans| spans.begin(checks));
                records.into_iter().for_each(|records| self.spread.begin(records));
                self.log().into_iter().for_each(|log| log.push(began));
                return true;
            }
            (true, false) => self.spans.iter_mut().for_each(BurstSpans::end),
            _ => {}
        }
        false
    }

    /// Returns the state of the bursts, updated by what machine code has counted since.
    fn up_to_now(&self) -> Bursts {
        let (context, mut counts) = (self.context.as_ptr(), self.counts);
        // SAFETY: the context lives as long as the store, and machine code waits for the host.
        (counts.checking, counts.instrumented) = unsafe { ((*context).checks, (*context).burst) };
        counts
    }

    /// Reads the counts from machine code, which has counted the check.
    pub fn read(&mut self, in_bursts: bool) {
        self.counts = self.up_to_now();
        if in_bursts {
            self.counts.instrumented += 1;
        }
    }

    /// Writes the counts for machine code; that of checks is never negative.
    pub fn write(&mut self) {
        let (context, counts) = (self.context.as_ptr(), &self.counts);
        // SAFETY: the context lives as long as the store, and machine code waits for the host.
        unsafe {
            ((*context).checks, (*context).burst) = (counts.checking, counts.instrumented);
            (*context).counts = counts.counts().into();
        }
    }
}

/// Returns a new policy of bursts: the configured one, or one that keeps the budget of checks, if there is one.
fn policy(config: &Config) -> Option<Box<dyn BurstPolicy>> {
    if let Some(policies) = &config.burst_policies {
        return Some(policies.create());
    }
    let ProfilingConfig::Adaptive(adaptive) = config.profiling else { return None };
    adaptive.budget.map(|budget| -> Box<dyn BurstPolicy> { Box::new(BurstBudget::new(budget)) })
}

/// Sets the timer, if time begins bursts; returns the lengths that remain to be counted in checks.
fn begin_by_trigger(
    interrupt: &Arc<InterruptPage>,
    lengths: Option<BurstLengths>,
    trigger: Trigger,
) -> Result<BurstLengths> {
    let never = BurstLengths::new(BurstLengths::FOREVER, 1);
    let Trigger::Time(every) = trigger else { return Ok(lengths.unwrap_or(never)) };
    let ticks = lengths.map(|_| every.max(SHORTEST_TICK));
    interrupt.set_ticks(ticks).map_err(|e| Error::system("no thread for a timer", e))?;
    Ok(lengths.map_or(never, |lengths| BurstLengths::new(BurstLengths::FOREVER, lengths.instrumented)))
}
