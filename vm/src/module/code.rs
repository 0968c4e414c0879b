//! The compiled functions of a module, and their way up through the tiers.
//!
//! Invariant: counter indices are given out once per module, so that the counters of all its instances mean the
//! same; all versions of a function use the same counters. Code is in the registry before its address is published.
//! Invariant: code is published when its function is called for the first time, also if it was compiled before: what is
//! published is what was called.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use hashbrown::{HashMap, HashSet};
use wprof_jit::abi::heat;
use wprof_jit::compile::{MachineCode, ModuleEnv, Position, Positions, Tier};
use wprof_jit::plan::FunctionPlan;
use wprof_jit::reoptimize::{Advice, Basis, Decision, LittleGain};
use wprof_profiler::{CodeTier, Profile};

use super::burst_code::BurstCode;
use super::first_compilation::{Ahead, Claim, FirstCompilations, State};
use super::parts::{PartCode, PartedFunction};
use super::phases::Phase;
use super::trials::Trials;
use super::{CompiledVersion, ModuleInner, demangle};
use crate::background::{Job, Promotion, Task};
use crate::perf::Placed;
use crate::runtime::code::{CodeArena, no_code_memory, registry};
use crate::runtime::counts::cpu_time;
use crate::{Engine, Result, Strategy};

/// How many better versions a function may have, whatever its size. Each loop wants several, and a hostile function
/// of a megabyte has a hundred thousand loops.
const MOST_VERSIONS: usize = 3;
/// A function may have so many that their bytes of wasm code together are no more than this.
const MOST_BYTES: usize = 1 << 20;

/// A function that is hot after so many calls makes few rounds in each.
const MANY_CALLS: u64 = 8;

/// The code of one module.
#[derive(Debug)]
pub struct ModuleCode {
    pub(super) arena: CodeArena,
    pub(super) first: FirstCompilations,
    /// The functions whose baseline code is compiled in parts, as long as most callers run that.
    pub(super) parted: Mutex<HashMap<u32, Arc<PartedFunction>>>,
    /// How many parts control has come to, but for the first ones.
    pub(super) called_parts: AtomicUsize,
    /// The functions that have been called.
    pub(super) functions: RwLock<HashMap<u32, Compiled>>,
    /// What is known of the functions.
    pub(super) advice: RwLock<Option<Arc<Advice>>>,
    /// What was compiled.
    pub(super) versions: Mutex<Vec<CompiledVersion>>,
    /// The better versions that are being timed.
    pub(super) trials: Mutex<Trials>,
    /// Functions whose code for bursts was not afforded when calls in bursts wanted it.
    pub(super) put_off: Mutex<Vec<u32>>,
    /// Nanoseconds that better versions for callers took the compiler since then.
    pub(super) better: AtomicU64,
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
    /// What to compile ahead when it is called, by rows of code slots.
    pub likely_next: Vec<u32>,
    /// `None` when not profiling, and for code from the cache: it is made again faster than it is worth keeping. Code
    /// of which interesting paths are told from others reads the plan's cells, so that it stays here as long as the
    /// code.
    pub plan: Option<Arc<FunctionPlan>>,
    /// The parts that control has come to, but for the first, if its baseline code is compiled in parts.
    pub part_code: PartCode,
    /// What frames go on in at a loop header, by its block: a version that resumes there, or what leads into one that is
    /// entered there.
    pub resumed: HashMap<u32, usize>,
    /// The version that frames enter at its loops, if there is one.
    pub for_frames: Option<usize>,
    /// How often baseline code asked for a better version, by the block where it was hot.
    pub asked: HashMap<u32, u32>,
    /// What has been asked for already.
    pub requested: HashSet<Promotion>,
    /// Whether its callers have a better version.
    pub promoted: bool,
    /// By what its optimised versions were made; `None` if by nothing but itself.
    pub basis: Option<Basis>,
    /// The phase that the next better version is to be made for.
    pub phase: Option<Phase>,
    /// How often it has come into a new one.
    pub phases: u32,
    /// How many instructions of it a profile had seen when it was last decided whether to make it better.
    pub known: u64,
    /// Whether frames leave it soon after they have come to a loop: it calls nothing, and was called several times before
    /// it was hot.
    pub is_left_soon: bool,
    /// Of code from the code cache: what it was expected to save when it was made.
    pub saved: f64,
    /// Why no better version was made when it was last looked for one.
    pub refused: Option<LittleGain>,
    /// Whether its code comes from the code cache.
    pub restored: bool,
    /// Its code for bursts.
    pub bursts: BurstCode,
}

