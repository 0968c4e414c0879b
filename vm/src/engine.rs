//! The engine: what all modules and stores share, and where code is compiled, kept and told of.

use std::sync::Arc;

use wprof_jit::compile::{Compiler, Tier};
use wprof_jit::plan::Collection;
use wprof_jit::reoptimize::Policy;
use wprof_profiler::BurstLengths;

use crate::background::Background;
use crate::code_cache::CodeCache;
use crate::perf::PerfFile;
use crate::runtime::counts::account::{Account, ProfilingCost};
use crate::runtime::instances::engine::EngineCore;
use crate::{Config, Error, ProfilingConfig, Result, Trigger};

/// A wasm engine. Cheap to clone; all clones are the same engine. Modules and stores work together if they are of
/// one engine.
#[derive(Clone, Debug)]
pub struct Engine(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// What its code needs to run.
    core: Arc<EngineCore>,
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
        let core = EngineCore::new(config)?;
        let config = core.config();
        let background = config.background_compilation.then(Background::default);
        let code_cache = config.code_cache.as_ref().filter(|_| config.caches()).and_then(|folder| {
            let (strategy, better) = (config.strategy, &config.reoptimization);
            let (compiler, collection) = (core.compiler().fingerprint(), core.collection());
            CodeCache::open(folder, &format!("{compiler} {collection:?} {strategy:?} {better:?}"))
        });
        let perf = config.perf.map(PerfFile::create).transpose().map_err(no_perf_file)?;
        Ok(Engine(Arc::new(Inner { core: Arc::new(core), background, code_cache, perf })))
    }

    /// An engine that profiles, with default settings otherwise: a [`ProfilingConfig`], or what
    /// [`ProfilingConfig::adaptive`] and [`ProfilingConfig::exact`] begin.
    ///
    /// # Errors
    /// As [`Engine::new`]; and if kinds of profiles do not go together, with the reason.
    pub fn with_profiling(profiling: impl Into<Config>) -> Result<Engine> {
        Engine::new(&profiling.into())
    }

    /// How many functions were proven to do behind our passes what they did before, and how many could not be and run
    /// without the passes in question: see [`Config::verify`]. Code from the cache and baseline code are not among them.
    pub fn proofs(&self) -> (u64, u64) {
        let proofs = self.0.core.compiler().proofs();
        (proofs.proven(), proofs.unproven())
    }

    /// How many memories, and how many instances without theirs, are kept for the next instances now: see
    /// [`Config::pooling`].
    pub fn pooled(&self) -> (usize, usize) {
        self.0.core.pool().map_or((0, 0), |pool| pool.kept_now())
    }

    /// What could not be proven of the first few functions, for those who work on the passes: see [`Config::verify`].
    pub fn unproven(&self) -> Vec<String> {
        self.0.core.compiler().proofs().reports()
    }

    /// Its settings.
    pub fn config(&self) -> &Config {
        self.0.core.config()
    }

    /// Whether both are the same engine.
    pub fn same(a: &Engine, b: &Engine) -> bool {
        Arc::ptr_eq(&a.0, &b.0)
    }

    /// What its code needs to run.
    pub(crate) fn core(&self) -> &Arc<EngineCore> {
        &self.0.core
    }

    /// What is collected of all functions.
    pub(crate) fn collection(&self) -> &Collection {
        self.0.core.collection()
    }

    /// What is collected of all functions in bursts, if there are any.
    pub(crate) fn burst_collection(&self) -> Option<&Collection> {
        self.0.core.burst_collection()
    }

    /// What it has spent on an adaptive profile that is kept to an allowance: see [`Adaptive::budget`](crate::Adaptive).
    pub fn profiling_cost(&self) -> Option<ProfilingCost> {
        self.account().map(Account::cost)
    }

    /// What keeps an adaptive profile to its allowance, if it has one.
    pub(crate) fn account(&self) -> Option<&Account> {
        self.0.core.account().map(|account| &**account)
    }

    /// Whether there are bursts.
    pub(crate) fn has_bursts(&self) -> bool {
        self.0.core.has_bursts()
    }

    /// Whether the first burst does not end, so that it sees all.
    pub(crate) fn sees_all(&self) -> bool {
        let ProfilingConfig::Adaptive(adaptive) = self.config().profiling else { return false };
        adaptive.lengths.instrumented == BurstLengths::FOREVER && adaptive.trigger == Trigger::Checks
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
        self.0.core.compiler()
    }

    /// How hot functions are reoptimized, if they are.
    pub(crate) fn reoptimization(&self) -> Option<&Policy> {
        self.0.core.reoptimization()
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

    /// Where machine code is kept from one run to the next.
    pub(crate) fn code_cache(&self) -> Option<&CodeCache> {
        self.0.code_cache.as_ref()
    }

    /// Where perf is told of code.
    pub(crate) fn perf(&self) -> Option<&PerfFile> {
        self.0.perf.as_ref()
    }
}

fn no_perf_file(e: std::io::Error) -> Error {
    Error::system("cannot create the file for perf", e)
}
