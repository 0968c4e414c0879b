//! Cranelift: from a block graph, or a trampoline's signature, to machine code with what the runtime must know of it.

mod checks;
mod constants;
mod disassembly;
mod extends;
mod invariants;
mod isa;
mod loads;
mod machine_code;
mod origins;
mod pinned;
mod relax;
mod results;
mod single_pass;
pub(crate) mod trace;
mod trampoline;

use std::sync::Mutex;

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::cursor::FuncCursor;
use cranelift_codegen::ir::{Function, Inst, InstBuilder, Value, types};
use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_frontend::FunctionBuilderContext;
use wasmparser::FuncType;
use wprof_profiler::CacheShape;

use crate::CompileError;
use crate::abi::{VmLayout, store_context};
use crate::cfg::Cfg;
use crate::events::EventModel;
use crate::graph::{BlockGraph, Node, PartSizes, Parts};
use crate::module::ModuleInfo;
use crate::plan::{Collection, Counting, FunctionPlan, Instrumentation, Metric};
use crate::reoptimize::{Reoptimized, Reoptimizer};
use crate::translate::{Translated, translate};
pub(crate) use checks::{
    Check, ask_runtime, ask_runtime_pinned, fires as check_fires, mark as check_mark, trap_if_told,
};
pub use machine_code::{CallSite, MachineCode, Origin, Reloc, TrapSite};
pub(crate) use machine_code::{METRICS_SLOT, PATH_SLOT, RECORD_SLOT, VMCTX_SLOT};
pub(crate) use origins::Origins;
pub(crate) use pinned::in_place;
use single_pass::{Features, SinglePass};

/// How linear memories are laid out; every memory of an engine is laid out so, and code relies on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryStyle {
    /// Address space reserved for a 32-bit memory, in bytes. With 4 GiB or more a memory never moves and an index
    /// needs no check.
    pub reservation: u64,
    /// Inaccessible bytes behind the reservation: constant offsets below this need no check either.
    pub guard: u64,
}

impl Default for MemoryStyle {
    fn default() -> Self {
        MemoryStyle { reservation: 4 << 30, guard: 32 << 20 }
    }
}

impl MemoryStyle {
    /// Whether 32-bit memories are fully reserved, so that they never move and guard pages catch bad indices.
    pub fn is_static(&self) -> bool {
        self.reservation >= 4 << 30
    }
}

/// What the code generator may assume and must guarantee.
#[derive(Clone, Debug)]
pub struct CompilerOptions {
    /// Layout of linear memories.
    pub memory: MemoryStyle,
    /// Guard heap and table accesses against speculative out-of-bounds reads.
    pub spectre_guards: bool,
    /// Poll for interruption at function entries and loop headers.
    pub polls: bool,
    /// Stop at known instructions only, as exact counts need, but not those of bursts: stacks overflow at entries, and every access has a trap
    /// site of its own.
    pub precise: bool,
    /// Leave locals and operands in the transfer buffer where the budget is used up.
    pub capture_state: bool,
    /// Frames of precise code hold their vmctx, so that what they count belongs to the right instance.
    pub frames_hold_vmctx: bool,
    /// The kind of events of which there is a budget.
    pub metered: Option<u32>,
    /// The kind of events whose counter is kept in the pinned register while wasm code runs, instead of in memory:
    /// there an update does not have to wait for the one before it to come back from the store buffer.
    pub pinned: Option<u32>,
    /// Write traces. The word that is being filled takes the pinned register, and no counter may be there.
    pub traced: bool,
    /// Write the data references of traces.
    pub references: bool,
    /// Record data references in bursts that are recorded.
    pub logs_references: bool,
    /// Code checks whether to go on in another version, and counts checks in the pinned register.
    pub checked: bool,
    /// Calling contexts are counted, and what callers pass for that takes the pinned register if nothing else does.
    pub contexts: bool,
    /// Keep of all code which instruction it comes from: [`MachineCode::positions`].
    pub positions: bool,
    /// How many metrics are measured.
    pub metrics: u32,
    /// Whether their readings must be asked for.
    pub reads_metrics: bool,
    /// By kind of events, the metric that lengths of bulk operations add to, if there is one.
    pub lengths: Vec<Option<u32>>,
    /// The simulated cache that sees all loads and stores.
    pub cache: Option<CacheShape>,
    /// Paths are counted in each calling context of their own.
    pub flow_contexts: bool,
    /// Make every NaN that arithmetic yields the canonical one.
    pub canonical_nans: bool,
    /// Run Cranelift's verifier on everything (slow; tests do).
    pub verify: bool,
    /// Larger functions are compiled in parts, where control comes to them: see [`Compiler::parts`].
    pub part_sizes: PartSizes,
    /// After how many entries and rounds of loops in baseline code a small function is worth optimising: see
    /// [`CompilerOptions::hot_after`]. `None` if none ever is.
    pub hot: Option<u32>,
}

