//! What to observe while code runs: counts, events, contexts, paths, traces, time; and what earlier profiles are used for.

use std::sync::Arc;

use wprof_jit::events::EventModel;
use wprof_jit::module::AllocatorKind;
use wprof_jit::plan::{Counting, Interesting, Metric, Tracing};
use wprof_jit::reoptimize::Policy;
use wprof_profiler::{ExtendedPaths, Extension, Profile, TableShape};

use super::{Config, EXTENDED_PATHS, PerfFormat, ProfilingConfig};

impl Config {
    /// Sets whether and what to profile (default: off).
    pub fn profiling(&mut self, profiling: ProfilingConfig) -> &mut Self {
        self.profiling = profiling;
        self
    }

    /// Sets the event kinds to count in all wasm code of a store (default: none): see
    /// [`Store::event_count`](crate::Store::event_count). At most 16.
    pub fn count_events(&mut self, kinds: impl IntoIterator<Item = EventModel>) -> &mut Self {
        self.events.models = kinds.into_iter().collect();
        self.keep_fuel();
        self
    }

    /// Sets how events are counted (default: with the fewest increments).
    pub fn event_counting(&mut self, counting: Counting) -> &mut Self {
        self.events.counting = counting;
        self
    }

    /// Sets the counted event kind for which a store has a budget (default: none): see
    /// [`Store::set_budget`](crate::Store::set_budget).
    pub fn budget(&mut self, kind: impl Into<String>) -> &mut Self {
        self.events.budget = Some(kind.into());
        self.keep_fuel();
        self
    }

    /// Sets an earlier profile whose edge counts place counters on rarely executed edges (default: none, an estimate
    /// places them). It affects only the cost of counting, not the results. All modules must be the one that the
    /// profile describes. Code is then not cached.
    pub fn weights(&mut self, profile: Arc<Profile>) -> &mut Self {
        self.weights = Some(profile);
        self
    }

    /// Sets the policy for reoptimizing hot functions by observations: from bursts, or from [`Config::profile_use`]
    /// (default: the reoptimizer's own policy). `None` disables it. Code that counts everything is never
    /// reoptimized.
    pub fn reoptimization(&mut self, policy: Option<Policy>) -> &mut Self {
        self.tiers.reoptimization = policy;
        self
    }

    /// Sets an earlier profile that guides the optimisation of hot functions from the start (default: none). All
    /// modules must be the one that the profile describes; of components, those core modules have advice that it
    /// describes. Code is then not cached.
    pub fn profile_use(&mut self, profile: Arc<Profile>) -> &mut Self {
        self.tiers.advice = Some(profile);
        self
    }

    /// Sets the interesting paths of an engine that counts paths (default: none). In functions with too many
    /// paths for a counter each, interesting paths are counted without the table that other paths need; or, if they
    /// are not to be counted, profiles contain only the other paths. Their profile replaces [`Config::weights`]
    /// if none are set, and loops are compiled for its paths. All modules must be the one that the interesting
    /// paths belong to. Code is then not cached.
    pub fn interesting_paths(&mut self, interesting: Interesting) -> &mut Self {
        self.paths.interesting = Some(interesting);
        self
    }

    /// Makes all code write a trace (default: no), which [`Store::record_trace`](crate::Store::record_trace) stores.
    pub fn trace(&mut self, how: Tracing) -> &mut Self {
        self.trace.what = Some(how);
        self
    }

    /// Sets whether traces include data references (default: no): the addresses that each load, store and bulk
    /// operation accesses, in step with the blocks. It needs [`Config::trace`] or
    /// [`Config::record_bursts`].
    pub fn trace_references(&mut self, enable: bool) -> &mut Self {
        self.trace.references = enable;
        self
    }

