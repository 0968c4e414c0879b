//! A store without its user's data: owner of instances, memories, tables, globals and host functions.

use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::time::{Duration, Instant};

use wprof_jit::abi::{store_context, trace_word};

use super::abi::{NOTHING, VmMemory, VmStoreContext};
use super::engine_core::EngineCore;
use super::exclusive::Exclusive;
use super::items::Items;
use super::own_context::OwnContext;
use crate::runtime::burst::burst_contexts::BurstContexts;
use crate::runtime::burst::burst_log::BurstLog;
use crate::runtime::burst::store_bursts::{OnRound, StoreBursts};
use crate::runtime::burst::trials::TimedCall;
use crate::runtime::control::store_control::StoreControl;
use crate::runtime::counts::allocations::Allocations;
use crate::runtime::counts::call_records::{CallRecords, Figures};
use crate::runtime::counts::cpu_time;
use crate::runtime::counts::event_counts::Events;
use crate::runtime::counts::host_clock::{HostClock, Span};
use crate::runtime::counts::metrics::Metrics;
use crate::runtime::counts::trace_buffer::Trace;
use crate::runtime::entries;
use crate::runtime::gc::Bump;
use crate::runtime::interruption::interrupt_page::InterruptPage;
use crate::runtime::linear_memory::memory_image::MemoryImage;
use crate::runtime::samples::{self, Ring};
use crate::runtime::values::collected::Collected;
use crate::{Error, MemoryType, Result, Trap};

/// The store. Handles index its vectors, from which nothing is ever removed.
pub struct StoreOpaque {
    engine: Arc<EngineCore>,
    pub control: StoreControl,
    pub items: Items,
    pub collected: Collected,
    pub events: Events,
    /// The trace of machine code, if it writes one.
    pub trace: Option<Trace>,
    /// The calling context tree, if contexts are counted.
    pub contexts: Option<CallRecords>,
    /// The allocations by context, if they are counted.
    pub allocations: Option<Allocations>,
    /// The state to determine the context in which a burst begins.
    pub burst_contexts: BurstContexts,
    /// The state of metrics besides their readings.
    pub metrics: Metrics,
    /// The ring that receives its threads' samples, if they are sampled. The context refers to it.
    pub samples: Option<Arc<Ring>>,
    /// The bursts, if there are any.
    pub bursts: Option<StoreBursts>,
    /// The clock that measures host functions, if they are measured.
    pub host_clock: Option<HostClock>,
    /// The events in bursts, if they are recorded.
    pub burst_log: Exclusive<Option<BurstLog>>,
    /// Creation time of the store, where its time line begins.
    pub started: Instant,
    /// The timed call, if there is one.
    pub timed: Option<TimedCall>,
    /// Whether entries and calls of the host are recorded in other ways than by bursts: in a trace, call records,
    /// metrics, samples or times.
    pub records_calls: bool,
    context: OwnContext,
}

/// A store with the data of the layer above, which host functions can reach.
///
/// It begins with its `StoreOpaque`: pointers to one are pointers to the other.
#[repr(C)]
pub struct StoreWith<D: 'static> {
    pub opaque: StoreOpaque,
    pub above: D,
}

// Each pointer type justifies itself why it may move to another thread, and user data must be `Send` and `Sync` or be
// reached exclusively. The compiler therefore derives whether a store may.
const _: () = {
    const fn may_be_shared<T: Send + Sync>() {}
    may_be_shared::<StoreOpaque>();
};

