//! New phases of a program: hot functions whose better versions were made for another one.

use std::sync::Arc;

use wprof_jit::reoptimize::{Advice, Basis, Decision, Policy, Reoptimizer};

use super::ModuleInner;
use super::code::Compiled;
use crate::background::Promotion;

/// What a function does of late, and what says that this is new.
#[derive(Clone, Debug)]
pub(super) struct Phase {
    pub advice: Arc<Advice>,
    pub changes: Vec<Decision>,
}

impl ModuleInner {
    /// Has functions reoptimized by what they did of late, of which `now` is known in all, if their versions were
    /// made for something else.
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

    /// By what the version of a function was made, if it may have another one.
    fn basis_to_follow(&self, func: u32, policy: &Policy) -> Option<Basis> {
        let basis = |compiled: &Compiled| {
            let is_free = compiled.phases < policy.most_phases;
            compiled
                .basis
                .clone()
                .filter(|_| is_free && !compiled.requested.contains(&Promotion::Reoptimized))
        };
        self.code.look(func, basis).flatten()
    }
}

impl Compiled {
    /// Its next version is to be of this phase. What was seen before it does not ask for another one.
    fn enter(&mut self, phase: Phase, seen: u64) {
        self.phase = Some(phase);
        self.phases += 1;
        self.known = seen;
    }
}
