//! A store without its user's data: owner of instances, memories, tables, globals and host functions.

use std::any::Any;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::time::{Duration, Instant};

use wprof_jit::abi::{store_context, trace_word};

use super::abi::{NOTHING, VmMemory, VmStoreContext};
use super::engine_core::EngineCore;
use super::exclusive::Exclusive;
use super::items::Items;
use super::store_ptr::StorePtr;
use crate::runtime::burst::burst_contexts::BurstContexts;
use crate::runtime::burst::burst_log::BurstLog;
use crate::runtime::burst::store_bursts::{OnRound, StoreBursts};
use crate::runtime::burst::trials::TimedCall;
use crate::runtime::control::call_hooks::Hooks;
use crate::runtime::control::transfer::TransferBuffer;
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
use crate::runtime::stacks::fiber::Suspender;
use crate::runtime::stacks::guarded_stack::GuardedStack;
use crate::runtime::values::exceptions::Exceptions;
use crate::runtime::values::externs::ExternArena;
use crate::runtime::values::objects::Objects;
use crate::{Error, MemoryType, Result};

/// Size of the stack on which the runtime works for machine code: metrics need little, but the end of a trace chunk
/// plans functions.
const OWN_STACK: usize = 1 << 20;

/// The reason for which the host makes machine code trap.
pub enum Pending {
    /// A host function or builtin failed.
    Error(Error),
    /// A host function panicked.
    Panic(Box<dyn Any + Send>),
}

/// The store. Handles index its vectors, from which nothing is ever removed.
pub struct StoreOpaque {
    engine: Arc<EngineCore>,
    /// The state that machine code and `entries` read. Allocated separately, since every vmctx holds its address.
    context: StorePtr<VmStoreContext>,
    interrupt: Arc<InterruptPage>,
    /// Kept alive for machine code, which finds it through the context, until the store ends.
    transfer: Option<TransferBuffer>,
    /// The stack, likewise, of runtime code that wasm code calls where its stack may be exhausted.
    _own_stack: Option<GuardedStack>,
    pub items: Items,
    pub externs: ExternArena,
    pub objects: Objects,
    pub exceptions: Exceptions,
    /// The reason of the next trap with code `Host`; a stack overflow if there is none.
    pub pending: Exclusive<Option<Pending>>,
    /// Number of entries into this store's wasm code that have not returned.
    pub depth: usize,
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
    /// The embedder's callbacks.
    pub hooks: Hooks,
    /// The suspender of the running code, if that runs on a fiber and everything below it there can be sent to another
    /// thread.
    pub suspender: Option<Suspender>,
    /// Whether entries and calls of the host are recorded in other ways than by bursts: in a trace, call records,
    /// metrics, samples or times.
    pub records_calls: bool,
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
        let pool = engine.pool();
        let interrupt = InterruptPage::new(pool.map(|pool| pool.interrupt_pages.clone()), engine.signals())
            .map_err(no_memory)?;
        let transfer = pool.and_then(|pool| pool.transfer_buffers.take(()));
        let transfer = transfer.map_or_else(TransferBuffer::new, Ok).map_err(no_memory)?;
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
        let own_stack = calls_runtime.then(|| GuardedStack::new(OWN_STACK)).transpose().map_err(no_memory)?;
        let items = Items::new(engine.config().limits);
        let pinned = engine.compiler().options().pinned_cell();
        let samples = engine.config().sampled_rate().and_then(samples::start);
        let context = VmStoreContext {
            stack_limit: 0,
            exit_fp: 0,
            transfer: transfer.address(),
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
            own_stack: own_stack.as_ref().map_or(0, |stack| stack.top().expose_provenance()),
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
        };
        let mut store = StoreOpaque {
            engine: engine.clone(),
            // SAFETY: the context is freed with the store.
            context: unsafe { StorePtr::new(NonNull::from(Box::leak(Box::new(context)))) },
            interrupt: Arc::new(interrupt),
            transfer: Some(transfer),
            _own_stack: own_stack,
            items,
            externs: ExternArena::default(),
            objects: Objects::default(),
            exceptions: Exceptions::default(),
            pending: Exclusive::default(),
            depth: 0,
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
            hooks: Hooks::default(),
            suspender: None,
            records_calls: false,
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
        *self.context
    }

    /// Returns the page by which the store is interrupted.
    #[inline]
    pub fn interrupt(&self) -> &Arc<InterruptPage> {
        &self.interrupt
    }

    /// Returns the interrupt page for use by others, whose requests take effect even where code has checks instead of
    /// polls.
    pub fn watched_interrupt(&self) -> &Arc<InterruptPage> {
        if self.bursts.is_some() {
            // Without a thread that watches, a request takes effect when a check fires on its own.
            let _ = self.interrupt.watch();
        }
        &self.interrupt
    }

    /// Sets or clears the instant at which the store's code stops.
    ///
    /// # Errors
    /// Fails if the system has no thread for a timer.
    pub fn set_deadline(&self, at: Option<Instant>) -> Result<()> {
        self.interrupt.set_deadline(at).map_err(|e| Error::system("no thread for a timer", e))
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
        self.interrupt.is_requested() || self.interrupt.has_ticked() || self.items.has_demand()
    }
}

impl Drop for StoreOpaque {
    fn drop(&mut self) {
        // SAFETY: `new` leaked the context. Only machine code of this store refers to it, and none is running.
        drop(unsafe { Box::from_raw(self.context.as_ptr()) });
        if let Some((pool, buffer)) = self.engine.pool().zip(self.transfer.take()) {
            pool.transfer_buffers.put((), buffer);
        }
    }
}
