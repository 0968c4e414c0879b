//! New phases of a program: hot functions whose better versions were made for an earlier phase.

use std::sync::Arc;

use wprof_jit::reoptimize::{Advice, Basis, Decision, Policy, Reoptimizer};

use super::ModuleInner;
use super::code::Compiled;
use crate::background::Promotion;

/// What a function did recently, and the decisions that show that this is new.
#[derive(Clone, Debug)]
pub(super) struct Phase {
    pub advice: Arc<Advice>,
    pub changes: Vec<Decision>,
}

impl ModuleInner {
    /// Orders the reoptimization of functions by their `recent` behaviour, if their versions were made for
    /// something else. `now` is the advice from the whole run.
    pub(super) fn follow_phases(self: &Arc<Self>, policy: &Policy, recent: &Arc<Advice>, now: &Advice) {
        let collection = self.engine.collection();
        let by = Reoptimizer { info: &self.info, advice: recent, policy, collection };
        for func in recent.hot_functions(policy.least_share) {
            let Some(basis) = self.basis_to_follow(func, policy) else { continue };
            let changes = by.phase_changes(&basis);
            if changes.is_empty() {
                continue;
            }
            let phase = Phase { advice: recent.clone(), changes };
            self.code.update(func, |compiled| compiled.enter(phase, now.ops_of(func)));
            self.order_promotion(func, Promotion::Reoptimized);
        }
    }

    /// Returns the basis of a function's version, if the function may have another version.
    fn basis_to_follow(&self, func: u32, policy: &Policy) -> Option<Basis> {
        let basis = |compiled: &Compiled| {
            let is_free = compiled.phases < policy.most_phases && !compiled.prefetching.is_in_trial();
            compiled
                .basis
                .clone()
                .filter(|_| is_free && !compiled.requested.contains(&Promotion::Reoptimized))
        };
        self.code.look(func, basis).flatten()
    }
}

impl Compiled {
    /// Makes the next version of the function one for this phase. The work seen so far does not ask for another
    /// version.
    fn enter(&mut self, phase: Phase, seen: u64) {
        self.phase = Some(phase);
        self.phases += 1;
        self.known = seen;
    }
}
