//! A store without its user's data: owner of instances, memories, tables, globals and host functions.

use std::any::Any;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use wprof_jit::abi::trace_word;

use super::abi::{NOTHING, VmFuncRef, VmMemory, VmStoreContext, VmTable, VmValue};
use super::engine::EngineCore;
use super::exclusive::Exclusive;
use super::instance::InstanceData;
use super::store_ptr::StorePtr;
use crate::limits::check_count;
use crate::runtime::burst::burst_contexts::BurstContexts;
use crate::runtime::burst::burst_log::BurstLog;
use crate::runtime::burst::bursts::{OnRound, StoreBursts};
use crate::runtime::burst::trials::TimedCall;
use crate::runtime::control::hooks::Hooks;
use crate::runtime::control::host::AnyHostContext;
use crate::runtime::control::transfer::TransferBuffer;
use crate::runtime::counts::allocations::Allocations;
use crate::runtime::counts::call_records::{CallRecords, Figures};
use crate::runtime::counts::cpu_time;
use crate::runtime::counts::events::Events;
use crate::runtime::counts::host_clock::{HostClock, Span};
use crate::runtime::counts::metrics::Metrics;
use crate::runtime::counts::trace::Trace;
use crate::runtime::entries;
use crate::runtime::gc::Bump;
use crate::runtime::interruption::interrupt::InterruptPage;
use crate::runtime::linear_memory::demand::DemandList;
use crate::runtime::linear_memory::memory::{LinearMemory, Pooled};
use crate::runtime::linear_memory::memory_image::MemoryImage;
use crate::runtime::linear_memory::shared_memory::SharedData;
use crate::runtime::linear_memory::store_memory::StoreMemory;
use crate::runtime::samples::{self, Ring};
use crate::runtime::stacks::fiber::Suspender;
use crate::runtime::stacks::guarded_stack::GuardedStack;
use crate::runtime::values::exceptions::{Exceptions, TagData};
use crate::runtime::values::externs::ExternArena;
use crate::runtime::values::objects::Objects;
use crate::runtime::values::table::TableData;
use crate::runtime::values::types::TypeEntry;
use crate::{Error, GlobalType, MemoryType, Result, StoreLimits, TableType, ValType};

/// Enough for what the runtime does on its own stack for machine code: with metrics little, but the end of a chunk of a
/// trace plans functions.
const OWN_STACK: usize = 1 << 20;

/// Identifies a store among all of the process, so that handles of another are noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StoreId(u64);

/// A thing in a store, by its index among the things of its kind there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stored {
    store: StoreId,
    index: u32,
}

impl Stored {
    /// The store that it is in.
    pub fn store(self) -> StoreId {
        self.store
    }
}

/// A function of a store's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FuncPtr {
    store: StoreId,
    pointer: NonNull<VmFuncRef>,
}

// SAFETY: it is only followed together with a reference to its store, which is checked.
unsafe impl Send for FuncPtr {}
// SAFETY: as above.
unsafe impl Sync for FuncPtr {}

/// A global's cell.
#[derive(Debug)]
pub struct GlobalData {
    /// Its type.
    pub ty: GlobalType,
    cell: StorePtr<VmValue>,
    owns_cell: bool,
}

impl Drop for GlobalData {
    fn drop(&mut self) {
        if self.owns_cell {
            // SAFETY: leaked by `add_global`; the instances that import it go with the same store.
            drop(unsafe { Box::from_raw(self.cell.as_ptr()) });
        }
    }
}

/// Why the host makes machine code trap.
pub enum Pending {
    /// A host function or builtin failed.
    Error(Error),
    /// A host function panicked.
    Panic(Box<dyn Any + Send>),
}