/// The bytecode whose optimisation [`CompilerOptions::hot`] rounds repay. So cc1, compiling a hundred lines on one core, spends
/// 0.6 of 8.5 s on optimised versions; where size does not count, 5.0 of 11.4 s.
const REPAID_BYTES: usize = 100;
/// However large a function is, a million rounds are enough.
const MOST_TIMES: usize = 1000;

impl Default for CompilerOptions {
    fn default() -> Self {
        CompilerOptions {
            memory: MemoryStyle::default(),
            spectre_guards: true,
            polls: false,
            precise: false,
            capture_state: false,
            frames_hold_vmctx: false,
            metered: None,
            pinned: None,
            traced: false,
            references: false,
            logs_references: false,
            checked: false,
            contexts: false,
            positions: false,
            metrics: 0,
            reads_metrics: false,
            lengths: Vec::new(),
            cache: None,
            flow_contexts: false,
            canonical_nans: false,
            verify: cfg!(debug_assertions),
            part_sizes: PartSizes::above(4000),
            hot: Some(1000),
        }
    }
}

impl CompilerOptions {
    /// After how many entries and rounds of loops a function of `bytes` of bytecode is optimised: what compiling it takes, which
    /// they have to repay, grows with its size.
    pub fn hot_after(&self, bytes: usize) -> u32 {
        let times = (bytes / REPAID_BYTES).clamp(1, MOST_TIMES);
        self.hot.unwrap_or(u32::MAX).saturating_mul(times as u32)
    }

    /// The same for code that collects. Where more than totals is collected, the embedder can always interrupt.
    #[must_use]
    pub fn collecting(self, collection: &Collection) -> CompilerOptions {
        let is_profiled = collection.counters != Instrumentation::Off;
        let traced = collection.tracing.is_some();
        let first = (!collection.events.is_empty()).then_some(0);
        CompilerOptions {
            // A check can be made to fire.
            polls: (self.polls || is_profiled || traced) && collection.checks.is_none(),
            checked: collection.checks.is_some(),
            precise: !collection.is_off() && !collection.in_bursts,
            capture_state: collection.counting == Counting::PerInstruction,
            frames_hold_vmctx: is_profiled || collection.contexts,
            metered: collection.metered,
            pinned: collection.metered.or(first).filter(|_| !traced),
            traced,
            references: traced && collection.references,
            logs_references: collection.records_bursts && collection.references,
            contexts: collection.contexts,
            metrics: collection.metrics.len() as u32,
            reads_metrics: collection.metrics.iter().any(Metric::is_read),
            lengths: collection.lengths(),
            flow_contexts: collection.flow_contexts.is_some(),
            cache: collection.metrics.iter().find_map(Metric::cache),
            ..self
        }
    }

