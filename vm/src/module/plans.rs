//! The plans of a module's functions, which interpret their counters, and the limits of the number of counters.

use std::sync::{Arc, PoisonError};

use wprof_jit::CompileError;
use wprof_jit::compile::{Origin, not_vectorized};
use wprof_jit::plan::{FunctionPlan, Probe};

use super::ModuleInner;
use super::first_compilation::Claim;
use crate::runtime::instances::vmctx;
use crate::{Collect, Error, ErrorKind, ProfilingConfig, Result};

impl ModuleInner {
    /// Returns the plan of each compiled function, by ascending function index; empty when not profiling.
    pub(crate) fn plans(&self) -> Vec<(u32, Arc<FunctionPlan>)> {
        if self.engine.collection().is_off() {
            return Vec::new();
        }
        let functions = self.code.functions.read().unwrap_or_else(PoisonError::into_inner);
        let mut compiled: Vec<u32> = functions.keys().copied().collect();
        drop(functions);
        compiled.sort_unstable();
        compiled.into_iter().filter_map(|func| Some((func, self.plan_of(func)?))).collect()
    }

    /// Returns the correction of each event counter for a frame that stopped at `place`.
    ///
    /// # Errors
    /// Fails if the function exceeds a limit.
    pub(crate) fn event_corrections(&self, place: &Origin) -> Result<Vec<i64>> {
        let func = place.func;
        let plan = match self.plan_of(func) {
            Some(plan) => plan,
            None => Arc::new(FunctionPlan::new(&self.info, func, self.engine.collection(), 0)?),
        };
        let models = &self.engine.collection().events;
        let Some(events) = &plan.events else { return Ok(Vec::new()) };
        let mut sums = events.corrections(&self.info, &plan.cfg, models, (place.block, place.offset))?;
        if place.rounds > 0 {
            for probe in plan.owed(place.block) {
                if let Probe::Event { kind, amount } = probe {
                    let owed = amount.wrapping_mul(place.rounds.into());
                    sums[kind as usize] = sums[kind as usize].wrapping_add(owed);
                }
            }
        }
        Ok(sums)
    }

    /// Returns the corrections for a frame that stopped at the only place with a budget check; `None` anywhere else.
    ///
    /// # Errors
    /// Fails as [`Self::event_corrections`] does.
    pub(crate) fn events_owed_before(&self, place: &Origin) -> Result<Option<Vec<i64>>> {
        let Some(plan) = self.any_plan_of(place.func) else { return Ok(None) };
        let models = &self.engine.collection().events;
        let Some(events) = &plan.events else { return Ok(None) };
        Ok(events.owed_before(&self.info, &plan.cfg, models, (place.block, place.offset))?)
    }

    /// Returns [`Self::event_corrections`], given only the offset.
    ///
    /// # Errors
    /// Fails as [`Self::event_corrections`] does, or if there is no code at the offset.
    pub(crate) fn event_corrections_at(&self, func: u32, offset: u32) -> Result<Vec<i64>> {
        let cfg = wprof_jit::cfg::build(&self.info, func)?;
        let block = cfg.block_at(offset).ok_or_else(|| {
            Error::new(ErrorKind::Type, format_args!("function {func} has no live code at byte {offset:#x}"))
        })?;
        self.event_corrections(&Origin { func, frame: 0, block, rounds: 0, path: None, offset })
    }

    /// Returns the compiled functions.
    pub(crate) fn compiled_functions(&self) -> Vec<u32> {
        let functions = self.code.functions.read().unwrap_or_else(PoisonError::into_inner);
        functions.keys().copied().collect()
    }

    /// Returns the plan of a function, compiled or not; `None` if it cannot be planned.
    pub(crate) fn any_plan_of(&self, func: u32) -> Option<Arc<FunctionPlan>> {
        let anew = || FunctionPlan::new(&self.info, func, self.engine.collection(), 0).ok().map(Arc::new);
        self.plan_of(func).or_else(anew)
    }

    /// Returns the number of counters that an instance has room for.
    pub(crate) fn counter_capacity(&self) -> u64 {
        let heat = u64::from(self.info.defined_funcs());
        match self.engine.config().profiling {
            ProfilingConfig::Off => heat,
            // Each function may have many counters, most of which are never accessed.
            ProfilingConfig::Exact(Collect::Paths) | ProfilingConfig::Adaptive(_) => {
                vmctx::counter_capacity(&self.layout, self.engine.core().most_counters())
            }
            ProfilingConfig::Exact(_) => {
                vmctx::counter_capacity(&self.layout, self.info.code_section.len() as u64 + heat)
            }
        }
    }

    /// Returns the plan of a compiled function.
    pub(super) fn plan_of(&self, func: u32) -> Option<Arc<FunctionPlan>> {
        let (plan, first_counter, refused) = {
            let functions = self.code.functions.read().unwrap_or_else(PoisonError::into_inner);
            let compiled = functions.get(&func)?;
            (compiled.plan.clone(), compiled.first_counter, not_vectorized(&compiled.vectorized))
        };
        plan.or_else(|| {
            let plan = FunctionPlan::new(&self.info, func, self.engine.collection(), first_counter).ok()?;
            Some(Arc::new(plan.without_vectors(&refused)))
        })
    }

    /// Reserves `count` counters for the claimed function and returns the first. Half of the capacity is reserved for
    /// functions that are called.
    pub(super) fn counters(&self, claim: &Claim<'_>, count: u32, is_called: bool) -> Result<u32> {
        let limit = self.counter_capacity() / if is_called { 1 } else { 2 };
        claim.counters(count, limit).ok_or_else(|| too_many_counters(claim.func()))
    }

    /// Reserves `count` counters for burst code of `func` and returns the first.
    pub(super) fn burst_counters(&self, func: u32, count: u32) -> Result<u32> {
        let first = self.code.first.lock().counters.of_bursts(count, self.counter_capacity());
        first.ok_or_else(|| too_many_counters(func))
    }
}

fn too_many_counters(func: u32) -> Error {
    let what = "the module needs more counters than fit: profile it with Collect::Edges or not at all".into();
    CompileError::TooLarge { func, what }.into()
}
