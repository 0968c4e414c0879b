//! What is observed of a store's code: counts, traces, samples, bursts.
//!
//! Each kind is a part with a state of its own, in `counts`, `burst` or `samples`. Here is what concerns several.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wprof_profiler::{Accuracy, Rate};

use super::abi::VmStoreContext;
use super::engine_core::EngineCore;
use super::store_ptr::StorePtr;
use crate::runtime::burst::burst_contexts::BurstContexts;
use crate::runtime::burst::store_bursts::StoreBursts;
use crate::runtime::burst::timed_calls::Trials;
use crate::runtime::counts::allocations::Allocations;
use crate::runtime::counts::context_tracking::Contexts;
use crate::runtime::counts::cpu_time;
use crate::runtime::counts::event_counts::Events;
use crate::runtime::counts::host_clock::{HostClock, Span};
use crate::runtime::counts::metrics::Metrics;
use crate::runtime::counts::trace_buffer::Trace;
use crate::runtime::samples::StoreSamples;
use crate::{Error, ProfilingConfig, Result};

/// The observations of a store's code.
pub struct Observed {
    engine: Arc<EngineCore>,
    pub events: Events,
    /// The trace of machine code, if it writes one.
    pub trace: Option<Trace>,
    /// The calling contexts, if they are counted.
    pub contexts: Option<Contexts>,
    /// The allocations by context, if they are counted.
    pub allocations: Option<Allocations>,
    pub metrics: Metrics,
    pub samples: StoreSamples,
    /// The bursts, if there are any.
    pub bursts: Option<StoreBursts>,
    pub trials: Trials,
    /// The clock that measures host functions, if they are measured.
    host_clock: Option<HostClock>,
    /// Creation time of the store, where its time line begins.
    started: Instant,
    /// Whether entries and calls of the host are recorded in other ways than by bursts: in a trace, call records,
    /// metrics, samples or times.
    records_calls: bool,
}

impl Observed {
    /// Creates the observations of a new store, without bursts; `part` returns the address of its context.
    ///
    /// # Errors
    /// Fails if the system has no memory for them, or does not count a metric.
    pub fn new(engine: &Arc<EngineCore>, part: impl Fn() -> StorePtr<VmStoreContext>) -> Result<Observed> {
        let (config, collection, counted) = (engine.config(), engine.collection(), engine.counted());
        let trace = collection.tracing.map(|_| Trace::new(engine, part())).transpose();
        let trace = trace.map_err(|e| Error::system("no memory for a store", e))?;
        let metrics = Metrics::new(&counted.metrics, part())?;
        let new_contexts = || Contexts::new(engine, &metrics, part(), BurstContexts::new(part()));
        let contexts = counted.contexts.then(new_contexts);
        let samples = StoreSamples::new(config.sampled_rate(), part());
        let host_clock = config.contexts.times_host_calls.then(HostClock::start);
        let records_calls = trace.is_some()
            || contexts.is_some()
            || !metrics.all().is_empty()
            || samples.ring().is_some()
            || host_clock.is_some();
        Ok(Observed {
            engine: engine.clone(),
            events: Events::new(collection, part()),
            trace,
            contexts,
            allocations: counted.allocations.then(Allocations::new),
            metrics,
            samples,
            bursts: None,
            trials: Trials::default(),
            host_clock,
            started: Instant::now(),
            records_calls,
        })
    }

    /// Returns the engine.
    pub fn engine(&self) -> &EngineCore {
        &self.engine
    }

    /// Returns the creation time of the store.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// Reports whether machine code calls the runtime where its stack may be exhausted.
    pub fn call_runtime(&self) -> bool {
        self.metrics.call_runtime() || self.trace.is_some()
    }

    /// Reports whether entries and calls of the host are recorded in other ways than by bursts.
    #[inline]
    pub fn record_calls(&self) -> bool {
        self.records_calls
    }

    /// Reports whether anything is counted now that depends on where frames end. Of bursts that is only what call records
    /// are charged with while one counts: finding the frames takes several times as long as a throw.
    pub fn look_at_ended_frames(&self) -> bool {
        matches!(self.engine.config().profiling, ProfilingConfig::Exact(_))
            || self.trace.is_some()
            || self.contexts.is_some() && self.counts_in_burst()
            || !self.engine.collection().events.is_empty()
    }

    /// Begins the span of a host function, or of code that one has called.
    pub fn begin_span(&mut self) -> Option<Span> {
        self.host_clock.as_mut().map(HostClock::begin)
    }

    /// Ends a span. Returns its own ticks, if they are measured.
    pub fn end_span(&mut self, span: Option<Span>) -> u64 {
        self.host_clock.as_mut().zip(span).map_or(0, |(clock, span)| clock.end(span))
    }

    /// Returns the clock that measures host functions, if they are measured.
    pub fn host_clock(&self) -> Option<&HostClock> {
        self.host_clock.as_ref()
    }

    /// Prepares the running code to wait. Returns the argument of [`Observed::go_on_after`].
    pub fn leave_thread(&self) -> Duration {
        self.bursts.as_ref().map_or(Duration::ZERO, |_| cpu_time::of_thread())
    }

    /// Resumes code that has waited for so many ticks.
    pub fn go_on_after(&mut self, left: Duration, ticks: u64) {
        if let Some(clock) = &mut self.host_clock {
            clock.note_wait(ticks);
        }
        if let Some(bursts) = &mut self.bursts {
            bursts.go_on_after(left);
        }
    }

    /// Records the current size of a memory, if allocations are counted.
    pub fn note_size(&mut self, memory: u32, pages: u64) {
        let Some(allocations) = &mut self.allocations else { return };
        let has_times = self.engine.config().observed.time_line;
        let at_ns = if has_times { self.started.elapsed().as_nanos() as u64 } else { 0 };
        allocations.resize(at_ns, memory, pages);
    }

    /// Returns the share of checks that were in bursts so far, if there are bursts: see [`StoreBursts::rate`].
    pub fn burst_rate(&self) -> Option<Rate> {
        self.bursts.as_ref().map(StoreBursts::rate)
    }

    /// Predicts the accuracy of what bursts have counted in the functions of an instance; `None` if calling contexts are
    /// not counted, or too little was seen: see [`StoreBursts::accuracy`].
    pub fn accuracy(&self, instance: u32) -> Option<Accuracy> {
        self.bursts.as_ref()?.accuracy(self.records()?, instance)
    }
}
