//! The configuration of an engine.

mod burst_policies;
mod collection;
mod fuel_budget;
mod groups;
mod kinds_of_profiles;
mod module_limits;
mod observed;
mod perf;
mod pooling;
mod profiling;
mod proposals;

use std::path::PathBuf;
use std::sync::Arc;

use wprof_jit::compile::{CompilerOptions, PassSet};
use wprof_jit::module::Proposal;
use wprof_jit::options::PartSizes;
use wprof_profiler::Profile;

pub(crate) use burst_policies::BurstPolicies;
pub(crate) use fuel_budget::FUEL;
pub use kinds_of_profiles::{AdaptiveProfile, ExactProfile};
pub use perf::PerfFormat;
pub(crate) use pooling::MOST_STACKS;
pub use pooling::{InstanceAllocationStrategy, PoolingConfig};
pub use profiling::{Adaptive, Collect, ProfilingConfig, Trigger};

use self::groups::{Contexts, Events, Files, ModuleLimits, Observed, Paths, StackLimits, Tiers, Trace};
use crate::StoreLimits;

/// Minimum stack size for wasm code and its callees: the compiler also runs there, with a quarter of it.
const LEAST_STACK: usize = 2 << 20;
/// Maximum stack size; more is equivalent to no limit.
const MOST_STACK: usize = 1 << 40;
const PAGE: usize = 4096;

/// Approximate number of extended paths that an instance counts.
const EXTENDED_PATHS: usize = 1 << 12;

/// How functions are compiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// Baseline code at the first call; optimised when hot, even in the middle of a loop (OSR).
    #[default]
    Tiered,
    /// Optimised code at the first call.
    Optimized,
    /// Baseline code at the first call, never optimised.
    Baseline,
}

/// The settings of an [`Engine`](crate::Engine).
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) compiler: CompilerOptions,
    pub(crate) profiling: ProfilingConfig,
    pub(crate) tiers: Tiers,
    pub(crate) modules: ModuleLimits,
    pub(crate) limits: StoreLimits,
    pub(crate) stack: StackLimits,
    pub(crate) pooling: Option<PoolingConfig>,
    /// Whether pooled memories share the pages of their module's data.
    pub(crate) shares_data: bool,
    pub(crate) files: Files,
    pub(crate) events: Events,
    pub(crate) contexts: Contexts,
    pub(crate) paths: Paths,
    pub(crate) trace: Trace,
    pub(crate) observed: Observed,
    pub(crate) burst_policies: Option<BurstPolicies>,
    pub(crate) weights: Option<Arc<Profile>>,
    pub(crate) perf: Option<PerfFormat>,
    pub(crate) native_unwind_info: bool,
    pub(crate) polls: bool,
    pub(crate) gc_stress: bool,
    /// Whether errors have core dumps.
    pub(crate) dumps_core: bool,
    /// Why the builder of a profile made settings that conflict, if it did.
    pub(crate) conflict: Option<&'static str>,
    off: Vec<Proposal>,
}

impl Default for Config {
    fn default() -> Self {
        Config::new()
    }
}

impl Config {
    /// Creates the default settings: no profiling, guards against speculative reads, 32-bit memories fully reserved.
    pub fn new() -> Config {
        Config {
            compiler: CompilerOptions::default(),
            profiling: ProfilingConfig::Off,
            tiers: Tiers::default(),
            modules: ModuleLimits::default(),
            limits: StoreLimits::default(),
            stack: StackLimits::default(),
            pooling: None,
            shares_data: true,
            files: Files::default(),
            events: Events::default(),
            contexts: Contexts::default(),
            paths: Paths::default(),
            trace: Trace::default(),
            observed: Observed::default(),
            burst_policies: None,
            weights: None,
            perf: None,
            native_unwind_info: false,
            polls: false,
            gc_stress: false,
            dumps_core: false,
            conflict: None,
            off: Vec::new(),
        }
    }

    /// Creates settings that minimize trusted code: code is what plain Cranelift generates from wasm. It is optimised
    /// at the first call, by the calling thread. None of wprof's own [passes](PassSet) run, so there is no assembler,
    /// no unchecked jump into tables and no pinned register; nothing is compiled ahead or recompiled from observations,
    /// and modules are read whole. The guards against speculative reads stay. Programs start more slowly and run
    /// longer: see `bench-wasm/records/2026-11-27-conservative.md`.
    pub fn conservative() -> Config {
        let mut config = Config::new();
        config.passes(PassSet::none()).strategy(Strategy::Optimized).reoptimization(None);
        config.background_compilation(false).speculative_compilation(false).demand_paging(false);
        config.compiler.plain = true;
        config
    }

    /// Sets how functions are compiled (default: tiered).
    pub fn strategy(&mut self, strategy: Strategy) -> &mut Self {
        self.tiers.strategy = strategy;
        self
    }

