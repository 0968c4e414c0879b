//! Better versions of hot functions, guided by a profile: see `wprof_jit::reoptimize`.
//!
//! Profiles come from bursts, in rounds, or from an earlier run. A better version replaces the version for
//! callers and the OSR versions; frames move to it when the next burst ends in them.

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use wprof_jit::compile::{Lanes, MachineCode, NoVectors, Tier, Vectorized};
use wprof_jit::graph::BlockGraph;
use wprof_jit::plan::FunctionPlan;
use wprof_jit::reoptimize::{
    Advice, Basis, Decision, LittleGain, Reoptimized, Reoptimizer, Verdict, estimate_in, predicted,
};
use wprof_profiler::{CodeTier, Profile};

use super::code::Compiled;
use super::osr_versions::number_of;
use super::phases::Phase;
use super::trials::Goal;
use super::{CompiledVersion, ModuleInner};
use crate::background::Promotion;
use crate::{Error, Module, Result};

/// A function of which the reoptimizer has made a better version.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reoptimization {
    /// Function index.
    pub func: u32,
    /// Bytes of machine code before and after, of the version that calls reach.
    pub bytes: (usize, usize),
    /// The decisions behind the version.
    pub decisions: Vec<Decision>,
}

/// A loop that optimised code may do in vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorizedLoop {
    /// Function index.
    pub func: u32,
    /// Byte offset in the module of its first instruction.
    pub offset: u32,
    /// What is done at once, or why nothing is.
    pub outcome: std::result::Result<Lanes, NoVectors>,
}

impl Module {
    /// Returns the reoptimizations so far, in order.
    pub fn reoptimizations(&self) -> Vec<Reoptimization> {
        let done = |version: CompiledVersion| {
            let bytes = (version.bytes_before.unwrap_or(0), version.bytes);
            Some(Reoptimization { func: version.func, bytes, decisions: version.decisions? })
        };
        self.inner().versions().into_iter().filter_map(done).collect()
    }
}

impl Module {
    /// Returns the loops that optimised code may do in vectors, with what became of them, by ascending function and
    /// offset. Loops whose functions came from the code cache are missing.
    pub fn vectorized_loops(&self) -> Vec<VectorizedLoop> {
        let mut all = self.inner().code.vectorized();
        // Its code may have loops of inlined callees.
        all.retain(|found| self.info().body(found.func).contains(&(found.offset as usize)));
        all
    }

    /// Returns the functions for which the last attempt made no better version, and why, by ascending index.
    pub fn not_reoptimized(&self) -> Vec<(u32, LittleGain)> {
        self.inner().code.refused()
    }
}

impl ModuleInner {
    /// Orders the reoptimization of hot functions as a profile advises, and as the difference to `last` advises,
    /// which the same source gave before. Returns the advice of the profile.
    pub(crate) fn advise(self: &Arc<Self>, profile: &Profile, last: Option<&Advice>) -> Option<Arc<Advice>> {
        let policy = self.engine.reoptimization()?;
        let advice = Arc::new(Advice::new(profile));
        let hot = advice.hot_functions(policy.least_share);
        *self.code.advice.write().unwrap_or_else(PoisonError::into_inner) = Some(advice.clone());
        for func in hot.iter().copied().filter(|&func| self.may_repay(func, &advice)) {
            let seen = advice.ops_of(func);
            let is_worth = |compiled: &mut Compiled| {
                let is_free = compiled.is_hot() && !compiled.prefetching.is_in_trial();
                let is_worth = is_free && policy.is_worth_another(compiled.known, seen);
                compiled.known = if is_worth { seen } else { compiled.known };
                is_worth
            };
            if self.code.update(func, is_worth) == Some(true) {
                self.order_promotion(func, Promotion::Reoptimized);
            }
        }
        hot.into_iter().for_each(|func| self.order_prefetching(func));
        if let Some(last) = last {
            self.follow_phases(policy, &Arc::new(advice.since(last)), &advice);
        }
        Some(advice)
    }

