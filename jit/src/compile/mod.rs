//! Compilation with Cranelift: from a block graph, or a trampoline's signature, to machine code with the tables that
//! the runtime needs.

mod output;
mod trampoline;
mod versions;

use std::sync::Mutex;

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::Function;
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa, TargetIsa};
use cranelift_frontend::FunctionBuilderContext;
use wasmparser::FuncType;

use crate::CompileError;
use crate::abi::returns_in_memory;
use crate::cfg::Cfg;
use crate::clif::{explicit_traps, remake_addresses, resolve_aliases};
pub use crate::code::{
    CallSite, ColdPart, Landing, Lanes, MachineCode, NoVectors, Origin, Position, Positions, Reloc, TrapSite,
    Vectorized, not_vectorized,
};
use crate::graph::{BlockGraph, Node};
pub use crate::options::{CompilerOptions, MemoryStyle, Pass, PassSet, Passes, PassesError, Stage};
use crate::passes::{self, Pipeline, PipelineOutput, Preserved};
use crate::plan::FunctionPlan;
use crate::target::{self, Baseline, Target, isa};
pub use crate::translate::ModuleEnv;
use crate::translate::{Translated, translate};
use output::Output;
pub use output::Proofs;

/// The effort spent on code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tier {
    /// The fastest compilation. The code counts its heat and requests promotion when it is hot.
    Baseline,
    /// Optimised.
    Optimized,
}

/// The code generator, shared by all threads of an engine.
pub struct Compiler {
    best: OwnedTargetIsa,
    fast: OwnedTargetIsa,
    /// The code generator of functions that are already optimised.
    rest: OwnedTargetIsa,
    /// The code generator of optimised functions that the register allocator would take too long for.
    quick_rest: OwnedTargetIsa,
    target: &'static dyn Target,
    options: CompilerOptions,
    /// The options of burst code.
    in_bursts: CompilerOptions,
    /// The memory of finished compilations, for the next ones.
    scratch: Mutex<Vec<Box<Scratch>>>,
    proofs: Proofs,
}

/// The size in bytes of bytecode of the largest function whose memory is kept. The memory of larger ones is given back:
/// it may be gigabytes.
const LARGEST_WITH_SCRATCH: usize = 1 << 17;

/// The largest frame, in bytes, of code that tests whether there is room for it after it was made: a fraction of the stack
/// that is reserved for the host.
const LARGEST_EXPLICIT_FRAME: usize = 128 << 10;

