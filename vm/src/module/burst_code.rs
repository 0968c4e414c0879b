//! Code for bursts, and code for returning from it. Both are compiled after bursts have asked for them a few
//! times.
//!
//! Invariant: calls from burst code go through slots of their own, which hold ordinary code until burst code
//! exists. So a function without a check at its entry is also counted when it is called in a burst.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Instant;

use hashbrown::HashMap;
use wprof_jit::compile::Tier;
use wprof_jit::graph::BlockGraph;
use wprof_jit::plan::FunctionPlan;
use wprof_profiler::{CodeTier, Version};

use super::ModuleInner;
use super::code::Compiled;
use crate::background::Promotion;
use crate::runtime::code::no_code_memory;
use crate::{Result, Strategy};

/// How often bursts ask for a version of a small function before it is compiled in the background. A place where
/// few bursts begin or end does not repay the compiler's time: a frame in a loop that it cannot leave leaves the
/// next loop that it reaches, or the function, and counts nothing until then.
const PATIENCE: u32 = 3;
/// A larger function takes longer to compile, and delays the compilations that the program waits for. So the
/// patience grows by `PATIENCE` with every `PATIENCE_BYTES` bytes, up to `MOST_TIMES` times.
const PATIENCE_BYTES: usize = 100;
const MOST_TIMES: usize = 4;

/// Returns how often bursts must ask for a version of a function of `bytes` bytes before it is compiled.
fn patience(bytes: usize) -> u32 {
    PATIENCE * (bytes / PATIENCE_BYTES).clamp(1, MOST_TIMES) as u32
}

/// The code of one function for bursts.
#[derive(Debug, Default)]
pub struct BurstCode {
    /// What the burst code counts.
    pub plan: Option<Arc<FunctionPlan>>,
    /// Addresses of the versions by the block where they are entered, 0 for a call.
    pub versions: HashMap<u32, usize>,
    /// Code of the main loop, entered by frames from other burst code.
    main_loop: Option<usize>,
    /// How often each missing version was asked for: burst code, and checking code that continues a loop after a
    /// burst.
    wanted: HashMap<(u32, Version), u32>,
}

impl BurstCode {
    /// Returns whether calls have asked for burst code at least `patience` times.
    fn wants_calls(&self, patience: u32) -> bool {
        self.wanted.get(&(0, Version::Instrumented)).is_some_and(|&wanted| wanted >= patience)
    }
}

impl ModuleInner {
    /// Returns the burst code of `func` entered at `block`, a loop header or 0 for its entry; `None` if there is
    /// none yet.
    pub(crate) fn burst_code(self: &Arc<Self>, func: u32, block: u32) -> Option<usize> {
        let known = |compiled: &Compiled| compiled.bursts.versions.get(&block).copied();
        let found = self.code.look(func, known)?;
        if found.is_none() && self.engine.sees_all() {
            // If this fails, the program behaves the same without burst code.
            let _ = self.compile_for_bursts(func, block);
            return self.code.look(func, known)?;
        }
        if found.is_some()
            || !self.is_worth_bursts(func)
            || !self.is_wanted(func, (block, Version::Instrumented))
        {
            return found;
        }
        self.order_for_profile(func, Promotion::Burst(block));
        self.code.look(func, known)?
    }

    /// Counts a burst's request for a version entered at a block; returns whether the version is to be compiled.
    fn is_wanted(&self, func: u32, version: (u32, Version)) -> bool {
        let patience = self.patience(func);
        let count = |compiled: &mut Compiled| {
            let wanted = compiled.bursts.wanted.entry(version).or_default();
            *wanted = wanted.saturating_add(1);
            *wanted >= patience
        };
        self.code.update(func, count) == Some(true)
    }

    /// Returns how often bursts must ask for a version before it is compiled.
    fn patience(&self, func: u32) -> u32 {
        if self.engine.background().is_some() { patience(self.info.body(func).len()) } else { 1 }
    }

