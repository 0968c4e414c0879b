//! The compiled functions of a module, and their promotion through the tiers.
//!
//! Invariant: counter indices are assigned once per module, so that the counters of all its instances have the same
//! meaning; all versions of a function use the same counters. Code is registered before its address is published.
//! Invariant: code is published at the first call of its function, even if it was compiled earlier: the published
//! functions are the called ones.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use hashbrown::{HashMap, HashSet};
use wprof_jit::abi::heat;
use wprof_jit::compile::{MachineCode, ModuleEnv, Position, Positions, Tier, Vectorized};
use wprof_jit::plan::FunctionPlan;
use wprof_jit::reoptimize::{Advice, Basis, Decision, LittleGain};
use wprof_profiler::{CodeTier, Profile};

use super::burst_code::BurstCode;
use super::first_compilation::{Claim, CompiledAhead, FirstCompilations, State};
use super::parts::{PartCode, PartedFunction};
use super::phases::Phase;
use super::prefetching::Prefetching;
use super::trials::Trials;
use super::{CompiledVersion, ModuleInner, SourceRow, VectorizedLoop, demangle};
use crate::background::{Job, Promotion, Task};
use crate::perf::Placed;
use crate::runtime::code::{CodeArena, no_code_memory, registry};
use crate::runtime::counts::cpu_time;
use crate::{Engine, Result, Strategy};

/// Maximum number of better versions of a function of any size. Each loop may need several, and a hostile function
/// of a megabyte has a hundred thousand loops.
const MOST_VERSIONS: usize = 3;
/// A function may have so many versions that their bytes of wasm code do not exceed this in total.
const MOST_BYTES: usize = 1 << 20;

/// Number of calls after which a hot leaf function is assumed to make few rounds per call.
const MANY_CALLS: u64 = 8;

/// The code of one module.
#[derive(Debug)]
pub struct ModuleCode {
    pub(super) arena: CodeArena,
    pub(super) first: FirstCompilations,
    /// The functions whose baseline code is compiled in parts, while most callers run it.
    pub(super) parted: Mutex<HashMap<u32, Arc<PartedFunction>>>,
    /// Number of parts that control has reached, without the first ones.
    pub(super) called_parts: AtomicUsize,
    /// The functions that have been called.
    pub(super) functions: RwLock<HashMap<u32, Compiled>>,
    /// The observations about the functions.
    pub(super) advice: RwLock<Option<Arc<Advice>>>,
    /// The compiled versions.
    pub(super) versions: Mutex<Vec<CompiledVersion>>,
    /// The better versions under timing.
    pub(super) trials: Mutex<Trials>,
    /// Functions for which calls in bursts wanted burst code that does not exist yet, and go to ordinary code.
    pub(super) put_off: Mutex<Vec<u32>>,
    /// Nanoseconds that the compiler has since spent on better versions for callers.
    pub(super) better: AtomicU64,
    /// Number of new or improved functions since the code was last stored or loaded.
    pub(super) changes: AtomicU32,
}

/// The state of one function.
#[derive(Debug)]
pub(super) struct Compiled {
    pub address: usize,
    pub first_counter: u32,
    /// Number of its counters; the last one is its heat.
    pub counters: u32,
    /// Rows of code slots to compile ahead when the function is called.
    pub likely_next: Vec<u32>,
    /// `None` when not profiling, and for code from the cache, since rebuilding a plan costs less than keeping it. Code
    /// that distinguishes interesting paths reads the plan's cells, so the plan then lives as long as the
    /// code.
    pub plan: Option<Arc<FunctionPlan>>,
    /// The parts that control has reached, without the first, if its baseline code is compiled in parts.
    pub part_code: PartCode,
    /// OSR targets by the block of the loop header: a version that resumes there, or the code that leads into one that
    /// is entered there.
    pub resumed: HashMap<u32, usize>,
    /// The version that frames enter at its loops, if there is one.
    pub for_frames: Option<usize>,
    /// Number of requests of baseline code for a better version, by the block where it was hot.
    pub asked: HashMap<u32, u32>,
    /// The promotions that have been requested.
    pub requested: HashSet<Promotion>,
    /// Whether its callers have a better version.
    pub promoted: bool,
    /// The basis of its optimised versions; `None` without advice.
    pub basis: Option<Basis>,
    /// The phase for which the next better version is made.
    pub phase: Option<Phase>,
    /// Number of phase changes.
    pub phases: u32,
    /// Number of its instructions in a profile at the most recent decision whether to improve it.
    pub known: u64,
    /// Whether frames leave it soon after reaching a loop: it is a leaf, and was called several times before
    /// it was hot.
    pub is_left_soon: bool,
    /// For code from the code cache: the saving that was expected when it was compiled.
    pub saved: f64,
    /// The reason why the most recent attempt made no better version.
    pub refused: Option<LittleGain>,
    /// The tier of its code, if that comes from the code cache.
    pub restored: Option<Tier>,
    /// The loops that might be vectorised, with what became of them.
    pub vectorized: Vec<Vectorized>,
    /// Whether its loops prefetch.
    pub prefetching: Prefetching,
    /// Its burst code.
    pub bursts: BurstCode,
}