    /// Sets whether another thread optimises hot functions while the program continues (default: yes). Otherwise the
    /// program waits, so that the same input goes through the same versions.
    pub fn background_compilation(&mut self, enable: bool) -> &mut Self {
        self.tiers.background = enable;
        self
    }

    /// Sets whether another thread compiles functions, and parts of large ones, ahead of their first call, as soon as
    /// a likely caller runs (default: if there is more than one core). Applies to the tiered strategy
    /// with background compilation only. It changes neither results nor profiles, but compile times vary between runs.
    /// If there are bursts, versions for frames that wait in loops of large functions are then compiled
    /// in two steps, the first of which takes less time.
    pub fn speculative_compilation(&mut self, enable: bool) -> &mut Self {
        self.tiers.speculative = enable;
        self
    }

    /// Sets a folder that keeps machine code between runs (default: none). It is created if necessary, and not
    /// used if others may write to it, since its code runs with the rights of this process. Nothing is stored unless
    /// [`Module::update_code_cache`](crate::Module::update_code_cache) is called.
    pub fn code_cache(&mut self, folder: impl Into<PathBuf>) -> &mut Self {
        self.files.code_cache = Some(folder.into());
        self
    }

    /// Sets whether hashes of large modules, which profiles contain, are computed while programs run (default: yes), so
    /// that requesting a profile does not wait for them: hashing takes 0.7 ms per MiB. Turn it off if no profile is
    /// requested.
    pub fn hash_ahead(&mut self, is_wanted: bool) -> &mut Self {
        self.files.hash_ahead = is_wanted;
        self
    }

    /// Sets whether data segments of megabytes and debug information of a module's file are read on demand
    /// (default: yes), rather than at load. The file must then not be written to while the module is used.
    pub fn demand_paging(&mut self, enable: bool) -> &mut Self {
        self.files.demand_paging = enable;
        self
    }

    /// Sets the version that identifies programs for which modules compiled ahead are valid (default: `None`, the
    /// program's build id: only modules from the very same program). With a version of their own several programs can
    /// share modules, such as one that compiles and one that runs. Programs with equal versions must contain wprof
    /// built from the same sources in the same way; otherwise the behaviour is undefined.
    pub fn module_version(&mut self, version: Option<String>) -> &mut Self {
        self.files.module_version = version;
        self
    }

    /// Sets how many bytes of stack wasm code may use, rounded up to whole pages, independently of its caller's stack
    /// (default: `None`, all of its caller's). At least 2 MiB. Exceeding it traps with
    /// [`Trap::StackOverflow`](crate::Trap::StackOverflow).
    ///
    /// Wasm, and the host functions that it calls, then run on a stack of this size, which each thread keeps for the
    /// next call. Host functions need a quarter of it left, or 512 KiB (1 MiB in debug builds) if that is less.
    pub fn max_wasm_stack(&mut self, bytes: Option<usize>) -> &mut Self {
        let whole = |bytes: usize| bytes.clamp(LEAST_STACK, MOST_STACK).next_multiple_of(PAGE);
        self.stack.max_bytes = bytes.map(whole);
        self
    }

    /// Sets how many frames of wasm functions a store may have on the stack at once, including those below its host
    /// functions (default: `None`, as many as fit). One more traps with
    /// [`Trap::StackOverflow`](crate::Trap::StackOverflow) at its entry: at the same place of a program on each machine
    /// and in each tier, provided that the stack is large enough for that many, which [`Config::max_wasm_stack`]
    /// ensures. A tail call replaces its caller; host functions do not count.
    ///
    /// Each call then costs two additions and a comparison, and no call is inlined. With an adaptive profile the limit is
    /// the same, whether a call is in a burst or not.
    pub fn max_call_depth(&mut self, frames: Option<u32>) -> &mut Self {
        self.stack.max_depth = frames;
        self
    }

    /// Returns the folder that programs of one user share as a code cache; `None` if the environment determines none.
    pub fn default_code_cache() -> Option<PathBuf> {
        Some(Config::user_caches()?.join("code"))
    }

    /// Returns the folder for other data that programs of one user keep.
    pub(crate) fn user_caches() -> Option<PathBuf> {
        let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
        Some(caches.join("wprof"))
    }

    /// Sets after how many entries and loop rounds a function is optimised, per 100 bytes of its bytecode
    /// (default: 1000). The cost of optimisation grows with the size, and has to be repaid.
    pub fn promote_after(&mut self, count: u32) -> &mut Self {
        self.compiler.hot = Some(count.max(1));
        self
    }

    /// Sets the bytecode size above which functions are first compiled in parts, each when control first reaches it
    /// (default: 4000); never with `usize::MAX`. Applies only to code that counts nothing exactly.
    pub fn parts_above(&mut self, bytes: usize) -> &mut Self {
        self.compiler.part_sizes = PartSizes::above(bytes);
        self
    }

