//! The compiled functions of a module.
//!
//! Invariant: counter indices are given out once per module, so that the counters of all its instances mean the
//! same. A function's code is in the registry before its address is published.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use hashbrown::HashMap;
use wprof_jit::CompileError;
use wprof_jit::cfg::Cfg;
use wprof_jit::compile::{Instrumentation, ModuleEnv, Plan};

use super::ModuleInner;
use crate::engine::no_code_memory;
use crate::runtime::code::CodeArena;
use crate::runtime::vmctx;
use crate::{Engine, ProfilingConfig, Result};

/// How to read the counters of a compiled function.
#[derive(Clone, Debug)]
pub struct Version {
    /// Its blocks.
    pub cfg: Arc<Cfg>,
    /// What its counters count.
    pub plan: Plan,
    /// Index of its first counter.
    pub first_counter: u32,
}

/// The code of one module.
#[derive(Debug)]
pub struct ModuleCode {
    arena: CodeArena,
    /// Held while a function is compiled: the index of the next free counter.
    compiling: Mutex<u32>,
    functions: RwLock<HashMap<u32, Compiled>>,
}

#[derive(Debug)]
struct Compiled {
    address: usize,
    /// `None` when not profiling: nothing is counted then.
    version: Option<Arc<Version>>,
}

impl ModuleCode {
    /// No function compiled yet.
    pub fn new(engine: &Engine) -> ModuleCode {
        let arena = CodeArena::new(engine.code_space().clone());
        ModuleCode { arena, compiling: Mutex::default(), functions: RwLock::default() }
    }

    /// Number of functions, and bytes of address space.
    pub fn size(&self) -> (usize, usize) {
        (self.functions.read().unwrap_or_else(PoisonError::into_inner).len(), self.arena.size())
    }

    fn address(&self, func: u32) -> Option<usize> {
        let functions = self.functions.read().unwrap_or_else(PoisonError::into_inner);
        functions.get(&func).map(|c| c.address)
    }
}

impl ModuleInner {
    /// The address of function `func`'s code, which is compiled and published now if need be.
    ///
    /// # Errors
    /// If it is too large to compile, or there is no memory for its code.
    pub(crate) fn code_of(self: &Arc<Self>, func: u32) -> Result<usize> {
        let mut next_counter = self.code.compiling.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(address) = self.code.address(func) {
            return Ok(address);
        }
        let instrumentation = self.engine.config().profiling.instrumentation();
        let compiled = self.engine.compiler().function(&self.env(), func, instrumentation, *next_counter)?;
        *next_counter = self.counters_after(func, *next_counter, compiled.plan.counters(&compiled.cfg))?;
        let owner = Some((Arc::downgrade(self), func));
        let address = self.code.arena.place(compiled.code, owner).map_err(no_code_memory)?;
        let version = (instrumentation != Instrumentation::Off).then(|| {
            Arc::new(Version {
                cfg: compiled.cfg,
                plan: compiled.plan,
                first_counter: compiled.first_counter,
            })
        });
        let mut functions = self.code.functions.write().unwrap_or_else(PoisonError::into_inner);
        functions.insert(func, Compiled { address, version });
        self.slots.publish(func, address);
        Ok(address)
    }

    /// The functions whose counters mean something, by ascending function index.
    pub(crate) fn versions(&self) -> Vec<(u32, Arc<Version>)> {
        let functions = self.code.functions.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = functions.iter().filter_map(|(&f, c)| Some((f, c.version.clone()?))).collect();
        all.sort_unstable_by_key(|&(f, _)| f);
        all
    }

    /// How many counters an instance has room for.
    pub(crate) fn counter_capacity(&self) -> u64 {
        if self.engine.config().profiling == ProfilingConfig::Off {
            return 0;
        }
        vmctx::counter_capacity(&self.layout, self.info.code_section.len() as u64)
    }

    fn env(&self) -> ModuleEnv<'_> {
        let slots = self.slots.address() as u64;
        ModuleEnv { info: &self.info, layout: &self.layout, type_ids: &self.type_ids, slots }
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