    /// The offset in the store's context of what is kept in the pinned register while wasm code runs.
    pub fn pinned_cell(&self) -> Option<i32> {
        match (self.traced, self.pinned) {
            (true, _) => Some(store_context::TRACE_WORD),
            (false, Some(kind)) => Some(store_context::event(kind)),
            (false, None) if self.checked => Some(store_context::CHECKS),
            (false, None) => self.contexts.then_some(store_context::CALLEE_SLOT),
        }
    }

    /// Whether anybody wants to know of each data reference.
    pub(crate) fn records_references(&self) -> bool {
        self.references || self.logs_references
    }

    /// Whether that is what callers pass to their callees.
    pub(crate) fn pins_callee_slot(&self) -> bool {
        self.pinned_cell() == Some(store_context::CALLEE_SLOT)
    }
}

/// What the code of one module relies on.
#[derive(Clone, Copy)]
pub struct ModuleEnv<'a> {
    /// The module.
    pub info: &'a ModuleInfo,
    /// Its vmctx layout.
    pub layout: &'a VmLayout,
    /// Engine-wide id of each type of `info.types`.
    pub type_ids: &'a [u32],
    /// Kinds of events that are counted, by number.
    pub events: &'a [EventModel],
    /// Address of the module's code slots: one `abi::code_slots` row per function index.
    pub slots: u64,
    /// Address of its dispatch cells, if they are there.
    pub dispatch_cells: Option<u64>,
}

/// How much is done for the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tier {
    /// The fastest compilation. The code counts its heat and asks for promotion when it is hot.
    Baseline,
    /// Optimised.
    Optimized,
}

/// The code generator, shared by all threads of an engine.
pub struct Compiler {
    best: OwnedTargetIsa,
    fast: OwnedTargetIsa,
    /// For functions that are optimised already.
    rest: OwnedTargetIsa,
    /// What a single pass may use, where there is one for this machine.
    single_pass: Option<Features>,
    options: CompilerOptions,
    /// The options of code for bursts.
    in_bursts: CompilerOptions,
    /// What compilations leave for the next ones.
    scratch: Mutex<Vec<Box<Scratch>>>,
}

/// Memory that compilations reuse, as allocating it anew takes a good part of the time of a small one.
struct Scratch {
    context: Context,
    builder: FunctionBuilderContext,
    registers: regalloc2::Ctx,
    single_pass: SinglePass,
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch {
            context: Context::new(),
            builder: FunctionBuilderContext::new(),
            registers: regalloc2::Ctx::default(),
            single_pass: SinglePass::default(),
        }
    }
}

impl std::fmt::Debug for Compiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compiler").field("target", &self.best.triple().to_string()).finish()
    }
}

impl Compiler {
    /// A code generator for the machine it runs on.
    ///
    /// # Errors
    /// If Cranelift has no back end for this machine.
    pub fn new(options: CompilerOptions) -> Result<Compiler, CompileError> {
        let (best, fast) = (isa::best(&options)?, isa::fast(&options)?);
        let rest = isa::rest(&options)?;
        let in_bursts = options.clone();
        let single_pass = Features::of(&*fast);
        Ok(Compiler { best, fast, rest, single_pass, options, in_bursts, scratch: Mutex::default() })
    }

    /// The same with other options for code for bursts, which may collect more than other code.
    #[must_use]
    pub fn with_bursts(self, options: CompilerOptions) -> Compiler {
        Compiler { in_bursts: options, ..self }
    }

    /// The options it was made with.
    pub fn options(&self) -> &CompilerOptions {
        &self.options
    }

    fn options_of(&self, graph: &BlockGraph) -> &CompilerOptions {
        if graph.in_bursts { &self.in_bursts } else { &self.options }
    }

    /// What code of a tier is translated for.
    fn isa(&self, tier: Tier) -> &dyn TargetIsa {
        match tier {
            Tier::Baseline => &*self.fast,
            Tier::Optimized => &*self.best,
        }
    }

