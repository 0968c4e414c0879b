//! Calling contexts of a store, at transitions to the host and after traps.
//!
//! Invariant: every function that the host enters is called through a slot of the running host function, or of
//! the root.

use wprof_jit::plan::RecordCells;
use wprof_profiler::Callee;

use super::call_records::{Called, Extent, ROOT};
use super::metrics::Measured;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::stacks::activation::TrapRecord;
use crate::runtime::stacks::frames::{self, Frame};
use crate::runtime::stacks::walk;

impl StoreOpaque {
    /// Passes the callee slot of a function that the host is about to enter.
    pub fn pass_entry_slot(&mut self) {
        if let Some(contexts) = &self.contexts {
            let slot = contexts.entry_slot();
            self.set_callee_slot(slot);
        }
    }

    /// Begins a host function with this routine, if contexts are counted. Returns the call record to return to.
    pub fn enter_host_context(&mut self, routine: u32, is_called_by_wasm: bool) -> u32 {
        if self.bursts.is_some() {
            self.enter_host_in_bursts(routine, is_called_by_wasm);
            return ROOT;
        }
        let slot = self.callee_slot();
        self.contexts.as_mut().map_or(ROOT, |contexts| contexts.enter_host(slot, routine))
    }

    /// Ends a host function.
    pub fn leave_host_context(&mut self, outer: u32) {
        if self.bursts.is_some() {
            return self.leave_host_in_bursts();
        }
        if let Some(contexts) = &mut self.contexts {
            contexts.leave_host(outer);
        }
    }

    /// Returns the routine number of a host function with this name in call records; 0 if contexts are not
    /// counted.
    pub fn host_routine(&mut self, name: Option<&(String, String)>) -> u32 {
        self.contexts.as_mut().map_or(0, |contexts| contexts.routine(Called::Host(name.cloned())))
    }

    /// Returns whether paths are counted separately in each calling context.
    pub fn has_flow(&self) -> bool {
        self.engine().collection().flow_contexts.is_some()
    }

    /// Counts a call whose frame did not fit on the stack, so that it could not count itself. Returns the address
    /// of the frame's call record, if paths are counted there.
    pub fn count_unborn_context(&mut self, record: &TrapRecord) -> Option<u64> {
        if self.contexts.is_none() || self.bursts.is_some() || !frames::is_unborn(record) {
            return None;
        }
        let frame = frames::of_fault(record.top.pc)?;
        let address = match frame.origin.block {
            0 => self.count_unborn_call(&frame, record)?,
            // A version that resumes in the middle of a function is passed its call record; resuming is not a
            // call.
            _ => self.callee_slot(),
        };
        self.has_flow().then_some(address as u64)
    }

    /// Counts the call in its call record, and returns the address of the record.
    fn count_unborn_call(&mut self, frame: &Frame, record: &TrapRecord) -> Option<usize> {
        let (instance, func) = (self.instance_of_trap(frame, record)?, frame.origin.func);
        let plan = frame.module.any_plan_of(func);
        let sites = plan.and_then(|plan| Some(plan.contexts.as_ref()?.slot_count())).unwrap_or(0);
        let cells = self.record_cells(instance, func);
        let key = (self.items.instance(instance).vmctx.head().addr().get() + func as usize) as u64;
        let slot = self.callee_slot();
        let contexts = self.contexts.as_mut()?;
        let routine = contexts.routine(Called::Wasm(instance, func));
        let record = contexts.count(slot, routine, key, Extent { sites, cells });
        Some(contexts.address(record))
    }

    /// Charges the call records of frames that a trap has ended with what the frames had measured.
    pub fn charge_ended(&mut self, record: &TrapRecord) {
        if !self.counts_in_burst() {
            return;
        }
        let top = (record.top.record, self.measured_at_trap(record));
        let callers = record.callers.iter().map(|frame| (frame.record, frame.sums.map(i64::cast_unsigned)));
        let Some(contexts) = &self.contexts else { return };
        for (address, measured) in [top].into_iter().chain(callers) {
            if let Some(address) = address.filter(|_| measured != Measured::default()) {
                contexts.charge(address, &measured);
            }
        }
    }

    /// Returns what live frames of this store have measured and not charged yet, with the addresses of their call
    /// records.
    pub fn live_measured(&self) -> Vec<(u64, Measured)> {
        let mut all = Vec::new();
        // SAFETY: only host code holds a reference to a store.
        unsafe {
            walk::live(usize::MAX, |frame, context| {
                if std::ptr::eq(context, self.context().as_ptr()) {
                    all.extend(frame.record.map(|address| (address, frame.sums.map(i64::cast_unsigned))));
                }
            });
        }
        all.retain(|(_, measured)| *measured != Measured::default());
        all
    }

    /// Returns the cells that a call record of a function has for its paths.
    pub fn record_cells(&self, instance: u32, func: u32) -> RecordCells {
        let none = RecordCells::Counters(0);
        if !self.has_flow() {
            return none;
        }
        let plan = self.items.instance(instance).module.any_plan_of(func);
        plan.map_or(none, |plan| plan.record_cells())
    }

    /// Returns the callee that a function is, as seen from an instance.
    pub fn function_of(&self, seen_from: u32, instance: u32, index: u32) -> Callee {
        let name = self.items.instance(instance).module.func_name(index).map(str::to_string);
        match instance == seen_from {
            true => Callee::Function { index, name },
            false => Callee::Elsewhere { instance, index, name },
        }
    }

    /// Returns the callee slot that was passed last.
    pub fn callee_slot(&self) -> usize {
        // SAFETY: the context lives as long as the store; machine code does not run now.
        unsafe { (*self.context().as_ptr()).callee_slot }
    }

    /// Passes a callee slot or, to a frame that continues in another version, its call record.
    pub fn set_callee_slot(&mut self, slot: usize) {
        // SAFETY: the context lives as long as the store; machine code does not run now.
        unsafe { (*self.context().as_ptr()).callee_slot = slot };
    }
}
