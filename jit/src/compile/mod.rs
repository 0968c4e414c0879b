//! Cranelift: from a block graph, or a trampoline's signature, to machine code with what the runtime must know of it.

mod isa;
mod machine_code;
mod trampoline;

use std::sync::Arc;

use cranelift_codegen::Context;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_frontend::FunctionBuilderContext;
use wasmparser::FuncType;
use wprof_profiler as profiler;

use crate::CompileError;
use crate::abi::VmLayout;
use crate::cfg::Cfg;
use crate::graph::BlockGraph;
use crate::module::ModuleInfo;
pub use machine_code::{CallSite, MachineCode, Origin, Reloc, TrapSite};

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
    /// Make every NaN that arithmetic yields the canonical one.
    pub canonical_nans: bool,
    /// Run Cranelift's verifier on everything (slow; tests do).
    pub verify: bool,
}

impl Default for CompilerOptions {
    fn default() -> Self {
        CompilerOptions {
            memory: MemoryStyle::default(),
            spectre_guards: true,
            polls: false,
            canonical_nans: false,
            verify: cfg!(debug_assertions),
        }
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
    /// Address of the module's code slots: one `abi::code_slots` row per function index.
    pub slots: u64,
}

/// What is counted by a version of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instrumentation {
    /// Nothing.
    Off,
    /// Edges, by counters on the chords of a maximum spanning tree (Ball & Larus 1994, section 3.2).
    Chords,
    /// Blocks, each by its own counter: the simple way, for comparison.
    Blocks,
    /// Edges, each by its own counter: the simplest way, the oracle of [`Instrumentation::Chords`].
    Edges,
}

/// Which counters mean what in one compiled function.
#[derive(Clone, Debug)]
pub enum Plan {
    /// No counters.
    Off,
    /// Counter k of the function counts chord k of the plan.
    Chords(profiler::EdgePlan),
    /// Counter k of the function counts block k of the CFG.
    Blocks,
    /// Counter k of the function counts edge k of the CFG.
    Edges,
}

impl Plan {
    /// Number of counters.
    pub fn counters(&self, cfg: &Cfg) -> u32 {
        match self {
            Plan::Off => 0,
            Plan::Chords(plan) => plan.counted.len() as u32,
            Plan::Blocks => cfg.blocks.len() as u32,
            Plan::Edges => cfg.blocks.iter().map(|b| b.edges.len() as u32).sum(),
        }
    }
}

/// One compiled version of a function: code, and how to read its counters.
#[derive(Debug)]
pub struct CompiledFunction {
    /// Function index.
    pub func: u32,
    /// Machine code.
    pub code: MachineCode,
    /// The function's blocks.
    pub cfg: Arc<Cfg>,
    /// What its counters count.
    pub plan: Plan,
    /// Index of its first counter in the instance's counter array.
    pub first_counter: u32,
}

/// The code generator, shared by all threads of an engine.
pub struct Compiler {
    best: OwnedTargetIsa,
    fast: OwnedTargetIsa,
    options: CompilerOptions,
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
        Ok(Compiler { best: isa::best(&options)?, fast: isa::fast(&options)?, options })
    }

    /// The options it was made with.
    pub fn options(&self) -> &CompilerOptions {
        &self.options
    }

    /// Compiles function `func` with `instrumentation`; its counters start at index `first_counter`.
    ///
    /// # Errors
    /// If the function exceeds a limit of the code generator.
    pub fn function(
        &self,
        env: &ModuleEnv<'_>,
        func: u32,
        instrumentation: Instrumentation,
        first_counter: u32,
    ) -> Result<CompiledFunction, CompileError> {
        let cfg = Arc::new(crate::cfg::build(env.info, func)?);
        let plan = plan(&cfg, instrumentation);
        let mut graph = BlockGraph::instrumented(&cfg, &plan, first_counter);
        if self.options.polls {
            graph.add_polls(&cfg);
        }
        let code = self.graph(env, &cfg, &graph)?;
        Ok(CompiledFunction { func, code, cfg, plan, first_counter })
    }

    /// Compiles a block graph.
    ///
    /// # Errors
    /// As [`Compiler::function`].
    pub fn graph(&self, env: &ModuleEnv<'_>, cfg: &Cfg, graph: &BlockGraph) -> Result<MachineCode, CompileError> {
        let mut context = Context::new();
        let mut builder = FunctionBuilderContext::new();
        let isa = &*self.best;
        let origins = crate::translate::translate(
            env,
            &self.options,
            isa,
            cfg,
            graph,
            &mut context.func,
            &mut builder,
        )?;
        machine_code::generate(cfg.func, &mut context, isa, &origins)
    }

    /// The CLIF text of a block graph, before optimisation.
    ///
    /// # Errors
    /// As [`Compiler::function`].
    pub fn clif(&self, env: &ModuleEnv<'_>, cfg: &Cfg, graph: &BlockGraph) -> Result<String, CompileError> {
        let mut func = cranelift_codegen::ir::Function::new();
        let mut builder = FunctionBuilderContext::new();
        crate::translate::translate(env, &self.options, &*self.best, cfg, graph, &mut func, &mut builder)?;
        Ok(func.display().to_string())
    }

    /// The disassembly of a block graph's machine code.
    ///
    /// # Errors
    /// As [`Compiler::function`].
    pub fn disassemble(&self, env: &ModuleEnv<'_>, cfg: &Cfg, graph: &BlockGraph) -> Result<String, CompileError> {
        let mut context = Context::new();
        let mut builder = FunctionBuilderContext::new();
        let isa = &*self.best;
        crate::translate::translate(env, &self.options, isa, cfg, graph, &mut context.func, &mut builder)?;
        machine_code::disassemble(cfg.func, &mut context, isa)
    }

    /// The trampoline that calls a wasm function of type `ty` from the host: see `abi::array_call_signature`.
    ///
    /// # Errors
    /// If Cranelift refuses the signature.
    pub fn host_to_wasm(&self, ty: &FuncType) -> Result<MachineCode, CompileError> {
        trampoline::host_to_wasm(&*self.fast, ty)
    }

    /// The trampoline that lets wasm call a host function of type `ty`: a wasm function whose vmctx is an
    /// `abi::host_context`.
    ///
    /// # Errors
    /// If Cranelift refuses the signature.
    pub fn wasm_to_host(&self, ty: &FuncType) -> Result<MachineCode, CompileError> {
        trampoline::wasm_to_host(&*self.fast, ty)
    }

    /// A wasm function of no particular type that traps with `TrapCode::Host`: what the runtime calls in place of a
    /// function that it could not compile.
    ///
    /// # Errors
    /// If Cranelift refuses it.
    pub fn raise(&self) -> Result<MachineCode, CompileError> {
        trampoline::raise(&*self.fast)
    }
}

/// The plan of a function's counters under `instrumentation`, with static weights.
pub fn plan(cfg: &Cfg, instrumentation: Instrumentation) -> Plan {
    match instrumentation {
        Instrumentation::Off => Plan::Off,
        Instrumentation::Blocks => Plan::Blocks,
        Instrumentation::Edges => Plan::Edges,
        Instrumentation::Chords => {
            let shape = cfg.shape();
            Plan::Chords(profiler::EdgePlan::new(&shape, &profiler::EdgeWeights::estimate(&shape)))
        }
    }
}
