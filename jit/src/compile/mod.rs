//! Cranelift: from a block graph, or a trampoline's signature, to machine code with what the runtime must know of it.

mod output;
mod trampoline;

use std::sync::Mutex;

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::Function;
use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_frontend::FunctionBuilderContext;
use wasmparser::FuncType;

use crate::CompileError;
use crate::abi::returns_in_memory;
use crate::cfg::Cfg;
use crate::clif::resolve_aliases;
pub use crate::code::{
    CallSite, ColdPart, Landing, MachineCode, Origin, Position, Positions, Reloc, TrapSite,
};
use crate::graph::{BlockGraph, Node, Parts};
pub use crate::options::{CompilerOptions, MemoryStyle, Pass, PassSet, Passes, PassesError, Stage};
use crate::passes::{self, Pipeline, Preserved};
use crate::plan::{FunctionPlan, Placement};
use crate::reoptimize::{Reoptimized, Reoptimizer};
use crate::target::{self, Baseline, Target, isa};
pub use crate::translate::ModuleEnv;
use crate::translate::{Translated, translate};
use output::Output;
pub use output::Proofs;

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
    /// For those of which the register allocator would take too long.
    quick_rest: OwnedTargetIsa,
    target: &'static dyn Target,
    options: CompilerOptions,
    /// The options of code for bursts.
    in_bursts: CompilerOptions,
    /// What compilations leave for the next ones.
    scratch: Mutex<Vec<Box<Scratch>>>,
    proofs: Proofs,
}

/// What functions of more bytes of bytecode have needed is given back: it may be gigabytes.
const LARGEST_WITH_SCRATCH: usize = 1 << 17;

/// Memory that compilations reuse, as allocating it anew takes a good part of the time of a small one.
struct Scratch {
    context: Context,
    builder: FunctionBuilderContext,
    registers: regalloc2::Ctx,
    baseline: Option<Box<dyn Baseline>>,
}

