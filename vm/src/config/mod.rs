//! How an engine is set up.

mod collection;
mod fuel;
mod kinds_of_profiles;
mod limits;
mod perf;
mod pooling;
mod profiling;
mod proposals;

use std::path::PathBuf;
use std::sync::Arc;

use wprof_jit::compile::{CompilerOptions, PassSet};
use wprof_jit::events::EventModel;
use wprof_jit::limits::RECORD_PATHS;
use wprof_jit::module::{AllocatorKind, Proposal};
use wprof_jit::options::PartSizes;
use wprof_jit::plan::{Counting, Interesting, Metric, Tracing};
use wprof_jit::reoptimize::Policy;
use wprof_profiler::{ExtendedPaths, Extension, Profile, TableShape};

pub(crate) use fuel::FUEL;
pub use kinds_of_profiles::{AdaptiveProfile, ExactProfile};
pub use perf::PerfFormat;
pub use pooling::PoolingConfig;
pub use profiling::{Adaptive, Collect, ProfilingConfig, Trigger};

use crate::StoreLimits;

/// The least that wasm code and what it calls can do with: the compiler runs there, too, with a quarter of it.
const LEAST_STACK: usize = 2 << 20;
/// More is as good as no limit.
const MOST_STACK: usize = 1 << 40;
const PAGE: usize = 4096;

/// How many extended paths an instance counts, about.
const EXTENDED_PATHS: usize = 1 << 12;

/// How functions come by their code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Compiled as fast as can be at the first call; optimised when hot, also in the middle of a loop.
    #[default]
    Tiered,
    /// Optimised at the first call.
    Optimized,
    /// Compiled as fast as can be at the first call, and never optimised.
    Baseline,
}

/// The settings of an [`Engine`](crate::Engine).
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) compiler: CompilerOptions,
    pub(crate) polls: bool,
    pub(crate) profiling: ProfilingConfig,
    pub(crate) limits: StoreLimits,
    pub(crate) max_module_size: usize,
    pub(crate) max_functions: u32,
    pub(crate) max_function_size: u32,
    pub(crate) max_locals: u32,
    pub(crate) strategy: Strategy,
    pub(crate) background_compilation: bool,
    pub(crate) speculative_compilation: bool,
    pub(crate) code_cache: Option<PathBuf>,
    pub(crate) module_version: Option<String>,
    pub(crate) pooling: Option<PoolingConfig>,
    pub(crate) max_wasm_stack: Option<usize>,
    pub(crate) max_call_depth: Option<u32>,
    pub(crate) hash_ahead: bool,
    pub(crate) demand_paging: bool,
    pub(crate) padding: Option<u32>,
    pub(crate) events: Vec<EventModel>,
    pub(crate) counting: Counting,
    pub(crate) budget: Option<String>,
    pub(crate) weights: Option<Arc<Profile>>,
    pub(crate) reoptimization: Option<Policy>,
    pub(crate) advice: Option<Arc<Profile>>,
    pub(crate) interesting: Option<Interesting>,
    pub(crate) tracing: Option<Tracing>,
    pub(crate) references: bool,
    pub(crate) trace_buffer: usize,
    pub(crate) contexts: bool,
    pub(crate) allocators: Option<Vec<(String, AllocatorKind)>>,
    pub(crate) context_memory: usize,
    pub(crate) perf: Option<PerfFormat>,
    pub(crate) metrics: Vec<Metric>,
    pub(crate) flow_contexts: bool,
    pub(crate) record_paths: u64,
    pub(crate) times_host_calls: bool,
    pub(crate) gc_stress: bool,
    pub(crate) has_time_line: bool,
    pub(crate) sample_rate: Option<u32>,
    pub(crate) record_bursts: bool,
    pub(crate) extension: Option<Extension>,
    pub(crate) path_table: TableShape,
    fuel: bool,
    fuel_costs: Option<EventModel>,
    off: Vec<Proposal>,
}

impl Default for Config {
    fn default() -> Self {
        Config::new()
    }
}