impl Compiled {
    /// Creates the state of a first version without requests.
    pub fn new(address: usize, first_counter: u32, counters: u32) -> Compiled {
        Compiled {
            address,
            first_counter,
            counters,
            likely_next: Vec::new(),
            plan: None,
            part_code: PartCode::new(),
            resumed: HashMap::new(),
            for_frames: None,
            asked: HashMap::new(),
            requested: HashSet::new(),
            promoted: false,
            basis: None,
            phase: None,
            phases: 0,
            known: 0,
            is_left_soon: false,
            saved: 0.0,
            refused: None,
            restored: None,
            vectorized: Vec::new(),
            prefetching: Prefetching::Untried,
            bursts: BurstCode::default(),
        }
    }

    /// Returns the promotion to request for a frame that is hot at the loop header `block`, or 0 for the entry, in the
    /// baseline code of a function with `calls` calls. A frame gets no version of its own before callers have a better
    /// version: most hot loops end soon and run again in a later call, and versions for frames would take most of the
    /// compiler thread's time while a large program starts. After a single call, however, only the rest of that call is
    /// certain to run: a version is then requested for each loop that is hot by itself, one after the other, since the
    /// frame may leave by the first one.
    fn wanted_at(&mut self, block: u32, calls: u64) -> Option<Promotion> {
        let is_leaf = self.plan.as_ref().is_some_and(|plan| plan.cfg.is_leaf);
        self.is_left_soon |= self.requested.is_empty() && is_leaf && calls >= MANY_CALLS;
        if block == 0 || !self.promoted && calls > 1 {
            return Some(Promotion::Entry);
        }
        let asked = self.asked.entry(block).or_default();
        *asked = asked.saturating_add(1);
        let asked = *asked;
        let is_alone = || {
            self.requested.iter().all(|of| match of {
                Promotion::Resume(block) => self.has_for_frame(*block),
                _ => true,
            })
        };
        (self.promoted || asked >= heat::ASKS && is_alone()).then_some(Promotion::Resume(block))
    }

    /// Returns the expected saving of the version for its callers.
    pub fn saves(&self) -> f64 {
        self.basis.as_ref().map_or(self.saved, |basis| basis.saved)
    }

    /// Reports whether it has run often enough to have better code than at first.
    pub fn is_hot(&self) -> bool {
        self.promoted || self.restored.is_some() || !self.resumed.is_empty() || self.for_frames.is_some()
    }

    /// Reports whether its callers have optimised code.
    pub fn is_optimized(&self) -> bool {
        self.promoted || self.restored == Some(Tier::Optimized)
    }
}

impl ModuleCode {
    /// Creates the code of a module without compiled functions.
    pub fn new(engine: &Engine) -> ModuleCode {
        let arena = CodeArena::new(engine.core().code_space().clone(), engine.config().tiers.padding);
        ModuleCode {
            arena,
            first: FirstCompilations::default(),
            parted: Mutex::default(),
            called_parts: AtomicUsize::new(0),
            functions: RwLock::default(),
            advice: RwLock::default(),
            versions: Mutex::default(),
            trials: Mutex::default(),
            put_off: Mutex::default(),
            better: AtomicU64::new(0),
            changes: AtomicU32::new(0),
        }
    }

    /// Adds the advice of a profile, if there is one.
    pub fn advised(mut self, profile: Option<&Profile>) -> ModuleCode {
        self.advice = RwLock::new(profile.map(|profile| Arc::new(Advice::new(profile))));
        self
    }

