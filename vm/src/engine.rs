//! The engine: the state that all modules and stores share, and the compiler, cache and registry of their code.

use std::sync::{Arc, Weak};

use wprof_jit::compile::{Compiler, Tier};
use wprof_jit::plan::Collection;
use wprof_jit::reoptimize::Policy;
use wprof_profiler::BurstLengths;

use crate::background::Background;
use crate::code_cache::CodeCache;
use crate::perf::PerfFile;
use crate::runtime::counts::account::{Account, ProfilingCost};
use crate::runtime::instances::engine_core::{EngineCore, HelperListener};
use crate::{Config, Error, ProfilingConfig, Result, Trigger};

/// A wasm engine. Cheap to clone; all clones are the same engine, and threads may share it. Modules and stores work together if they belong to
/// the same engine.
#[derive(Clone, Debug)]
pub struct Engine(Arc<Inner>);

/// A reference to an engine that does not keep it alive: see [`Engine::weak`].
#[derive(Clone, Debug)]
pub struct EngineWeak(Weak<Inner>);

impl EngineWeak {
    /// Returns the engine, if it still exists.
    pub fn upgrade(&self) -> Option<Engine> {
        self.0.upgrade().map(Engine)
    }
}

#[derive(Debug)]
struct Inner {
    /// The state that its code needs to run.
    core: Arc<EngineCore>,
    background: Option<Background>,
    code_cache: Option<CodeCache>,
    perf: Option<Arc<PerfFile>>,
}

impl Default for Engine {
    /// Creates an engine with the default settings.
    ///
    /// # Panics
    /// Panics if the machine is not supported or out of memory.
    fn default() -> Self {
        Engine::new(&Config::new()).expect("the default configuration works on this machine")
    }
}

impl Engine {
    /// Creates an engine with the given settings.
    ///
    /// # Errors
    /// Fails if the machine is not supported, or refuses memory for code.
    pub fn new(config: &Config) -> Result<Engine> {
        let perf = config.perf.map(PerfFile::create).transpose().map_err(no_perf_file)?.map(Arc::new);
        let helpers = perf.clone().map(|perf| perf as Arc<dyn HelperListener>);
        let core = EngineCore::new(config, helpers)?;
        let config = core.config();
        let background = config.tiers.background.then(Background::default);
        let code_cache = config.files.code_cache.as_ref().filter(|_| config.caches()).and_then(|folder| {
            let (strategy, better) = (config.tiers.strategy, &config.tiers.reoptimization);
            let (compiler, collection) = (core.compiler().fingerprint(), core.collection());
            CodeCache::open(folder, &format!("{compiler} {collection:?} {strategy:?} {better:?}"))
        });
        Ok(Engine(Arc::new(Inner { core: Arc::new(core), background, code_cache, perf })))
    }

    /// Creates an engine that profiles, with default settings otherwise: from a [`ProfilingConfig`], or from the
    /// builders of [`ProfilingConfig::adaptive`] and [`ProfilingConfig::exact`].
    ///
    /// # Errors
    /// Fails as [`Engine::new`] does, or if profile kinds conflict; the error gives the reason.
    pub fn with_profiling(profiling: impl Into<Config>) -> Result<Engine> {
        Engine::new(&profiling.into())
    }

    /// Returns for how many functions our passes were proven to preserve the behaviour, and how many functions lack a
    /// proof and run without the passes in question: see [`Config::verify`]. Cached code is not included.
    pub fn proofs(&self) -> (u64, u64) {
        let proofs = self.0.core.compiler().proofs();
        (proofs.proven(), proofs.unproven())
    }

    /// Returns how many functions the single-pass code generator wrote baseline code for that was proven to do what they
    /// say, and how many it did not, whose baseline code is Cranelift's: see [`Config::verify`]. Cached code and parts of
    /// functions that never ran are not included.
    pub fn baseline_proofs(&self) -> (u64, u64) {
        self.0.core.compiler().proofs().baseline()
    }

    /// Returns how many memories, and how many instances without theirs, are currently kept for the next instances: see
    /// [`Config::pooling`].
    pub fn pooled(&self) -> (usize, usize) {
        self.0.core.pool().map_or((0, 0), |pool| pool.kept_now())
    }

    /// Returns how many tables, and how many stacks of calls that waited, are currently kept: see
    /// [`PoolingConfig::tables`](crate::PoolingConfig::tables) and [`PoolingConfig::stacks`](crate::PoolingConfig::stacks).
    pub fn pooled_tables_and_stacks(&self) -> (usize, usize) {
        let tables = self.0.core.pool().map_or(0, |pool| pool.kept_tables());
        (tables, self.0.core.fiber_stacks().len())
    }