impl Config {
    /// The default settings: no profiling, guards against speculative reads, 32-bit memories fully reserved.
    pub fn new() -> Config {
        Config {
            compiler: CompilerOptions::default(),
            polls: false,
            profiling: ProfilingConfig::Off,
            limits: StoreLimits::default(),
            max_module_size: 1 << 30,
            max_functions: 1_000_000,
            max_function_size: 7_654_321,
            max_locals: 50_000,
            strategy: Strategy::default(),
            background_compilation: true,
            speculative_compilation: cores() > 1,
            code_cache: None,
            module_version: None,
            pooling: None,
            max_wasm_stack: None,
            max_call_depth: None,
            hash_ahead: true,
            demand_paging: true,
            padding: None,
            events: Vec::new(),
            counting: Counting::default(),
            budget: None,
            weights: None,
            reoptimization: Some(Policy::default()),
            advice: None,
            interesting: None,
            tracing: None,
            references: false,
            trace_buffer: 1 << 20,
            contexts: false,
            allocators: None,
            context_memory: 256 << 20,
            perf: None,
            metrics: Vec::new(),
            flow_contexts: false,
            record_paths: RECORD_PATHS,
            times_host_calls: false,
            gc_stress: false,
            has_time_line: false,
            sample_rate: None,
            record_bursts: false,
            extension: None,
            path_table: TableShape::USUAL,
            fuel: false,
            fuel_costs: None,
            off: Vec::new(),
        }
    }

    /// Settings for those who want to trust as little code as possible: code is what plain Cranelift makes of wasm. It
    /// is optimised at the first call, by the thread that calls. There are no [passes](PassSet) of wprof's own, and so no
    /// assembler and no jump into tables without checks, and no register is taken from it; nothing is compiled ahead or anew by what was seen of it, and
    /// modules are read whole. The guards against speculative reads stay. Programs start more slowly and take longer:
    /// see `bench-wasm/records/2026-11-27-conservative.md`.
    pub fn conservative() -> Config {
        let mut config = Config::new();
        config.passes(PassSet::none()).strategy(Strategy::Optimized).reoptimization(None);
        config.background_compilation(false).speculative_compilation(false).demand_paging(false);
        config.compiler.plain = true;
        config
    }

    /// Whether and what to profile (default: off).
    pub fn profiling(&mut self, profiling: ProfilingConfig) -> &mut Self {
        self.profiling = profiling;
        self
    }

    /// Kinds of events that are counted in all wasm code of a store (default: none): see
    /// [`Store::event_count`](crate::Store::event_count). At most 16.
    pub fn count_events(&mut self, kinds: impl IntoIterator<Item = EventModel>) -> &mut Self {
        self.events = kinds.into_iter().collect();
        self.keep_fuel();
        self
    }

    /// How events are counted (default: with the fewest increments).
    pub fn event_counting(&mut self, counting: Counting) -> &mut Self {
        self.counting = counting;
        self
    }

    /// The kind of events, one of those that are counted, of which a store has a budget (default: none): see
    /// [`Store::set_budget`](crate::Store::set_budget).
    pub fn budget(&mut self, kind: impl Into<String>) -> &mut Self {
        self.budget = Some(kind.into());
        self.keep_fuel();
        self
    }

    /// An earlier profile, by whose counts of edges counters are placed where control seldom comes (default: none, they
    /// are placed by an estimate). It changes no result, only what counting costs. All modules must be the one that it
    /// is of. Code is then not cached.
    pub fn weights(&mut self, profile: Arc<Profile>) -> &mut Self {
        self.weights = Some(profile);
        self
    }

    /// How hot functions are made better by what is known of them: from bursts, or from [`Config::profile_use`]
    /// (default: the reoptimizer's own policy). `None`: they are not. Code that counts everything is never
    /// reoptimized.
    pub fn reoptimization(&mut self, policy: Option<Policy>) -> &mut Self {
        self.reoptimization = policy;
        self
    }

    /// An earlier profile, by which hot functions are made better as soon as they are optimised (default: none). All
    /// modules must be the one that it is of. Code is then not cached.
    pub fn profile_use(&mut self, profile: Arc<Profile>) -> &mut Self {
        self.advice = Some(profile);
        self
    }

