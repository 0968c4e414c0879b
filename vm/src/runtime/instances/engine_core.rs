//! The part of an engine that all its stores and modules share: settings, the code generator, stubs, trampolines
//! and the types of functions.

use std::fmt;
use std::sync::{Arc, OnceLock};

use wprof_jit::abi::TrapCode;
use wprof_jit::compile::{Compiler, MachineCode};
use wprof_jit::plan::Collection;
use wprof_jit::reoptimize::Policy;

use super::pool::Pool;
use crate::arch;
use crate::config::{Config, MOST_STACKS, PerfFormat, ProfilingConfig};
use crate::error::Result;
use crate::runtime::burst::burst_phase::BurstPhase;
use crate::runtime::code::registry::CodeObject;
use crate::runtime::code::{CodeArena, CodeSpace, CodeUse, Stubs, TrapStubs, no_code_memory};
use crate::runtime::counts::account::Account;
use crate::runtime::entries;
use crate::runtime::interruption::epochs::Epochs;
use crate::runtime::interruption::interrupt_page::Signals;
use crate::runtime::interruption::{fork, rlimits, signals};
use crate::runtime::stacks::fiber::FiberStacks;
use crate::runtime::values::type_ids::{TypeEntry, TypeRegistry};

/// Learns of machine code that belongs to no function: trampolines and what traps.
pub trait HelperListener: fmt::Debug + Send + Sync {
    /// Called when such code has been placed, before it runs.
    fn placed(&self, address: usize, bytes: &[u8], name: &'static str);
}

/// What such code does, as listeners are told.
const HOST_TO_WASM: &str = "<host to wasm>";
const WASM_TO_HOST: &str = "<wasm to host>";
const TRAP: &str = "<trap>";

/// The part of an engine that its code needs to run.
#[derive(Debug)]
pub struct EngineCore {
    config: Config,
    /// The limit of this process's address space in bytes, if there is one.
    address_space: Option<u64>,
    collection: Collection,
    bursts: Option<Collection>,
    compiler: Compiler,
    space: Arc<CodeSpace>,
    stubs: Stubs,
    trampolines: Arc<CodeArena>,
    /// Learns of code that belongs to no function.
    helpers: Option<Arc<dyn HelperListener>>,
    types: TypeRegistry,
    raise: usize,
    trap_stubs: TrapStubs,
    account: Option<Arc<Account>>,
    pool: Option<Arc<Pool>>,
    fiber_stacks: FiberStacks,
    epochs: Epochs,
    burst_phase: BurstPhase,
}

impl EngineCore {
    /// Creates the core of an engine with these settings. Installs the signal handlers, if traps need them. `helpers` is told
    /// of code that belongs to no function.
    ///
    /// # Errors
    /// Returns an error if the machine is not supported, or there is no memory for code.
    pub fn new(config: &Config, helpers: Option<Arc<dyn HelperListener>>) -> Result<EngineCore> {
        fork::install();
        if !config.compiler.explicit_traps {
            signals::install();
        }
        let address_space = rlimits::address_space();
        let config = config.within(address_space);
        let collection = config.collection()?;
        let bursts = config.burst_collection();
        let in_bursts = config.compiler_options(bursts.as_ref().unwrap_or(&collection));
        let compiler = Compiler::new(config.compiler_options(&collection))?.with_bursts(in_bursts);
        let perf_map = config.perf == Some(PerfFormat::Map);
        let space = CodeSpace::of_process(CodeUse { perf_map, unwinding: config.native_unwind_info });
        let trampolines = Arc::new(CodeArena::new(space.clone(), None));
        let stub = |code| match config.compiler.explicit_traps {
            true => arch::raise_by_call(code, entries::raise as *const () as usize),
            false => arch::raise(code),
        };
        let raise = |code| place_helper(&trampolines, helpers.as_deref(), (stub(code), TRAP));
        let trap_stubs = TrapStubs {
            bad_signature: raise(TrapCode::BadSignature)?,
            null: raise(TrapCode::IndirectCallToNull)?,
            out_of_bounds: raise(TrapCode::TableOutOfBounds)?,
        };
        let raise = raise(TrapCode::Host)?;
        let stubs = Stubs::new(space.clone());
        let types = TypeRegistry::new(trampolines.clone());
        let allowance = match config.profiling {
            ProfilingConfig::Adaptive(adaptive) if config.tiers.background => adaptive.allowance(),
            _ => None,
        };
        let pool = config.pooling.map(|pooling| Arc::new(Pool::new(pooling)));
        let stacks = config.pooling.map_or(MOST_STACKS, |pooling| pooling.stacks);
        Ok(EngineCore {
            config,
            pool,
            fiber_stacks: FiberStacks::new(stacks),
            epochs: Epochs::default(),
            burst_phase: BurstPhase::default(),
            address_space,
            collection,
            bursts,
            compiler,
            space,
            stubs,
            trampolines,
            helpers,
            types,
            raise,
            trap_stubs,
            account: allowance.map(|allowance| Arc::new(Account::open(allowance))),
        })
    }

    /// Returns the settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns whether the engine's stores use signals.
    pub fn signals(&self) -> Signals {
        if self.config.compiler.explicit_traps { Signals::Unused } else { Signals::Used }
    }

