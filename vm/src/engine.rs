//! The engine: settings, the code generator, and what all modules and stores share.

use std::sync::{Arc, OnceLock};

use wprof_jit::abi::TrapCode;
use wprof_jit::compile::{Compiler, MachineCode, Tier};
use wprof_jit::plan::Collection;
use wprof_jit::reoptimize::Policy;

use crate::arch;
use crate::background::Background;
use crate::code_cache::CodeCache;
use crate::perf::PerfFile;
use crate::runtime::code::registry::CodeObject;
use crate::runtime::code::{CodeArena, CodeSpace, Stubs, TrapStubs, no_code_memory};
use crate::runtime::types::{FuncTypeEntry, TypeRegistry};
use crate::runtime::{fork, rlimits, signals};
use crate::{Config, Error, PerfFormat, ProfilingConfig, Result};

/// A wasm engine. Cheap to clone; all clones are the same engine. Modules and stores work together if they are of
/// one engine.
#[derive(Clone, Debug)]
pub struct Engine(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: Config,
    /// Bytes of address space that this process may have, if there is a limit.
    address_space: Option<u64>,
    collection: Collection,
    bursts: Option<Collection>,
    compiler: Compiler,
    space: Arc<CodeSpace>,
    stubs: Stubs,
    trampolines: Arc<CodeArena>,
    types: TypeRegistry,
    raise: usize,
    trap_stubs: TrapStubs,
    background: Option<Background>,
    code_cache: Option<CodeCache>,
    perf: Option<PerfFile>,
}

impl Default for Engine {
    /// An engine with the default settings.
    ///
    /// # Panics
    /// If the machine is not supported or out of memory.
    fn default() -> Self {
        Engine::new(&Config::new()).expect("the default configuration works on this machine")
    }
}

impl Engine {
    /// An engine with the given settings.
    ///
    /// # Errors
    /// If the machine is not supported, or refuses memory for code.
    pub fn new(config: &Config) -> Result<Engine> {
        signals::install();
        let address_space = rlimits::address_space();
        let config = &config.within(address_space);
        let collection = config.collection()?;
        let bursts = config.burst_collection();
        let in_bursts = config.compiler_options(bursts.as_ref().unwrap_or(&collection));
        let compiler = Compiler::new(config.compiler_options(&collection))?.with_bursts(in_bursts);
        let space = CodeSpace::of_process(config.perf == Some(PerfFormat::Map));
        let trampolines = Arc::new(CodeArena::new(space.clone(), None));
        let raise = |code| trampolines.place(arch::raise(code), None).map_err(no_code_memory);
        let trap_stubs = TrapStubs {
            bad_signature: raise(TrapCode::BadSignature)?,
            null: raise(TrapCode::IndirectCallToNull)?,
            out_of_bounds: raise(TrapCode::TableOutOfBounds)?,
        };
        let raise = raise(TrapCode::Host)?;
        let stubs = Stubs::new(space.clone());
        let types = TypeRegistry::new(trampolines.clone());
        let background = config.background_compilation.then(Background::default);
        let code_cache = config.code_cache.as_ref().filter(|_| config.caches()).and_then(|folder| {
            let (strategy, better) = (config.strategy, &config.reoptimization);
            let how = format!("{} {collection:?} {strategy:?} {better:?}", compiler.fingerprint());
            CodeCache::open(folder, &how)
        });
        let perf = config.perf.map(PerfFile::create).transpose().map_err(no_perf_file)?;
        Ok(Engine(Arc::new(Inner {
            config: config.clone(),
            address_space,
            collection,
            bursts,
            compiler,
            space,
            stubs,
            trampolines,
            types,
            raise,
            trap_stubs,
            background,
            code_cache,
            perf,
        })))
    }

    /// An engine that profiles, with default settings otherwise.
    ///
    /// # Errors
    /// As [`Engine::new`].
    pub fn with_profiling(profiling: ProfilingConfig) -> Result<Engine> {
        Engine::new(Config::new().profiling(profiling))
    }

    /// How many functions were proven to do what Cranelift's code for them does, and how many could not be and run as
    /// Cranelift wrote them: see [`Config::verify`]. Code from the cache and baseline code are not among them.
    pub fn proofs(&self) -> (u64, u64) {
        let proofs = self.0.compiler.proofs();
        (proofs.proven(), proofs.unproven())
    }

    /// Its settings.
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// Whether both are the same engine.
    pub fn same(a: &Engine, b: &Engine) -> bool {
        Arc::ptr_eq(&a.0, &b.0)
    }

    /// What is collected of all functions.
    pub(crate) fn collection(&self) -> &Collection {
        &self.0.collection
    }

    /// What is collected of all functions in bursts, if there are any.
    pub(crate) fn burst_collection(&self) -> Option<&Collection> {
        self.0.bursts.as_ref()
    }

