//! Trials of better versions: the previous version is restored if it was the faster one.
//!
//! During a trial, callers reach code that asks the runtime which of the two versions to call. OSR versions are
//! not timed; they follow the version for callers.
//!
//! Invariant: while the trials are locked, the published code of a function agrees with whether the function is
//! in a trial. The lock of the trials is taken before that of the compiled functions, and that one before the
//! list of versions. Why: ARCHITECTURE.md, "The reoptimizer" (never slower).

use std::sync::{MutexGuard, PoisonError};

use hashbrown::HashMap;
use wprof_jit::reoptimize::{Basis, Decision, Verdict};
use wprof_profiler::{CodeTier, Side, Trial, TrialResult};

use super::ModuleInner;
use super::code::Compiled;
use super::osr_versions::number_of;
use super::prefetching::Prefetching;
use crate::Result;
use crate::runtime::code::no_code_memory;

/// The version that a better one has replaced.
#[derive(Debug)]
pub(super) struct Replaced {
    address: usize,
    resumed: HashMap<u32, usize>,
    for_frames: Option<usize>,
    basis: Option<Basis>,
}

impl Compiled {
    /// Installs a better version for callers and, by loop header, for frames. Returns the replaced version.
    pub(super) fn replace(
        &mut self,
        address: usize,
        for_frames: Vec<(u32, usize)>,
        basis: Option<Basis>,
    ) -> Replaced {
        let before = Replaced {
            address: std::mem::replace(&mut self.address, address),
            resumed: self.resumed.clone(),
            for_frames: self.for_frames,
            basis: std::mem::replace(&mut self.basis, basis),
        };
        self.resumed.retain(|&header, _| number_of(address, header).is_none());
        for (header, address) in for_frames {
            self.take_for_frames(header, address);
        }
        self.refused = None;
        before
    }

    fn restore(&mut self, Replaced { address, resumed, for_frames, basis }: Replaced) {
        (self.address, self.resumed, self.for_frames, self.basis) = (address, resumed, for_frames, basis);
    }
}

/// A trial of a function.
#[derive(Debug)]
pub(super) struct FunctionTrial {
    trial: Trial,
    before: Replaced,
    goal: Goal,
}

/// What a better version has to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// That it is not slower.
    NotSlower,
    /// That it is faster: it prefetches.
    Faster,
}

/// The trials in progress, by function.
pub(super) type Trials = HashMap<u32, FunctionTrial>;

impl ModuleInner {
    /// Publishes the version of `func` at `after`: permanently, or in a trial beside the previous version. If the
    /// previous version was still in a trial itself, the version before that one remains the other side, because
    /// nobody knows yet which of those two is slower.
    pub(super) fn try_out(
        &self,
        trials: &mut Trials,
        func: u32,
        (replaced, after): (Replaced, usize),
        goal: Goal,
    ) {
        let unfinished = trials.remove(&func);
        if unfinished.as_ref().is_some_and(|unfinished| unfinished.goal == Goal::Faster) {
            self.code.update(func, |compiled| compiled.prefetching = Prefetching::Untried);
        }
        let before = unfinished.map_or(replaced, |unfinished| unfinished.before);
        let calls = match goal {
            Goal::NotSlower => self.engine.trial_calls(),
            Goal::Faster => self.engine.prefetching_calls(),
        };
        // Without memory for more code, an untimed version is better than none.
        let chooser = (calls > 0).then(|| self.chooser(func, [before.address, after]));
        let Some(Ok(chooser)) = chooser else { return self.publish(func, after) };
        trials.insert(func, FunctionTrial { trial: Trial::new(calls, after as u64), before, goal });
        self.publish(func, chooser);
    }

    /// Places the code that callers of `func` reach while its two versions are timed.
    fn chooser(&self, func: u32, versions: [usize; 2]) -> Result<usize> {
        let versions = versions.map(|address| address as u64);
        let code = self.engine.compiler().trial(self.info.func_type(func), func, versions)?;
        self.code.arena.place(code, None).map_err(no_code_memory)
    }

    /// Returns which version of `func` the next call times, if the function is in a trial.
    pub(crate) fn next_in_trial(&self, func: u32) -> Option<Side> {
        Some(self.trials().get_mut(&func)?.trial.next_call())
    }

    /// Adds a call that took `cycles` cycles. The last call that is needed ends the trial.
    pub(crate) fn add_to_trial(&self, func: u32, side: Side, cycles: u64) {
        let mut trials = self.trials();
        let Some(found) = trials.get_mut(&func) else { return };
        found.trial.add(side, cycles);
        let Some(result) = found.trial.result() else { return };
        if let Some(ended) = trials.remove(&func) {
            self.end_trial(func, ended, result);
        }
    }

    fn end_trial(&self, func: u32, ended: FunctionTrial, result: TrialResult) {
        let FunctionTrial { trial, before, goal } = ended;
        let reverted = self.engine.reoptimization().is_some_and(|policy| match goal {
            Goal::NotSlower => result.is_slower(policy.trial_margin),
            Goal::Faster => !trial.is_faster(policy.prefetching_gain),
        });
        let address = self.code.update(func, |compiled| {
            compiled.prefetching.end(goal, reverted);
            if reverted {
                compiled.restore(before);
            }
            compiled.address
        });
        if let Some(address) = address {
            self.publish(func, address);
        }
        self.note_trial(func, Verdict::Tried { result, reverted });
    }

    /// Appends the verdict to the decisions that led to the version.
    fn note_trial(&self, func: u32, verdict: Verdict) {
        let offset = self.info.body(func).start as u32;
        let mut versions = self.code.versions.lock().unwrap_or_else(PoisonError::into_inner);
        let is_tried = |tier, index| tier == CodeTier::Reoptimized && index == func;
        if let Some(version) = versions.iter_mut().rfind(|version| is_tried(version.tier, version.func)) {
            version.decisions.get_or_insert_default().push(Decision { func, offset, verdict });
        }
    }

    /// Locks the trials in progress.
    pub(super) fn trials(&self) -> MutexGuard<'_, Trials> {
        self.code.trials.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