    /// Sets the bytecode size above which optimised code of functions that consist to more than half of one loop can be
    /// entered at the header of that loop by OSR (default: 4000), so that frames need no version of their own; never
    /// with `usize::MAX`.
    pub fn loop_entries_above(&mut self, bytes: usize) -> &mut Self {
        self.compiler.loop_entries_above = bytes;
        self
    }

    /// Sets the bytecode size (default: 1000) above which a function has one version for frames from other versions,
    /// which they enter at any of its loops; smaller functions have one per loop where frames arrive.
    pub fn shared_loops_above(&mut self, bytes: usize) -> &mut Self {
        self.compiler.shared_loops_above = bytes;
        self
    }

    /// Places up to 240 bytes behind the machine code of each function; this seed determines how many. The speed of
    /// code depends on its address by several percent (Mytkowicz et al., *Producing Wrong Data Without Doing Anything
    /// Obviously Wrong!*, ASPLOS 2009), so benchmarks of wprof itself compare means over several seeds.
    pub fn padding(&mut self, seed: u32) -> &mut Self {
        self.tiers.padding = Some(seed);
        self
    }

    /// Limits the integer live ranges that stay in registers across calls in optimised code, and allows no float ones;
    /// the others are spilled, whatever the cost. For tests of wprof itself: by default as many are spilled as pays
    /// off.
    pub fn values_across_calls(&mut self, most: u32) -> &mut Self {
        self.compiler.across_calls = Some(most);
        self
    }

    /// Sets the optimisations beyond plain Cranelift (default: all). Program behaviour does not depend on
    /// them: a fault that disappears without a pass is a fault in that pass.
    pub fn passes(&mut self, passes: PassSet) -> &mut Self {
        self.compiler.passes = passes;
        self
    }

    /// Sets whether memory and table accesses are guarded against speculative out-of-bounds reads (default: yes).
    pub fn spectre_guards(&mut self, enable: bool) -> &mut Self {
        self.compiler.spectre_guards = enable;
        self
    }

    /// Sets whether loops, and entries of functions that call, poll for interruption (default: no). Without polls an
    /// interruption takes effect at the next call of a host function. Profiled code always polls: its counts are
    /// exact only if it stops at known instructions. A deadline needs polls, or the checks of bursts:
    /// [`Store::set_deadline`](crate::Store::set_deadline) fails without.
    pub fn interruptible(&mut self, enable: bool) -> &mut Self {
        self.polls = enable;
        self
    }

    /// Sets whether code polls for epochs: as [`Config::interruptible`], by the name that other engines use.
    pub fn epoch_interruption(&mut self, enable: bool) -> &mut Self {
        self.interruptible(enable)
    }

    /// Sets whether every NaN that arithmetic yields is canonicalized, so that results do not depend on the processor
    /// (default: no).
    pub fn canonical_nans(&mut self, enable: bool) -> &mut Self {
        self.compiler.canonical_nans = enable;
        self
    }

    /// Sets whether all compiled code is checked (default: no). Cranelift then verifies its input, as it always does
    /// in debug builds. Each pass but `vectors` over a function's CLIF or finished machine code must also be proven to
    /// preserve the function's behaviour: the same stores, calls, traps, branches and results. Without a proof the
    /// function runs without that pass; [`Engine::proofs`](crate::Engine::proofs) counts these cases, and
    /// [`Engine::unproven`](crate::Engine::unproven) gives the reasons. Baseline code must be proven, too, to do what its
    /// function says; otherwise Cranelift compiles it ([`Engine::baseline_proofs`](crate::Engine::baseline_proofs)).
    pub fn verify(&mut self, enable: bool) -> &mut Self {
        self.compiler.verify = enable || cfg!(debug_assertions);
        self.compiler.proves = enable;
        self
    }

    /// Sets whether each object allocation collects garbage first (default: no), for tests.
    pub fn gc_stress(&mut self, enable: bool) -> &mut Self {
        self.gc_stress = enable;
        self
    }

    /// Sets whether errors that end wasm code early, other than exits, have a [`WasmCoreDump`](crate::WasmCoreDump), which
    /// [`Error::downcast_ref`](crate::Error::downcast_ref) returns (default: no). It refers to all instances, memories and
    /// globals of the store, so each such error takes time and memory in proportion to their number.
    pub fn coredump_on_trap(&mut self, enable: bool) -> &mut Self {
        self.dumps_core = enable;
        self
    }

    /// Reports whether functions are compiled ahead.
    pub(crate) fn speculates(&self) -> bool {
        self.tiers.speculative && self.tiers.background && self.tiers.strategy == Strategy::Tiered
    }

    /// Reports whether code is cached for other runs.
    pub(crate) fn caches(&self) -> bool {
        let has_profile =
            self.weights.is_some() || self.paths.interesting.is_some() || self.tiers.advice.is_some();
        !has_profile && self.perf.is_none() && self.observed.allocators.is_none()
    }
}

/// Returns the number of processors that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}
