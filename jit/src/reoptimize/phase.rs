//! Phase changes: whether the hot paths and callees for which a better version was made are still hot.
//!
//! Input: the basis of a version, and the advice of recent bursts. Output: the places where another version, made from
//! these bursts, would cover a much larger share of executions. Executions of paths without a superblock leave the
//! others by side exits, and calls of a callee other than the guess leave the inlined one. Bursts count both anyway:
//! they run code of their own, whose paths and calls are reported by origin, so better versions need no counters.
//! Source: Hirzel & Chilimbi 2001, section 1: bursts continue, rarely, so that they notice new phases.

use std::sync::Arc;

use super::{Advice, Decision, Estimate, FunctionAdvice, Reoptimizer, Targets, Verdict};

/// The basis of a better version.
#[derive(Clone, Debug)]
pub struct Basis {
    /// The advice used.
    pub advice: Arc<Advice>,
    /// The functions it consists of, ascending: its own and the inlined ones.
    pub functions: Vec<u32>,
    /// Its expected saving: see [`Estimate::saved`].
    pub saved: f64,
}

/// A kind of side exits from a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SideExits {
    /// Executions of paths that have no superblock, as a share of the function's instructions.
    Paths,
    /// Calls through a table of another function than the inlined one, as a share of all calls at that place.
    Callees,
}

impl Basis {
    /// Returns the basis of a version of `func` with these decisions.
    pub fn new(func: u32, advice: Arc<Advice>, decisions: &[Decision]) -> Basis {
        let inlined = decisions.iter().filter_map(|decision| match decision.verdict {
            Verdict::Inlined { callee, .. } => Some(callee),
            _ => None,
        });
        let mut functions: Vec<u32> = inlined.chain([func]).collect();
        functions.sort_unstable();
        functions.dedup();
        Basis { advice, functions, saved: predicted(decisions) }
    }
}

/// Returns the expected saving of a version with these decisions.
pub fn predicted(decisions: &[Decision]) -> f64 {
    estimate_in(decisions).unwrap_or_default().saved
}

/// Returns the whole estimate of a version with these decisions.
pub fn estimate_in(decisions: &[Decision]) -> Option<Estimate> {
    decisions.iter().find_map(|decision| match decision.verdict {
        Verdict::Predicted(estimate) => Some(estimate),
        _ => None,
    })
}

impl Reoptimizer<'_> {
    /// Returns the places where side exits leave a version much more often than they would leave one made from
    /// [`Reoptimizer::advice`], which covers recent bursts alone.
    pub fn phase_changes(&self, basis: &Basis) -> Vec<Decision> {
        let is_hot = |func: &u32| self.policy.is_hot(self.advice.ops_of(*func), self.advice.ops);
        let functions = basis.functions.iter().copied().filter(is_hot);
        functions.flat_map(|func| self.changes_in(func, &basis.advice)).collect()
    }

    fn changes_in(&self, func: u32, before: &Advice) -> Vec<Decision> {
        let Some((before, recent)) = before.get(func).zip(self.advice.get(func)) else { return Vec::new() };
        let own = self.info.body(func).start as u32;
        let sites = recent.targets.keys().map(|&site| (site, self.callees_change(before, recent, site)));
        let changes = [(own, self.paths_change(before, recent))].into_iter().chain(sites);
        let decision =
            |(offset, change): (u32, Option<Verdict>)| Some(Decision { func, offset, verdict: change? });
        changes.filter_map(decision).collect()
    }

    fn paths_change(&self, before: &FunctionAdvice, recent: &FunctionAdvice) -> Option<Verdict> {
        let leaving = |made_for: &FunctionAdvice, sample: &FunctionAdvice| {
            1.0 - sample.share_of(made_for.hot_paths(self.policy.least_path_share))
        };
        let (predicted, measured) = (leaving(before, before), leaving(before, recent));
        self.change(SideExits::Paths, (predicted, measured), leaving(recent, recent))
    }

    fn callees_change(&self, before: &FunctionAdvice, recent: &FunctionAdvice, site: u32) -> Option<Verdict> {
        let (before, recent) = (before.targets.get(&site)?, recent.targets.get(&site)?);
        let is_often = recent.calls as f64 >= self.policy.least_call_share * self.advice.ops as f64;
        let leaving = |made_for: &Targets, sample: &Targets| {
            let guess = made_for.most().filter(|&(_, share)| self.policy.is_guessed(share));
            guess.map_or(1.0, |(callee, _)| 1.0 - sample.share_of(callee))
        };
        let (predicted, measured) = (leaving(before, before), leaving(before, recent));
        self.change(SideExits::Callees, (predicted, measured), leaving(recent, recent))
            .filter(|_| self.policy.inlining && is_often)
    }

    /// Reports a phase change if a new version is worthwhile: side exits leave the current one with share `measured`,
    /// and would leave the new one with share `then`.
    fn change(&self, what: SideExits, (predicted, measured): (f64, f64), then: f64) -> Option<Verdict> {
        let is_worth = measured - then >= self.policy.phase_change;
        is_worth.then_some(Verdict::PhaseChange { what, predicted, measured })
    }
}