    /// Sets the advice about the functions, if there is any.
    pub(super) fn set_advice(&self, advice: Option<Arc<Advice>>) {
        if advice.is_some() {
            *self.advice.write().unwrap_or_else(PoisonError::into_inner) = advice;
        }
    }

    /// Returns the number of called or precompiled functions, and the bytes of address space.
    pub fn size(&self) -> (usize, usize) {
        let ready = self.first.lock().ready.len();
        (ready + self.called(), self.arena.size())
    }

    /// Returns the number of functions that have been called, or are inlined into these.
    pub fn ran(&self) -> usize {
        let functions = self.functions.read().unwrap_or_else(PoisonError::into_inner);
        let mut inlined: HashSet<u32> = HashSet::new();
        for code in functions.values().filter_map(|compiled| registry::find(compiled.address)) {
            inlined.extend(code.code.inlined_funcs.iter().filter(|func| !functions.contains_key(*func)));
        }
        functions.len() + inlined.len()
    }

    /// Returns the bytes of the code that current or future callers run, including its parts.
    pub fn bytes(&self) -> usize {
        let first = self.first.lock();
        let functions = self.functions.read().unwrap_or_else(PoisonError::into_inner);
        let compiled = functions.values().chain(first.ready.values());
        let addresses = compiled.flat_map(|c| std::iter::once(&c.address).chain(c.part_code.values()));
        addresses.filter_map(|&address| registry::find(address)).map(|object| object.size()).sum()
    }

    /// Returns the code that current or future callers run, each function with its parts, by ascending index.
    pub fn text(&self) -> Vec<u8> {
        let first = self.first.lock();
        let functions = self.functions.read().unwrap_or_else(PoisonError::into_inner);
        let compiled = functions.iter().chain(&first.ready);
        let mut addresses: Vec<(u32, Option<u32>, usize)> = Vec::new();
        for (&func, compiled) in compiled {
            addresses.push((func, None, compiled.address));
            addresses.extend(compiled.part_code.iter().map(|(&row, &address)| (func, Some(row), address)));
        }
        addresses.sort_unstable();
        addresses.iter().filter_map(|&(.., at)| self.arena.placed(at)).flat_map(|(bytes, _)| bytes).collect()
    }

    /// Returns the reasons why no better versions of functions were made, by ascending index.
    pub(super) fn refused(&self) -> Vec<(u32, LittleGain)> {
        let functions = self.functions.read().unwrap_or_else(PoisonError::into_inner);
        let refused = functions.iter().filter_map(|(&func, compiled)| Some((func, compiled.refused?)));
        let mut refused: Vec<_> = refused.collect();
        refused.sort_unstable_by_key(|&(func, _)| func);
        refused
    }

    /// Returns the loops that may be vectorised, by ascending function and offset.
    pub(super) fn vectorized(&self) -> Vec<VectorizedLoop> {
        let functions = self.functions.read().unwrap_or_else(PoisonError::into_inner);
        let of = |(&func, compiled): (&u32, &Compiled)| {
            let found = |&(offset, outcome): &Vectorized| VectorizedLoop { func, offset, outcome };
            compiled.vectorized.iter().map(found).collect::<Vec<_>>()
        };
        let mut all: Vec<VectorizedLoop> = functions.iter().flat_map(of).collect();
        all.sort_unstable_by_key(|found| (found.func, found.offset));
        all
    }

