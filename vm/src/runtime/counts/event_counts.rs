//! Event counters, and the corrections of frames that currently are, or ended, in the middle of a function.
//!
//! Machine code adds to the counters in the store's context. A counter alone is exact when no wasm code of the store is
//! on the stack. Otherwise each frame has a correction, which its position alone determines, so that queries cost
//! nothing in code that makes none. If events are metered, the correction of a frame in a call is zero, except in the
//! calls of the host that stand for tail calls in traced code.
//!
//! If calling contexts are counted, code adds to the call record of its frame instead, and the sum over the records is
//! the count; a kind with a budget also has its counter. Each record therefore holds the events of its function's own
//! code in its context.
//! Source: Ball 1994, sections 3.2 and 4.

use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::ptr::NonNull;

use hashbrown::HashMap;
use wprof_jit::abi::store_context;
use wprof_jit::plan::{Collection, Counting};

use crate::runtime::control::store_control::Pending;
use crate::runtime::instances::abi::{VmStoreContext, VmValue};
use crate::runtime::instances::engine_core::EngineCore;
use crate::runtime::instances::observation::Observed;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::instances::store_ptr::StorePtr;
use crate::runtime::stacks::activation::TrapRecord;
use crate::runtime::stacks::frames::{self, Frame};
use crate::runtime::stacks::raw_frame::RawFrame;
use crate::runtime::stacks::walk;
use crate::{Error, OutOfBudget, Result, Trap};

/// The host's callback for an exhausted budget: returns the amount to add, or `None` to end the program.
pub type OnOutOfBudget = unsafe fn(NonNull<StoreOpaque>) -> Option<u64>;

/// The events of a store.
#[derive(Debug)]
pub struct Events {
    /// Holds the counters of machine code.
    context: StorePtr<VmStoreContext>,
    /// The kind with a budget, if there is one.
    metered: Option<u32>,
    /// Whether machine code counts in call records: see `CompilerOptions::counts_in_store`.
    are_in_records: bool,
    /// The count at which each counter is zero: the budget, for a metered kind.
    bias: [u64; store_context::EVENT_KINDS as usize],
    /// How many events before the end of the budget a check stops the program: 1 for fuel, of which a program needs more
    /// than it has consumed, as in Wasmtime; 0 for budgets, which may be used up.
    early: u64,
    stop: Option<RawStop>,
    on_out_of_budget: Option<OnOutOfBudget>,
    /// The rest of the budget: it is granted in portions, with a yield to other calls after each.
    reserve: u64,
    /// The size of a portion.
    portion: Option<NonZeroU64>,
}

/// A frame that stopped in the middle of a function.
#[derive(Debug)]
pub struct RawStop {
    /// Its position.
    pub frame: Frame,
    /// Its locals and operands, as far as they fit into the OSR buffer.
    pub values: Vec<VmValue>,
}

/// The distance below zero at which a metered counter without a budget starts.
const UNLIMITED: u64 = i64::MAX as u64;

impl Events {
    /// Creates the events of a new store.
    pub fn new(collection: &Collection, context: StorePtr<VmStoreContext>) -> Events {
        Events {
            context,
            metered: collection.metered,
            are_in_records: collection.events_in_records() > 0,
            bias: Default::default(),
            early: 0,
            stop: None,
            on_out_of_budget: None,
            reserve: 0,
            portion: None,
        }
    }

    /// Returns where the program stopped, if each instruction checks the budget.
    pub fn stop(&self) -> Option<&RawStop> {
        self.stop.as_ref()
    }

    /// Sets the callback that asks the embedder for more.
    pub fn ask_when_out_of_budget(&mut self, ask: OnOutOfBudget) {
        self.on_out_of_budget = Some(ask);
    }

    /// Prepares the counter of the metered kind, before a budget is set. Code that consumes fuel begins without.
    /// `early`: whether checks stop the program as soon as all is consumed.
    pub fn start_metering(&mut self, consumes_fuel: bool, early: bool) {
        if let Some(kind) = self.metered {
            self.early = early.into();
            self.set_counted(kind, 0);
            self.set_limit(kind, if consumes_fuel { 0 } else { UNLIMITED });
        }
    }

    /// Allows `more` events of the metered `kind` from now on.
    pub fn set_budget(&mut self, kind: u32, more: u64) {
        let first = self.portion.map_or(more, |portion| more.min(portion.get()));
        self.reserve = more - first;
        self.set_limit(kind, self.counted(kind).saturating_add(first));
    }

