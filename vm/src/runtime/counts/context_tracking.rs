//! Calling contexts of a store, at transitions to the host and after traps.
//!
//! Invariant: every function that the host enters is called through a slot of the running host function, or of
//! the root.

use std::ops::ControlFlow;

use wprof_jit::plan::RecordCells;
use wprof_profiler::{Bursts, Callee};

use super::call_records::{CallRecords, Called, Extent, Figures, ROOT};
use super::metrics::{Measured, Metrics};
use crate::runtime::burst::burst_contexts::BurstContexts;
use crate::runtime::instances::abi::VmStoreContext;
use crate::runtime::instances::engine_core::EngineCore;
use crate::runtime::instances::items::Items;
use crate::runtime::instances::observation::Observed;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::instances::store_ptr::StorePtr;
use crate::runtime::stacks::activation::TrapRecord;
use crate::runtime::stacks::frames::{self, Frame};
use crate::runtime::stacks::walk;

/// The calling contexts of a store.
#[derive(Debug)]
pub struct Contexts {
    /// Holds the callee slot.
    context: StorePtr<VmStoreContext>,
    records: CallRecords,
    /// The state to determine the context in which a burst begins.
    in_bursts: BurstContexts,
}

impl Contexts {
    /// Creates the contexts of a new store: the root.
    pub fn new(
        engine: &EngineCore,
        metrics: &Metrics,
        context: StorePtr<VmStoreContext>,
        in_bursts: BurstContexts,
    ) -> Contexts {
        let counted = engine.counted();
        let has = Figures {
            metrics: metrics.all().len() as u32,
            events: counted.events_in_records(),
            paths: counted.flow_contexts.is_some(),
            merges_sites: counted.merges_sites,
            in_bursts: counted.in_bursts,
            allocations: counted.allocations,
        };
        let records = CallRecords::new(engine.config().contexts.memory, has);
        Contexts { context, records, in_bursts }
    }

    /// Returns the call records.
    pub fn records(&self) -> &CallRecords {
        &self.records
    }

    /// Returns the call records.
    pub fn records_mut(&mut self) -> &mut CallRecords {
        &mut self.records
    }

    /// Begins a host function with this routine. Returns the call record to return to.
    fn enter_host(&mut self, routine: u32) -> u32 {
        self.records.enter_host(self.callee_slot(), routine)
    }

    /// Begins a host function where bursts count contexts. Its call is counted if the calling code, of wasm in a burst,
    /// counts its own calls.
    fn enter_host_in_bursts(&mut self, routine: u32, is_called_in_burst: bool, depth: usize) {
        let slot = self.callee_slot();
        if is_called_in_burst && self.in_bursts.was_passed(&self.records, slot) {
            self.records.count(slot, routine, 0, Extent::ONE);
        }
        self.in_bursts.enter_host(routine, depth);
    }

    /// Makes its call record available to the frame with this frame pointer, which moves into burst code at the check
    /// whose call returns to `pc`.
    pub fn pass_to_burst(&mut self, items: &Items, bursts: &Bursts, (pc, fp): (usize, usize)) {
        let slot = self.in_bursts.slot_at_check(&mut self.records, items, bursts, (pc, fp));
        if let Some(slot) = slot {
            self.set_callee_slot(slot);
        }
    }

    /// Passes the callee slot of the running host functions, when the host enters a function in burst code, below which
    /// are so many entries.
    pub fn pass_entry_to_burst(&mut self, items: &Items, bursts: &Bursts, depth: usize) {
        if depth > 0 {
            let slot = self.in_bursts.slot_at_entry(&mut self.records, items, bursts, depth);
            self.set_callee_slot(slot);
        }
    }

    /// Counts the call of `frame`, which did not fit on the stack and ran in this instance, in its call record, and returns
    /// the address of the record, which has such cells.
    fn count_unborn(&mut self, items: &Items, instance: u32, frame: &Frame, cells: RecordCells) -> usize {
        let func = frame.origin.func;
        let plan = frame.module.any_plan_of(func);
        let sites = plan.and_then(|plan| Some(plan.contexts.as_ref()?.slot_count())).unwrap_or(0);
        let key = (items.instance(instance).vmctx.head().addr().get() + func as usize) as u64;
        let slot = self.callee_slot();
        let routine = self.records.routine(Called::Wasm(instance, func));
        let record = self.records.count(slot, routine, key, Extent { sites, cells });
        self.records.address(record)
    }

    /// Returns the callee slot that was passed last.
    fn callee_slot(&self) -> usize {
        // SAFETY: the context lives as long as the store; machine code does not run now.
        unsafe { (*self.context.as_ptr()).callee_slot }
    }

    /// Passes a callee slot or, to a frame that continues in another version, its call record.
    fn set_callee_slot(&mut self, slot: usize) {
        // SAFETY: the context lives as long as the store; machine code does not run now.
        unsafe { (*self.context.as_ptr()).callee_slot = slot };
    }
}