    /// Returns the code of `func` for the time between bursts, entered at `block`. A frame that `is_stuck` needs
    /// it urgently.
    pub(crate) fn checking_code(self: &Arc<Self>, func: u32, block: u32, is_stuck: bool) -> Option<usize> {
        if block == 0 {
            return self.code.address(func);
        }
        let known = self.code_for_frame(func, block);
        let is_unwanted = !is_stuck && self.is_left_soon(func);
        if known.is_some() || is_unwanted || !self.is_wanted(func, (block, Version::Checking)) {
            return known;
        }
        match is_stuck {
            true => self.order_and_promise(func, Promotion::Resume(block)),
            false => self.order_for_profile(func, Promotion::Resume(block)),
        }
        self.code_for_frame(func, block)
    }

    /// Returns whether a frame at a loop header has code to continue in after a burst. Without such code the
    /// frame stays in burst code until it exists, which costs little if it leaves the loop soon; compiling code
    /// for it would cost more where compilation is not free. A frame that does not come from baseline code can
    /// wait for the best version.
    pub(crate) fn comes_back(self: &Arc<Self>, func: u32, header: u32, is_baseline: bool) -> bool {
        if self.is_left_soon(func) {
            return true;
        }
        if is_baseline {
            return self.checking_code(func, header, false).is_some();
        }
        if self.code_for_frame(func, header).is_some() {
            return true;
        }
        if self.is_wanted(func, (header, Version::Checking)) {
            self.order_for_profile(func, Promotion::Return(header));
        }
        self.code_for_frame(func, header).is_some()
    }

    /// Returns whether frames leave a function's loops so soon that the profiling budget is better spent
    /// elsewhere.
    fn is_left_soon(&self, func: u32) -> bool {
        self.engine.account().is_some()
            && self.code.look(func, |compiled| compiled.is_left_soon) == Some(true)
    }

    /// Handles a call through the burst slot while it holds a stub, and returns the call's destination. Once
    /// burst code is ordered or cannot be afforded, calls go to ordinary code until it exists, or the next burst asks again.
    pub(super) fn called_in_burst(self: &Arc<Self>, func: u32, entry: usize) -> usize {
        let code = self.burst_code(func, 0);
        let is_worth = self.is_worth_bursts(func);
        let patience = self.patience(func);
        let is_put_off = self.code.update(func, |compiled| {
            let is_ordered = compiled.requested.contains(&Promotion::Burst(0));
            let is_put_off = is_ordered || compiled.bursts.wants_calls(patience);
            match compiled.bursts.versions.get(&0) {
                Some(&code) => self.slots.publish_for_bursts(func, code),
                None if !is_worth || is_put_off => self.slots.publish_for_bursts(func, entry),
                None => {}
            }
            is_worth && is_put_off && !compiled.bursts.versions.contains_key(&0)
        });
        if is_put_off == Some(true) {
            self.put_off().push(func);
        }
        code.unwrap_or(entry)
    }

    /// Makes calls in bursts ask again for code that they did not get. Each burst does, so that it is known which of its calls
    /// are not counted.
    pub(crate) fn ask_again(&self) {
        for func in std::mem::take(&mut *self.put_off()) {
            let is_missing = |compiled: &mut Compiled| {
                if !compiled.bursts.versions.contains_key(&0) {
                    self.slots.publish_for_bursts(func, self.slots.stub(func));
                }
            };
            self.code.update(func, is_missing);
        }
    }

    fn put_off(&self) -> MutexGuard<'_, Vec<u32>> {
        self.code.put_off.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes `code` for callers of `func`, which had no code or worse code. Calls in bursts ask for burst
    /// code if it is worth compiling.
    pub(super) fn publish(&self, func: u32, code: usize) {
        if !self.engine.has_bursts() {
            return self.slots.publish(func, code);
        }
        let known = self.code.look(func, |compiled| compiled.bursts.versions.get(&0).copied()).flatten();
        let in_bursts = match self.is_worth_bursts(func) {
            true => known.unwrap_or_else(|| self.slots.stub(func)),
            false => code,
        };
        self.slots.publish_both(func, code, in_bursts);
    }

    /// Returns whether a function has run often enough to be worth compiling twice.
    fn is_worth_bursts(&self, func: u32) -> bool {
        let is_tiered = self.engine.config().tiers.strategy == Strategy::Tiered;
        !is_tiered || self.engine.sees_all() || self.code.look(func, Compiled::is_hot) == Some(true)
    }