impl StoreOpaque {
    /// Creates an empty store. Rounds of bursts end with `on_round`.
    ///
    /// # Errors
    /// Fails if the system has no memory for it.
    pub fn new(engine: &Arc<EngineCore>, on_round: OnRound) -> Result<StoreOpaque> {
        let no_memory = |e| Error::system("no memory for a store", e);
        let mut context = OwnContext::reserve();
        // SAFETY: the parts belong to this store, which drops the context last; they are used when it is filled.
        let part = || unsafe { context.part() };
        let trace = engine
            .collection()
            .tracing
            .map(|_| Trace::new(engine.config().trace.buffer / 8, engine.config().trace.references))
            .transpose()
            .map_err(no_memory)?;
        let metrics = Metrics::new(&engine.counted().metrics)?;
        let contexts = engine.counted().contexts.then(|| {
            let counted = engine.counted();
            let has = Figures {
                metrics: metrics.all().len() as u32,
                events: counted.events_in_records(),
                paths: counted.flow_contexts.is_some(),
                merges_sites: counted.merges_sites,
                in_bursts: counted.in_bursts,
            };
            CallRecords::new(engine.config().contexts.memory, has)
        });
        let calls_runtime = metrics.call_runtime() || trace.is_some();
        let control = StoreControl::new(engine, part(), calls_runtime).map_err(no_memory)?;
        let items = Items::new(engine.config().limits);
        let pinned = engine.compiler().options().pinned_cell();
        let samples = engine.config().sampled_rate().and_then(samples::start);
        let collected = Collected::new(items.id(), part(), engine.config().gc_stress);
        context.fill(VmStoreContext {
            stack_limit: 0,
            exit_fp: 0,
            transfer: control.transfer(),
            events: Default::default(),
            trace_word: trace_word::EMPTY,
            trace_next: trace.as_ref().map_or(ptr::null_mut(), Trace::buffer),
            reference_next: trace.as_ref().map_or(ptr::null_mut(), Trace::references),
            callee_slot: 0,
            find_record: entries::find_record as *const () as usize,
            path: 0,
            metrics: metrics.first_readings(),
            measured: Default::default(),
            read_metrics: metrics.reader(pinned == Some(store_context::SIMULATION_NEXT)),
            simulation_next: metrics.simulations.log(),
            checks: 0,
            burst: 0,
            counts: 1,
            passed: 0,
            check: entries::check as *const () as usize,
            check_pinned: entries::check_pinned as *const () as usize,
            leave: entries::leave as *const () as usize,
            leaving: ptr::null_mut(),
            go_on: 0,
            heap: Bump::default(),
            displays: ptr::null(),
            frames_left: engine.config().stack.max_depth.map_or(i64::MAX, i64::from),
            pinned: pinned.map_or(NOTHING, |cell| cell as usize),
            store: ptr::null_mut(),
            raise: engine.raise(),
            failed_callee: ptr::null_mut(),
            failed_index: 0,
            own_stack: control.own_stack(),
            demand: Arc::as_ptr(items.demand()),
            left_pc: 0,
            left_fp: 0,
            left_for: 0,
            host: 0,
            samples: samples.as_ref().map_or(ptr::null(), Arc::as_ptr),
            saved: Default::default(),
            simulation_log: metrics.simulations.log(),
            cycles_off: 0,
            cycles_before: 0,
            recent_calls: contexts.as_ref().map_or(ptr::null(), CallRecords::recent_calls),
        });
        let mut store = StoreOpaque {
            engine: engine.clone(),
            control,
            items,
            collected,
            events: Events::default(),
            trace,
            contexts,
            allocations: engine.counted().allocations.then(Allocations::new),
            burst_contexts: BurstContexts::default(),
            metrics,
            samples,
            bursts: None,
            host_clock: engine.config().contexts.times_host_calls.then(HostClock::start),
            burst_log: Exclusive::default(),
            started: Instant::now(),
            timed: None,
            records_calls: false,
            context,
        };
        store.records_calls = store.trace.is_some()
            || store.contexts.is_some()
            || !store.metrics.all().is_empty()
            || store.samples.is_some()
            || store.host_clock.is_some();
        store.pass_entry_slot();
        store.start_metering();
        store.start_bursts(on_round)?;
        Ok(store)
    }

    /// Begins the span of a host function, or of code that one has called.
    pub fn begin_span(&mut self) -> Option<Span> {
        self.host_clock.as_mut().map(HostClock::begin)
    }