    /// What is collected of what is looked at: of all, or in bursts if there are any.
    pub(crate) fn counted(&self) -> &Collection {
        self.burst_collection().unwrap_or(self.collection())
    }

    /// Whether there are bursts.
    pub(crate) fn has_bursts(&self) -> bool {
        self.0.bursts.is_some()
    }

    /// How much is done for code for bursts.
    pub(crate) fn burst_tier(&self) -> Tier {
        let measures = self.burst_collection().is_some_and(|bursts| !bursts.metrics.is_empty());
        match self.config().profiling {
            ProfilingConfig::Adaptive(adaptive) if !adaptive.is_optimized(measures) => Tier::Baseline,
            _ => Tier::Optimized,
        }
    }

    pub(crate) fn compiler(&self) -> &Compiler {
        &self.0.compiler
    }

    /// How hot functions are reoptimized, if they are.
    pub(crate) fn reoptimization(&self) -> Option<&Policy> {
        let config = self.config();
        config.reoptimization.as_ref().filter(|_| !self.compiler().options().precise)
    }

    /// In how many calls of each version a better one is timed beside the one before.
    pub(crate) fn trial_calls(&self) -> u32 {
        let policy = self.reoptimization().filter(|_| self.config().background_compilation);
        policy.map_or(0, |policy| policy.trial_calls)
    }

    /// Where better versions are compiled; `None` if callers are to wait for them, as in a child of the process that made
    /// the engine.
    pub(crate) fn background(&self) -> Option<&Background> {
        self.0.background.as_ref().filter(|background| background.is_here())
    }

    /// Where functions are compiled ahead; `None` if they are not.
    pub(crate) fn speculation(&self) -> Option<&Background> {
        self.background().filter(|_| self.config().speculates())
    }

    /// The most counters that an instance is to have room for, where it might need any number: a small part of all
    /// address space, if that is limited.
    pub(crate) fn most_counters(&self) -> u64 {
        self.0.address_space.map_or(u32::MAX.into(), |limit| limit / 16 / 8)
    }

    /// Where machine code is kept from one run to the next.
    pub(crate) fn code_cache(&self) -> Option<&CodeCache> {
        self.0.code_cache.as_ref()
    }

    /// Where perf is told of code.
    pub(crate) fn perf(&self) -> Option<&PerfFile> {
        self.0.perf.as_ref()
    }

    pub(crate) fn code_space(&self) -> &Arc<CodeSpace> {
        &self.0.space
    }

    pub(crate) fn stubs(&self) -> &Stubs {
        &self.0.stubs
    }

    pub(crate) fn types(&self) -> &TypeRegistry {
        &self.0.types
    }

    /// Where calls through constant tables lead that call nothing.
    pub(crate) fn trap_stubs(&self) -> &TrapStubs {
        &self.0.trap_stubs
    }

    /// Code that traps with `TrapCode::Host`.
    pub(crate) fn raise(&self) -> usize {
        self.0.raise
    }

    /// The trampoline by which the host calls wasm functions of a type.
    pub(crate) fn host_to_wasm(&self, entry: &FuncTypeEntry) -> Result<usize> {
        if let Some(&address) = entry.host_to_wasm.get() {
            return Ok(address);
        }
        let _quiet = fork::quiet();
        let address = self.place_trampoline(self.compiler().host_to_wasm(&entry.ty.0)?)?;
        Ok(self.keep_one(&entry.host_to_wasm, address))
    }

    /// The trampoline by which wasm calls host functions of a type.
    pub(crate) fn wasm_to_host(&self, entry: &FuncTypeEntry) -> Result<usize> {
        if let Some(&address) = entry.wasm_to_host.get() {
            return Ok(address);
        }
        let address = self.place_trampoline(self.compiler().wasm_to_host(&entry.ty.0)?)?;
        Ok(self.keep_one(&entry.wasm_to_host, address))
    }

    /// Keeps a trampoline that was placed, unless there is one already.
    pub(crate) fn keep_one(&self, place: &OnceLock<usize>, address: usize) -> usize {
        let kept = *place.get_or_init(|| address);
        if kept != address {
            self.0.trampolines.free(address);
        }
        kept
    }

    /// The code of a trampoline, its bytes apart from the rest.
    pub(crate) fn trampoline_code(&self, address: usize) -> Option<(Vec<u8>, Arc<CodeObject>)> {
        self.0.trampolines.placed(address)
    }

    /// Places trampolines that were compiled before.
    pub(crate) fn place_trampolines(&self, all: Vec<MachineCode>) -> Result<Vec<usize>> {
        let pieces = all.into_iter().map(|code| (code, None)).collect();
        self.0.trampolines.place_all(pieces).map_err(no_code_memory)
    }

    fn place_trampoline(&self, code: MachineCode) -> Result<usize> {
        self.0.trampolines.place(code, None).map_err(no_code_memory)
    }
}

fn no_perf_file(e: std::io::Error) -> Error {
    Error::system("cannot create the file for perf", e)
}