    /// Sets how many bytes of a trace are collected before they are compressed as one chunk (default: 1 MiB). A trace
    /// can be read from any chunk on. At least 8, at most 64 MiB. Data references may take eight times as many bytes.
    pub fn trace_buffer(&mut self, bytes: usize) -> &mut Self {
        self.trace.buffer = bytes.clamp(8, 64 << 20);
        self
    }

    /// Sets whether calling contexts are counted in all wasm code of a store (default: no): how often each function was
    /// called, by whom, who was called by whom, …, see [`Profile::contexts`]. An adaptive profile counts the calls in
    /// bursts.
    pub fn count_contexts(&mut self, enable: bool) -> &mut Self {
        self.contexts.counted = enable;
        self
    }

    /// Sets whether an exact profile of edges, paths or blocks counts which functions each indirect call calls (default:
    /// no): see [`Profile::call_targets`]. An adaptive profile always counts these, in bursts.
    pub fn count_call_targets(&mut self, enable: bool) -> &mut Self {
        self.contexts.call_targets = enable;
        self
    }

    /// Sets whether calling contexts are distinguished by functions only (default: no): calls of one function from
    /// several call sites of its caller are then one context, which takes less memory and tells less. Calling contexts
    /// must be counted.
    pub fn merge_call_sites(&mut self, enable: bool) -> &mut Self {
        self.contexts.merges_sites = enable;
        self
    }