    /// Ends a span. Returns its own ticks, if they are measured.
    pub fn end_span(&mut self, span: Option<Span>) -> u64 {
        self.host_clock.as_mut().zip(span).map_or(0, |(clock, span)| clock.end(span))
    }

    /// Prepares the running code to wait. Returns the argument of [`StoreOpaque::go_on_after`].
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

    /// Returns the engine.
    #[inline]
    pub fn engine(&self) -> &Arc<EngineCore> {
        &self.engine
    }

    /// Returns the context that machine code reads.
    #[inline]
    pub fn context(&self) -> NonNull<VmStoreContext> {
        self.context.get()
    }

    /// Returns the interrupt page for use by others, whose requests take effect even where code has checks instead of
    /// polls.
    pub fn watched_interrupt(&self) -> &Arc<InterruptPage> {
        if self.bursts.is_some() {
            // Without a thread that watches, a request takes effect when a check fires on its own.
            let _ = self.control.interrupt().watch();
        }
        self.control.interrupt()
    }

    /// Stops the store's code when the engine's epoch has been incremented so many times.
    pub fn set_epoch_deadline(&self, epochs: u64) {
        self.engine().epochs().stop_after(epochs, self.watched_interrupt());
    }

    /// Adds a memory with the contents of the image, if there is one.
    ///
    /// # Errors
    /// Fails as [`LinearMemory::new`] does, or if there are too many.
    pub fn add_memory(
        &mut self,
        ty: MemoryType,
        definition: Option<NonNull<VmMemory>>,
        image: Option<Arc<MemoryImage>>,
    ) -> Result<u32> {
        let index = self.items.add_memory(&self.engine, ty, definition, image)?;
        self.note_size(index);
        Ok(index)
    }

    /// Records the current size of a memory, if allocations are counted.
    pub fn note_size(&mut self, index: u32) {
        let pages = self.items.memory(index).pages();
        let has_times = self.engine.config().observed.time_line;
        let at_ns = if has_times { self.started.elapsed().as_nanos() as u64 } else { 0 };
        if let Some(allocations) = &mut self.allocations {
            allocations.resize(at_ns, index, pages);
        }
    }

    /// Reports whether something may have to be done after a call of the host: someone wants the store to stop, a tick
    /// has come, or data was read on demand.
    #[inline]
    pub fn has_news(&self) -> bool {
        let interrupt = self.control.interrupt();
        interrupt.is_requested() || interrupt.has_ticked() || self.items.has_demand()
    }

    /// Allocates an object of the type with this id, with default fields, and returns its address. All live references
    /// must be known: see [`StoreOpaque::collect`].
    ///
    /// # Errors
    /// Fails if there is no room besides all reachable objects.
    pub fn allocate(&mut self, id: u32, length: u32) -> Result<u64, Trap> {
        if self.engine.config().gc_stress {
            self.collect(&[]);
        }
        if let Some(object) = self.collected.objects.allocate(id, length) {
            return Ok(object);
        }
        self.collect(&[]);
        self.collected.objects.allocate_after_collection(id, length).ok_or(Trap::GcOutOfMemory)
    }

    /// Collects if it is time: see [`StoreOpaque::collect`].
    #[inline]
    pub fn collect_if_due(&mut self) {
        if self.collected.is_due() {
            self.collect(&[]);
        }
    }

    /// Frees objects, externrefs and exceptions without references from a table, a global, a frame of wasm code, a live
    /// object or exception, or `held`. Must be called in host code, when no other word is in transit except on the
    /// stack below entries into wasm code.
    pub fn collect(&mut self, held: &[u64]) {
        let mut live = held.to_vec();
        self.collected.objects.add_roots_to(&mut live);
        self.items.add_roots_to(&mut live);
        self.collected.collect(&live, self.control.is_running());
    }
}

impl Drop for StoreOpaque {
    fn drop(&mut self) {
        self.control.give_back(&self.engine);
    }
}