    /// Compiles burst code of `func`, and publishes it if calls enter it.
    pub(super) fn compile_for_bursts(self: &Arc<Self>, func: u32, block: u32) -> Result<()> {
        let Some(plan) = self.burst_plan(func)? else { return Ok(()) };
        let main_loop = match self.engine.compiler().main_loop(&plan) {
            Some(header) => Some((header, self.main_loop_for_bursts(&plan, header)? as u64)),
            None => None,
        };
        if main_loop.is_some_and(|(header, _)| header == block) {
            return Ok(());
        }
        let began = Instant::now();
        let graph = self.engine.compiler().version(&plan, Tier::Optimized);
        let address = self.place_for_bursts(&plan, &graph.version_at(&plan.cfg, block, main_loop), began)?;
        self.code.update(func, |compiled| compiled.bursts.versions.insert(block, address));
        if block == 0 {
            self.slots.publish_for_bursts(func, address);
        }
        Ok(())
    }

    /// Returns the burst code of the main loop, compiling it if there is none. One version serves frames that
    /// come from other burst code with their counting state, and frames in which a burst begins.
    fn main_loop_for_bursts(self: &Arc<Self>, plan: &FunctionPlan, header: u32) -> Result<usize> {
        let (compiler, func) = (self.engine.compiler(), plan.cfg.func);
        if let Some(known) = self.code.look(func, |compiled| compiled.bursts.main_loop).flatten() {
            return Ok(known);
        }
        let began = Instant::now();
        let graph = compiler.version(plan, Tier::Optimized).resumed_at(&plan.cfg, header).continued();
        let main_loop = self.place_for_bursts(plan, &graph, began)?;
        let entry = compiler.burst_entry(self.info.func_type(func), &graph, main_loop as u64)?;
        let entry = self.code.arena.place(entry, None).map_err(no_code_memory)?;
        self.code.update(func, |compiled| {
            compiled.bursts.main_loop = Some(main_loop);
            compiled.bursts.versions.insert(header, entry);
        });
        Ok(main_loop)
    }

    /// Compiles and places a graph of burst code.
    fn place_for_bursts(
        self: &Arc<Self>,
        plan: &FunctionPlan,
        graph: &BlockGraph,
        began: Instant,
    ) -> Result<usize> {
        let tier = self.engine.burst_tier();
        let code = self.engine.compiler().graph(&self.env(), &plan.cfg, graph, tier)?;
        self.place_code(plan.cfg.func, code, CodeTier::Burst, began)
    }

    /// Returns the plan of what the burst code of `func` counts.
    fn burst_plan(self: &Arc<Self>, func: u32) -> Result<Option<Arc<FunctionPlan>>> {
        let Some(collection) = self.engine.burst_collection() else { return Ok(None) };
        if let Some(plan) = self.code.look(func, |compiled| compiled.bursts.plan.clone()).flatten() {
            return Ok(Some(plan));
        }
        let mut plan = FunctionPlan::new(&self.info, func, collection, 0)?;
        plan.first_counter = self.burst_counters(func, plan.counters())?;
        let plan = Arc::new(plan);
        // Another thread may have inserted a plan first.
        Ok(self.code.update(func, |compiled| compiled.bursts.plan.get_or_insert(plan).clone()))
    }

    /// Returns the counter plan of each function that has burst code, by ascending function index.
    pub(crate) fn burst_plans(&self) -> Vec<(u32, Arc<FunctionPlan>)> {
        let functions = self.code.functions.read().unwrap_or_else(PoisonError::into_inner);
        let plans =
            functions.iter().filter_map(|(&func, compiled)| Some((func, compiled.bursts.plan.clone()?)));
        let mut plans: Vec<_> = plans.collect();
        plans.sort_unstable_by_key(|(func, _)| *func);
        plans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_functions_are_to_be_wanted_more_often() {
        assert_eq!([0, 199, 200, 399, 400, 1 << 20].map(patience), [3, 3, 6, 9, 12, 12]);
    }
}