    /// Makes awaited calls yield to others each time that so many events of the metered `kind` have happened.
    pub fn yield_each(&mut self, kind: u32, portion: Option<NonZeroU64>) {
        self.portion = portion;
        if let Ok(left) = u64::try_from(self.budget_left(kind)) {
            self.set_budget(kind, left);
        }
    }

    /// Returns the rest of the budget of the metered `kind`; negative by the overdraft.
    pub fn budget_left(&self, kind: u32) -> i64 {
        let reserve = i64::try_from(self.reserve).unwrap_or(i64::MAX);
        self.overdraft(kind).wrapping_neg().saturating_add(reserve)
    }

    fn add_to_budget(&mut self, more: u64) {
        if let Some(kind) = self.metered {
            self.set_budget(kind, more);
        }
    }

    /// Grants the next portion of the budget; reports whether there was one.
    fn take_portion(&mut self) -> bool {
        let reserve = self.reserve;
        let Some(kind) = self.metered.filter(|_| reserve > 0) else { return false };
        let next = self.portion.map_or(reserve, |portion| reserve.min(portion.get()));
        self.reserve = reserve - next;
        self.set_limit(kind, self.bias[kind as usize].saturating_add(next));
        true
    }

    /// Reports whether a check would stop the program.
    fn is_over_budget(&self) -> bool {
        self.metered.is_some_and(|kind| self.counter(kind) > 0)
    }

    /// Returns the error of an exhausted budget.
    fn out_of_budget(&self, engine: &EngineCore) -> Option<Error> {
        let kind = self.metered?;
        let overdraft = self.overdraft(kind).unsigned_abs();
        let kind = engine.collection().events[kind as usize].name.clone();
        let trap = if engine.config().consumes_fuel() { Trap::OutOfFuel } else { Trap::OutOfBudget };
        Some(Error::from(trap).context(OutOfBudget { kind, overdraft }))
    }

    fn raw_stop(&self, frame: Frame) -> RawStop {
        // SAFETY: the buffer lives as long as the store; no machine code of it runs at the same time.
        let values = unsafe {
            let buffer = (*self.context.as_ptr()).osr_buffer;
            std::slice::from_raw_parts(buffer, store_context::OSR_VALUES as usize)
        };
        RawStop { frame, values: values.to_vec() }
    }

    /// Reports whether the store's context has a counter of this kind.
    fn has_counter(&self, kind: u32) -> bool {
        !self.are_in_records || self.metered == Some(kind)
    }

    /// Returns the events of a kind that has a counter.
    fn counted(&self, kind: u32) -> u64 {
        (self.counter(kind) as u64).wrapping_add(self.zero(kind))
    }

    /// Returns the events of the metered `kind` beyond the budget granted so far; negative by what is left of it.
    fn overdraft(&self, kind: u32) -> i64 {
        self.counter(kind).wrapping_sub_unsigned(self.early)
    }

    /// Returns the count at which the counter of machine code is zero, modulo 2^64.
    fn zero(&self, kind: u32) -> u64 {
        let early = if self.metered == Some(kind) { self.early } else { 0 };
        self.bias[kind as usize].wrapping_sub(early)
    }

    fn set_counted(&mut self, kind: u32, count: u64) {
        let relative = count.wrapping_sub(self.zero(kind));
        // SAFETY: the context lives as long as the store; no machine code of it runs at the same time.
        unsafe { (&raw mut (*self.context.as_ptr()).events[kind as usize]).write(relative as i64) };
    }

    fn counter(&self, kind: u32) -> i64 {
        // SAFETY: as above.
        unsafe { (&raw const (*self.context.as_ptr()).events[kind as usize]).read() }
    }

    /// Moves the end of the budget of the metered `kind` to a total of `limit` events, capped so that the difference
    /// fits.
    fn set_limit(&mut self, kind: u32, limit: u64) {
        let count = self.counted(kind);
        self.bias[kind as usize] = limit.min(count.saturating_add(UNLIMITED));
        self.set_counted(kind, count);
    }
}