    /// Paths that are interesting (default: none), of an engine that counts paths. In functions that have too many
    /// paths for a counter each, interesting paths are counted without the table that the others need; or, if they
    /// are not to be counted, profiles have the others alone. Their profile takes the place of [`Config::weights`]
    /// where there are none, and loops are compiled for its paths. All modules must be the one that the interesting
    /// paths are of. Code is then not cached.
    pub fn interesting_paths(&mut self, interesting: Interesting) -> &mut Self {
        self.interesting = Some(interesting);
        self
    }

    /// Makes all code write a trace (default: no), which [`Store::record_trace`](crate::Store::record_trace) keeps.
    pub fn trace(&mut self, how: Tracing) -> &mut Self {
        self.tracing = Some(how);
        self
    }

    /// Whether traces have data references too (default: no): what each load, store and bulk operation touches, in step
    /// with the blocks. It has no effect without [`Config::trace`] or [`Config::record_bursts`].
    pub fn trace_references(&mut self, enable: bool) -> &mut Self {
        self.references = enable;
        self
    }

    /// How many bytes of a trace are collected before they are compressed as one chunk (default: 1 MiB): a trace can be
    /// read from each chunk on. At least 8, at most 64 MiB. Of data references there may be eight times as many.
    pub fn trace_buffer(&mut self, bytes: usize) -> &mut Self {
        self.trace_buffer = bytes.clamp(8, 64 << 20);
        self
    }

    /// Whether calling contexts are counted in all wasm code of a store (default: no): how often each function was
    /// called, by whom, who was called by whom, …, see [`Profile::contexts`]. With an adaptive profile the calls in
    /// bursts are.
    pub fn count_contexts(&mut self, enable: bool) -> &mut Self {
        self.contexts = enable;
        self
    }

    /// Counts allocations in each calling context (default: not), see [`Profile::allocations`]: what functions hand out and
    /// take back that are called as allocators of C and Rust usually are, such as `malloc` and `__rust_realloc`, or have one
    /// of the names given, and objects of the garbage collector. Of allocators that others call the outer one counts.
    /// Calling contexts must be counted, and not in bursts. Code is then not cached.
    ///
    /// # Example
    /// ```
    /// use wprof::{AllocatorKind, Config};
    ///
    /// let mut config = Config::new();
    /// let arena = ("arena_alloc".to_owned(), AllocatorKind::Malloc);
    /// config.count_contexts(true).count_allocations([arena]);
    /// ```
    pub fn count_allocations(
        &mut self,
        also: impl IntoIterator<Item = (String, AllocatorKind)>,
    ) -> &mut Self {
        self.allocators = Some(also.into_iter().collect());
        self
    }

    /// How many bytes of memory the call records of a store may take (default: 256 MiB, enough for more than a
    /// million). When they are used up, calls in new contexts are counted by function only, under
    /// [`Callee::Beyond`](wprof_profiler::Callee::Beyond).
    pub fn context_memory(&mut self, bytes: usize) -> &mut Self {
        self.context_memory = bytes;
        self
    }

    /// Tells Linux perf where the code of which function is, in a file of the process (default: no). Code from the code
    /// cache would have no lines, so there is no cache then. Of several engines in a process only one can do so.
    pub fn perf(&mut self, format: PerfFormat) -> &mut Self {
        self.perf = Some(format);
        self.compiler.positions = format == PerfFormat::Jitdump;
        self
    }

    /// How often a second threads that run wasm code are looked at, to tell where the time goes (default: not at all; 1000
    /// costs hardly anything): see [`Profile::time`](wprof_profiler::Profile::time). It works with every other setting,
    /// and does not need any. A timer that counts the thread's processor time sends it a signal, a real-time one that
    /// nobody uses; interrupted system calls go on where the system lets them. The kernel looks at such timers at its
    /// ticks, often 250 a second: a sample then stands for more time.
    pub fn sample_time(&mut self, rate: Option<u32>) -> &mut Self {
        self.sample_rate = rate.filter(|&rate| rate > 0);
        self
    }

    /// What is measured (default: nothing), along paths and in calling contexts, whichever are counted; with an
    /// adaptive profile, in bursts. What callees cost is left out: see
    /// [`PathCount::metrics`](wprof_profiler::PathCount::metrics) and
    /// [`CallRecord::metrics`](wprof_profiler::CallRecord::metrics). Of events that are counted too, the totals along
    /// paths follow.
    pub fn measure(&mut self, metrics: impl IntoIterator<Item = Metric>) -> &mut Self {
        self.metrics = metrics.into_iter().collect();
        self.metrics.sort();
        self
    }