    /// Returns the number of functions that have been called.
    pub(super) fn called(&self) -> usize {
        self.functions.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub(super) fn address(&self, func: u32) -> Option<usize> {
        let functions = self.functions.read().unwrap_or_else(PoisonError::into_inner);
        functions.get(&func).map(|c| c.address)
    }

    /// Applies `at` to the state of a function that has been called.
    pub(super) fn look<R>(&self, func: u32, at: impl FnOnce(&Compiled) -> R) -> Option<R> {
        let functions = self.functions.read().unwrap_or_else(PoisonError::into_inner);
        functions.get(&func).map(at)
    }

    /// Records a better version for callers, whose compilation began at `began`.
    pub(super) fn note_better(&self, began: Instant) {
        self.changes.fetch_add(1, Ordering::Relaxed);
        self.better.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }

    pub(super) fn update<R>(&self, func: u32, change: impl FnOnce(&mut Compiled) -> R) -> Option<R> {
        let mut functions = self.functions.write().unwrap_or_else(PoisonError::into_inner);
        functions.get_mut(&func).map(change)
    }
}

impl ModuleInner {
    /// Returns the address of the code of a row of code slots, which belongs to a function or a part of one. Compiles
    /// and publishes the code first if necessary.
    ///
    /// # Errors
    /// Fails if the code is too large to compile, or if there is no memory for it.
    pub(crate) fn code_of(self: &Arc<Self>, row: u32) -> Result<usize> {
        if self.is_part(row) {
            return self.code_of_part(row);
        }
        let func = row;
        let tier = match self.engine.config().tiers.strategy {
            Strategy::Optimized => Tier::Optimized,
            Strategy::Baseline | Strategy::Tiered => Tier::Baseline,
        };
        if self.engine.has_bursts()
            && let Some(entry) = self.code.address(func)
        {
            return Ok(self.called_in_burst(func, entry));
        }
        let code = self.compile(func, tier)?;
        // Outside bursts, burst code counts nothing.
        Ok(if self.engine.sees_all() { self.called_in_burst(func, code) } else { code })
    }

    /// Compiles `func` in `tier` and publishes it, unless it already has code.
    pub(crate) fn compile(self: &Arc<Self>, func: u32, tier: Tier) -> Result<usize> {
        let known = |_: &_| self.code.address(func);
        let claim = match self.code.first.claim(func, known, || self.help()) {
            Ok(claim) => claim,
            Err(address) => return Ok(address),
        };
        if let Some(address) = self.take_ready(func) {
            self.publish(func, address);
            return Ok(address);
        }
        let ahead = match tier {
            Tier::Baseline => claim.take_ahead(),
            Tier::Optimized => None,
        };
        let mut compiled = match ahead {
            Some(CompiledAhead::Function(compiled)) => {
                self.order_ahead(&compiled.likely_next, true);
                *compiled
            }
            _ => self.first_version(&claim, tier, true)?,
        };
        compiled.promoted = tier == Tier::Optimized;
        let address = compiled.address;
        self.code.functions.write().unwrap_or_else(PoisonError::into_inner).insert(func, compiled);
        self.publish(func, address);
        self.code.changes.fetch_add(1, Ordering::Relaxed);
        Ok(address)
    }

    /// Marks a precompiled function as called; returns its address if it was precompiled.
    fn take_ready(&self, func: u32) -> Option<usize> {
        // The lock is held so that storing the code for the next run finds the function in one of both places.
        let mut first = self.code.first.lock();
        let compiled = first.ready.remove(&func)?;
        let address = compiled.address;
        self.code.functions.write().unwrap_or_else(PoisonError::into_inner).insert(func, compiled);
        Some(address)
    }