impl Observed {
    /// Returns the call records, if contexts are counted.
    pub fn records(&self) -> Option<&CallRecords> {
        self.contexts.as_ref().map(Contexts::records)
    }

    /// Passes the callee slot of a function that the host is about to enter, if contexts are counted.
    #[inline]
    pub fn pass_entry_slot(&mut self) {
        if let Some(contexts) = &mut self.contexts {
            contexts.set_callee_slot(contexts.records.entry_slot());
        }
    }

    /// Begins a host function with this routine, below which are so many entries, if contexts are counted. Returns the call
    /// record to return to.
    pub fn enter_host_context(&mut self, routine: u32, is_called_by_wasm: bool, depth: usize) -> u32 {
        let Some(contexts) = &mut self.contexts else { return ROOT };
        let Some(bursts) = &self.bursts else { return contexts.enter_host(routine) };
        let is_called_in_burst = is_called_by_wasm && bursts.count_for_callee();
        contexts.enter_host_in_bursts(routine, is_called_in_burst, depth);
        ROOT
    }

    /// Ends a host function.
    pub fn leave_host_context(&mut self, outer: u32) {
        let Some(contexts) = &mut self.contexts else { return };
        match self.bursts {
            Some(_) => contexts.in_bursts.leave_host(),
            None => contexts.records.leave_host(outer),
        }
    }

    /// Returns the routine number of a host function with this name in call records; 0 if contexts are not
    /// counted.
    pub fn host_routine(&mut self, name: Option<&(String, String)>) -> u32 {
        let contexts = self.contexts.as_mut();
        contexts.map_or(0, |contexts| contexts.records.routine(Called::Host(name.cloned())))
    }

    /// Returns whether paths are counted separately in each calling context.
    pub fn has_flow(&self) -> bool {
        self.engine().collection().flow_contexts.is_some()
    }

    /// Charges the call records of frames that a trap has ended with what the frames had measured.
    pub fn charge_ended(&mut self, record: &TrapRecord) {
        if !self.counts_in_burst() {
            return;
        }
        let top = (record.top.record, self.metrics.measured_at_trap(record));
        let callers = record.callers.iter().map(|frame| (frame.record, frame.sums.map(i64::cast_unsigned)));
        let Some(contexts) = &self.contexts else { return };
        for (address, measured) in [top].into_iter().chain(callers) {
            if let Some(address) = address.filter(|_| measured != Measured::default()) {
                contexts.records.charge(address, &measured);
            }
        }
    }

    /// Returns what live frames of this store have measured and not charged yet, with the addresses of their call
    /// records.
    pub fn live_measured(&self) -> Vec<(u64, Measured)> {
        let Some(contexts) = &self.contexts else { return Vec::new() };
        let mut all = Vec::new();
        // SAFETY: only host code holds a reference to a store.
        unsafe {
            walk::live(|frame, context| {
                if std::ptr::eq(context, contexts.context.as_ptr()) {
                    all.extend(frame.record.map(|address| (address, frame.sums.map(i64::cast_unsigned))));
                }
                ControlFlow::Continue(())
            });
        }
        all.retain(|(_, measured)| *measured != Measured::default());
        all
    }

    /// Returns the cells that a call record of a function has for its paths.
    pub fn record_cells(&self, items: &Items, instance: u32, func: u32) -> RecordCells {
        let none = RecordCells::Counters(0);
        if !self.has_flow() {
            return none;
        }
        let plan = items.instance(instance).module.any_plan_of(func);
        plan.map_or(none, |plan| plan.record_cells())
    }
}

impl Items {
    /// Returns the callee that a function is, as seen from an instance.
    pub fn callee(&self, seen_from: u32, instance: u32, index: u32) -> Callee {
        let name = self.instance(instance).module.func_name(index).map(str::to_string);
        match instance == seen_from {
            true => Callee::Function { index, name },
            false => Callee::Elsewhere { instance, index, name },
        }
    }
}

impl StoreOpaque {
    /// Counts a call whose frame did not fit on the stack, so that it could not count itself. Returns the address
    /// of the frame's call record, if paths are counted there.
    pub fn count_unborn_context(&mut self, record: &TrapRecord) -> Option<u64> {
        let StoreOpaque { items, observed, .. } = self;
        if observed.contexts.is_none() || observed.bursts.is_some() || !frames::is_unborn(record) {
            return None;
        }
        let frame = frames::of_fault(record.top.pc)?;
        let address = match frame.origin.block {
            0 => {
                let instance = items.instance_of_trap(&frame, record)?;
                let cells = observed.record_cells(items, instance, frame.origin.func);
                observed.contexts.as_mut()?.count_unborn(items, instance, &frame, cells)
            }
            // A version that resumes in the middle of a function is passed its call record; resuming is not a
            // call.
            _ => observed.contexts.as_ref()?.callee_slot(),
        };
        observed.has_flow().then_some(address as u64)
    }
}