    /// Whether paths are counted in each calling context of their own (default: no): see
    /// [`CallRecord::paths`](wprof_profiler::CallRecord::paths). Paths and contexts must be counted.
    pub fn flow_contexts(&mut self, enable: bool) -> &mut Self {
        self.flow_contexts = enable;
        self
    }

    /// With `flow_contexts`, up to how many paths of a function each of its call records has a cell for each
    /// (default: 64). Others are counted in rows that all its records share, which takes longer, but no memory for
    /// paths that do not run.
    pub fn record_paths(&mut self, most: u32) -> &mut Self {
        self.record_paths = most.into();
        self
    }

    /// Whether profiles tell how long functions of the host run (default: no): see
    /// [`HostCalls::time_ns`](wprof_profiler::HostCalls::time_ns). Takes two readings of the time-stamp counter a call.
    pub fn time_host_calls(&mut self, enable: bool) -> &mut Self {
        self.times_host_calls = enable;
        self
    }

    /// Whether each allocation of an object collects garbage first (default: no), for tests.
    pub fn gc_stress(&mut self, enable: bool) -> &mut Self {
        self.gc_stress = enable;
        self
    }

    /// Whether profiles have a time line (default: no), [`Profile::timeline`]: when which code was compiled and why,
    /// and when bursts ran. Times are never the same twice.
    pub fn time_line(&mut self, enable: bool) -> &mut Self {
        self.has_time_line = enable;
        self
    }

    /// Whether bursts can be recorded (default: no), which makes what runs in them slower: see
    /// [`Store::record_bursts`](crate::Store::record_bursts). It has no effect without bursts.
    pub fn record_bursts(&mut self, enable: bool) -> &mut Self {
        self.record_bursts = enable;
        self
    }

    /// Over what bursts extend paths (default: nothing), back edges or calls: see [`Profile::extended`]. Makes what
    /// runs in bursts slower. It has no effect without bursts.
    pub fn extend_paths(&mut self, extension: Option<Extension>) -> &mut Self {
        self.extension = extension;
        self
    }

    /// How large the table is in which bursts count paths of functions that have too many for counters (default: 16,384
    /// sets of 4 entries). Where a set is full the path that ran least gives way. It has no effect without bursts.
    pub fn path_table(&mut self, shape: TableShape) -> &mut Self {
        self.path_table = shape;
        self
    }

    /// How functions come by their code (default: tiered).
    pub fn strategy(&mut self, strategy: Strategy) -> &mut Self {
        self.strategy = strategy;
        self
    }

    /// Whether hot functions are optimised by another thread while the program goes on (default: yes). Otherwise the
    /// program waits, so that the same input goes through the same versions.
    pub fn background_compilation(&mut self, enable: bool) -> &mut Self {
        self.background_compilation = enable;
        self
    }

    /// Whether functions, and parts of large ones, are compiled by another thread before they are called, as soon as
    /// a function runs that is likely to call them (default: if there is more than one core). Of the tiered strategy
    /// with background compilation only. It changes neither results nor profiles, but when things are compiled
    /// depends on time. Where there are bursts, frames that wait in loops of large functions then have theirs compiled
    /// in two steps, the first of which takes less time.
    pub fn speculative_compilation(&mut self, enable: bool) -> &mut Self {
        self.speculative_compilation = enable;
        self
    }

    /// A folder in which machine code is kept from one run to the next (default: none). It is made if need be, and not
    /// used if others may write to it: what is in it runs with the rights of this process. Nothing is stored unless
    /// [`Module::update_code_cache`](crate::Module::update_code_cache) is called.
    pub fn code_cache(&mut self, folder: impl Into<PathBuf>) -> &mut Self {
        self.code_cache = Some(folder.into());
        self
    }

    /// Whether hashes of large modules, which profiles have, are computed while programs run (default: yes), so that who
    /// asks for a profile need not wait: that takes 0.7 ms for each MiB. Turn it off where nobody asks.
    pub fn hash_ahead(&mut self, is_wanted: bool) -> &mut Self {
        self.hash_ahead = is_wanted;
        self
    }

