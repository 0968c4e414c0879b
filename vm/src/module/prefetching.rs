//! Prefetching versions of hot functions: the same code, but loops that follow pointers load ahead what they needed next
//! the last time. A trial decides whether such a version is kept, and it must be faster: see
//! `wprof_jit::translate::follow`.

use std::sync::Arc;
use std::time::Instant;

use wprof_jit::graph::{BlockGraph, Chases};
use wprof_jit::plan::FunctionPlan;
use wprof_jit::reoptimize::{Decision, Policy, Verdict};
use wprof_profiler::CodeTier;

use super::code::Compiled;
use super::trials::Goal;
use super::{CompiledVersion, ModuleInner};
use crate::Result;
use crate::background::Promotion;

/// The counters of a function's streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Streams {
    first: u32,
    counters: u32,
}

/// Whether the loops of a function prefetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prefetching {
    /// Nobody has tried it.
    Untried,
    /// Its version is in a trial.
    Trying(Streams),
    /// Its version was faster.
    Kept(Streams),
    /// Nothing can be prefetched, or it was not faster.
    Useless,
}

impl Prefetching {
    /// Reports whether there is code with these streams.
    pub fn has_streams(&self) -> bool {
        matches!(self, Prefetching::Trying(_) | Prefetching::Kept(_))
    }

    /// Reports whether its version is in a trial.
    pub fn is_in_trial(&self) -> bool {
        matches!(self, Prefetching::Trying(_))
    }

    /// Records the end of a trial.
    pub fn end(&mut self, goal: Goal, reverted: bool) {
        match *self {
            Prefetching::Trying(streams) if goal == Goal::Faster => {
                *self = if reverted { Prefetching::Useless } else { Prefetching::Kept(streams) };
            }
            _ => {}
        }
    }
}

impl ModuleInner {
    /// Orders the prefetching version of a hot function, unless it was tried before. A function whose version is in another
    /// trial has its turn after a later round of bursts.
    pub(super) fn order_prefetching(self: &Arc<Self>, func: u32) {
        let is_open = |compiled: &Compiled| {
            let is_free = !compiled.requested.contains(&Promotion::Reoptimized);
            compiled.is_optimized() && is_free && compiled.prefetching == Prefetching::Untried
        };
        let is_on = |policy: &Policy| policy.prefetching;
        let is_wanted =
            self.engine.reoptimization().is_some_and(is_on) && self.engine.prefetching_calls() > 0;
        if is_wanted && self.code.look(func, is_open) == Some(true) && !self.trials().contains_key(&func) {
            self.order_promotion(func, Promotion::Prefetching);
        }
    }

    /// Compiles the current version of a function with prefetching code, and tries it out.
    pub(super) fn try_prefetching(self: &Arc<Self>, func: u32) -> Result<()> {
        let began = Instant::now();
        let found = self.code.update(func, |compiled| {
            compiled.requested.remove(&Promotion::Prefetching);
            (compiled.prefetching == Prefetching::Untried).then(|| compiled.basis.clone())
        });
        // Streams that are never used would take counters for good.
        if self.trials().contains_key(&func) {
            return Ok(());
        }
        let Some((plan, basis)) = self.plan_of(func).zip(found.flatten()) else { return Ok(()) };
        let advice = basis.as_ref().map(|basis| &*basis.advice);
        let (graph, _) = self.best_graph(&plan, advice)?;
        let chases = graph.chases(&self.info, &plan.cfg)?;
        if chases.is_empty() {
            self.code.update(func, |compiled| compiled.prefetching = Prefetching::Useless);
            return Ok(());
        }
        let streams =
            Streams { first: self.burst_counters(func, chases.counters())?, counters: chases.counters() };
        let decisions = prefetched(&chases, &graph, &plan);
        let graph = graph.prefetching(&plan.cfg, &chases, streams.first);
        let code = self.optimized(&plan, &graph)?;
        let (after, address) = (code.bytes.len(), self.place(func, code)?);
        let for_frames = self.better_for_frames(&plan, &graph, address)?;
        let mut trials = self.trials();
        let replace = |compiled: &mut Compiled| {
            compiled.prefetching = Prefetching::Trying(streams);
            compiled.replace(address, for_frames, basis)
        };
        if trials.contains_key(&func) {
            return Ok(());
        }
        let Some(replaced) = self.code.update(func, replace) else { return Ok(()) };
        let version = CompiledVersion::new(func, CodeTier::Reoptimized, began, after).by(Some(decisions));
        self.note(version);
        self.try_out(&mut trials, func, (replaced, address), Goal::Faster);
        Ok(())
    }

    /// Adds prefetching code to a better graph of a function, if a trial has shown that it pays there.
    pub(super) fn prefetching_as_before(&self, plan: &FunctionPlan, graph: BlockGraph) -> Result<BlockGraph> {
        let kept = self.code.look(plan.cfg.func, |compiled| match compiled.prefetching {
            Prefetching::Kept(streams) => Some(streams),
            _ => None,
        });
        let Some(streams) = kept.flatten() else { return Ok(graph) };
        let chases = graph.chases(&self.info, &plan.cfg)?;
        let fits = chases.counters() <= streams.counters;
        Ok(if fits { graph.prefetching(&plan.cfg, &chases, streams.first) } else { graph })
    }
}

/// Returns the decisions behind a version that prefetches.
fn prefetched(chases: &Chases, graph: &BlockGraph, plan: &FunctionPlan) -> Vec<Decision> {
    let decision = |(func, offset)| Decision { func, offset, verdict: Verdict::Prefetched };
    chases.places(graph, &plan.cfg).map(decision).collect()
}