    /// Counts allocations in each calling context (default: no), see [`Profile::allocations`]: allocations and frees by
    /// functions with the usual names of C and Rust allocators, such as `malloc` and `__rust_realloc`, or with one of
    /// the given names, and garbage-collected objects. If one allocator calls another, the outer one counts. Calling
    /// contexts must be counted, and not in bursts. Code is then not cached.
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
        self.observed.allocators = Some(also.into_iter().collect());
        self
    }

    /// Sets how many bytes of memory the call records of a store may take (default: 256 MiB, enough for more than a
    /// million). Once they are used up, calls in new contexts are counted by function only, under
    /// [`Callee::Beyond`](wprof_profiler::Callee::Beyond).
    pub fn context_memory(&mut self, bytes: usize) -> &mut Self {
        self.contexts.memory = bytes;
        self
    }

    /// Sets whether the system's unwinder knows machine code (default: no), so that backtraces of host functions
    /// (`std::backtrace`), debuggers and crash handlers see the frames of wasm code, without names, and the host's below
    /// them. Profiles and errors need it not: they have stacks of their own. Nor do tools that follow frame pointers, such as
    /// `perf record -g`, since all functions keep them. In the first and last instructions of a function the caller is left
    /// out. It costs nothing while code runs.
    pub fn native_unwind_info(&mut self, enable: bool) -> &mut Self {
        self.native_unwind_info = enable;
        self
    }

    /// Writes a map of the generated code for Linux perf, in a file per process (default: no). Code from the code
    /// cache would have no lines, so the cache is disabled. Only one engine per process can do so.
    pub fn perf(&mut self, format: PerfFormat) -> &mut Self {
        self.perf = Some(format);
        self.compiler.positions = format == PerfFormat::Jitdump;
        self
    }

    /// Sets how many times per second threads that run wasm code are sampled, to show where the time goes (default:
    /// never; 1000 costs hardly anything): see [`Profile::time`](wprof_profiler::Profile::time). It works with every
    /// other setting, and needs none. A timer on the thread's processor time sends it an otherwise unused real-time
    /// signal; interrupted system calls resume where the system allows. The kernel checks such timers at its ticks,
    /// often 250 per second: a sample then represents more time. A thread's first 50 signals come from an exact timer,
    /// which may also interrupt it where it waits.
    pub fn sample_time(&mut self, rate: Option<u32>) -> &mut Self {
        self.observed.sample_rate = rate.filter(|&rate| rate > 0);
        self
    }

    /// Sets the metrics to measure (default: none), along paths and in calling contexts, whichever are counted; with an
    /// adaptive profile, in bursts. Measurements exclude callees: see
    /// [`PathCount::metrics`](wprof_profiler::PathCount::metrics) and
    /// [`CallRecord::metrics`](wprof_profiler::CallRecord::metrics). For event kinds that are also counted, profiles
    /// contain the totals along paths.
    pub fn measure(&mut self, metrics: impl IntoIterator<Item = Metric>) -> &mut Self {
        self.observed.metrics = metrics.into_iter().collect();
        self.observed.metrics.sort();
        self
    }

    /// Sets whether paths are counted separately in each calling context (default: no): see
    /// [`CallRecord::paths`](wprof_profiler::CallRecord::paths). Paths and contexts must be counted.
    pub fn flow_contexts(&mut self, enable: bool) -> &mut Self {
        self.contexts.with_paths = enable;
        self
    }

    /// With `flow_contexts`, sets the maximum number of paths of a function for which each of its call records has a
    /// cell per path (default: 64). Other functions count paths in rows that all their records share, which is slower,
    /// but needs no memory for paths that do not run.
    pub fn record_paths(&mut self, most: u32) -> &mut Self {
        self.paths.recorded = most.into();
        self
    }

    /// Sets whether profiles contain the run time of host functions (default: no): see
    /// [`HostCalls::time_ns`](wprof_profiler::HostCalls::time_ns). Each call then reads the time-stamp counter twice.
    pub fn time_host_calls(&mut self, enable: bool) -> &mut Self {
        self.contexts.times_host_calls = enable;
        self
    }

    /// Sets whether profiles have a time line (default: no), [`Profile::timeline`]: when and why code was compiled,
    /// and when bursts ran. Times differ between runs.
    pub fn time_line(&mut self, enable: bool) -> &mut Self {
        self.observed.time_line = enable;
        self
    }

    /// Sets whether bursts can be recorded (default: no), which slows them down: see
    /// [`Store::record_bursts`](crate::Store::record_bursts). It needs an adaptive profile.
    pub fn record_bursts(&mut self, enable: bool) -> &mut Self {
        self.observed.bursts = enable;
        self
    }

    /// Sets whether bursts extend paths over back edges or calls (default: neither): see [`Profile::extended`]. This
    /// slows bursts down. It needs an adaptive profile.
    pub fn extend_paths(&mut self, extension: Option<Extension>) -> &mut Self {
        self.paths.extension = extension;
        self
    }

    /// Sets the size of the table in which bursts count paths of functions with too many paths for counters (default:
    /// 16,384 sets of 4 entries). A full set evicts its least executed path. Another than the default needs an adaptive
    /// profile.
    pub fn path_table(&mut self, shape: TableShape) -> &mut Self {
        self.paths.table = shape;
        self
    }

    /// Returns the sampling rate of threads in samples per second, if they are sampled.
    pub(crate) fn sampled_rate(&self) -> Option<u32> {
        self.observed.sample_rate
    }

    /// Reports whether anything but events is counted.
    pub fn profiles(&self) -> bool {
        self.profiling != ProfilingConfig::Off
    }

    /// Reports whether all code writes a trace.
    pub fn traces(&self) -> bool {
        self.trace.what.is_some()
    }

    /// Reports whether events of `kind` are counted.
    pub fn counts(&self, kind: &str) -> bool {
        self.events.models.iter().any(|model| model.name == kind)
    }

    /// Reports whether events of `kind` have a budget.
    pub fn meters(&self, kind: &str) -> bool {
        self.events.budget.as_deref() == Some(kind)
    }

    /// Reports whether bursts can be recorded.
    pub(crate) fn records_bursts(&self) -> bool {
        self.observed.bursts && self.checks().is_some()
    }

    /// Creates an empty table of extended paths, if bursts count them.
    pub(crate) fn extended_paths(&self) -> Option<ExtendedPaths> {
        let extension = self.paths.extension.filter(|_| self.checks().is_some())?;
        Some(ExtendedPaths::bounded(extension, EXTENDED_PATHS))
    }
}