    /// Whether data segments of megabytes and debug information of a module's file are read when they are needed
    /// (default: yes), rather than at load. The file must not be written to then while the module is used.
    pub fn demand_paging(&mut self, enable: bool) -> &mut Self {
        self.demand_paging = enable;
        self
    }

    /// What tells whether modules that were compiled ahead are for this program (default: `None`, by the build id of the program:
    /// only what the very same program made). With a version of the embedder's own several programs can share them, such as
    /// one that compiles and one that runs: as long as it is the same, so must be everything that wprof is built of and
    /// how, or undefined behaviour follows.
    pub fn module_version(&mut self, version: Option<String>) -> &mut Self {
        self.module_version = version;
        self
    }

    /// What is kept of instances for the next ones (default: `None`, nothing).
    pub fn pooling(&mut self, pooling: Option<PoolingConfig>) -> &mut Self {
        self.pooling = pooling;
        self
    }

    /// How many bytes of stack wasm code may use, rounded up to whole pages, whatever its caller's stack has (default: `None`,
    /// all of its caller's). At least 2 MiB. What needs more traps with [`Trap::StackOverflow`](crate::Trap::StackOverflow).
    ///
    /// Wasm, and the host functions that it calls, then run on a stack of this size, which each thread keeps for the next
    /// call. Host functions are not called with less than a quarter of it left, or 512 KiB (1 MiB in debug builds) if that is less.
    pub fn max_wasm_stack(&mut self, bytes: Option<usize>) -> &mut Self {
        let whole = |bytes: usize| bytes.clamp(LEAST_STACK, MOST_STACK).next_multiple_of(PAGE);
        self.max_wasm_stack = bytes.map(whole);
        self
    }

    /// How many frames of wasm functions a store may have on the stack at once, those below its host functions included
    /// (default: `None`, as many as fit). One more traps with [`Trap::StackOverflow`](crate::Trap::StackOverflow) at its entry: at
    /// the same place of a program on each machine and in each tier, provided that the stack is large enough for so many, which
    /// [`Config::max_wasm_stack`] sees to. A tail call takes the place of its caller; host functions do not count.
    ///
    /// Each call then takes two additions and a comparison, and no call is inlined. Not with an adaptive profile.
    pub fn max_call_depth(&mut self, frames: Option<u32>) -> &mut Self {
        self.max_call_depth = frames;
        self
    }

    /// The folder that programs of one user share as a code cache; `None` if the environment names no place for it.
    pub fn default_code_cache() -> Option<PathBuf> {
        Some(Config::user_caches()?.join("code"))
    }

    /// The folder for what programs of one user keep, other than of code.
    pub(crate) fn user_caches() -> Option<PathBuf> {
        let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
        Some(caches.join("wprof"))
    }

    /// After how many entries and rounds of loops a function is optimised, for each 100 bytes of its bytecode
    /// (default: 1000). What optimising takes grows with the size, and has to be repaid.
    pub fn promote_after(&mut self, count: u32) -> &mut Self {
        self.compiler.hot = Some(count.max(1));
        self
    }

    /// Functions of more bytes of bytecode are compiled in parts at first, each when control first comes to it
    /// (default: 4000); never with `usize::MAX`. Only code that counts nothing exactly is.
    pub fn parts_above(&mut self, bytes: usize) -> &mut Self {
        self.compiler.part_sizes = PartSizes::above(bytes);
        self
    }

    /// Optimised code of functions of more bytes of bytecode, more than half of which are one loop, can be entered by
    /// frames at the header of that loop (default: 4000), so that they need no version of their own; of none with
    /// `usize::MAX`.
    pub fn loop_entries_above(&mut self, bytes: usize) -> &mut Self {
        self.compiler.loop_entries_above = bytes;
        self
    }

    /// Functions of more bytes of bytecode (default: 1000) have one version for frames that come from other versions,
    /// which these enter at any of its loops; smaller ones have one for each loop where frames come.
    pub fn shared_loops_above(&mut self, bytes: usize) -> &mut Self {
        self.compiler.shared_loops_above = bytes;
        self
    }

