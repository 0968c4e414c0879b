//! Calling contexts of a store: where the host comes in, and what the tree is to its readers.
//!
//! Invariant: whatever the host enters is called through a slot of the host function that runs, or of the root.

use std::sync::Arc;

use hashbrown::HashMap;
use wprof_jit::plan::{FunctionPlan, RecordCells};
use wprof_profiler::{Callee, ContextTree, FigureKind, Routine};

use super::activation::TrapRecord;
use super::call_records::{Called, Extent, ROOT};
use super::frames::{self, Frame};
use super::metrics::Measured;
use super::store::StoreOpaque;
use super::walk;
use crate::profile::Exits;
use crate::profile::columns::Columns;
use crate::profile::paths::{Counted, InContexts, PathsOfRecords, of_record_cells, of_rows, summed};

impl StoreOpaque {
    /// The host is going to enter a function.
    pub fn pass_entry_slot(&mut self) {
        if let Some(contexts) = &self.contexts {
            let slot = contexts.entry_slot();
            self.set_callee_slot(slot);
        }
    }

    /// A host function begins, which has this routine if contexts are counted. Gives the record to go back to.
    pub fn enter_host_context(&mut self, routine: u32, is_called_by_wasm: bool) -> u32 {
        if self.bursts.is_some() {
            self.enter_host_in_bursts(routine, is_called_by_wasm);
            return ROOT;
        }
        let slot = self.callee_slot();
        self.contexts.as_mut().map_or(ROOT, |contexts| contexts.enter_host(slot, routine))
    }

    /// It has ended.
    pub fn leave_host_context(&mut self, outer: u32) {
        if self.bursts.is_some() {
            return self.leave_host_in_bursts();
        }
        if let Some(contexts) = &mut self.contexts {
            contexts.leave_host(outer);
        }
    }

    /// The number of a host function of this name among what has call records; 0 if contexts are not counted.
    pub fn host_routine(&mut self, name: Option<&(String, String)>) -> u32 {
        self.contexts.as_mut().map_or(0, |contexts| contexts.routine(Called::Host(name.cloned())))
    }

    /// Whether paths are counted in each calling context of their own.
    pub fn has_flow(&self) -> bool {
        self.engine().collection().flow_contexts.is_some()
    }

    /// Counts a call whose frame did not fit on the stack, so that it did not count itself. Gives the address of the
    /// frame's call record, if paths are counted there.
    pub fn count_unborn_context(&mut self, record: &TrapRecord) -> Option<u64> {
        if self.contexts.is_none() || self.bursts.is_some() || !frames::is_unborn(record) {
            return None;
        }
        let frame = frames::of_fault(record.top.pc)?;
        let address = match frame.origin.block {
            0 => self.count_unborn_call(&frame, record)?,
            // A version that resumes in the middle of a function is passed its record: it is no call.
            _ => self.callee_slot(),
        };
        self.has_flow().then_some(address as u64)
    }

    /// Counts the call in its record, whose address it gives.
    fn count_unborn_call(&mut self, frame: &Frame, record: &TrapRecord) -> Option<usize> {
        let (instance, func) = (self.instance_of_trap(frame, record)?, frame.origin.func);
        let plan = frame.module.any_plan_of(func);
        let sites = plan.and_then(|plan| Some(plan.contexts.as_ref()?.sites.len())).unwrap_or(0) as u32;
        let cells = self.record_cells(instance, func);
        let key = (self.instances[instance as usize].vmctx.head().addr().get() + func as usize) as u64;
        let slot = self.callee_slot();
        let contexts = self.contexts.as_mut()?;
        let routine = contexts.routine(Called::Wasm(instance, func));
        let record = contexts.count(slot, routine, key, Extent { sites, cells });
        Some(contexts.address(record))
    }

    /// Charges the records of frames that a trap has ended with what they had measured.
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