impl Observed {
    /// Returns the events that live frames have not counted in their records yet: the address of the record and the
    /// events by kind, modulo 2^64.
    ///
    /// # Errors
    /// Fails as [`StoreOpaque::event_count`] does.
    pub fn live_events(&self) -> Result<Vec<(u64, Vec<u64>)>> {
        let mut frames: HashMap<(usize, u64), u64> = HashMap::new();
        if self.engine().counted().events_in_records() > 0 {
            self.visit_live(|frame| {
                if let Some(record) = frame.record {
                    *frames.entry((frame.pc, record)).or_default() += 1;
                }
            });
        }
        let found = frames.into_iter().filter_map(|((pc, record), count)| {
            let frame = frames::of_return(pc)?;
            let of_record = |owed| (record, times(owed, count));
            Some(corrections(&frame).map(of_record))
        });
        found.collect()
    }

    /// Visits the live frames of this store.
    fn visit_live(&self, mut visit: impl FnMut(RawFrame)) {
        // SAFETY: only host code holds a reference to a store.
        unsafe {
            walk::live(|frame, context| {
                if std::ptr::eq(context, self.events.context.as_ptr()) {
                    visit(frame);
                }
                ControlFlow::Continue(())
            });
        }
    }

    /// Adds the uncounted events of the frames that a trap has ended, or an exhausted budget.
    ///
    /// # Errors
    /// Fails as [`StoreOpaque::event_count`] does.
    pub fn settle_events(&mut self, record: &TrapRecord, is_out_of_budget: bool) -> Result<()> {
        let collection = self.engine().collection();
        if collection.events.is_empty() {
            return Ok(());
        }
        let stops_anywhere = collection.counting == Counting::PerInstruction;
        let mut stop = None;
        // A call that overflowed the stack has not counted its entry either, and has no frame.
        if let Some(frame) = frames::of_fault(record.top.pc).filter(|_| !frames::is_unborn(record)) {
            let before = match is_out_of_budget {
                true => frame.module.events_owed_before(&frame.origin)?,
                false => None,
            };
            let is_before = before.is_some();
            let owed = times(before.map_or_else(|| corrections(&frame), Ok)?, 1);
            self.add_owed(record.top.record, &owed);
            stop = (stops_anywhere || is_before).then_some(frame);
        }
        let mut callers: HashMap<(usize, Option<u64>), u64> = HashMap::new();
        for caller in record.callers.iter() {
            *callers.entry((caller.pc, caller.record)).or_default() += 1;
        }
        for ((pc, record), count) in callers {
            if let Some(frame) = frames::of_return(pc) {
                let owed = times(corrections(&frame)?, count);
                self.add_owed(record, &owed);
            }
        }
        if stops_anywhere || stop.is_some() {
            self.events.stop = stop.map(|frame| self.events.raw_stop(frame));
        }
        Ok(())
    }

    /// Adds uncounted events by kind of a frame with this call record to all counters that code would update.
    fn add_owed(&mut self, record: Option<u64>, owed: &[u64]) {
        for (kind, &more) in (0..).zip(owed).filter(|(_, more)| **more != 0) {
            if self.events.has_counter(kind) {
                self.events.set_counted(kind, self.events.counted(kind).wrapping_add(more));
            }
            if let (Some(contexts), Some(address)) = (&self.contexts, record) {
                contexts.records().add_events(address, kind, more);
            }
        }
    }

    /// Returns the events counted by code.
    fn raw_events(&self, kind: u32) -> u64 {
        match &self.contexts {
            Some(contexts) if !self.events.has_counter(kind) => {
                contexts.records().events(kind).fold(0, u64::wrapping_add)
            }
            _ => self.events.counted(kind),
        }
    }
}

impl StoreOpaque {
    /// Returns the exact number of events of `kind`, while the host runs.
    ///
    /// # Errors
    /// Fails if a function on the stack cannot be planned again.
    pub fn event_count(&self, kind: u32) -> Result<u64> {
        let observed = &self.observed;
        let counted = observed.raw_events(kind);
        // A metered count is exact at calls, but not at tail calls, and traced code calls the host where it makes one.
        let is_traced = self.engine().collection().tracing.is_some();
        let is_exact_at_calls = observed.events.metered.is_some() && !is_traced;
        if !self.control.is_running() || is_exact_at_calls {
            return Ok(counted);
        }
        let mut frames: HashMap<usize, u64> = HashMap::new();
        observed.visit_live(|frame| *frames.entry(frame.pc).or_default() += 1);
        let mut total = counted;
        for (pc, count) in frames {
            if let Some(frame) = frames::of_return(pc) {
                let correction = corrections(&frame)?[kind as usize];
                total = total.wrapping_add((correction as u64).wrapping_mul(count));
            }
        }
        Ok(total)
    }

