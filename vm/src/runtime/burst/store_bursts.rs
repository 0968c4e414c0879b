//! The bursts of a store: the handling of checks that fire.
//!
//! Invariant: `VmStoreContext` holds the counts while machine code runs, and is changed here only while machine
//! code waits for the host. Source: Hirzel & Chilimbi 2001, section 2; `wprof_profiler::Bursts` decides.

use std::sync::Arc;
use std::time::Duration;

use wprof_jit::abi::check;
use wprof_jit::compile::Origin;
use wprof_profiler::{
    Accuracy, BurstBudget, BurstEvent, BurstLengths, BurstPolicy, BurstSite, Bursts, Rate, Version,
};

use super::burst_cost::BurstCost;
use super::burst_pacing::Pace;
use super::burst_spans::BurstSpans;
use super::burst_spread::SpreadReader;
use super::burst_time::BurstTime;
use super::skipped::Skipped;
use crate::arch;
use crate::runtime::code::registry;
use crate::runtime::counts::cpu_time;
use crate::runtime::instances::abi::{VmContext, VmFuncRef};
use crate::runtime::instances::loaded::LoadedModule;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::interruption::fork;
use crate::{Error, ErrorKind, ProfilingConfig, Result, Trap, Trigger};

/// The position of a frame at a check.
struct Place {
    module: Arc<dyn LoadedModule>,
    func: u32,
    /// The block of the check: 0 for the function's entry, or a loop header.
    block: u32,
    /// Whether the frame is in burst code.
    in_bursts: bool,
    /// Whether the frame is in baseline code.
    is_baseline: bool,
}

impl Place {
    /// Returns the position of the check whose call returns to `pc`.
    fn at_return(pc: usize) -> Option<Place> {
        let object = registry::find_return(pc)?;
        let (module, _) = object.function.as_ref()?;
        let Origin { func, block, .. } = object.origin_of_return(pc)?;
        let (in_bursts, is_baseline) = (object.code.in_bursts, object.code.counts_heat);
        Some(Place { module: module.upgrade()?, func, block, in_bursts, is_baseline })
    }

    /// Returns the position for a policy of bursts.
    fn site(&self) -> BurstSite {
        let module = Arc::as_ptr(&self.module).cast::<()>().addr();
        BurstSite { module, function: self.func, block: self.block }
    }

    /// Returns the burst code in which the frame may continue: none at the entry of baseline code, and in a loop
    /// only if there is code to return to. Orders the compilation of both; if the cost is limited, the code to
    /// return to comes first.
    ///
    /// A burst that `sees_all` never ends, and returns to nothing.
    fn burst_code(&self, is_limited: bool, sees_all: bool) -> Option<usize> {
        match self.block {
            0 if self.is_baseline => None,
            0 => self.module.clone().burst_code(self.func, 0),
            header if sees_all => self.module.clone().burst_code(self.func, header),
            header => {
                let comes_back = self.module.clone().comes_back(self.func, header, self.is_baseline);
                if is_limited && !comes_back {
                    return None;
                }
                self.module.clone().burst_code(self.func, header).filter(|_| comes_back)
            }
        }
    }
}

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
    /// The state of the bursts.
    counts: Bursts,
    /// The pace that a policy sets, if there is one.
    pace: Option<Pace>,
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
}