    /// What frames of this store that are live have measured and not charged yet, with the addresses of their records.
    fn live_measured(&self) -> Vec<(u64, Measured)> {
        let mut all = Vec::new();
        // SAFETY: a reference to a store is only held by host code.
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

    /// What a call record of a function has for its paths.
    pub fn record_cells(&self, instance: u32, func: u32) -> RecordCells {
        let none = RecordCells::Counters(0);
        if !self.has_flow() {
            return none;
        }
        let plan = self.instances[instance as usize].module.inner().any_plan_of(func);
        plan.map_or(none, |plan| plan.record_cells())
    }

    /// The paths of the functions of an instance in each of their call records that has any, by function: those
    /// counted in the record, in rows and the rest of the instance's table, and those that frames which stop have not
    /// counted.
    pub fn paths_in_contexts(
        &self,
        instance: u32,
        plans: &[(u32, Arc<FunctionPlan>)],
        exits: &HashMap<u32, Exits>,
    ) -> InContexts {
        let mut all = InContexts::default();
        let Some(contexts) = &self.contexts else { return all };
        let plans: HashMap<u32, &FunctionPlan> = plans.iter().map(|(func, plan)| (*func, &**plan)).collect();
        let of = &self.instances[instance as usize];
        let mut elsewhere: HashMap<(u32, u32), Vec<Counted>> = HashMap::new();
        for (&func, version) in plans.iter().filter(|(_, plan)| plan.flow_contexts.is_some()) {
            let owed = exits.get(&func).into_iter().flat_map(|exits| &exits.owed);
            let owed = owed.filter_map(|owed| owed.in_record(version));
            let owed = owed.filter_map(|(address, counted)| Some((contexts.record_at(address)?, counted)));
            let table = of.paths.in_records(func);
            let table = table.map(|(record, (id, figures))| (record, (id, figures.to_vec())));
            for (record, counted) in of_rows(version, &of.counters(version)).chain(table).chain(owed) {
                elsewhere.entry((func, record)).or_default().push(counted);
            }
        }
        for (record, func, cells) in contexts.cells_of(instance) {
            let Some(version) = plans.get(&func).filter(|plan| plan.flow_contexts.is_some()) else {
                continue;
            };
            let elsewhere = elsewhere.remove(&(func, record)).into_iter().flatten();
            let counted = summed(of_record_cells(version, &cells).into_iter().chain(elsewhere));
            if !counted.is_empty() {
                all.entry(func).or_default().push((record, counted));
            }
        }
        all
    }

    /// The calling contexts as instance `index` sees them, with the paths of these records; `None` if they are not
    /// counted, or no burst has seen any.
    pub fn context_tree(&self, index: u32, paths: PathsOfRecords) -> Option<ContextTree> {
        let routine = |called: &Called| match called {
            Called::Root => Routine { callee: Callee::Root, sites: Vec::new() },
            Called::Beyond => Routine { callee: Callee::Beyond, sites: Vec::new() },
            Called::Host(name) => {
                let (module, name) = name.clone().unwrap_or_default();
                Routine { callee: Callee::Host { module, name }, sites: Vec::new() }
            }
            &Called::Wasm(instance, func) => self.wasm_routine(index, instance, func),
        };
        let contexts = self.contexts.as_ref()?;
        let tree = contexts.tree(&mut Columns::measured(self), (&self.live_measured(), paths), routine);
        match self.burst_rate() {
            Some(rate) => {
                let tree = ContextTree { kind: FigureKind::Sampled { rate }, ..tree.pruned() };
                // The root is always there.
                (tree.records.len() > 1).then_some(tree)
            }
            None => Some(tree),
        }
    }

    fn wasm_routine(&self, seen_from: u32, instance: u32, index: u32) -> Routine {
        let sites = self.instances[instance as usize].module.inner().call_sites(index);
        let sites = sites.iter().map(|site| site.offset).collect();
        Routine { callee: self.function_of(seen_from, instance, index), sites }
    }

    /// What a function is called as seen from an instance.
    pub fn function_of(&self, seen_from: u32, instance: u32, index: u32) -> Callee {
        let name = self.instances[instance as usize].module.func_name(index).map(str::to_string);
        match instance == seen_from {
            true => Callee::Function { index, name },
            false => Callee::Elsewhere { instance, index, name },
        }
    }

    /// What was passed last.
    pub fn callee_slot(&self) -> usize {
        // SAFETY: the context lives as long as the store; machine code does not run now.
        unsafe { (*self.context().as_ptr()).callee_slot }
    }

    /// Passes a callee slot, or to a frame that goes on in another version its record.
    pub fn set_callee_slot(&mut self, slot: usize) {
        // SAFETY: as above.
        unsafe { (*self.context().as_ptr()).callee_slot = slot };
    }
}