    /// Handles an exhausted budget where too little stack is left to ask the embedder. If there is no callback, the
    /// exhausted budget is the reason of the trap; otherwise the stack is.
    pub fn refuse_for_lack_of_stack(&mut self) {
        if self.observed.events.on_out_of_budget.is_none() {
            self.refuse_budget();
        }
    }

    /// Stores the exhausted budget as the reason of the trap.
    fn refuse_budget(&mut self) {
        if let Some(error) = self.observed.events.out_of_budget(self.engine()) {
            self.control.fail_with(error);
        }
    }
}

/// Checks the budget at a call of wasm, since a leaf function does not check it, unless it is fuel.
///
/// # Errors
/// Fails if the budget is exhausted, and the embedder adds nothing.
///
/// # Safety
/// Same as for [`out_of_budget`].
pub unsafe fn ask_before_call(store: NonNull<StoreOpaque>) -> Result<()> {
    let is_over = {
        // SAFETY: the caller upholds this function's safety contract; the reference ends with the block.
        let store = unsafe { store.as_ref() };
        let collection = store.engine().collection();
        let checks_itself = collection.checks_as_fuel || matches!(collection.counting, Counting::Before(_));
        store.observed.events.is_over_budget() && !checks_itself
    };
    if !is_over {
        return Ok(());
    }
    // SAFETY: the caller upholds this function's safety contract.
    if unsafe { out_of_budget(store) } {
        return Ok(());
    }
    // SAFETY: as above.
    match unsafe { &mut *store.as_ptr() }.control.take_pending() {
        Some(Pending::Error(error)) => Err(error),
        _ => Err(Trap::OutOfBudget.into()),
    }
}

/// Handles an exhausted budget: asks the embedder, and stores the reason of the trap if nothing is added. Returns
/// whether the program continues.
///
/// # Safety
/// The pointer derives from an exclusive reference to the whole store, its user's data included, and nothing else uses
/// the store meanwhile: the wasm code that it is lent to, if any, waits for this function.
pub unsafe fn out_of_budget(store: NonNull<StoreOpaque>) -> bool {
    // SAFETY: the caller upholds this function's safety contract; each reference ends with its line.
    unsafe {
        while store.as_ref().observed.events.is_over_budget() {
            if (*store.as_ptr()).observed.events.take_portion() {
                if !let_others_run(store) {
                    return false;
                }
                continue;
            }
            let ask = store.as_ref().observed.events.on_out_of_budget;
            let Some(more) = ask.and_then(|ask| ask(store)) else {
                (*store.as_ptr()).refuse_budget();
                return false;
            };
            (*store.as_ptr()).observed.events.add_to_budget(more);
            // Whoever gives no fuel is not asked again.
            if more == 0 && store.as_ref().observed.events.is_over_budget() {
                (*store.as_ptr()).refuse_budget();
                return false;
            }
        }
    }
    true
}

/// Yields the thread of an awaited call to the executor until it polls the call again; any other call continues at
/// once. Returns whether the call continues; if it was dropped instead, the reason of its end is stored.
///
/// # Safety
/// Same as for [`out_of_budget`].
unsafe fn let_others_run(store: NonNull<StoreOpaque>) -> bool {
    // SAFETY: the caller upholds this function's safety contract; each reference ends with its line. A suspender exists
    // only where everything on the stack can be sent to another thread.
    unsafe {
        let Some(suspender) = store.as_ref().control.suspender() else { return true };
        let left = store.as_ref().observed.leave_thread();
        let waited = suspender.yield_now();
        (*store.as_ptr()).observed.go_on_after(left, 0);
        if waited.is_err() {
            (*store.as_ptr()).control.fail_with(Trap::Interrupt);
        }
        waited.is_ok()
    }
}

/// Returns the corrections of so many frames.
fn times(owed: Vec<i64>, count: u64) -> Vec<u64> {
    owed.into_iter().map(|correction| (correction as u64).wrapping_mul(count)).collect()
}

/// Returns the correction of a frame, by kind.
fn corrections(frame: &Frame) -> Result<Vec<i64>> {
    let Frame { module, origin } = frame;
    module.event_corrections(origin)
}
