//! The memory of a store's context, which machine code and `entries` read and write.
//!
//! It is allocated separately, since every vmctx holds its address. The parts of a store hold its address as well, each
//! for the fields that are its own. Invariant: it outlives them, and the vmctxs.

use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use wprof_jit::abi::{store_context, trace_word};

use super::abi::{Asked, NOTHING, VmStoreContext};
use super::engine_core::EngineCore;
use super::items::Items;
use super::observation::Observed;
use super::store_ptr::StorePtr;
use crate::runtime::control::store_control::StoreControl;
use crate::runtime::counts::call_records::CallRecords;
use crate::runtime::counts::trace_buffer::Trace;
use crate::runtime::entries;
use crate::runtime::gc::Bump;

/// The owner of a store's context.
pub struct OwnContext(StorePtr<VmStoreContext>);

// What owns nothing may be freed without being dropped, whether or not it has a content yet.
const _: () = assert!(!std::mem::needs_drop::<VmStoreContext>());

impl OwnContext {
    /// Allocates a context, which has no content yet.
    pub fn reserve() -> OwnContext {
        let place = Box::leak(Box::new(MaybeUninit::<VmStoreContext>::uninit()));
        // SAFETY: the memory is freed with the result, which is a part of a store.
        OwnContext(unsafe { StorePtr::new(NonNull::from(place).cast()) })
    }

    /// Sets the content for a store with these parts, before anything reads it.
    pub fn fill(&mut self, engine: &EngineCore, control: &StoreControl, items: &Items, observed: &Observed) {
        // SAFETY: the memory is this value's, and nobody refers to it before the store is complete.
        unsafe { self.0.write(content(engine, control, items, observed)) };
    }

    /// Returns the address.
    #[inline]
    pub fn get(&self) -> NonNull<VmStoreContext> {
        *self.0
    }

    /// Returns the address for another part of the store.
    ///
    /// # Safety
    /// The result is kept in the same store, and followed only after [`OwnContext::fill`] and before this value is
    /// dropped.
    pub unsafe fn part(&self) -> StorePtr<VmStoreContext> {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { StorePtr::new(self.get()) }
    }
}

impl Drop for OwnContext {
    fn drop(&mut self) {
        // SAFETY: `reserve` leaked the memory. Only machine code and other parts of the store refer to it; none is running
        // or will follow the address.
        drop(unsafe { Box::from_raw(self.0.cast::<MaybeUninit<VmStoreContext>>().as_ptr()) });
    }
}

/// Returns the content of the context before code of the store runs.
fn content(
    engine: &EngineCore,
    control: &StoreControl,
    items: &Items,
    observed: &Observed,
) -> VmStoreContext {
    let (trace, metrics) = (observed.trace.as_ref(), &observed.metrics);
    let log = metrics.simulations().log();
    let pinned = engine.compiler().options().pinned_cell();
    VmStoreContext {
        stack_limit: 0,
        exit_fp: 0,
        osr_buffer: control.osr_buffer(),
        events: Default::default(),
        trace_word: trace_word::EMPTY,
        trace_next: trace.map_or(ptr::null_mut(), Trace::buffer),
        reference_next: trace.map_or(ptr::null_mut(), Trace::references),
        callee_slot: 0,
        find_record: entries::find_record as *const () as usize,
        path: 0,
        metrics: metrics.first_readings(),
        measured: Default::default(),
        read_metrics: metrics.reader(pinned == Some(store_context::SIMULATION_NEXT)),
        simulation_next: log,
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
        asked: Asked::default(),
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
        samples: observed.samples.ring().map_or(ptr::null(), Arc::as_ptr),
        saved: Default::default(),
        simulation_log: log,
        cycles_off: 0,
        cycles_before: 0,
        recent_calls: observed.records().map_or(ptr::null(), CallRecords::recent_calls),
    }
}