/// The store. Handles index its vectors, from which nothing is ever removed.
pub struct StoreOpaque {
    id: StoreId,
    engine: Arc<EngineCore>,
    /// What machine code and `entries` read. Allocated for itself, as its address is known to every vmctx.
    context: StorePtr<VmStoreContext>,
    interrupt: Arc<InterruptPage>,
    /// Only kept for machine code, which finds it through the context.
    _transfer: TransferBuffer,
    /// Likewise: where code of the runtime's runs that wasm code calls where no stack may be left.
    _own_stack: Option<GuardedStack>,
    /// The pages of its memories that are read when they are touched. The signal handler finds them by the context.
    demand: Arc<DemandList>,
    pub limits: StoreLimits,
    pub instances: Vec<InstanceData>,
    memories: Vec<StoreMemory>,
    tables: Vec<TableData>,
    globals: Vec<GlobalData>,
    /// Functions of the host's; funcrefs point into them.
    pub hosts: Vec<AnyHostContext>,
    pub externs: ExternArena,
    pub objects: Objects,
    pub tags: Vec<Arc<TagData>>,
    pub exceptions: Exceptions,
    /// Why the next trap of code `Host` happens; a stack overflow if there is none.
    pub pending: Exclusive<Option<Pending>>,
    /// How many entries into this store's wasm code have not returned.
    pub depth: usize,
    pub events: Events,
    /// The trace that machine code writes, if it does.
    pub trace: Option<Trace>,
    /// The calling contexts, if they are counted.
    pub contexts: Option<CallRecords>,
    /// What was allocated in them, if that is counted.
    pub allocations: Option<Allocations>,
    /// What it takes to find out in which of them a burst begins.
    pub burst_contexts: BurstContexts,
    /// What metrics need besides their readings.
    pub metrics: Metrics,
    /// Where its threads are sampled, if they are. The context refers to it.
    pub samples: Option<Arc<Ring>>,
    /// The bursts, if there are any.
    pub bursts: Option<StoreBursts>,
    /// The clock that host functions are measured by, if they are.
    pub host_clock: Option<HostClock>,
    /// What happens in bursts, if it is recorded.
    pub burst_log: Exclusive<Option<BurstLog>>,
    /// When the store was made, which is when its time line begins.
    pub started: Instant,
    /// The call that is timed, if one is.
    pub timed: Option<TimedCall>,
    /// What the embedder wants to be told or asked.
    pub hooks: Hooks,
    /// How what runs may wait, if it runs on a fiber and all that is below it there may go to another thread.
    pub suspender: Option<Suspender>,
}

/// A store with what the layer above keeps beside it, which host functions can reach.
///
/// Begins with its `StoreOpaque`: pointers to one are pointers to the other.
#[repr(C)]
pub struct StoreWith<D: 'static> {
    pub opaque: StoreOpaque,
    pub above: D,
}

// What is a pointer says for itself why it may go to another thread, and what users put in must be `Send` and `Sync` or
// be reached exclusively. So the compiler tells whether a store may.
const _: () = {
    const fn may_be_shared<T: Send + Sync>() {}
    may_be_shared::<StoreOpaque>();
};