    /// Returns the failed proofs of the first few functions, for developers of the passes: see [`Config::verify`].
    pub fn unproven(&self) -> Vec<String> {
        self.0.core.compiler().proofs().reports()
    }

    /// Begins the engine's next epoch: stores whose deadline it is stop as soon as their code polls
    /// ([`Store::set_epoch_deadline`](crate::Store::set_epoch_deadline)). The cost grows with the number of stores that
    /// have such a deadline. Any thread may call this, but no signal handler.
    pub fn increment_epoch(&self) {
        self.0.core.epochs().increment();
    }

    /// Returns a reference that does not keep the engine alive.
    pub fn weak(&self) -> EngineWeak {
        EngineWeak(Arc::downgrade(&self.0))
    }

    /// Returns the settings.
    pub fn config(&self) -> &Config {
        self.0.core.config()
    }

    /// Reports whether both are the same engine.
    pub fn same(a: &Engine, b: &Engine) -> bool {
        Arc::ptr_eq(&a.0, &b.0)
    }

    /// Returns the state that its code needs to run.
    pub(crate) fn core(&self) -> &Arc<EngineCore> {
        &self.0.core
    }

    /// Returns the data to collect about all functions.
    pub(crate) fn collection(&self) -> &Collection {
        self.0.core.collection()
    }

    /// Returns the data to collect about all functions in bursts, if there are bursts.
    pub(crate) fn burst_collection(&self) -> Option<&Collection> {
        self.0.core.burst_collection()
    }

    /// Returns the cost of an adaptive profile that is limited by an allowance: see
    /// [`Adaptive::budget`](crate::Adaptive).
    pub fn profiling_cost(&self) -> Option<ProfilingCost> {
        self.account().map(Account::cost)
    }

    /// Returns the account that limits an adaptive profile to its allowance, if it has one.
    pub(crate) fn account(&self) -> Option<&Account> {
        self.0.core.account().map(|account| &**account)
    }

    /// Reports whether there are bursts.
    pub(crate) fn has_bursts(&self) -> bool {
        self.0.core.has_bursts()
    }

    /// Reports whether the first burst never ends, so that it sees everything.
    pub(crate) fn sees_all(&self) -> bool {
        let ProfilingConfig::Adaptive(adaptive) = self.config().profiling else { return false };
        adaptive.lengths.instrumented == BurstLengths::FOREVER && adaptive.trigger == Trigger::Checks
    }

    /// Returns the tier of burst code.
    pub(crate) fn burst_tier(&self) -> Tier {
        let measures = self.burst_collection().is_some_and(|bursts| !bursts.metrics.is_empty());
        match self.config().profiling {
            ProfilingConfig::Adaptive(adaptive) if !adaptive.is_optimized(measures) => Tier::Baseline,
            _ => Tier::Optimized,
        }
    }

    pub(crate) fn compiler(&self) -> &Compiler {
        self.0.core.compiler()
    }

    /// Returns the policy for reoptimizing hot functions, if any.
    pub(crate) fn reoptimization(&self) -> Option<&Policy> {
        self.0.core.reoptimization()
    }

    /// Returns the number of timed calls of each version when one that prefetches is compared with the same that does not.
    pub(crate) fn prefetching_calls(&self) -> u32 {
        self.policy_of_trials().map_or(0, |policy| policy.prefetching_calls)
    }

    /// Returns the number of timed calls of each version when a better version is compared with the previous one.
    pub(crate) fn trial_calls(&self) -> u32 {
        self.policy_of_trials().map_or(0, |policy| policy.trial_calls)
    }

    /// Returns the policy, if versions are timed: only while the program goes on in the previous one.
    fn policy_of_trials(&self) -> Option<&Policy> {
        self.reoptimization().filter(|_| self.config().tiers.background)
    }

    /// Returns the thread that compiles better versions; `None` if callers wait for them, as in a child of the process
    /// that created the engine.
    pub(crate) fn background(&self) -> Option<&Background> {
        self.0.background.as_ref().filter(|background| background.is_here())
    }

    /// Returns the thread that compiles functions ahead; `None` if they are not.
    pub(crate) fn speculation(&self) -> Option<&Background> {
        self.background().filter(|_| self.config().speculates())
    }

    /// Returns the cache of machine code between runs.
    pub(crate) fn code_cache(&self) -> Option<&CodeCache> {
        self.0.code_cache.as_ref()
    }

    /// Returns the file that describes code to perf.
    pub(crate) fn perf(&self) -> Option<&PerfFile> {
        self.0.perf.as_deref()
    }
}

fn no_perf_file(e: std::io::Error) -> Error {
    Error::system("cannot create the file for perf", e)
}