impl Compiled {
    /// Its first version, of which nothing was asked yet.
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
            restored: false,
            bursts: BurstCode::default(),
        }
    }

    /// What is wanted by a frame that is hot at the loop header `block`, or 0 for the entry, in the baseline code of
    /// a function that was called `calls` times. A frame wants nothing of its own before there is a better version
    /// for callers: most hot loops end soon and come again by a call, and versions for frames would take most of the
    /// compiler thread's time while a large program starts. But where there was one call only, all that is known to
    /// come is the rest of that: so a version is wanted for a loop that is hot by itself, one after the other, for
    /// with the first one the frame may leave.
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

    /// What the version for its callers was expected to save.
    pub fn saves(&self) -> f64 {
        self.basis.as_ref().map_or(self.saved, |basis| basis.saved)
    }

    /// Whether it has run so often that it has better code than at first.
    pub fn is_hot(&self) -> bool {
        self.promoted || self.restored || !self.resumed.is_empty() || self.for_frames.is_some()
    }
}

impl ModuleCode {
    /// No function compiled yet.
    pub fn new(engine: &Engine) -> ModuleCode {
        let arena = CodeArena::new(engine.core().code_space().clone(), engine.config().padding);
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

    /// The same with what a profile tells, if there is one.
    pub fn advised(mut self, profile: Option<&Profile>) -> ModuleCode {
        self.advice = RwLock::new(profile.map(|profile| Arc::new(Advice::new(profile))));
        self
    }

    /// Sets what is known of the functions, if anything is.
    pub(super) fn set_advice(&self, advice: Option<Arc<Advice>>) {
        if advice.is_some() {
            *self.advice.write().unwrap_or_else(PoisonError::into_inner) = advice;
        }
    }

    /// Number of functions that have been called or compiled for it, and bytes of address space.
    pub fn size(&self) -> (usize, usize) {
        let ready = self.first.lock().ready.len();
        (ready + self.called(), self.arena.size())
    }

    /// Number of functions that have been called, or are inlined into these.
    pub fn ran(&self) -> usize {
        let functions = self.functions.read().unwrap_or_else(PoisonError::into_inner);
        let mut inlined: HashSet<u32> = HashSet::new();
        for code in functions.values().filter_map(|compiled| registry::find(compiled.address)) {
            inlined.extend(code.code.inlined_funcs.iter().filter(|func| !functions.contains_key(*func)));
        }
        functions.len() + inlined.len()
    }

    /// Bytes of the code that callers come to, or will when they call, and of the parts that belong to it.
    pub fn bytes(&self) -> usize {
        let first = self.first.lock();
        let functions = self.functions.read().unwrap_or_else(PoisonError::into_inner);
        let compiled = functions.values().chain(first.ready.values());
        let addresses = compiled.flat_map(|c| std::iter::once(&c.address).chain(c.part_code.values()));
        addresses.filter_map(|&address| registry::find(address)).map(|object| object.size()).sum()
    }

    /// Why no better versions of functions were made, by ascending index.
    pub(super) fn refused(&self) -> Vec<(u32, LittleGain)> {
        let functions = self.functions.read().unwrap_or_else(PoisonError::into_inner);
        let refused = functions.iter().filter_map(|(&func, compiled)| Some((func, compiled.refused?)));
        let mut refused: Vec<_> = refused.collect();
        refused.sort_unstable_by_key(|&(func, _)| func);
        refused
    }

    /// Number of functions that have been called.
    pub(super) fn called(&self) -> usize {
        self.functions.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub(super) fn address(&self, func: u32) -> Option<usize> {
        let functions = self.functions.read().unwrap_or_else(PoisonError::into_inner);
        functions.get(&func).map(|c| c.address)
    }

    /// What there is of a function that has been called.
    pub(super) fn look<R>(&self, func: u32, at: impl FnOnce(&Compiled) -> R) -> Option<R> {
        let functions = self.functions.read().unwrap_or_else(PoisonError::into_inner);
        functions.get(&func).map(at)
    }

    /// There is a better version for callers, which was begun at `began`.
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
    /// The address of the code behind a row of code slots, a function's or a part of one, which is compiled and
    /// published now if need be.
    ///
    /// # Errors
    /// If it is too large to compile, or there is no memory for its code.
    pub(crate) fn code_of(self: &Arc<Self>, row: u32) -> Result<usize> {
        if self.is_part(row) {
            return self.code_of_part(row);
        }
        let func = row;
        let tier = match self.engine.config().strategy {
            Strategy::Optimized => Tier::Optimized,
            Strategy::Baseline | Strategy::Tiered => Tier::Baseline,
        };
        if self.engine.has_bursts()
            && let Some(entry) = self.code.address(func)
        {
            return Ok(self.called_in_burst(func, entry));
        }
        let code = self.compile(func, tier)?;
        // Where no burst runs, code for bursts counts nothing.
        Ok(if self.engine.sees_all() { self.called_in_burst(func, code) } else { code })
    }

    /// Compiles `func` in `tier` and publishes it, unless there is code for it already.
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
            Some(Ahead::Function(compiled)) => {
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

    /// Counts a function as called that was compiled before; gives its address if it was.
    fn take_ready(&self, func: u32) -> Option<usize> {
        // Held so that whoever keeps the code for the next run finds the function at one of both places.
        let mut first = self.code.first.lock();
        let compiled = first.ready.remove(&func)?;
        let address = compiled.address;
        self.code.functions.write().unwrap_or_else(PoisonError::into_inner).insert(func, compiled);
        Some(address)
    }

    /// Compiles `func` in `tier`, unless there is code for it already, and has it wait for its first call.
    ///
    /// # Errors
    /// As [`ModuleInner::code_of`].
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

    /// Compiles the claimed function for the first time, because it is called or before that.
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
        let (code, decisions) = match (&advice, &parted) {
            (Some(advice), _) => {
                let (graph, decisions) = self.best_graph(&plan, Some(advice))?;
                (self.optimized(&plan, &graph)?, decisions)
            }
            (None, Some(of)) => (compiler.graph(&self.env(), &plan.cfg, &of.parts.graph(0), tier)?, None),
            (None, None) => (compiler.function(&self.env(), &plan, tier)?, None),
        };
        let bytes = code.bytes.len();
        let mut compiled = Compiled::new(self.place(func, code)?, plan.first_counter, counters);
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

    /// Baseline code of `func`, which was called `calls` times, is hot, at the loop header `block` or, if that is 0,
    /// at its entry. Orders better versions; gives the address of one that resumes at `block` if there is one.
    pub(crate) fn request_promotion(self: &Arc<Self>, func: u32, block: u32, calls: u64) -> Option<usize> {
        if self.engine.config().strategy != Strategy::Tiered {
            return None;
        }
        if let Some(wanted) = self.code.update(func, |compiled| compiled.wanted_at(block, calls))? {
            self.order_promotion(func, wanted);
            // The code cache has versions for callers only.
            if wanted != Promotion::Entry && self.engine.code_cache().is_some() {
                self.order(func, Promotion::Entry, Task::PromoteForNextRun(Promotion::Entry));
            }
        }
        self.code_for_frame(func, block)
    }

    pub(super) fn order_promotion(self: &Arc<Self>, func: u32, promotion: Promotion) {
        self.order(func, promotion, Task::Promote(promotion));
    }

    /// Has a better version made, unless it was ordered before or there are enough.
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

    /// Index of the counter of `func`'s heat, and its value from which on it is hot.
    pub(crate) fn heat(&self, func: u32) -> Option<(u32, u32)> {
        let functions = self.code.functions.read().unwrap_or_else(PoisonError::into_inner);
        let compiled = functions.get(&func)?;
        let heat = compiled.first_counter + compiled.counters - 1;
        Some((heat, self.engine.compiler().options().hot_after(self.info.body(func).len())))
    }

    /// Compiles and publishes a better version.
    ///
    /// # Errors
    /// As [`ModuleInner::code_of`]; the function then stays as it is.
    pub(crate) fn promote(self: &Arc<Self>, func: u32, promotion: Promotion) -> Result<()> {
        let before = cpu_time::of_thread();
        let done = self.compile_version(func, promotion);
        self.book(func, promotion, before);
        done
    }

    fn compile_version(self: &Arc<Self>, func: u32, promotion: Promotion) -> Result<()> {
        match promotion {
            Promotion::Burst(block) => self.compile_for_bursts(func, block),
            Promotion::Reoptimized => self.reoptimize(func),
            Promotion::Entry => self.compile_for_callers(func),
            Promotion::Resume(block) => self.compile_for_frame(func, block, true),
            Promotion::Return(block) => self.compile_for_frame(func, block, false),
            Promotion::Unrolled(block) => self.compile_unrolled(func, block),
        }
    }

    fn compile_for_callers(self: &Arc<Self>, func: u32) -> Result<()> {
        // A frame may have been faster that has come to the main loop.
        if self.code.look(func, |compiled| compiled.promoted) == Some(true) {
            return Ok(());
        }
        let began = Instant::now();
        let Some(plan) = self.plan_of(func) else { return Ok(()) };
        let advice = self.advice();
        let (graph, decisions) = self.best_graph(&plan, advice.as_deref())?;
        let code = self.optimized(&plan, &graph)?;
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
            // It is told of one place for each function.
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

    /// The source lines of code, given what it comes from; a line holds until the next.
    fn lines(&self, positions: &Positions) -> Vec<(u32, String, u32)> {
        let line = |position: Position| {
            let symbol = self.symbols().at(&self.info, position.offset).into_iter().next()?;
            Some((position.pc, symbol.file()?.to_owned(), symbol.line().filter(|&line| line > 0)?))
        };
        let mut lines: Vec<_> = positions.iter().filter_map(line).collect();
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

/// By what a version was made, if a profile told anything.
fn basis(func: u32, advice: Option<Arc<Advice>>, decisions: Option<&[Decision]>) -> Option<Basis> {
    let (advice, decisions) = advice.zip(decisions)?;
    Some(Basis::new(func, advice, decisions))
}