    /// Everything that its code depends on besides what is compiled: equal for two code generators that make the same
    /// code, given the same version of this crate.
    pub fn fingerprint(&self) -> String {
        let machine = |isa: &OwnedTargetIsa| {
            let features: Vec<String> = isa.isa_flags().iter().map(ToString::to_string).collect();
            format!("{} {} {}", isa.triple(), isa.flags(), features.join(" "))
        };
        let Compiler { options, in_bursts, best, fast, .. } = self;
        format!("{options:?} {in_bursts:?} {} {}", machine(best), machine(fast))
    }

    /// Compiles a function as planned. All versions count with the same counters.
    ///
    /// # Errors
    /// If the function exceeds a limit of the code generator.
    pub fn function(
        &self,
        env: &ModuleEnv<'_>,
        plan: &FunctionPlan,
        tier: Tier,
    ) -> Result<MachineCode, CompileError> {
        self.graph(env, &plan.cfg, &self.version(plan, tier), tier)
    }

    /// Compiles an optimised version that resumes at `block`, a loop header, with its state from the transfer buffer.
    ///
    /// # Errors
    /// As [`Compiler::function`].
    pub fn resumed(
        &self,
        env: &ModuleEnv<'_>,
        plan: &FunctionPlan,
        block: u32,
    ) -> Result<MachineCode, CompileError> {
        let graph = self.version(plan, Tier::Optimized).resumed_at(&plan.cfg, block);
        self.graph(env, &plan.cfg, &graph, Tier::Optimized)
    }

    /// A better graph of a function, by what is known of it; `None` if nothing is.
    ///
    /// # Errors
    /// If a callee exceeds a limit.
    ///
    /// # Panics
    /// If more is planned in it than checks.
    pub fn reoptimized(
        &self,
        plan: &FunctionPlan,
        reoptimizer: &Reoptimizer<'_>,
    ) -> Result<Option<Reoptimized>, CompileError> {
        assert!(!self.options.precise, "what is counted in a function is not counted where it is inlined");
        let better = reoptimizer.graph(plan, &|plan| self.probed(plan))?;
        Ok(better.map(|better| Reoptimized { graph: optimized(better.graph, plan), ..better }))
    }

    /// The block graph that is compiled of a function.
    pub fn version(&self, plan: &FunctionPlan, tier: Tier) -> BlockGraph {
        let mut graph = self.probed(plan);
        match tier {
            Tier::Baseline => {
                if self.options.hot.is_some() {
                    graph.add_heat(&plan.cfg, plan.heat_counter());
                }
                graph
            }
            Tier::Optimized => optimized(graph, plan),
        }
    }

    /// The parts that baseline code of a function is compiled in, the first by [`Compiler::graph`], the others when control
    /// comes to them; `None` if it is compiled as a whole. `first_row`: see [`Parts::new`].
    pub fn parts(&self, plan: &FunctionPlan, first_row: u32) -> Option<Parts> {
        let is_split = self.splits() && plan.cfg.bytes() > self.options.part_sizes.split;
        is_split
            .then(|| self.version(plan, Tier::Baseline))
            .and_then(|graph| Parts::new(graph, &plan.cfg, self.options.part_sizes, first_row))
    }

    /// Whether any function is compiled in parts. One whose frames can be looked at everywhere is not: a frame that finds no
    /// room on the stack would have to stop in the middle of the function.
    pub fn splits(&self) -> bool {
        !self.options.precise
    }

    /// Each block once, with everything that it does besides the wasm code.
    fn probed(&self, plan: &FunctionPlan) -> BlockGraph {
        let mut graph = plan.graph();
        if let Some(events) = &plan.events {
            events.add_steps(&mut graph);
            if let (Some(kind), Some(calls)) = (self.options.metered, events.checked_calls()) {
                graph.add_budget(&plan.cfg, kind, calls);
            }
        }
        if self.options.polls {
            graph.add_polls(&plan.cfg);
        }
        if let Some(checks) = &plan.checks {
            checks.add_probes(&mut graph);
        }
        graph
    }