impl StoreOpaque {
    /// An empty store. Rounds of bursts end with `on_round`.
    ///
    /// # Errors
    /// If the system has no memory for it.
    pub fn new(engine: &Arc<EngineCore>, on_round: OnRound) -> Result<StoreOpaque> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let no_memory = |e| Error::system("no memory for a store", e);
        let interrupt = InterruptPage::new().map_err(no_memory)?;
        let transfer = TransferBuffer::new().map_err(no_memory)?;
        let trace = engine
            .collection()
            .tracing
            .map(|_| Trace::new(engine.config().trace_buffer / 8, engine.config().references))
            .transpose()
            .map_err(no_memory)?;
        let metrics = Metrics::new(&engine.counted().metrics)?;
        let contexts = engine.counted().contexts.then(|| {
            let counted = engine.counted();
            let has = Figures {
                metrics: metrics.all().len() as u32,
                events: counted.events_in_records(),
                paths: counted.flow_contexts.is_some(),
                in_bursts: counted.in_bursts,
            };
            CallRecords::new(engine.config().context_memory, has)
        });
        let calls_runtime = metrics.call_runtime() || trace.is_some();
        let own_stack = calls_runtime.then(|| GuardedStack::new(OWN_STACK)).transpose().map_err(no_memory)?;
        let demand: Arc<DemandList> = Arc::default();
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
            read_metrics: metrics.reader(),
            touch_lines: entries::touch_lines as *const () as usize,
            last_line: usize::MAX,
            see_branch: entries::see_branch as *const () as usize,
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
            frames_left: engine.config().max_call_depth.map_or(i64::MAX, i64::from),
            pinned: engine.compiler().options().pinned_cell().map_or(NOTHING, |cell| cell as usize),
            store: ptr::null_mut(),
            raise: engine.raise(),
            failed_callee: ptr::null_mut(),
            failed_index: 0,
            own_stack: own_stack.as_ref().map_or(0, |stack| stack.top().expose_provenance()),
            demand: Arc::as_ptr(&demand),
            left_pc: 0,
            left_fp: 0,
            left_for: 0,
            host: 0,
            samples: samples.as_ref().map_or(ptr::null(), Arc::as_ptr),
            saved: Default::default(),
            cycles_off: 0,
            recent_calls: contexts.as_ref().map_or(ptr::null(), CallRecords::recent_calls),
        };
        let mut store = StoreOpaque {
            id: StoreId(NEXT.fetch_add(1, Ordering::Relaxed)),
            engine: engine.clone(),
            // SAFETY: it is freed with the store.
            context: unsafe { StorePtr::new(NonNull::from(Box::leak(Box::new(context)))) },
            interrupt: Arc::new(interrupt),
            _transfer: transfer,
            _own_stack: own_stack,
            demand,
            limits: engine.config().limits,
            instances: Vec::new(),
            memories: Vec::new(),
            tables: Vec::new(),
            globals: Vec::new(),
            hosts: Vec::new(),
            externs: ExternArena::default(),
            objects: Objects::default(),
            tags: Vec::new(),
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
            host_clock: engine.config().times_host_calls.then(HostClock::start),
            burst_log: Exclusive::default(),
            started: Instant::now(),
            timed: None,
            hooks: Hooks::default(),
            suspender: None,
        };
        store.pass_entry_slot();
        store.start_metering();
        store.start_bursts(on_round)?;
        Ok(store)
    }

    /// A host function, or code that one has called, begins.
    pub fn begin_span(&mut self) -> Option<Span> {
        self.host_clock.as_mut().map(HostClock::begin)
    }

    /// It ends. Gives its own ticks, if they are measured.
    pub fn end_span(&mut self, span: Option<Span>) -> u64 {
        self.host_clock.as_mut().zip(span).map_or(0, |(clock, span)| clock.end(span))
    }

    /// What runs may wait now. Gives what [`StoreOpaque::go_on_after`] wants.
    pub fn leave_thread(&self) -> Duration {
        self.bursts.as_ref().map_or(Duration::ZERO, |_| cpu_time::of_thread())
    }

    /// It goes on, and has waited for so many ticks.
    pub fn go_on_after(&mut self, left: Duration, ticks: u64) {
        if let Some(clock) = &mut self.host_clock {
            clock.note_wait(ticks);
        }
        if let Some(bursts) = &mut self.bursts {
            bursts.go_on_after(left);
        }
    }

    /// What tells it from others.
    pub fn id(&self) -> StoreId {
        self.id
    }

    /// Its engine.
    pub fn engine(&self) -> &Arc<EngineCore> {
        &self.engine
    }

    /// What machine code reads.
    pub fn context(&self) -> NonNull<VmStoreContext> {
        *self.context
    }

    /// The page by which it is stopped.
    pub fn interrupt(&self) -> &Arc<InterruptPage> {
        &self.interrupt
    }

    /// The page by which others can stop it, who are heard also where code has checks instead of polls.
    pub fn watched_interrupt(&self) -> &Arc<InterruptPage> {
        if self.bursts.is_some() {
            // Without a thread for it, a request is seen when a check fires of itself.
            let _ = self.interrupt.watch();
        }
        &self.interrupt
    }

    /// Stops its code at an instant, or no more.
    ///
    /// # Errors
    /// If the system has no thread for a timer.
    pub fn set_deadline(&self, at: Option<Instant>) -> Result<()> {
        self.interrupt.set_deadline(at).map_err(|e| Error::system("no thread for a timer", e))
    }

    /// A handle for thing number `index` of its kind.
    pub fn handle(&self, index: u32) -> Stored {
        Stored { store: self.id, index }
    }

    /// The index of a handle.
    ///
    /// # Panics
    /// If it is another store's.
    pub fn index(&self, handle: Stored) -> u32 {
        self.check(handle.store);
        handle.index
    }

    fn check(&self, id: StoreId) {
        assert!(id == self.id, "object used with the wrong store: it belongs to another one");
    }

    /// A handle for a function of this store's.
    ///
    /// # Safety
    /// `pointer` comes from a vmctx or host context of this store.
    pub unsafe fn func_handle(&self, pointer: NonNull<VmFuncRef>) -> FuncPtr {
        FuncPtr { store: self.id, pointer }
    }

    /// What a function handle points to.
    ///
    /// # Panics
    /// If it is another store's.
    pub fn func_ref(&self, func: FuncPtr) -> VmFuncRef {
        self.check(func.store);
        // SAFETY: it belongs to this store (`func_handle`), which keeps it and does not change it.
        unsafe { func.pointer.read() }
    }

    /// The type of a function.
    ///
    /// # Panics
    /// If it is another store's.
    pub fn func_type(&self, func: FuncPtr) -> Arc<TypeEntry> {
        self.engine.types().get(self.func_ref(func).ty)
    }

    /// A function as a word in tables and globals.
    ///
    /// # Panics
    /// If it is another store's.
    pub fn func_word(&self, func: Option<FuncPtr>) -> u64 {
        func.map_or(0, |f| {
            self.check(f.store);
            f.pointer.as_ptr() as u64
        })
    }

    /// The function of a word that wasm code of this store left as a funcref.
    ///
    /// # Safety
    /// The word was a funcref of this store's.
    pub unsafe fn func_of_word(&self, word: u64) -> Option<FuncPtr> {
        NonNull::new(word as *mut VmFuncRef).map(|pointer| FuncPtr { store: self.id, pointer })
    }

    /// Adds a memory, which holds what the image has if there is one.
    ///
    /// # Errors
    /// As [`LinearMemory::new`], or if there are too many.
    pub fn add_memory(
        &mut self,
        ty: MemoryType,
        definition: Option<NonNull<VmMemory>>,
        image: Option<Arc<MemoryImage>>,
    ) -> Result<u32> {
        check_count("memories", self.memories.len(), self.limits.memories)?;
        let style = self.engine.compiler().options().memory;
        self.memories.push(match ty.is_shared {
            true => StoreMemory::Shared(Arc::new(SharedData::new(ty, style, &self.limits)?)),
            false => {
                let demand = self.demand.clone();
                let pooled = self.engine.pool().map(|pool| Pooled { pool: pool.clone(), image });
                StoreMemory::Own(LinearMemory::new(ty, style, &self.limits, definition, demand, pooled)?)
            }
        });
        let index = self.memories.len() as u32 - 1;
        self.note_size(index);
        Ok(index)
    }

    /// Notes how large a memory is now, if allocations are counted.
    pub fn note_size(&mut self, index: u32) {
        let pages = self.memory(index).pages();
        let has_times = self.engine.config().has_time_line;
        let at_ns = if has_times { self.started.elapsed().as_nanos() as u64 } else { 0 };
        if let Some(allocations) = &mut self.allocations {
            allocations.resize(at_ns, index, pages);
        }
    }

    /// The memory that others have as well; added if it is not here yet.
    ///
    /// # Errors
    /// If there are too many.
    pub fn share_memory(&mut self, memory: &Arc<SharedData>) -> Result<u32> {
        let is_it = |known: &StoreMemory| known.shared().is_some_and(|known| Arc::ptr_eq(known, memory));
        if let Some(index) = self.memories.iter().position(is_it) {
            return Ok(index as u32);
        }
        check_count("memories", self.memories.len(), self.limits.memories)?;
        self.memories.push(StoreMemory::Shared(memory.clone()));
        Ok(self.memories.len() as u32 - 1)
    }

    /// Adds a table full of `init`.
    ///
    /// # Errors
    /// As [`TableData::new`], or if there are too many.
    pub fn add_table(
        &mut self,
        ty: TableType,
        init: u64,
        definition: Option<NonNull<VmTable>>,
    ) -> Result<u32> {
        check_count("tables", self.tables.len(), self.limits.tables)?;
        self.tables.push(TableData::new(ty, init, &self.limits, definition)?);
        Ok(self.tables.len() as u32 - 1)
    }

    /// How many memories and tables it has.
    pub fn counts(&self) -> (usize, usize) {
        (self.memories.len(), self.tables.len())
    }

    /// Adds a global, whose cell is `cell`, in a vmctx of this store, or else its own.
    pub fn add_global(&mut self, ty: GlobalType, value: VmValue, cell: Option<NonNull<VmValue>>) -> u32 {
        let owns_cell = cell.is_none();
        let cell = cell.unwrap_or_else(|| NonNull::from(Box::leak(Box::new(value))));
        // SAFETY: a cell in a vmctx of this store, or our own, which goes with the store.
        let cell = unsafe {
            cell.write(value);
            StorePtr::new(cell)
        };
        self.globals.push(GlobalData { ty, cell, owns_cell });
        self.globals.len() as u32 - 1
    }

    /// Memory number `index`.
    pub fn memory(&self, index: u32) -> &StoreMemory {
        &self.memories[index as usize]
    }

    /// Memory number `index`.
    pub fn memory_mut(&mut self, index: u32) -> &mut StoreMemory {
        &mut self.memories[index as usize]
    }

    /// Whether all of their data that was touched could be read from the files of their modules; if not, no code of this
    /// store's is to go on.
    ///
    /// # Errors
    /// If some could not.
    pub fn check_data(&self) -> Result<()> {
        let checked = self.memories.iter().try_for_each(StoreMemory::check);
        checked.map_err(|e| Error::system("cannot read the module's data", e))
    }

    /// Two different memories.
    pub fn two_memories(&mut self, a: u32, b: u32) -> (&mut StoreMemory, &mut StoreMemory) {
        let [a, b] = self.memories.get_disjoint_mut([a as usize, b as usize]).expect("different and present");
        (a, b)
    }

    /// Table number `index`.
    pub fn table(&self, index: u32) -> &TableData {
        &self.tables[index as usize]
    }

    /// Table number `index`.
    pub fn table_mut(&mut self, index: u32) -> &mut TableData {
        &mut self.tables[index as usize]
    }

    /// Two different tables.
    pub fn two_tables(&mut self, a: u32, b: u32) -> (&mut TableData, &mut TableData) {
        let [a, b] = self.tables.get_disjoint_mut([a as usize, b as usize]).expect("different and present");
        (a, b)
    }

    /// How many globals it has.
    pub fn global_count(&self) -> u32 {
        self.globals.len() as u32
    }

    /// The type of global number `index`.
    pub fn global_type(&self, index: u32) -> GlobalType {
        self.globals[index as usize].ty.clone()
    }

    /// What machine code reads and writes of global number `index`.
    pub fn global_cell(&self, index: u32) -> NonNull<VmValue> {
        *self.globals[index as usize].cell
    }

    /// The value of global number `index`.
    pub fn global(&self, index: u32) -> VmValue {
        // SAFETY: the cell lives as long as the store; machine code does not run while the store is borrowed.
        unsafe { self.globals[index as usize].cell.read() }
    }

    /// Changes the value of global number `index`.
    pub fn set_global(&mut self, index: u32, value: VmValue) {
        // SAFETY: as in `global`, and the borrow is exclusive.
        unsafe { self.globals[index as usize].cell.write(value) };
    }

    /// Adds the words of all tables and globals that keep something alive.
    pub fn add_definitions_to(&self, live: &mut Vec<u64>) {
        let tables = self.tables.iter().filter(|t| t.ty().element.is_collected());
        live.extend(tables.flat_map(|t| t.elements()));
        let is_collected = |ty: &GlobalType| matches!(&ty.content, ValType::Ref(ty) if ty.is_collected());
        let globals = (0..self.globals.len()).filter(|&g| is_collected(&self.globals[g].ty));
        live.extend(globals.map(|g| self.global(g as u32).u64()));
    }
}

impl Drop for StoreOpaque {
    fn drop(&mut self) {
        // SAFETY: leaked by `new`. Only machine code of this store refers to it, and none is running.
        drop(unsafe { Box::from_raw(self.context.as_ptr()) });
    }
}