    /// Compiles `func` in `tier`, unless it already has code, and keeps the code for its first call.
    ///
    /// # Errors
    /// Fails as [`ModuleInner::code_of`] does.
    pub(crate) fn prepare(self: &Arc<Self>, func: u32, tier: Tier) -> Result<()> {
        let known = |first: &State| {
            let is_known = first.ready.contains_key(&func) || self.code.address(func).is_some();
            is_known.then_some(())
        };
        let Ok(claim) = self.code.first.claim(func, known, || self.help()) else { return Ok(()) };
        let mut compiled = self.first_version(&claim, tier, true)?;
        compiled.promoted = tier == Tier::Optimized;
        claim.keep_ready(compiled);
        self.code.changes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Compiles the claimed function for the first time, at its first call or ahead of it.
    pub(super) fn first_version(
        self: &Arc<Self>,
        claim: &Claim<'_>,
        tier: Tier,
        is_called: bool,
    ) -> Result<Compiled> {
        let (func, began) = (claim.func(), Instant::now());
        let collection = self.engine.collection();
        let mut plan = match tier {
            Tier::Baseline => FunctionPlan::baseline(&self.info, func, collection, 0)?,
            Tier::Optimized => FunctionPlan::new(&self.info, func, collection, 0)?,
        };
        let counters = plan.counters();
        plan.first_counter = self.counters(claim, counters, is_called)?;
        let plan = Arc::new(plan);
        let parted = (tier == Tier::Baseline).then(|| self.parts_of(&plan)).flatten();
        let likely_next = match tier {
            Tier::Baseline => self.likely_next(&plan, parted.as_deref()),
            Tier::Optimized => Vec::new(),
        };
        self.order_ahead(&likely_next, is_called);
        let advice = self.advice().filter(|_| tier == Tier::Optimized);
        let compiler = self.engine.compiler();
        let (code, decisions) = match (tier, &parted) {
            (Tier::Optimized, _) => {
                let (code, _, decisions) =
                    self.settled(&plan, |plan| self.best_graph(plan, advice.as_deref()))?;
                (code, decisions)
            }
            (Tier::Baseline, Some(of)) => {
                (compiler.graph(&self.env(), &plan.cfg, &of.parts.graph(0), tier)?, None)
            }
            (Tier::Baseline, None) => (compiler.function(&self.env(), &plan, tier)?, None),
        };
        let (bytes, vectorized) = (code.bytes.len(), code.loops_in_vectors());
        let mut compiled = Compiled::new(self.place(func, code)?, plan.first_counter, counters);
        compiled.vectorized = vectorized;
        compiled.basis = basis(func, advice, decisions.as_deref());
        let kind = match tier {
            Tier::Baseline => CodeTier::Baseline,
            Tier::Optimized => CodeTier::Optimized,
        };
        self.note(CompiledVersion::new(func, kind, began, bytes).by(decisions));
        compiled.plan = (!self.engine.collection().is_off()).then_some(plan);
        compiled.likely_next = likely_next;
        Ok(compiled)
    }

    /// Handles a report that baseline code of `func`, with `calls` calls, is hot, at the loop header `block` or, if
    /// that is 0, at its entry. Orders better versions; returns the address of one that resumes at `block`, if
    /// available.
    pub(crate) fn request_promotion(self: &Arc<Self>, func: u32, block: u32, calls: u64) -> Option<usize> {
        if self.engine.config().tiers.strategy != Strategy::Tiered {
            return None;
        }
        if let Some(wanted) = self.code.update(func, |compiled| compiled.wanted_at(block, calls))? {
            self.order_promotion(func, wanted);
            // The code cache contains versions for callers only.
            if wanted != Promotion::Entry && self.engine.code_cache().is_some() {
                self.order(func, Promotion::Entry, Task::PromoteForNextRun(Promotion::Entry));
            }
        }
        self.code_for_frame(func, block)
    }

    pub(super) fn order_promotion(self: &Arc<Self>, func: u32, promotion: Promotion) {
        self.order(func, promotion, Task::Promote(promotion));
    }

    /// Orders a better version, unless it was ordered before or there are enough.
    fn order(self: &Arc<Self>, func: u32, promotion: Promotion, task: Task) {
        let most = MOST_VERSIONS.max(MOST_BYTES / self.info.body(func).len().max(1));
        let is_new =
            |compiled: &mut Compiled| compiled.requested.len() < most && compiled.requested.insert(promotion);
        if self.code.update(func, is_new) != Some(true) {
            return;
        }
        let job = Job::new(self, func, task);
        match self.engine.background() {
            Some(background) if !background.delays(task, self.info.body(func).len()) => {
                background.order([job]);
            }
            _ => job.run(),
        }
    }

    /// Returns the index of the heat counter of `func`, and the value from which it is hot.
    pub(crate) fn heat(&self, func: u32) -> Option<(u32, u32)> {
        let functions = self.code.functions.read().unwrap_or_else(PoisonError::into_inner);
        let compiled = functions.get(&func)?;
        let heat = compiled.first_counter + compiled.counters - 1;
        Some((heat, self.engine.compiler().options().hot_after(self.info.body(func).len())))
    }

    /// Compiles and publishes a better version.
    ///
    /// # Errors
    /// Fails as [`ModuleInner::code_of`] does; the function then keeps its code.
    pub(crate) fn promote(self: &Arc<Self>, func: u32, promotion: Promotion) -> Result<()> {
        let before = cpu_time::of_thread();
        let done = self.compile_version(func, promotion);
        self.book(func, promotion, before);
        done
    }

    fn compile_version(self: &Arc<Self>, func: u32, promotion: Promotion) -> Result<()> {
        match promotion {
            Promotion::Burst(block) => self.compile_for_bursts(func, block),
            Promotion::Reoptimized => {
                self.reoptimize(func)?;
                self.order_prefetching(func);
                Ok(())
            }
            Promotion::Prefetching => self.try_prefetching(func),
            Promotion::Entry => self.compile_for_callers(func),
            Promotion::Resume(block) => self.compile_for_frame(func, block, true),
            Promotion::Return(block) => self.compile_for_frame(func, block, false),
            Promotion::Unrolled(block) => self.compile_unrolled(func, block),
        }
    }

    fn compile_for_callers(self: &Arc<Self>, func: u32) -> Result<()> {
        // A frame at the main loop may already have promoted the function.
        if self.code.look(func, |compiled| compiled.promoted) == Some(true) {
            return Ok(());
        }
        let began = Instant::now();
        let Some(plan) = self.plan_of(func) else { return Ok(()) };
        let advice = self.advice();
        let (code, _, decisions) = self.settled(&plan, |plan| self.best_graph(plan, advice.as_deref()))?;
        let bytes = code.bytes.len();
        let address = self.place(func, code)?;
        self.code.update(func, |compiled| {
            (compiled.address, compiled.promoted) = (address, true);
            compiled.basis = basis(func, advice, decisions.as_deref());
        });
        self.code.parted.lock().unwrap_or_else(PoisonError::into_inner).remove(&func);
        self.publish(func, address);
        self.code.note_better(began);
        self.note(CompiledVersion::new(func, CodeTier::Optimized, began, bytes).by(decisions));
        Ok(())
    }

    pub(super) fn place(self: &Arc<Self>, func: u32, mut code: MachineCode) -> Result<usize> {
        self.slots.fill(&self.info, &code.dispatches);
        if self.engine.perf().is_some() {
            // perf gets a single address range per function.
            code.cold = None;
        }
        let told = self.engine.perf().map(|_| (code.bytes.clone(), code.positions.clone()));
        let owner = Some(self.owner(func));
        let address = self.code.arena.place(code, owner).map_err(no_code_memory)?;
        if let Some((perf, (bytes, positions))) = self.engine.perf().zip(told) {
            let lines = if perf.has_lines() { self.lines(&positions) } else { Vec::new() };
            let name = self.names().func(func).map_or_else(|| format!("wasm-function[{func}]"), demangle);
            perf.add(&Placed { address: address as u64, bytes: &bytes, name: &name, lines });
        }
        Ok(address)
    }

    /// Returns the source lines of code, given its positions; a line extends to the next.
    fn lines(&self, positions: &Positions) -> Vec<(u32, String, u32)> {
        // Code of inlined functions has the lines of these.
        let mut rows: HashMap<u32, Vec<SourceRow>> = HashMap::new();
        let mut line = |position: Position| {
            let func = self.info.func_at(position.offset as usize)?;
            let rows = rows.entry(func).or_insert_with(|| self.symbols().rows_of(&self.info, func));
            let next = rows.partition_point(|row| row.offset <= position.offset);
            let (file, line) = rows[..next].last()?.line.as_ref()?;
            Some((position.pc, file.to_string(), *line))
        };
        let mut lines: Vec<_> = positions.iter().filter_map(&mut line).collect();
        lines.dedup_by(|next, kept| (&next.1, next.2) == (&kept.1, kept.2));
        lines
    }

    pub(super) fn env(&self) -> ModuleEnv<'_> {
        let events = &self.engine.collection().events;
        let (slots, dispatch_cells, type_ids) = match &self.stand_ins {
            Some(of) => (of.slots, of.dispatch_cells, &of.type_ids),
            None => {
                let cells = self.slots.dispatch_cells().map(|address| address as u64);
                (self.slots.address() as u64, cells, &self.type_ids)
            }
        };
        let ModuleInner { info, layout, .. } = self;
        ModuleEnv { info, layout, type_ids, events, slots, dispatch_cells }
    }
}

/// Returns the basis of a version, if a profile gave advice.
fn basis(func: u32, advice: Option<Arc<Advice>>, decisions: Option<&[Decision]>) -> Option<Basis> {
    let (advice, decisions) = advice.zip(decisions)?;
    Some(Basis::new(func, advice, decisions))
}