    /// Returns the advice on the module's functions, if there is any.
    pub(crate) fn advice(&self) -> Option<Arc<Advice>> {
        self.code.advice.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the graph of a function's best version by `advice`, and the decisions behind it, if the advice
    /// covers the function.
    pub(super) fn best_graph(
        &self,
        plan: &FunctionPlan,
        advice: Option<&Advice>,
    ) -> Result<(BlockGraph, Option<Vec<Decision>>)> {
        let compiler = self.engine.compiler();
        if let (Some(advice), Some(policy)) = (advice, self.engine.reoptimization()) {
            let collection = self.engine.collection();
            let by = Reoptimizer { info: &self.info, advice, policy, collection };
            if let Some(Reoptimized { graph, decisions }) = compiler.reoptimized(plan, &by)? {
                return Ok((graph, Some(decisions)));
            }
        }
        Ok((compiler.version(plan, Tier::Optimized), None))
    }

    /// Compiles the best version of a function, for callers and for frames in the loops that had an OSR version,
    /// and publishes it if it differs from the current version.
    pub(super) fn reoptimize(self: &Arc<Self>, func: u32) -> Result<()> {
        let began = Instant::now();
        let Some((plan, phase)) = self.plan_of(func).zip(self.next_phase(func)) else { return Ok(()) };
        let Phase { advice, changes } = phase;
        let (graph, Some(decisions)) = self.best_graph(&plan, Some(&advice))? else { return Ok(()) };
        if !self.is_worth_making(func, predicted(&decisions), !changes.is_empty()) {
            return Ok(());
        }
        if let Some(estimate) =
            estimate_in(&decisions).filter(|&by| !self.repays(&graph, func, (by, &advice)))
        {
            self.refuse_for_now(func, estimate.saved);
            return Ok(());
        }
        let mut chosen = Some((graph, Some(decisions)));
        let (code, graph, decisions) = self.settled(&plan, |plan| {
            let known = chosen.take();
            let (graph, decisions) = known.map_or_else(|| self.best_graph(plan, Some(&advice)), Ok)?;
            Ok((self.prefetching_as_before(plan, graph)?, decisions))
        })?;
        let decisions = decisions.unwrap_or_default();
        let basis = Basis::new(func, advice, &decisions);
        let old = self.code.address(func).and_then(|address| self.code.arena.copy_of(address));
        if old.as_ref().is_some_and(|old| old.bytes == code.bytes) {
            self.code.update(func, |compiled| compiled.basis = Some(basis));
            return Ok(());
        }
        let (after, address) = (code.bytes.len(), self.place(func, code)?);
        let for_frames = self.better_for_frames(&plan, &graph, address)?;
        let before = old.map(|code| code.bytes.len());
        let decisions = [changes, decisions].concat();
        let version = CompiledVersion::new(func, CodeTier::Reoptimized, began, after).by(Some(decisions));
        let short = short_loops(func, version.decisions.iter().flatten());
        let mut trials = self.trials();
        let replace = |compiled: &mut Compiled| {
            compiled.note_vectorized(short);
            compiled.replace(address, for_frames, Some(basis))
        };
        let Some(replaced) = self.code.update(func, replace) else { return Ok(()) };
        self.code.note_better(began);
        self.note(CompiledVersion { bytes_before: before, ..version });
        self.try_out(&mut trials, func, (replaced, address), Goal::NotSlower);
        Ok(())
    }

    /// Compiles the optimised version that `version` makes of a function's plan (see
    /// [`Compiler::settled`](wprof_jit::compile::Compiler::settled)), and notes which loops are not vectorised: later
    /// plans know.
    pub(super) fn settled<T>(
        &self,
        plan: &FunctionPlan,
        version: impl FnMut(&FunctionPlan) -> Result<(BlockGraph, T)>,
    ) -> Result<(MachineCode, BlockGraph, T)> {
        let made = self.engine.compiler().settled(&self.env(), plan, Tier::Optimized, version)?;
        let loops = made.0.loops_in_vectors();
        self.code.update(plan.cfg.func, |compiled| compiled.note_vectorized(loops));
        Ok(made)
    }

    /// Compiles a graph for frames, at the loop headers that had an OSR version before, except at the main loop,
    /// where frames enter the code for callers at `address`. Returns the new versions by header.
    pub(super) fn better_for_frames(
        self: &Arc<Self>,
        plan: &FunctionPlan,
        graph: &BlockGraph,
        address: usize,
    ) -> Result<Vec<(u32, usize)>> {
        let func = plan.cfg.func;
        let mut headers = self.code.look(func, Compiled::headers_of_frames).unwrap_or_default();
        headers.retain(|&header| number_of(address, header).is_none());
        let main_loop = self.engine.compiler().main_loop(plan).filter(|_| !headers.is_empty());
        let main_loop = main_loop.and_then(|header| Some((header, number_of(address, header)?)));
        let place = |(header, number)| {
            Ok::<_, Error>((header, self.place_loop_entry(func, (address, number))? as u64))
        };
        let main_loop = main_loop.map(place).transpose()?;
        let mut better: Vec<(u32, usize)> = Vec::new();
        for header in headers {
            if !better.iter().any(|&(_, code)| number_of(code, header).is_some()) {
                let graph = self.for_frames(plan, graph.clone(), (header, main_loop));
                better.push((header, self.place(func, self.optimized(plan, &graph)?)?));
            }
        }
        Ok(better)
    }

    /// Returns whether a version that is expected to save `saved` is sufficiently better than the current one, of
    /// which nothing is known in a new phase. Records the refusal if not.
    fn is_worth_making(&self, func: u32, saved: f64, in_new_phase: bool) -> bool {
        let before = if in_new_phase { 0.0 } else { self.saves(func) };
        if self.engine.reoptimization().is_none_or(|policy| policy.is_worth_making(saved, before)) {
            return true;
        }
        let refused = LittleGain { saved, before, is_too_soon: false };
        self.code.update(func, |compiled| compiled.refused = Some(refused));
        false
    }

    /// Refuses a better version until twice as much is known of the function, because it would not repay its
    /// compilation.
    fn refuse_for_now(&self, func: u32, saved: f64) {
        let refused = LittleGain { saved, before: self.saves(func), is_too_soon: true };
        let seen_again = self.engine.reoptimization().map_or(1, |policy| policy.seen_again);
        self.code.update(func, |compiled| {
            compiled.refused = Some(refused);
            compiled.known = 2 * compiled.known / seen_again.max(1);
        });
    }

    /// Returns the share that the current version was expected to save.
    fn saves(&self, func: u32) -> f64 {
        self.code.look(func, Compiled::saves).unwrap_or_default()
    }

    /// Returns the phase by which a function is to be reoptimized now: a new phase, or all that is known.
    fn next_phase(&self, func: u32) -> Option<Phase> {
        let phase = self.code.update(func, |compiled| {
            compiled.requested.remove(&Promotion::Reoptimized);
            compiled.phase.take()
        });
        phase.flatten().or_else(|| Some(Phase { advice: self.advice()?, changes: Vec::new() }))
    }

    pub(super) fn optimized(&self, plan: &FunctionPlan, graph: &BlockGraph) -> Result<MachineCode> {
        Ok(self.engine.compiler().graph(&self.env(), &plan.cfg, graph, Tier::Optimized)?)
    }
}

impl Compiled {
    /// Notes what became of loops that might be vectorised.
    fn note_vectorized(&mut self, loops: Vec<Vectorized>) {
        self.vectorized.retain(|&(at, _)| loops.iter().all(|&(other, _)| other != at));
        self.vectorized.extend(loops);
    }
}

/// Returns the loops of a function that are not vectorised because they make few rounds.
fn short_loops<'d>(func: u32, decisions: impl Iterator<Item = &'d Decision>) -> Vec<Vectorized> {
    let is_short = Verdict::NotVectorized(NoVectors::FewRounds);
    let short = decisions.filter(|decision| decision.func == func && decision.verdict == is_short);
    short.map(|decision| (decision.offset, Err(NoVectors::FewRounds))).collect()
}