    /// Compiles a block graph.
    ///
    /// # Errors
    /// As [`Compiler::function`].
    pub fn graph(
        &self,
        env: &ModuleEnv<'_>,
        cfg: &Cfg,
        graph: &BlockGraph,
        tier: Tier,
    ) -> Result<MachineCode, CompileError> {
        self.emit(env, cfg, graph, tier, self.options.positions)
    }

    fn emit(
        &self,
        env: &ModuleEnv<'_>,
        cfg: &Cfg,
        graph: &BlockGraph,
        tier: Tier,
        with_positions: bool,
    ) -> Result<MachineCode, CompileError> {
        let isa = self.isa(tier);
        let mut scratch = self.scratch.lock().map_or_else(|_| None, |mut all| all.pop()).unwrap_or_default();
        let Scratch { context, builder, registers, single_pass } = &mut *scratch;
        let options = self.options_of(graph);
        let Translated { origins, checks, dispatches } =
            translate(env, options, isa, cfg, graph, &mut context.func, builder)?;
        let in_one_pass = match (tier, self.single_pass) {
            (Tier::Baseline, Some(features)) if !isa.flags().enable_nan_canonicalization() => {
                resolve_aliases(&mut context.func);
                single_pass.generate(&context.func, features, &origins, with_positions).ok()
            }
            _ => None,
        };
        let mut code = match (in_one_pass, tier) {
            (Some(code), _) => Ok(code),
            (None, Tier::Baseline) => {
                prepare(cfg.func, context, isa)?;
                machine_code::generate(cfg.func, context, registers, isa, &origins, with_positions)
            }
            (None, Tier::Optimized) => {
                let isa = self.optimise(cfg.func, context, isa, &checks)?;
                machine_code::generate(cfg.func, context, registers, isa, &origins, with_positions)
            }
        };
        context.clear();
        if let Ok(code) = &mut code {
            (code.in_bursts, code.inlined, code.dispatches) =
                (graph.in_bursts, graph.inlined_at(cfg), dispatches);
            code.counts_heat = graph.nodes.iter().any(Node::counts_heat);
            // Nobody asks frames in bursts for their path, and one that does not fit on the stack has none: without
            // exact code it is not known where that is found out.
            code.path_slot = code.path_slot.filter(|_| !graph.in_bursts);
        }
        if let Ok(mut all) = self.scratch.lock() {
            all.push(scratch);
        }
        code
    }