    /// Returns what is collected of all functions outside of bursts.
    pub fn collection(&self) -> &Collection {
        &self.collection
    }

    /// Returns what is collected in bursts, if there are any.
    pub fn burst_collection(&self) -> Option<&Collection> {
        self.bursts.as_ref()
    }

    /// Returns what is collected where the profile counts: in bursts if there are any, otherwise everywhere.
    pub fn counted(&self) -> &Collection {
        self.burst_collection().unwrap_or(self.collection())
    }

    /// Returns whether there are bursts.
    pub fn has_bursts(&self) -> bool {
        self.bursts.is_some()
    }

    /// Returns the account that limits an adaptive profile to its allowance, if it has one.
    pub fn account(&self) -> Option<&Arc<Account>> {
        self.account.as_ref()
    }

    /// Returns the stacks of past fibers, kept for reuse.
    pub fn fiber_stacks(&self) -> &FiberStacks {
        &self.fiber_stacks
    }

    /// Returns the deadlines that the embedder counts.
    pub fn epochs(&self) -> &Epochs {
        &self.epochs
    }

    /// Returns the checks since the last burst of stores that are gone.
    pub fn burst_phase(&self) -> &BurstPhase {
        &self.burst_phase
    }

    /// Returns whether something in wasm code notices an interruption: polls, or checks of bursts.
    pub fn notices_interruptions(&self) -> bool {
        self.has_bursts() || self.compiler().options().polls
    }

    /// Returns the pool of past instances' resources, if there is one.
    pub fn pool(&self) -> Option<&Arc<Pool>> {
        self.pool.as_ref()
    }

    pub fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    /// Returns the policy by which hot functions are reoptimized, if they are.
    pub fn reoptimization(&self) -> Option<&Policy> {
        let config = self.config();
        config.tiers.reoptimization.as_ref().filter(|_| !self.compiler().options().precise)
    }

    /// Returns the maximum number of counters for which an instance reserves room, where it might need any
    /// number: a small part of the address space, if that is limited.
    pub fn most_counters(&self) -> u64 {
        self.address_space.map_or(u32::MAX.into(), |limit| limit / 16 / 8)
    }

    pub fn code_space(&self) -> &Arc<CodeSpace> {
        &self.space
    }

    pub fn stubs(&self) -> &Stubs {
        &self.stubs
    }

    pub fn types(&self) -> &TypeRegistry {
        &self.types
    }

    /// Returns the code to which calls through constant tables lead that have no callee.
    pub fn trap_stubs(&self) -> &TrapStubs {
        &self.trap_stubs
    }

    /// Returns the address of code that traps with `TrapCode::Host`.
    pub fn raise(&self) -> usize {
        self.raise
    }

    /// Returns the trampoline by which the host calls wasm functions of a type.
    pub fn host_to_wasm(&self, entry: &TypeEntry) -> Result<usize> {
        if let Some(&address) = entry.host_to_wasm.get() {
            return Ok(address);
        }
        let _quiet = fork::quiet();
        let address = self.place_trampoline(
            self.compiler().host_to_wasm(entry.ty.definition().unwrap_func())?,
            HOST_TO_WASM,
        )?;
        Ok(self.keep_one(&entry.host_to_wasm, address))
    }

    /// Returns the trampoline by which wasm calls host functions of a type.
    pub fn wasm_to_host(&self, entry: &TypeEntry) -> Result<usize> {
        if let Some(&address) = entry.wasm_to_host.get() {
            return Ok(address);
        }
        let address = self.place_trampoline(
            self.compiler().wasm_to_host(entry.ty.definition().unwrap_func())?,
            WASM_TO_HOST,
        )?;
        Ok(self.keep_one(&entry.wasm_to_host, address))
    }

    /// Keeps a trampoline that was placed, unless there is one already; returns the one that is kept.
    pub fn keep_one(&self, place: &OnceLock<usize>, address: usize) -> usize {
        let kept = *place.get_or_init(|| address);
        if kept != address {
            self.trampolines.free(address);
        }
        kept
    }

    /// Returns the code of a trampoline, its bytes separate from the rest.
    pub fn trampoline_code(&self, address: usize) -> Option<(Vec<u8>, Arc<CodeObject>)> {
        self.trampolines.placed(address)
    }

    /// Places trampolines that were compiled before.
    pub fn place_trampolines(&self, all: Vec<MachineCode>) -> Result<Vec<usize>> {
        let pieces = all.into_iter().map(|code| (code, None)).collect();
        self.trampolines.place_all(pieces).map_err(no_code_memory)
    }

    fn place_trampoline(&self, code: MachineCode, name: &'static str) -> Result<usize> {
        place_helper(&self.trampolines, self.helpers.as_deref(), (code, name))
    }
}

/// Places code that belongs to no function, and tells the listener.
fn place_helper(
    arena: &CodeArena,
    helpers: Option<&dyn HelperListener>,
    (code, name): (MachineCode, &'static str),
) -> Result<usize> {
    let told = helpers.map(|helpers| (helpers, code.bytes.clone()));
    let address = arena.place(code, None).map_err(no_code_memory)?;
    if let Some((helpers, bytes)) = told {
        helpers.placed(address, &bytes, name);
    }
    Ok(address)
}
