//! The compiled functions of a module, and their way up through the tiers.
//!
//! Invariant: counter indices are given out once per module, so that the counters of all its instances mean the
//! same; all versions of a function use the same counters. Code is in the registry before its address is published.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use hashbrown::{HashMap, HashSet};
use wprof_jit::CompileError;
use wprof_jit::compile::{MachineCode, ModuleEnv, Origin, Tier};
use wprof_jit::graph::Probe;
use wprof_jit::plan::FunctionPlan;

use super::ModuleInner;
use crate::background::Job;
use crate::engine::no_code_memory;
use crate::runtime::code::CodeArena;
use crate::runtime::vmctx;
use crate::{Engine, Error, ErrorKind, ProfilingConfig, Result, Strategy};

/// How often a loop asks for promotion before it gets a version that resumes right there. Until then it gets one that
/// resumes at the outermost loop around it: better code, if the program comes there.
const PATIENCE: u32 = 16;

/// The code of one module.
#[derive(Debug)]
pub struct ModuleCode {
    pub(super) arena: CodeArena,
    /// Held while a function is compiled for the first time: the index of the next free counter.
    pub(super) compiling: Mutex<u32>,
    pub(super) functions: RwLock<HashMap<u32, Compiled>>,
    /// How many functions are new or better since the code was last stored or loaded.
    pub(super) changes: AtomicU32,
}

/// What there is of one function.
#[derive(Debug)]
pub(super) struct Compiled {
    pub address: usize,
    pub first_counter: u32,
    /// How many counters it has; the last one is its heat.
    pub counters: u32,
    /// `None` when not profiling, and for code from the cache: it is made again faster than it is worth keeping.
    pub plan: Option<Arc<FunctionPlan>>,
    /// Versions that resume at a loop header, by its block.
    pub resumed: HashMap<u32, usize>,
    /// What has been asked for already.
    pub requested: HashSet<Promotion>,
    /// How often promotion was asked for.
    pub requests: u32,
}

/// A better version of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Promotion {
    /// For its callers.
    Entry,
    /// For a frame at this loop header.
    Resume(u32),
    /// For a frame in the loop of this header, resuming at the outermost loop around it.
    ResumeOutermost(u32),
}

impl ModuleCode {
    /// No function compiled yet.
    pub fn new(engine: &Engine) -> ModuleCode {
        let arena = CodeArena::new(engine.code_space().clone());
        ModuleCode {
            arena,
            compiling: Mutex::default(),
            functions: RwLock::default(),
            changes: AtomicU32::new(0),
        }
    }

    /// Number of functions, and bytes of address space.
    pub fn size(&self) -> (usize, usize) {
        (self.functions.read().unwrap_or_else(PoisonError::into_inner).len(), self.arena.size())
    }

    fn address(&self, func: u32) -> Option<usize> {
        let functions = self.functions.read().unwrap_or_else(PoisonError::into_inner);
        functions.get(&func).map(|c| c.address)
    }

    fn update<R>(&self, func: u32, change: impl FnOnce(&mut Compiled) -> R) -> Option<R> {
        let mut functions = self.functions.write().unwrap_or_else(PoisonError::into_inner);
        functions.get_mut(&func).map(change)
    }
}

impl ModuleInner {
    /// The address of function `func`'s code, which is compiled and published now if need be.
    ///
    /// # Errors
    /// If it is too large to compile, or there is no memory for its code.
    pub(crate) fn code_of(self: &Arc<Self>, func: u32) -> Result<usize> {
        let tier = match self.engine.config().strategy {
            Strategy::Optimized => Tier::Optimized,
            Strategy::Baseline | Strategy::Tiered => Tier::Baseline,
        };
        self.compile(func, tier)
    }

    /// Compiles `func` in `tier`, unless there is code for it already.
    pub(crate) fn compile(self: &Arc<Self>, func: u32, tier: Tier) -> Result<usize> {
        let mut next_counter = self.code.compiling.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(address) = self.code.address(func) {
            return Ok(address);
        }
        let first_counter = *next_counter;
        let plan = FunctionPlan::new(&self.info, func, self.engine.collection(), first_counter)?;
        let counters = plan.counters();
        *next_counter = self.counters_after(func, first_counter, counters)?;
        let address = self.place(func, self.engine.compiler().function(&self.env(), &plan, tier)?)?;
        let plan = (!self.engine.collection().is_off()).then(|| Arc::new(plan));
        let compiled = Compiled {
            address,
            first_counter,
            counters,
            plan,
            resumed: HashMap::new(),
            requested: HashSet::new(),
            requests: 0,
        };
        self.code.functions.write().unwrap_or_else(PoisonError::into_inner).insert(func, compiled);
        self.slots.publish(func, address);
        self.code.changes.fetch_add(1, Ordering::Relaxed);
        Ok(address)
    }