    /// Puts up to 240 bytes behind the machine code of each function, as many as follow from this number. How fast
    /// code is depends on where it lies, by several percent (Mytkowicz et al., *Producing Wrong Data Without Doing
    /// Anything Obviously Wrong!*, ASPLOS 2009), so benchmarks of wprof itself compare means over several numbers.
    pub fn padding(&mut self, seed: u32) -> &mut Self {
        self.padding = Some(seed);
        self
    }

    /// Lets no more than so many integers, and no floats, be alive across calls in optimised code; others wait in the
    /// frame, whatever that costs. For tests of wprof itself: by default as many wait as pay.
    pub fn values_across_calls(&mut self, most: u32) -> &mut Self {
        self.compiler.across_calls = Some(most);
        self
    }

    /// What is done to make code better than plain Cranelift does (default: all). What programs do does not depend on
    /// it: a fault that goes away without a pass is in that pass.
    pub fn passes(&mut self, passes: PassSet) -> &mut Self {
        self.compiler.passes = passes;
        self
    }

    /// Whether memory and table accesses are guarded against speculative out-of-bounds reads (default: yes).
    pub fn spectre_guards(&mut self, enable: bool) -> &mut Self {
        self.compiler.spectre_guards = enable;
        self
    }

    /// Whether loops and entries of functions that call poll for interruption (default: no). Without it an
    /// interruption takes effect at the next call of a host function. Profiled code always polls: its counts are
    /// exact only if it stops at known instructions.
    pub fn interruptible(&mut self, enable: bool) -> &mut Self {
        self.polls = enable;
        self
    }

    /// Whether every NaN that arithmetic yields is the canonical one, so that results do not depend on the processor
    /// (default: no).
    pub fn canonical_nans(&mut self, enable: bool) -> &mut Self {
        self.compiler.canonical_nans = enable;
        self
    }

    /// Whether all code is checked that is compiled (default: no). Cranelift verifies what it is given, as it always does
    /// in debug builds. And each pass over a function, over its CLIF or its finished machine code, must be proven to
    /// leave what it does as it was: the same stores, calls, traps, branches and results. Where that cannot be proven the
    /// function runs without that pass; [`Engine::proofs`](crate::Engine::proofs) tells how often,
    /// [`Engine::unproven`](crate::Engine::unproven) why.
    pub fn verify(&mut self, enable: bool) -> &mut Self {
        self.compiler.verify = enable || cfg!(debug_assertions);
        self.compiler.proves = enable;
        self
    }

    /// How often a second threads are sampled, if they are.
    pub(crate) fn sampled_rate(&self) -> Option<u32> {
        self.sample_rate
    }

    /// Whether anything but events is counted.
    pub fn profiles(&self) -> bool {
        self.profiling != ProfilingConfig::Off
    }

    /// Whether all code writes a trace.
    pub fn traces(&self) -> bool {
        self.tracing.is_some()
    }

    /// Whether events of `kind` are counted.
    pub fn counts(&self, kind: &str) -> bool {
        self.events.iter().any(|model| model.name == kind)
    }

    /// Whether there is a budget of events of `kind`.
    pub fn meters(&self, kind: &str) -> bool {
        self.budget.as_deref() == Some(kind)
    }

    /// Whether bursts can be recorded.
    pub(crate) fn records_bursts(&self) -> bool {
        self.record_bursts && self.checks().is_some()
    }

    /// An empty table of extended paths, if bursts are to count them.
    pub(crate) fn extended_paths(&self) -> Option<ExtendedPaths> {
        let extension = self.extension.filter(|_| self.checks().is_some())?;
        Some(ExtendedPaths::bounded(extension, EXTENDED_PATHS))
    }

    /// Whether functions are compiled ahead.
    pub(crate) fn speculates(&self) -> bool {
        self.speculative_compilation && self.background_compilation && self.strategy == Strategy::Tiered
    }

    /// Whether code is kept for other runs.
    pub(crate) fn caches(&self) -> bool {
        let has_profile = self.weights.is_some() || self.interesting.is_some() || self.advice.is_some();
        !has_profile && self.perf.is_none() && self.allocators.is_none()
    }
}

/// Processors that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}