impl StoreBursts {
    /// Returns the state of the bursts.
    pub fn counts(&self) -> &Bursts {
        &self.counts
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
    fn decide(&mut self, at: &Place, has_ticked: bool) -> Option<usize> {
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
                    true if self.cost.as_mut().is_some_and(BurstCost::misses) => bursts.cut(),
                    // The next check asks again.
                    true => bursts.miss(),
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
    fn keep_pace(&mut self, before: &Bursts, fired: u64) {
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
    fn puts_off(&mut self) -> bool {
        let counts = &mut self.counts;
        self.cost.as_mut().is_some_and(|cost| cost.puts_off(counts))
    }

    /// Books the check in the account, without a reading of the counts that was booked on its own; `frame` tells whether the
    /// frame is in burst code, and whether it stays.
    fn keep_account(&mut self, before: &Bursts, (fired, reading): (u64, Duration), frame: (bool, bool)) {
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
    fn forgive_check(&mut self, in_bursts: bool) {
        let bursts = &mut self.counts;
        let count = if in_bursts { &mut bursts.instrumented } else { &mut bursts.checking };
        *count = count.saturating_add(1);
    }
}

/// Number of bursts after which calls in bursts ask again for code that the account could not afford.
const ASK_EVERY: u64 = 32;

/// The shortest interval of timer ticks.
const SHORTEST_TICK: Duration = Duration::from_micros(10);

impl StoreOpaque {
    /// Begins the first phase, if there are to be bursts; `on_round` is called at the end of each round.
    ///
    /// # Errors
    /// Returns an error if the system cannot start a timer thread.
    pub fn start_bursts(&mut self, on_round: OnRound) -> Result<()> {
        let ProfilingConfig::Adaptive(adaptive) = self.engine().config().profiling else { return Ok(()) };
        let lengths = self.begin_by_trigger(Some(adaptive.lengths), adaptive.trigger)?;
        self.bursts = Some(StoreBursts {
            counts: Bursts::new(lengths),
            pace: self.burst_policy().map(Pace::new),
            cost: self.engine().account().cloned().map(BurstCost::new),
            time: match adaptive.trigger {
                Trigger::Checks => None,
                Trigger::Time(every) => Some(BurstTime::start(every)),
            },
            skipped: Skipped::default(),
            spans: self.engine().config().observed.time_line.then(|| BurstSpans::new(self.started)),
            spread: SpreadReader::default(),
            next_round: self.engine().reoptimization().map_or(u64::MAX, |policy| policy.first_round),
            on_round,
            snapshots: None,
        });
        self.write_bursts();
        Ok(())
    }

    /// Sets the lengths of bursts and of the time between them; `None` stops bursts.
    ///
    /// # Errors
    /// Returns an error if the store has no bursts, or the system cannot start a timer thread.
    pub fn set_bursts(&mut self, lengths: Option<BurstLengths>) -> Result<()> {
        let ProfilingConfig::Adaptive(adaptive) = self.engine().config().profiling else {
            let message = "the engine has no bursts: use ProfilingConfig::Adaptive";
            return Err(Error::new(ErrorKind::Type, message));
        };
        let lengths = self.begin_by_trigger(lengths, adaptive.trigger)?;
        self.read_bursts(false);
        let policy = self.burst_policy();
        if let Some(bursts) = &mut self.bursts {
            bursts.counts.set_lengths(lengths);
            bursts.pace = policy.map(Pace::new);
        }
        self.write_bursts();
        Ok(())
    }

    /// Returns a new policy of bursts: the configured one, or one that keeps the budget of checks, if there is one.
    fn burst_policy(&self) -> Option<Box<dyn BurstPolicy>> {
        let config = self.engine().config();
        if let Some(policies) = &config.burst_policies {
            return Some(policies.create());
        }
        let ProfilingConfig::Adaptive(adaptive) = config.profiling else { return None };
        adaptive.budget.map(|budget| -> Box<dyn BurstPolicy> { Box::new(BurstBudget::new(budget)) })
    }

    /// Sets the timer, if time begins bursts; returns the lengths that remain to be counted in checks.
    fn begin_by_trigger(&self, lengths: Option<BurstLengths>, trigger: Trigger) -> Result<BurstLengths> {
        let never = BurstLengths::new(BurstLengths::FOREVER, 1);
        let Trigger::Time(every) = trigger else { return Ok(lengths.unwrap_or(never)) };
        let ticks = lengths.map(|_| every.max(SHORTEST_TICK));
        self.control.interrupt().set_ticks(ticks).map_err(|e| Error::system("no thread for a timer", e))?;
        Ok(lengths.map_or(never, |lengths| BurstLengths::new(BurstLengths::FOREVER, lengths.instrumented)))
    }

    /// Returns the share of checks that were in bursts so far; if time begins bursts, the share of the thread's
    /// time.
    pub fn burst_rate(&self) -> Option<Rate> {
        let StoreBursts { counts, time, .. } = self.bursts.as_ref()?;
        Some(time.as_ref().map_or_else(|| self.up_to_now(*counts).rate(), |time| time.rate(counts.counts())))
    }

    /// Returns how many checks bursts have seen for each check that a begun burst stands for or, if time begins bursts,
    /// for each burst: as many they would have seen in skipped ones. 0 without an adaptive profile.
    pub fn checks_seen_per_due(&self) -> f64 {
        let Some(StoreBursts { counts, time, .. }) = &self.bursts else { return 0.0 };
        let (unseen, seen) = (counts.unseen(), self.up_to_now(*counts).rate().counted as f64);
        let BurstLengths { checking, instrumented, .. } = counts.lengths();
        let (due, planned) = match time {
            Some(_) => (counts.begun, f64::from(instrumented)),
            None => (unseen.of - unseen.counted, f64::from(instrumented) / f64::from(checking)),
        };
        if due > 0 && seen > 0.0 { seen / due as f64 } else { planned }
    }

    /// Predicts the accuracy of what bursts have counted in the functions of an instance; `None` if calling contexts are
    /// not counted, or too little was seen: see [`SpreadReader::accuracy`].
    pub fn accuracy(&self, instance: u32) -> Option<Accuracy> {
        let (bursts, contexts) = (self.bursts.as_ref()?, self.contexts.as_ref()?);
        bursts.spread.accuracy(contexts, instance, (bursts.counts.begun, self.burst_rate()?))
    }

    /// Returns the state of the bursts, updated by what machine code has counted since.
    fn up_to_now(&self, mut counts: Bursts) -> Bursts {
        let context = self.context().as_ptr();
        // SAFETY: the context lives as long as the store, and machine code waits for the host.
        (counts.checking, counts.instrumented) = unsafe { ((*context).checks, (*context).burst) };
        counts
    }

    /// Returns whether the counts of burst code are to be counted now; always true without bursts.
    pub fn counts_in_burst(&self) -> bool {
        self.bursts.as_ref().is_none_or(|bursts| bursts.counts.counts())
    }

    /// Returns whether the frame that has called the host, in burst code, counts the work of its callees; always
    /// true without bursts.
    pub fn counts_for_callee(&self) -> bool {
        // SAFETY: the context lives as long as the store, and machine code waits for the host.
        self.bursts.is_none() || unsafe { (*self.context().as_ptr()).passed } > 0
    }

    /// Decides where the frame with this frame pointer continues, whose check has fired by a call that returns to
    /// `pc`: see `abi::check_signature`.
    pub fn check_fired(&mut self, pc: usize, fp: usize) {
        // If another deadline has passed since the embedder was asked, it waits for the next check.
        let go_on = match self.control.interrupt().take_at_once() {
            Some(request) => {
                self.control.fail_with(Trap::from(request));
                check::TRAP
            }
            None => self.next_code(pc, fp).map_or(0, |address| address as i64),
        };
        // SAFETY: the context lives as long as the store, and machine code waits for the host.
        unsafe { (*self.context().as_ptr()).go_on = go_on };
    }

    /// Lets a burst that is due begin at the next check, when the host enters wasm code.
    pub fn heed_tick(&mut self) {
        let waits = self.bursts.as_ref().is_some_and(StoreBursts::waits_for_tick);
        if waits && self.control.interrupt().has_ticked() {
            // SAFETY: the context lives as long as the store, and machine code waits for the host.
            unsafe {
                let context = self.context().as_ptr();
                (*context).checks = (*context).checks.min(0);
            }
        }
    }

    /// Returns the version in which the frame continues, unless it stays.
    fn next_code(&mut self, pc: usize, fp: usize) -> Option<usize> {
        let at = Place::at_return(pc).expect("checks are in functions of live modules");
        let version = self.decide(&at)?;
        // The frame comes to the same check again.
        self.bursts.iter_mut().for_each(|bursts| bursts.forgive_check(!at.in_bursts));
        self.write_bursts();
        if !at.in_bursts {
            self.pass_burst_context(pc, fp);
        }
        Some(version)
    }

    /// Performs the check of a function that the host is about to enter; returns whether it enters burst code. So
    /// a function without a check of its own that only the host calls is sampled, too.
    pub fn check_entry(&mut self, func: &VmFuncRef) -> bool {
        if self.bursts.is_none() {
            return false;
        }
        let context = self.context().as_ptr();
        // SAFETY: the context lives as long as the store, and machine code does not run.
        let fires = unsafe {
            (*context).checks -= 1;
            (*context).checks < 0
        };
        let in_burst = fires && self.entry_is_in_burst(func);
        // SAFETY: as above.
        unsafe { (*context).passed = in_burst.into() };
        if in_burst {
            self.pass_entry_context();
        }
        in_burst
    }

    fn entry_is_in_burst(&mut self, func: &VmFuncRef) -> bool {
        // SAFETY: a function of wasm code has the vmctx of its instance, which lives as long as its store.
        let instance = unsafe { (*func.vmctx.cast::<VmContext>()).instance };
        let module = self.items.instance(instance as u32).module.clone();
        let func = func.trace_token.reverse_bits();
        let at = Place { module, func, block: 0, in_bursts: false, is_baseline: false };
        if self.sees_all() {
            // If the function cannot be compiled, the call will report the error.
            let _ = at.module.clone().code_unless(at.func, &|| false);
        }
        self.decide(&at).is_some()
    }

    /// Returns whether the first burst never ends.
    fn sees_all(&self) -> bool {
        self.bursts
            .as_ref()
            .is_some_and(|bursts| bursts.counts.lengths().instrumented == BurstLengths::FOREVER)
    }

    /// Decides a check that has fired and that machine code has counted.
    fn decide(&mut self, at: &Place) -> Option<usize> {
        let fired = arch::cycles();
        let has_ticked = self.control.interrupt().take_tick();
        self.read_bursts(at.in_bursts);
        let before = self.bursts.as_ref()?.counts;
        if !at.in_bursts {
            self.take_snapshot();
        }
        if !at.in_bursts && self.bursts.as_mut()?.puts_off() {
            self.write_bursts();
            return None;
        }
        let quiet = fork::quiet();
        let version = self.bursts.as_mut()?.decide(at, has_ticked);
        self.note_burst(&before);
        let reading = self.look_for_hot_code(at);
        drop(quiet);
        let bursts = self.bursts.as_mut()?;
        bursts.keep_pace(&before, fired);
        bursts.keep_account(&before, (fired, reading), (at.in_bursts, version.is_none()));
        self.write_bursts();
        version
    }

    /// At the end of a round, orders the reoptimization of functions that bursts have shown to be hot, or to
    /// behave differently than before. Returns how long that took, if there is an account.
    fn look_for_hot_code(&mut self, at: &Place) -> Duration {
        let Some(StoreBursts { counts, next_round, on_round, cost, .. }) = &self.bursts else {
            return Duration::ZERO;
        };
        if !at.in_bursts && counts.begun.is_multiple_of(ASK_EVERY) {
            at.module.ask_again();
        }
        let begun = counts.begun_by_length;
        let is_afforded = cost.as_ref().is_none_or(BurstCost::affords_reading);
        if at.in_bursts || begun < *next_round || !is_afforded {
            return Duration::ZERO;
        }
        let booked = cost.as_ref().map(|_| cpu_time::of_thread());
        let next = on_round(self, &at.module, begun);
        let Some(bursts) = &mut self.bursts else { return Duration::ZERO };
        bursts.next_round = next;
        bursts.cost.as_mut().zip(booked).map_or(Duration::ZERO, |(cost, began)| cost.book_reading(began))
    }

    /// Hands over a snapshot if one is due.
    fn take_snapshot(&mut self) {
        let due = |bursts: &mut StoreBursts| bursts.snapshots.take_if(|snapshots| snapshots.is_due());
        let Some(mut snapshots) = self.bursts.as_mut().and_then(due) else { return };
        snapshots.take(self);
        self.set_snapshots(Some(snapshots));
    }

    /// Sets the receiver of profiles while the program runs. Without bursts there are no profiles.
    pub fn set_snapshots(&mut self, snapshots: Option<Box<dyn Snapshots>>) {
        if let Some(bursts) = &mut self.bursts {
            bursts.snapshots = snapshots;
        }
    }

    /// Records that a burst has begun or ended, in the timeline, the burst log and the extended paths.
    fn note_burst(&mut self, before: &Bursts) {
        let Some(bursts) = &mut self.bursts else { return };
        match (before.counts(), bursts.counts.counts()) {
            (false, true) => {
                let began = bursts.began();
                let checks = match began {
                    BurstEvent::Begin { checks } => checks,
                    _ => 0,
                };
                bursts.spans.iter_mut().for_each(|spans| spans.begin(checks));
                self.contexts.iter().for_each(|contexts| bursts.spread.begin(contexts));
                self.burst_log.get_mut().iter_mut().for_each(|log| log.push(began));
                self.begin_extended_paths();
            }
            (true, false) => bursts.spans.iter_mut().for_each(BurstSpans::end),
            _ => {}
        }
    }

    /// Reads the counts from machine code, which has counted the check.
    fn read_bursts(&mut self, in_bursts: bool) {
        let context = self.context().as_ptr();
        let Some(bursts) = &mut self.bursts else { return };
        let bursts = &mut bursts.counts;
        // SAFETY: the context lives as long as the store, and machine code waits for the host.
        (bursts.checking, bursts.instrumented) = unsafe { ((*context).checks, (*context).burst) };
        if in_bursts {
            bursts.instrumented += 1;
        }
    }

    /// Writes the counts for machine code; that of checks is never negative.
    fn write_bursts(&mut self) {
        let context = self.context().as_ptr();
        let Some(StoreBursts { counts: bursts, .. }) = &self.bursts else { return };
        // SAFETY: the context lives as long as the store, and machine code waits for the host.
        unsafe {
            ((*context).checks, (*context).burst) = (bursts.checking, bursts.instrumented);
            (*context).counts = bursts.counts().into();
        }
    }
}
