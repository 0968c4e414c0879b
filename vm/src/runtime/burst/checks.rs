//! Checks that fire: the decision where a frame continues.
//!
//! See [`StoreBursts`](super::store_bursts::StoreBursts) for the counts.

use std::time::Duration;

use wprof_jit::abi::check;
use wprof_profiler::BurstLengths;

use super::check_place::Place;
use super::store_bursts::{Snapshots, StoreBursts};
use crate::runtime::instances::abi::{VmContext, VmFuncRef};
use crate::runtime::instances::observation::Observed;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::interruption::fork;
use crate::{Error, ErrorKind, Result, Trap, arch};

impl Observed {
    /// Returns whether the counts of burst code are to be counted now; always true without bursts.
    pub fn counts_in_burst(&self) -> bool {
        self.bursts.as_ref().is_none_or(StoreBursts::are_counting)
    }

    /// Returns whether the frame that has called the host, in burst code, counts the work of its callees; always
    /// true without bursts.
    pub fn counts_for_callee(&self) -> bool {
        self.bursts.as_ref().is_none_or(StoreBursts::count_for_callee)
    }
}

impl StoreOpaque {
    /// Sets the lengths of bursts and of the time between them; `None` stops bursts.
    ///
    /// # Errors
    /// Returns an error if the store has no bursts, or the system cannot start a timer thread.
    pub fn set_bursts(&mut self, lengths: Option<BurstLengths>) -> Result<()> {
        let engine = self.engine().clone();
        let Some(bursts) = &mut self.observed.bursts else {
            let message = "the engine has no bursts: use ProfilingConfig::Adaptive";
            return Err(Error::new(ErrorKind::Type, message));
        };
        bursts.set_lengths(&engine, self.control.interrupt(), lengths)
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
    #[inline]
    pub fn heed_tick(&mut self) {
        if let Some(bursts) = &mut self.observed.bursts {
            bursts.heed_tick(self.control.interrupt());
        }
    }

    /// Returns the version in which the frame continues, unless it stays.
    fn next_code(&mut self, pc: usize, fp: usize) -> Option<usize> {
        let at = Place::at_return(pc).expect("checks are in functions of live modules");
        let version = self.decide(&at)?;
        let StoreOpaque { items, observed, .. } = self;
        let bursts = observed.bursts.as_mut()?;
        // The frame comes to the same check again.
        bursts.forgive_check(!at.in_bursts);
        bursts.write();
        if let Some(contexts) = observed.contexts.as_mut().filter(|_| !at.in_bursts) {
            contexts.pass_to_burst(items, bursts.counts(), (pc, fp));
        }
        Some(version)
    }

    /// Performs the check of a function that the host is about to enter; returns whether it enters burst code. So
    /// a function without a check of its own that only the host calls is sampled, too.
    pub fn check_entry(&mut self, func: &VmFuncRef) -> bool {
        let Some(bursts) = &mut self.observed.bursts else { return false };
        let in_burst = bursts.count_entry() && self.entry_is_in_burst(func);
        let StoreOpaque { items, observed, control, .. } = self;
        let Some(bursts) = &mut observed.bursts else { return false };
        bursts.pass(in_burst);
        if let Some(contexts) = observed.contexts.as_mut().filter(|_| in_burst) {
            contexts.pass_entry_to_burst(items, bursts.counts(), control.depth());
        }
        in_burst
    }

    fn entry_is_in_burst(&mut self, func: &VmFuncRef) -> bool {
        // SAFETY: a function of wasm code has the vmctx of its instance, which lives as long as its store.
        let instance = unsafe { (*func.vmctx.cast::<VmContext>()).instance };
        let module = self.items.instance(instance as u32).module.clone();
        let func = func.trace_token.reverse_bits();
        let at = Place { module, func, block: 0, in_bursts: false, is_baseline: false };
        if self.observed.bursts.as_ref().is_some_and(StoreBursts::see_all) {
            // If the function cannot be compiled, the call will report the error.
            let _ = at.module.clone().code_unless(at.func, &|| false);
        }
        self.decide(&at).is_some()
    }

    /// Decides a check that has fired and that machine code has counted.
    fn decide(&mut self, at: &Place) -> Option<usize> {
        let fired = arch::cycles();
        let has_ticked = self.control.interrupt().take_tick();
        let bursts = self.observed.bursts.as_mut()?;
        bursts.read(at.in_bursts);
        let before = *bursts.counts();
        if !at.in_bursts {
            self.take_snapshot();
        }
        let bursts = self.observed.bursts.as_mut()?;
        if !at.in_bursts && bursts.puts_off() {
            bursts.write();
            return None;
        }
        let quiet = fork::quiet();
        let version = bursts.decide(at, has_ticked);
        let records = self.observed.contexts.as_ref().map(|contexts| contexts.records());
        if bursts.note(&before, records) {
            self.items.begin_extended_paths();
            at.module.ask_again();
        }
        let reading = self.look_for_hot_code(at);
        drop(quiet);
        let bursts = self.observed.bursts.as_mut()?;
        bursts.keep_pace(&before, fired);
        bursts.keep_account(&before, (fired, reading), (at.in_bursts, version.is_none()));
        bursts.write();
        version
    }

    /// At the end of a round, orders the reoptimization of functions that bursts have shown to be hot, or to
    /// behave differently than before. Returns how long that took, if there is an account.
    fn look_for_hot_code(&mut self, at: &Place) -> Duration {
        let Some(bursts) = &self.observed.bursts else { return Duration::ZERO };
        let Some(on_round) = bursts.end_of_round(at) else { return Duration::ZERO };
        let (began, begun) = (bursts.begin_reading(), bursts.counts().begun_by_length);
        let next = on_round(self, &at.module, begun);
        let bursts = self.observed.bursts.as_mut();
        bursts.map_or(Duration::ZERO, |bursts| bursts.begin_round(next, began))
    }

    /// Hands over a snapshot if one is due.
    fn take_snapshot(&mut self) {
        let bursts = self.observed.bursts.as_mut();
        let Some(mut snapshots) = bursts.and_then(StoreBursts::take_due_snapshots) else { return };
        snapshots.take(self);
        self.set_snapshots(Some(snapshots));
    }

    /// Sets the receiver of profiles while the program runs. Without bursts there are no profiles.
    pub fn set_snapshots(&mut self, snapshots: Option<Box<dyn Snapshots>>) {
        if let Some(bursts) = &mut self.observed.bursts {
            bursts.set_snapshots(snapshots);
        }
    }
}