/// Memory that compilations reuse, because allocating it takes a good part of the time of a small one.
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
    /// Creates a code generator for the machine it runs on.
    ///
    /// # Errors
    /// Returns an error if Cranelift has no back end for this machine.
    pub fn new(options: CompilerOptions) -> Result<Compiler, CompileError> {
        let target = if options.plain { target::plain() } else { target::by_name(&isa::architecture()?) };
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

    /// Returns the code generator with separate options for burst code, which may collect more than other code.
    #[must_use]
    pub fn with_bursts(self, options: CompilerOptions) -> Compiler {
        let in_bursts = options.with_pinned_register(self.target.has_pinned_register());
        Compiler { in_bursts, ..self }
    }

    /// Returns the options.
    pub fn options(&self) -> &CompilerOptions {
        &self.options
    }

    /// Returns for how many functions the passes were proven correct: see [`CompilerOptions::proves`].
    pub fn proofs(&self) -> &Proofs {
        &self.proofs
    }

    fn options_of(&self, graph: &BlockGraph) -> &CompilerOptions {
        if graph.in_bursts { &self.in_bursts } else { &self.options }
    }

    /// Reports whether a function of type `ty` has too many results for registers. Then the address for the others
    /// takes the place of the vmctx, in the first argument register, and all arguments move on by one.
    pub fn returns_in_memory(&self, ty: &FuncType) -> bool {
        returns_in_memory(ty, self.target.result_registers())
    }

    /// Returns the target for which code of a tier is translated.
    fn isa(&self, tier: Tier) -> &dyn TargetIsa {
        match tier {
            Tier::Baseline => &*self.fast,
            Tier::Optimized => &*self.best,
        }
    }

    /// Returns everything that the generated code depends on besides its input: equal for two code generators that
    /// generate the same code, given the same version of this crate.
    pub fn fingerprint(&self) -> String {
        format!("{} {}", self.settings(), self.machine())
    }

    /// Returns the part of the fingerprint that the options decide.
    pub fn settings(&self) -> String {
        let Compiler { options, in_bursts, best, fast, .. } = self;
        format!("{options:?} {in_bursts:?} {} {}", best.flags(), fast.flags())
    }

    /// Returns the part of the fingerprint that the processor decides: the features that code requires.
    pub fn machine(&self) -> String {
        let machine = |isa: &OwnedTargetIsa| {
            let features: Vec<String> = isa.isa_flags().iter().map(ToString::to_string).collect();
            format!("{} {}", isa.triple(), features.join(" "))
        };
        format!("{} {}", machine(&self.best), machine(&self.fast))
    }

    /// Compiles a function as planned. All versions count with the same counters.
    ///
    /// # Errors
    /// Returns an error if the function exceeds a limit of the code generator.
    pub fn function(
        &self,
        env: &ModuleEnv<'_>,
        plan: &FunctionPlan,
        tier: Tier,
    ) -> Result<MachineCode, CompileError> {
        let version = |plan: &FunctionPlan| Ok::<_, CompileError>((self.version(plan, tier), ()));
        Ok(self.settled(env, plan, tier, version)?.0)
    }

    /// Compiles the graph that `version` makes of a plan. Loops that are to be vectorised are not unrolled, and whether
    /// they can be vectorised is known only after compilation. If a loop cannot be, and would be unrolled otherwise or
    /// belongs to an inlined callee, the function is compiled a second time without vectors for it;
    /// [`MachineCode::not_vectorized`] names the loop nevertheless. Returns also the last graph, and the value that
    /// `version` returned with it.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`Compiler::function`], and those of `version`.
    pub fn settled<T, E: From<CompileError>>(
        &self,
        env: &ModuleEnv<'_>,
        plan: &FunctionPlan,
        tier: Tier,
        mut version: impl FnMut(&FunctionPlan) -> Result<(BlockGraph, T), E>,
    ) -> Result<(MachineCode, BlockGraph, T), E> {
        let (graph, with) = version(plan)?;
        let code = self.graph(env, &plan.cfg, &graph, tier)?;
        let refused = code.not_vectorized();
        let is_unrolled =
            |&(at, _): &(u32, NoVectors)| match plan.cfg.blocks.iter().position(|b| b.start == at) {
                Some(header) => plan.loops.iter().any(|found| found.blocks[0] == header as u32),
                None => true,
            };
        if !refused.iter().any(is_unrolled) {
            return Ok((code, graph, with));
        }
        let (graph, with) = version(&plan.clone().without_vectors(&refused))?;
        let mut code = self.graph(env, &plan.cfg, &graph, tier)?;
        code.vectorized.extend(refused.into_iter().map(|(at, why)| (at, Err(why))));
        Ok((code, graph, with))
    }

    /// Compiles a block graph.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`Compiler::function`].
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
        let tier = manner(cfg, tier);
        let isa = self.isa(tier);
        let scratch = self.scratch.lock().map_or_else(|_| None, |mut all| all.pop());
        let mut scratch =
            scratch.unwrap_or_else(|| Box::new(Scratch::new(self.target.baseline(&*self.fast))));
        let Scratch { context, builder, registers, baseline } = &mut *scratch;
        let options = self.options_of(graph);
        let passes = options.passes.for_function(cfg.func);
        let Translated { mut origins, checks, dispatches, vectors } =
            translate(env, options, (isa, self.target), cfg, graph, &mut context.func, builder)?;
        let explicit = options.explicit_traps.then(|| isa.default_call_conv());
        let proofs = self.options.proves.then_some(&self.proofs);
        let mut done = PipelineOutput { unproven: None, vectorized: Vec::new() };
        if tier == Tier::Optimized {
            let preserved = Preserved::new(self.target.integers_across_calls(&*self.rest), &self.options);
            let proves = proofs.is_some();
            let (func, checks, vectors) = (cfg.func, &checks, &vectors);
            let pipeline = Pipeline { func, passes, checks, preserved, explicit, proves, vectors };
            done = pipeline.run(context, isa, &mut origins)?;
        }
        if let (Tier::Baseline, Some(convention)) = (tier, explicit) {
            make_traps_explicit(cfg.func, &mut context.func, convention)?;
        }
        origins.check(cfg.func)?;
        let PipelineOutput { unproven, vectorized } = done;
        let (target, func, origins) = (self.target, cfg.func, &origins);
        let largest_frame = explicit.map(|_| LARGEST_EXPLICIT_FRAME);
        let output =
            Output { target, func, origins, with_positions, passes, proofs, unproven, largest_frame };
        // The single-pass code generator does not tell how large frames are.
        let may_be_large = explicit.is_some() && cfg.bytes() + cfg.locals.len() > LARGEST_EXPLICIT_FRAME / 16;
        let in_one_pass = match tier {
            Tier::Baseline if !may_be_large => self.in_one_pass(context, baseline.as_deref_mut(), &output)?,
            Tier::Baseline | Tier::Optimized => None,
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
            code.vectorized = vectorized;
            code.inlined_funcs = graph.inlined_funcs();
            code.counts_heat = graph.nodes.iter().any(Node::counts_heat);
            code.loop_entries =
                graph.loop_entries.iter().map(|&node| graph.nodes[node as usize].block).collect();
            // Nobody asks frames in bursts for their path, and a frame that does not fit on the stack has none: without
            // exact code it is not known where the overflow is noticed.
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

    /// Returns the code generator that finishes an optimised function.
    fn rest_of(&self, func: &Function) -> &dyn TargetIsa {
        if passes::takes_long(func) { &*self.quick_rest } else { &*self.rest }
    }

    /// Generates baseline code of a function, unless it must be left to Cranelift.
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
        let code = baseline.generate(&context.func, output.origins, output.with_positions);
        match code {
            Some(code) if self.options.proves => Ok(self.proven(context, baseline, output, code)),
            code => Ok(code),
        }
    }

    /// Returns baseline code if the proof succeeds that it behaves as its function.
    fn proven(
        &self,
        context: &Context,
        baseline: &dyn Baseline,
        output: &Output<'_>,
        code: MachineCode,
    ) -> Option<MachineCode> {
        let checked = baseline.check(&context.func, output.origins, &code);
        let unproven =
            checked.err().map(|report| format!("baseline code of function {}: {report}", output.func));
        let is_proven = unproven.is_none();
        self.proofs.add_baseline(unproven);
        is_proven.then_some(code)
    }

    /// Returns the CLIF text of a block graph in a tier, before optimisation.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`Compiler::function`].
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
        translate(
            env,
            options,
            (self.isa(manner(cfg, tier)), self.target),
            cfg,
            graph,
            &mut func,
            &mut builder,
        )?;
        Ok(func.display().to_string())
    }

    /// Returns the disassembly of a block graph's machine code in a tier, as it runs: for each instruction its byte
    /// offset in the code and, where it changes, the byte offset in the module of its origin.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`Compiler::function`].
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

    /// Compiles the trampoline that calls a wasm function of type `ty` from the host: see `abi::array_call_signature`.
    ///
    /// # Errors
    /// Returns an error if Cranelift refuses the signature.
    pub fn host_to_wasm(&self, ty: &FuncType) -> Result<MachineCode, CompileError> {
        trampoline::host_to_wasm(&*self.fast, &self.options, ty)
    }

    /// Compiles the code that replaces function `func`, of type `ty`, while two versions of it are timed. `versions`
    /// holds their addresses, the previous version first.
    ///
    /// # Errors
    /// Returns an error if Cranelift refuses the signature.
    pub fn trial(&self, ty: &FuncType, func: u32, versions: [u64; 2]) -> Result<MachineCode, CompileError> {
        trampoline::trial(&*self.fast, ty, func, versions)
    }

    /// Compiles code that resumes at a loop header, for frames that enter the code at this address, of a function of
    /// type `ty`. The loop header has this number in [`MachineCode::loop_entries`].
    ///
    /// # Errors
    /// Returns an error if Cranelift refuses the signature.
    pub fn loop_entry(
        &self,
        ty: &FuncType,
        (code, number): (u64, usize),
    ) -> Result<MachineCode, CompileError> {
        trampoline::loop_entry(&*self.fast, ty, (code, number))
    }

    /// Compiles code that resumes, for frames without a profiling state, in the burst code at this address. That is the
    /// code of a [continued](BlockGraph::is_continued) `graph`, of a function of type `ty`.
    ///
    /// # Errors
    /// Returns an error if Cranelift refuses the signature.
    pub fn burst_entry(
        &self,
        ty: &FuncType,
        graph: &BlockGraph,
        code: u64,
    ) -> Result<MachineCode, CompileError> {
        trampoline::burst_entry(&*self.fast, &self.in_bursts, ty, (graph.path_register, code))
    }

    /// Compiles the trampoline through which wasm calls a host function of type `ty`: a wasm function whose vmctx is an
    /// `abi::host_context`.
    ///
    /// # Errors
    /// Returns an error if Cranelift refuses the signature.
    pub fn wasm_to_host(&self, ty: &FuncType) -> Result<MachineCode, CompileError> {
        trampoline::wasm_to_host(&*self.fast, &self.options, ty)
    }
}

/// Returns the tier in whose manner code of a function is generated: values of entangled functions are in the frame.
fn manner(cfg: &Cfg, tier: Tier) -> Tier {
    if tier == Tier::Optimized && cfg.is_entangled() { Tier::Baseline } else { tier }
}

/// Makes the traps of a function of the program explicit.
fn make_traps_explicit(func: u32, clif: &mut Function, convention: CallConv) -> Result<(), CompileError> {
    let context = explicit_traps::context_of(clif).expect("functions have a vmctx");
    resolve_aliases(clif);
    explicit_traps::make_explicit(clif, func, convention, context)
}

/// Prepares an unoptimised function for code generation, without Cranelift's preparations for the optimiser.
fn prepare(func: u32, context: &mut Context, isa: &dyn TargetIsa) -> Result<(), CompileError> {
    let failed = |error| CompileError::Codegen { func, message: format!("{error:?}") };
    if isa.flags().enable_nan_canonicalization() {
        return context.optimize(isa, &mut ControlPlane::default()).map_err(failed);
    }
    context.flowgraph();
    context.eliminate_unreachable_code(isa).map_err(failed)?;
    resolve_aliases(&mut context.func);
    remake_addresses(&mut context.func);
    Ok(())
}
