//! A store without its user's data: its parts, and what concerns several of them.
//!
//! # Parts
//!
//! | part | what it is | its state |
//! |---|---|---|
//! | [`StoreControl`] | who may stop running code, and why it ends | interrupt page, entries, next trap, hooks, suspender, stacks |
//! | [`Items`] | what handles refer to | instances, memories, tables, globals, tags, host functions, components, limits |
//! | [`Collected`] | what is freed before the store ends | objects, host values, exceptions |
//! | [`Observed`] | counts, traces, samples, bursts | a part for each kind: events, trace, contexts, metrics, … |
//! | [`OwnContext`] | what machine code reads | the memory of `VmStoreContext` |
//!
//! The state of a part is private to it, and what needs only that state is a method of the part. So `&mut` to one part
//! says that the others stay as they are, and code borrows several at once. A method belongs to the store if it needs
//! parts that do not know each other, or hands the store to the embedder. Those of one topic stand in the file of the
//! topic: checks of bursts (`burst::checks`), throws (`control::throw`), frames that ended (`counts::unfinished`).
//!
//! A part whose state machine code works on has a copy of the context's address, for the fields that are its own.
//!
//! Invariant: parts are dropped in the order of the fields. Nothing is called while they are, except the drop of the
//! embedder's values, which do not reach the store. The context goes last, since all others hold its address; what
//! machine code finds through it, and items that are defined in a vmctx, is not followed any more.

use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Instant;

use super::abi::{VmMemory, VmStoreContext};
use super::engine_core::EngineCore;
use super::items::Items;
use super::observation::Observed;
use super::own_context::OwnContext;
use crate::runtime::burst::store_bursts::{OnRound, StoreBursts};
use crate::runtime::control::store_control::StoreControl;
use crate::runtime::interruption::interrupt_page::InterruptPage;
use crate::runtime::linear_memory::memory_image::MemoryImage;
use crate::runtime::samples::FOR_COLLECTOR;
use crate::runtime::values::collected::Collected;
use crate::runtime::values::externs::Charge;
use crate::{Error, ErrorKind, MemoryType, Result, Trap};

/// The store.
pub struct StoreOpaque {
    engine: Arc<EngineCore>,
    pub control: StoreControl,
    pub items: Items,
    pub collected: Collected,
    pub observed: Observed,
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
        let mut context = OwnContext::reserve();
        // SAFETY: the parts belong to this store, which drops the context last; they follow its address only after it is
        // filled.
        let part = || unsafe { context.part() };
        let (config, bursts) = (engine.config(), part());
        let items = Items::new(config.limits);
        let collected = Collected::new(items.id(), part(), config.gc_stress);
        let observed = Observed::new(engine, part)?;
        let control = StoreControl::new(engine, part(), observed.call_runtime())
            .map_err(|e| Error::system("no memory for a store", e))?;
        context.fill(engine, &control, &items, &observed);
        let mut store = StoreOpaque { engine: engine.clone(), control, items, collected, observed, context };
        let StoreOpaque { control, observed, .. } = &mut store;
        observed.pass_entry_slot();
        observed.events.start_metering(config.consumes_fuel(), config.checks_as_fuel());
        observed.bursts =
            StoreBursts::start(engine, bursts, control.interrupt(), observed.started(), on_round)?;
        Ok(store)
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
        if self.observed.bursts.is_some() {
            // Without a thread that watches, a request takes effect when a check fires on its own.
            let _ = self.control.interrupt().watch();
        }
        self.control.interrupt()
    }

    /// Sets or removes the instant at which the store's code stops.
    ///
    /// # Errors
    /// Fails if the code would not notice, or if the system has no thread for a timer.
    pub fn stop_at(&self, at: Option<Instant>) -> Result<()> {
        if at.is_some() {
            self.check_interruptible()?;
        }
        self.control.set_deadline(at)
    }

    /// Stops the store's code when the engine's epoch has been incremented so many times.
    ///
    /// # Errors
    /// Fails if the code would not notice.
    pub fn stop_in(&self, epochs: u64) -> Result<()> {
        self.check_interruptible()?;
        self.set_epoch_deadline(epochs);
        Ok(())
    }

    fn check_interruptible(&self) -> Result<()> {
        match self.engine.notices_interruptions() {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::Type,
                "loops would not notice a deadline: enable Config::interruptible (or Config::epoch_interruption)",
            )),
        }
    }

    /// Stops the store's code when the engine's epoch has been incremented so many times.
    pub fn set_epoch_deadline(&self, epochs: u64) {
        self.engine().epochs().stop_after(epochs, self.watched_interrupt());
    }

    /// Reports whether something may have to be done after a call of the host: someone wants the store to stop, a tick
    /// has come, or data was read on demand.
    #[inline]
    pub fn has_news(&self) -> bool {
        let interrupt = self.control.interrupt();
        interrupt.is_requested() || interrupt.has_ticked() || self.items.has_demand()
    }

    /// Adds a memory with the contents of the image, if there is one.
    ///
    /// # Errors
    /// Fails as [`Items::add_memory`] does.
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
        self.observed.note_size(index, self.items.memory(index).pages());
    }

    /// Shows the simulated cache, if there is one, a bulk operation on memory `memory` of an instance.
    pub fn touch_memory(&mut self, instance: u32, memory: u32, address: u64, bytes: u64) {
        if !self.observed.metrics.simulations().are_any() || !self.observed.counts_in_burst() {
            return;
        }
        let memory = self.items.instance(instance).memories[memory as usize];
        let start = self.items.memory(memory).base().addr().get() as u64;
        self.observed.metrics.touch(start, address, bytes);
    }

    /// Allocates an object of the type with this id, with default fields, and returns its address. All live references
    /// must be known: see [`StoreOpaque::collect`].
    ///
    /// # Errors
    /// Fails if there is no room besides all reachable objects, or if the store is interrupted in the collection.
    pub fn allocate(&mut self, id: u32, length: u32) -> Result<u64, Trap> {
        if self.engine.config().gc_stress {
            self.collect(&[]);
        }
        if let Some(object) = self.collected.objects.allocate(id, length) {
            return Ok(object);
        }
        self.collect(&[]);
        self.collected.objects.allocate_after_collection(id, length).ok_or_else(|| self.no_room())
    }

    /// Returns why a collection has made no room.
    fn no_room(&self) -> Trap {
        self.control.interrupt().take_at_once().map_or(Trap::GcOutOfMemory, Trap::from)
    }

    /// Charges `bytes` for a host value or an exception, perhaps after a collection, which also keeps `held`.
    ///
    /// # Errors
    /// Fails if all that is reachable takes too much.
    pub fn charge(&mut self, bytes: u64, held: &[u64]) -> Result<Charge, Trap> {
        let limit = self.items.limits().heap_bytes;
        let charge = self.collected.externs.charge(bytes, limit).or_else(|| {
            self.collect(held);
            self.collected.externs.charge(bytes, limit)
        });
        charge.ok_or_else(|| self.no_room())
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
        let left_for = self.observed.samples.note_left_for(FOR_COLLECTOR);
        let is_running = self.control.is_running();
        let interrupt = self.control.interrupt();
        // A program that is to stop does not wait for its collector.
        self.collected.collect(&live, is_running, || is_running && interrupt.stops_at_once());
        self.observed.samples.note_left_for(left_for);
    }
}

impl Drop for StoreOpaque {
    fn drop(&mut self) {
        self.control.give_back(&self.engine);
        if let Some(bursts) = &self.observed.bursts {
            self.engine.burst_phase().give(bursts.carried());
        }
    }
}