    /// Optimises a function, and does what Cranelift's optimiser must not see: its marks become checks.
    /// Gives the code generator that does the rest.
    fn optimise<'a>(
        &'a self,
        func: u32,
        context: &mut Context,
        isa: &'a dyn TargetIsa,
        checks: &[Check],
    ) -> Result<&'a dyn TargetIsa, CompileError> {
        let failed = |error| CompileError::Codegen { func, message: format!("{error:?}") };
        context.optimize(isa, &mut ControlPlane::default()).map_err(failed)?;
        loads::extend(&mut context.func);
        invariants::hoist(context);
        extends::widen(context);
        results::add_copies(context);
        checks::insert(&mut context.func, checks);
        constants::renew(&mut context.func);
        relax::mark_cold(&mut context.func);
        context.flowgraph();
        context.remove_constant_phis(isa).map_err(failed)?;
        resolve_aliases(&mut context.func);
        Ok(&*self.rest)
    }

    /// The CLIF text of a block graph in a tier, before optimisation.
    ///
    /// # Errors
    /// As [`Compiler::function`].
    pub fn clif(
        &self,
        env: &ModuleEnv<'_>,
        cfg: &Cfg,
        graph: &BlockGraph,
        tier: Tier,
    ) -> Result<String, CompileError> {
        let mut func = cranelift_codegen::ir::Function::new();
        let mut builder = FunctionBuilderContext::new();
        let options = self.options_of(graph);
        translate(env, options, self.isa(tier), cfg, graph, &mut func, &mut builder)?;
        Ok(func.display().to_string())
    }

    /// The disassembly of a block graph's machine code in a tier, as it runs: for each instruction its byte in the code and,
    /// where that changes, the byte of the module that it comes from.
    ///
    /// # Errors
    /// As [`Compiler::function`].
    pub fn disassemble(
        &self,
        env: &ModuleEnv<'_>,
        cfg: &Cfg,
        graph: &BlockGraph,
        tier: Tier,
    ) -> Result<String, CompileError> {
        let code = self.emit(env, cfg, graph, tier, true)?;
        Ok(disassembly::text(&code, self.best.name() == "x64"))
    }

    /// The trampoline that calls a wasm function of type `ty` from the host: see `abi::array_call_signature`.
    ///
    /// # Errors
    /// If Cranelift refuses the signature.
    pub fn host_to_wasm(&self, ty: &FuncType) -> Result<MachineCode, CompileError> {
        trampoline::host_to_wasm(&*self.fast, &self.options, ty)
    }

    /// What stands in the place of function `func`, of type `ty`, while two versions of it are timed, given their addresses:
    /// that of the one before first.
    ///
    /// # Errors
    /// If Cranelift refuses the signature.
    pub fn trial(&self, ty: &FuncType, func: u32, versions: [u64; 2]) -> Result<MachineCode, CompileError> {
        trampoline::trial(&*self.fast, ty, func, versions)
    }

    /// The trampoline that lets wasm call a host function of type `ty`: a wasm function whose vmctx is an
    /// `abi::host_context`.
    ///
    /// # Errors
    /// If Cranelift refuses the signature.
    pub fn wasm_to_host(&self, ty: &FuncType) -> Result<MachineCode, CompileError> {
        trampoline::wasm_to_host(&*self.fast, &self.options, ty)
    }
}

/// The graph with what is copied for speed.
fn optimized(graph: BlockGraph, plan: &FunctionPlan) -> BlockGraph {
    let graph = graph.unrolled(&plan.cfg, &plan.loops, plan.first_counter).dispatched(&plan.cfg);
    graph.split_loops(&plan.cfg, plan.prefixes.as_ref())
}

/// Makes a function that is not optimised ready for code generation, without what Cranelift does before it optimises.
fn prepare(func: u32, context: &mut Context, isa: &dyn TargetIsa) -> Result<(), CompileError> {
    let failed = |error| CompileError::Codegen { func, message: format!("{error:?}") };
    if isa.flags().enable_nan_canonicalization() {
        return context.optimize(isa, &mut ControlPlane::default()).map_err(failed);
    }
    context.flowgraph();
    context.eliminate_unreachable_code(isa).map_err(failed)?;
    resolve_aliases(&mut context.func);
    Ok(())
}

/// The same integer in a register of its own. The optimiser, which would find that out, is done. What takes its operand's
/// register would not do, as both were given the same one; and a sum with zero would become part of what computes the
/// value, whose operands then had to be kept as well.
fn copy(pos: &mut FuncCursor<'_>, value: Value) -> Value {
    match pos.func.dfg.value_type(value) {
        types::I32 => {
            let extended = pos.ins().sextend(types::I64, value);
            pos.ins().ireduce(types::I32, extended)
        }
        types::I64 => pos.ins().rotr_imm_u(value, 0),
        _ => value,
    }
}

/// Takes an instruction away, whose result is `value`.
fn replace(func: &mut Function, inst: Inst, value: Value) {
    let result = func.dfg.first_result(inst);
    func.dfg.clear_results(inst);
    func.dfg.change_to_alias(result, value);
    func.layout.remove_inst(inst);
}

/// Lets instructions take values themselves instead of other names for them.
fn resolve_aliases(func: &mut Function) {
    let values = &mut func.dfg;
    if values.values().any(|value| values.value_is_alias(value)) {
        values.resolve_all_aliases();
    }
}