    /// Baseline code of `func` is hot, at the loop header `block` or, if that is 0, at its entry. Orders better versions;
    /// gives the address of one that resumes at `block` if there is one.
    pub(crate) fn request_promotion(self: &Arc<Self>, func: u32, block: u32) -> Option<usize> {
        if self.engine.config().strategy != Strategy::Tiered {
            return None;
        }
        let wanted = self.code.update(func, |compiled| {
            compiled.requests = compiled.requests.saturating_add(1);
            let resume = match compiled.requests < PATIENCE {
                true => Promotion::ResumeOutermost(block),
                false => Promotion::Resume(block),
            };
            let mut wanted = vec![Promotion::Entry];
            if block != 0 && !compiled.resumed.contains_key(&block) {
                wanted.push(resume);
            }
            wanted.retain(|&promotion| compiled.requested.insert(promotion));
            wanted
        })?;
        for promotion in wanted {
            let job = Job { module: Arc::downgrade(self), func, promotion };
            match self.engine.background() {
                Some(background) => background.order(job),
                None => job.run(),
            }
        }
        self.code.update(func, |compiled| compiled.resumed.get(&block).copied()).flatten()
    }

    /// Index of the counter of `func`'s heat, and its value from which on it is hot.
    pub(crate) fn heat(&self, func: u32) -> Option<(u32, u32)> {
        let functions = self.code.functions.read().unwrap_or_else(PoisonError::into_inner);
        let compiled = functions.get(&func)?;
        let heat = compiled.first_counter + compiled.counters - 1;
        Some((heat, self.engine.compiler().options().hot))
    }

    /// Compiles and publishes a better version.
    ///
    /// # Errors
    /// As [`ModuleInner::code_of`]; the function then stays as it is.
    pub(crate) fn promote(self: &Arc<Self>, func: u32, promotion: Promotion) -> Result<()> {
        let Some(plan) = self.plan_of(func) else { return Ok(()) };
        let compiler = self.engine.compiler();
        let header = match promotion {
            Promotion::Entry => {
                let address = self.place(func, compiler.function(&self.env(), &plan, Tier::Optimized)?)?;
                self.code.update(func, |compiled| compiled.address = address);
                self.slots.publish(func, address);
                self.code.changes.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
            Promotion::Resume(block) => block,
            Promotion::ResumeOutermost(block) => plan.cfg.outermost_loop(block),
        };
        let address = self.place(func, compiler.resumed(&self.env(), &plan, header)?)?;
        self.code.update(func, |compiled| compiled.resumed.insert(header, address));
        Ok(())
    }

    /// How to read the counters of each compiled function, by ascending function index; nothing when not profiling.
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

    /// What a frame that stopped at `place` has to add to the counter of each kind of events.
    ///
    /// # Errors
    /// If the function exceeds a limit.
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

    /// The same, given only the offset.
    ///
    /// # Errors
    /// As there, or if there is no code at the offset.
    pub(crate) fn event_corrections_at(&self, func: u32, offset: u32) -> Result<Vec<i64>> {
        let cfg = wprof_jit::cfg::build(&self.info, func)?;
        let block = cfg.block_at(offset).ok_or_else(|| {
            Error::new(ErrorKind::Type, format_args!("function {func} has no live code at byte {offset:#x}"))
        })?;
        self.event_corrections(&Origin { func, block, rounds: 0, offset })
    }

    /// The functions that have been compiled.
    pub(crate) fn compiled_functions(&self) -> Vec<u32> {
        let functions = self.code.functions.read().unwrap_or_else(PoisonError::into_inner);
        functions.keys().copied().collect()
    }

    /// The plan of a function, which may have been compiled or not; `None` if it cannot be.
    pub(crate) fn any_plan_of(&self, func: u32) -> Option<Arc<FunctionPlan>> {
        let anew = || FunctionPlan::new(&self.info, func, self.engine.collection(), 0).ok().map(Arc::new);
        self.plan_of(func).or_else(anew)
    }

    /// How many counters an instance has room for.
    pub(crate) fn counter_capacity(&self) -> u64 {
        let heat = u64::from(self.info.defined_funcs());
        match self.engine.config().profiling {
            ProfilingConfig::Off => heat,
            ProfilingConfig::Exact(_) => {
                vmctx::counter_capacity(&self.layout, self.info.code_section.len() as u64 + heat)
            }
        }
    }

    /// The plan of a function that has been compiled.
    fn plan_of(&self, func: u32) -> Option<Arc<FunctionPlan>> {
        let (plan, first_counter) = {
            let functions = self.code.functions.read().unwrap_or_else(PoisonError::into_inner);
            let compiled = functions.get(&func)?;
            (compiled.plan.clone(), compiled.first_counter)
        };
        plan.or_else(|| {
            FunctionPlan::new(&self.info, func, self.engine.collection(), first_counter).ok().map(Arc::new)
        })
    }

    fn place(self: &Arc<Self>, func: u32, code: MachineCode) -> Result<usize> {
        self.code.arena.place(code, Some((Arc::downgrade(self), func))).map_err(no_code_memory)
    }

    fn env(&self) -> ModuleEnv<'_> {
        let slots = self.slots.address() as u64;
        let events = &self.engine.collection().events;
        ModuleEnv { info: &self.info, layout: &self.layout, type_ids: &self.type_ids, events, slots }
    }

    fn counters_after(&self, func: u32, first: u32, count: u32) -> Result<u32> {
        let next = u64::from(first) + u64::from(count);
        if next > self.counter_capacity() {
            let what =
                "the module needs more counters than fit: profile it with Collect::Edges or not at all"
                    .into();
            return Err(CompileError::TooLarge { func, what }.into());
        }
        Ok(next as u32)
    }
}