impl Scratch {
    fn new(baseline: Option<Box<dyn Baseline>>) -> Scratch {
        Scratch {
            context: Context::new(),
            builder: FunctionBuilderContext::new(),
            registers: regalloc2::Ctx::default(),
            baseline,
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
    /// If Cranelift has no back end for this machine.
    pub fn new(options: CompilerOptions) -> Result<Compiler, CompileError> {
        let target = if options.plain { target::plain() } else { target::of(&isa::architecture()?) };
        let options = options.with_pinned_register(target.has_pinned_register());
        let (best, fast) = (isa::best(target, &options)?, isa::fast(target, &options)?);
        let (rest, quick_rest) = (isa::rest(target, &options)?, isa::quick_rest(target, &options)?);
        let in_bursts = options.clone();
        Ok(Compiler {
            best,
            fast,
            rest,
            quick_rest,
            target,
            options,
            in_bursts,
            scratch: Mutex::default(),
            proofs: Proofs::default(),
        })
    }

    /// The same with other options for code for bursts, which may collect more than other code.
    #[must_use]
    pub fn with_bursts(self, options: CompilerOptions) -> Compiler {
        let in_bursts = options.with_pinned_register(self.target.has_pinned_register());
        Compiler { in_bursts, ..self }
    }

    /// The options it was made with.
    pub fn options(&self) -> &CompilerOptions {
        &self.options
    }

    /// Of how many functions it was proven that passes left what they do as it was: see [`CompilerOptions::proves`].
    pub fn proofs(&self) -> &Proofs {
        &self.proofs
    }

    fn options_of(&self, graph: &BlockGraph) -> &CompilerOptions {
        if graph.in_bursts { &self.in_bursts } else { &self.options }
    }

    /// Whether the results of a function of type `ty` are too many for registers. Then the address of the place for the
    /// others goes where the vmctx would be, in the first argument register, and all arguments move on by one.
    pub fn returns_in_memory(&self, ty: &FuncType) -> bool {
        returns_in_memory(ty, self.target.result_registers())
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
        format!("{} {}", self.settings(), self.machine())
    }

    /// The part of its fingerprint that it was told.
    pub fn settings(&self) -> String {
        let Compiler { options, in_bursts, best, fast, .. } = self;
        format!("{options:?} {in_bursts:?} {} {}", best.flags(), fast.flags())
    }

    /// The part that the processor decides: what code needs of it.
    pub fn machine(&self) -> String {
        let machine = |isa: &OwnedTargetIsa| {
            let features: Vec<String> = isa.isa_flags().iter().map(ToString::to_string).collect();
            format!("{} {}", isa.triple(), features.join(" "))
        };
        format!("{} {}", machine(&self.best), machine(&self.fast))
    }

    /// Compiles a function as planned. All versions count with the same counters.
    ///
    /// If the function exceeds a limit of the code generator.
    pub fn function(
        &self,
        env: &ModuleEnv<'_>,
        plan: &FunctionPlan,
        tier: Tier,
    ) -> Result<MachineCode, CompileError> {
        self.graph(env, &plan.cfg, &self.version(plan, tier), tier)
    }

    /// A better graph of a function, by what is known of it; `None` if nothing is.
    ///
    /// If a callee exceeds a limit.
    ///
    /// If more is planned in it than checks.
    pub fn reoptimized(
        &self,
        plan: &FunctionPlan,
        reoptimizer: &Reoptimizer<'_>,
    ) -> Result<Option<Reoptimized>, CompileError> {
        assert!(!self.options.precise, "what is counted in a function is not counted where it is inlined");
        let better = reoptimizer.graph(plan, &|plan| self.probed(plan))?;
        Ok(better.map(|better| Reoptimized { graph: self.optimized(better.graph, plan), ..better }))
    }

    /// The block graph that is compiled of a function.
    pub fn version(&self, plan: &FunctionPlan, tier: Tier) -> BlockGraph {
        let mut placement = self.placement(plan);
        match tier {
            Tier::Baseline => {
                if self.options.hot.is_some() {
                    placement.add_heat(&plan.cfg, plan.heat_counter());
                }
                BlockGraph::placed(&plan.cfg, placement)
            }
            Tier::Optimized => self.optimized(BlockGraph::placed(&plan.cfg, placement), plan),
        }
    }

    /// The graph with what is copied for speed.
    fn optimized(&self, graph: BlockGraph, plan: &FunctionPlan) -> BlockGraph {
        let graph = match self.options.passes.of(plan.cfg.func).has(Pass::Unroll) {
            true => graph.unrolled(&plan.cfg, &plan.loops, plan.first_counter),
            false => graph,
        };
        let graph = self.without_joins(graph, plan);
        let graph = match self.options.passes.of(plan.cfg.func).has(Pass::Strips) {
            true => graph.stripped(&plan.cfg, &plan.strips),
            false => graph,
        };
        match self.main_loop(plan) {
            Some(header) if !plan.in_bursts => graph.entered_at(&plan.cfg, &[header]),
            _ => graph,
        }
    }

    /// The header of the main loop of a large function, if versions of the function can share the code of that loop:
    /// frames enter there the optimised code for callers, where nothing but locals and operands belongs to a frame, or
    /// the code for bursts that resumes there.
    pub fn main_loop(&self, plan: &FunctionPlan) -> Option<u32> {
        let is_shared = plan.in_bursts || self.can_be_entered();
        let is_possible = is_shared && plan.cfg.bytes() > self.options.loop_entries_above;
        is_possible.then(|| plan.cfg.main_loop()).flatten()
    }

    /// Whether optimised code has nothing but locals and operands that belongs to a frame.
    fn can_be_entered(&self) -> bool {
        let CompilerOptions { precise, contexts, metrics, .. } = self.options;
        !precise && !contexts && metrics == 0
    }

    /// The same graph, which frames that come from other versions can enter at any of its loops, if that is possible and
    /// the function is large. In small ones a version for each loop is faster (measured).
    #[must_use]
    pub fn entered_at_loops(&self, plan: &FunctionPlan, graph: BlockGraph) -> BlockGraph {
        let is_shared = self.can_be_entered() && plan.cfg.bytes() > self.options.shared_loops_above;
        let loops = if is_shared { plan.cfg.entered_loops() } else { Vec::new() };
        graph.entered_at(&plan.cfg, &loops)
    }

    /// The same as the optimised version, but for what makes it large: its loops are not unrolled. It is compiled in
    /// little more than half of the time.
    pub fn soon(&self, plan: &FunctionPlan) -> BlockGraph {
        self.without_joins(self.probed(plan), plan)
    }

    /// The graph with copies of what several ways lead to.
    fn without_joins(&self, graph: BlockGraph, plan: &FunctionPlan) -> BlockGraph {
        let passes = self.options.passes.of(plan.cfg.func);
        let graph = if passes.has(Pass::Dispatch) { graph.dispatched(&plan.cfg) } else { graph };
        match passes.has(Pass::SplitLoops) {
            true => graph.split_loops(&plan.cfg, plan.prefixes.as_ref()),
            false => graph,
        }
    }

    /// The parts that baseline code of a function is compiled in, the first by [`Compiler::graph`], the others when
    /// control comes to them; `None` if it is compiled as a whole. `first_row`: see [`Parts::new`].
    pub fn parts(&self, plan: &FunctionPlan, first_row: u32) -> Option<Parts> {
        let is_split = self.splits() && plan.cfg.bytes() > self.options.part_sizes.split;
        is_split
            .then(|| self.version(plan, Tier::Baseline))
            .and_then(|graph| Parts::new(graph, &plan.cfg, self.options.part_sizes, first_row))
    }

    /// Whether any function is compiled in parts. One whose frames can be looked at everywhere is not: a frame that
    /// finds no room on the stack would have to stop in the middle of the function.
    pub fn splits(&self) -> bool {
        !self.options.precise
    }

    /// Each block once, with everything that it does besides the wasm code.
    fn probed(&self, plan: &FunctionPlan) -> BlockGraph {
        BlockGraph::placed(&plan.cfg, self.placement(plan))
    }

    /// Where everything stands that a function does besides the wasm code.
    fn placement(&self, plan: &FunctionPlan) -> Placement {
        let mut placement = plan.placement();
        if let Some(events) = &plan.events {
            events.place_steps(&mut placement);
            if let (Some(kind), Some(calls)) = (self.options.metered, events.checked_calls()) {
                placement.add_budget(&plan.cfg, kind, calls);
            }
        }
        if self.options.polls {
            placement.add_polls(&plan.cfg);
        }
        if let Some(checks) = &plan.checks {
            checks.place(&mut placement);
        }
        placement
    }

    /// Compiles a block graph.
    ///
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
        self.check_blocks(cfg.func, graph)?;
        let isa = self.isa(tier);
        let scratch = self.scratch.lock().map_or_else(|_| None, |mut all| all.pop());
        let mut scratch =
            scratch.unwrap_or_else(|| Box::new(Scratch::new(self.target.baseline(&*self.fast))));
        let Scratch { context, builder, registers, baseline } = &mut *scratch;
        let options = self.options_of(graph);
        let (catches, passes) = (cfg.catches(), options.passes.of(cfg.func));
        // The others do not know what control does at landings.
        let passes = if catches { passes.only(Pass::SinglePass) } else { passes };
        let Translated { mut origins, checks, dispatches } =
            translate(env, options, (isa, self.target), cfg, graph, &mut context.func, builder)?;
        let proofs = (self.options.proves && !catches).then_some(&self.proofs);
        let mut unproven = None;
        if tier == Tier::Optimized {
            let preserved = Preserved::new(self.target.integers_across_calls(&*self.rest), &self.options);
            let proves = proofs.is_some();
            let pipeline = Pipeline { func: cfg.func, passes, checks: &checks, preserved, proves };
            unproven = pipeline.run(context, isa, &mut origins)?;
        }
        origins.check(cfg.func)?;
        let (target, func, origins) = (self.target, cfg.func, &origins);
        let output = Output { target, func, origins, with_positions, passes, proofs, unproven };
        let in_one_pass = match tier {
            Tier::Baseline => self.in_one_pass(context, baseline.as_deref_mut(), &output)?,
            Tier::Optimized => None,
        };
        let mut code = match (in_one_pass, tier) {
            (Some(code), _) => Ok(code),
            (None, Tier::Baseline) => {
                prepare(cfg.func, context, isa)?;
                output.generate(context, registers, isa)
            }
            (None, Tier::Optimized) => output.generate(context, registers, self.rest_of(&context.func)),
        };
        context.clear();
        if let Ok(code) = &mut code {
            (code.in_bursts, code.inlined, code.dispatches) =
                (graph.in_bursts, graph.inlined_at(cfg), dispatches);
            code.inlined_funcs = graph.inlined_funcs();
            code.counts_heat = graph.nodes.iter().any(Node::counts_heat);
            code.loop_entries =
                graph.loop_entries.iter().map(|&node| graph.nodes[node as usize].block).collect();
            // Nobody asks frames in bursts for their path, and one that does not fit on the stack has none: without
            // exact code it is not known where that is found out.
            code.path_slot = code.path_slot.filter(|_| !graph.in_bursts);
        }
        if cfg.bytes() <= LARGEST_WITH_SCRATCH
            && let Ok(mut all) = self.scratch.lock()
        {
            all.push(scratch);
        }
        code
    }

    fn check_blocks(&self, func: u32, graph: &BlockGraph) -> Result<(), CompileError> {
        let (blocks, limit) = (graph.nodes.len(), self.options.max_blocks);
        let what = || format!("{blocks} basic blocks, and the limit is {limit} (`Config::max_blocks`)");
        if blocks > limit { Err(CompileError::TooLarge { func, what: what() }) } else { Ok(()) }
    }

    /// What does the rest for a function that is optimised.
    fn rest_of(&self, func: &Function) -> &dyn TargetIsa {
        if passes::takes_long(func) { &*self.quick_rest } else { &*self.rest }
    }

    /// Baseline code of a function, if nothing in it is left to Cranelift.
    fn in_one_pass(
        &self,
        context: &mut Context,
        baseline: Option<&mut (dyn Baseline + 'static)>,
        output: &Output<'_>,
    ) -> Result<Option<MachineCode>, CompileError> {
        let isa = &*self.fast;
        let is_possible = output.passes.has(Pass::SinglePass) && !isa.flags().enable_nan_canonicalization();
        let Some(baseline) = baseline.filter(|_| is_possible) else { return Ok(None) };
        let failed = |error| CompileError::Codegen { func: output.func, message: format!("{error:?}") };
        context.verify_if(isa).map_err(failed)?;
        resolve_aliases(&mut context.func);
        Ok(baseline.generate(&context.func, output.origins, output.with_positions))
    }

    /// The CLIF text of a block graph in a tier, before optimisation.
    ///
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
        translate(env, options, (self.isa(tier), self.target), cfg, graph, &mut func, &mut builder)?;
        Ok(func.display().to_string())
    }

    /// The disassembly of a block graph's machine code in a tier, as it runs: for each instruction its byte in the
    /// code and, where that changes, the byte of the module that it comes from.
    ///
    /// As [`Compiler::function`].
    pub fn disassemble(
        &self,
        env: &ModuleEnv<'_>,
        cfg: &Cfg,
        graph: &BlockGraph,
        tier: Tier,
    ) -> Result<String, CompileError> {
        let code = self.emit(env, cfg, graph, tier, true)?;
        Ok(self.target.disassembly(&code))
    }

    /// The trampoline that calls a wasm function of type `ty` from the host: see `abi::array_call_signature`.
    ///
    /// If Cranelift refuses the signature.
    pub fn host_to_wasm(&self, ty: &FuncType) -> Result<MachineCode, CompileError> {
        trampoline::host_to_wasm(&*self.fast, &self.options, ty)
    }

    /// What stands in the place of function `func`, of type `ty`, while two versions of it are timed, given their
    /// addresses: that of the one before first.
    ///
    /// If Cranelift refuses the signature.
    pub fn trial(&self, ty: &FuncType, func: u32, versions: [u64; 2]) -> Result<MachineCode, CompileError> {
        trampoline::trial(&*self.fast, ty, func, versions)
    }

    /// Code that resumes, for frames that enter the code at this address, of a function of type `ty`, at the loop header
    /// of this number: see [`MachineCode::loop_entries`].
    ///
    /// If Cranelift refuses the signature.
    pub fn loop_entry(
        &self,
        ty: &FuncType,
        (code, number): (u64, usize),
    ) -> Result<MachineCode, CompileError> {
        trampoline::loop_entry(&*self.fast, ty, (code, number))
    }

    /// Code that resumes, for frames that bring nothing along, in the code for bursts at this address, which is that of
    /// a [continued](BlockGraph::is_continued) `graph`, of a function of type `ty`.
    ///
    /// If Cranelift refuses the signature.
    pub fn burst_entry(
        &self,
        ty: &FuncType,
        graph: &BlockGraph,
        code: u64,
    ) -> Result<MachineCode, CompileError> {
        trampoline::burst_entry(&*self.fast, &self.in_bursts, ty, (graph.path_register, code))
    }

    /// The trampoline that lets wasm call a host function of type `ty`: a wasm function whose vmctx is an
    /// `abi::host_context`.
    ///
    /// If Cranelift refuses the signature.
    pub fn wasm_to_host(&self, ty: &FuncType) -> Result<MachineCode, CompileError> {
        trampoline::wasm_to_host(&*self.fast, &self.options, ty)
    }
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
