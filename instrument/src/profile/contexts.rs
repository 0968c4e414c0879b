//! The calling context tree of a region.
//!
//! Records are found by the rows of the table that lead to them. A record lies behind its caller's, since memory for
//! records is handed out in order.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use wprof_profiler::{CallRecord, Callee, ContextLink, ContextLog, ContextTree, FigureKind, Metric, Routine};

use super::Reader;
use super::events::EventsOfRecords;
use super::figures::Figures;
use crate::Error;
use crate::counters::{double, word};
use crate::layout::{
    BEYOND, BEYOND_SLOT, CALLS, FIGURES, FROM, KEY, NO_RECORD, PARENT, ROOT_SLOT, SLOT_BYTES, UNNAMED,
};
use crate::plan::FunctionPlan;
use crate::sites;

/// A record of the region.
#[derive(Clone, Copy, Debug)]
struct Record {
    func: u32,
    parent: u32,
    /// The slot from which its function was first called.
    from: u32,
    calls: u64,
}

/// All records, by their offsets in the region.
#[derive(Debug, Default)]
pub struct AllRecords(BTreeMap<u32, Record>);

/// By call record and number of the path, how often it ran.
pub(super) type PathsOfRecords = BTreeMap<(u32, u64), u64>;

impl AllRecords {
    /// Returns the offsets of all records.
    pub fn offsets(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.keys().copied()
    }

    /// Returns the number of each record in a list behind the host and, if there is one, the unknown caller.
    fn numbers(&self) -> BTreeMap<u32, u32> {
        let is_cut = self.0.values().any(|record| record.parent == BEYOND);
        let fixed = [NO_RECORD, BEYOND].into_iter().take(1 + usize::from(is_cut));
        fixed.chain(self.0.keys().copied()).zip(0..).collect()
    }
}

impl Reader<'_> {
    /// Reads all records.
    pub(super) fn records(&self) -> Result<AllRecords, Error> {
        let mut all = BTreeMap::new();
        let spare = self.layout.spare_record();
        for &record in self.tables.links.values().filter(|record| **record != spare) {
            let at = |offset: u32| word(self.region, record.saturating_add(offset));
            let func = at(KEY)?.checked_sub(1).filter(|func| self.is_function(*func));
            let func = func.ok_or(Error::BadCounters("a call record of no function"))?;
            let calls = double(self.region, record.saturating_add(CALLS))?;
            all.insert(record, Record { func, parent: at(PARENT)?, from: at(FROM)?, calls });
        }
        let is_known = |parent: u32| parent <= BEYOND || all.contains_key(&parent);
        if all.iter().any(|(own, record)| record.parent >= *own || !is_known(record.parent)) {
            return Err(Error::BadCounters("a call record without a caller"));
        }
        Ok(AllRecords(all))
    }

    fn is_function(&self, func: u32) -> bool {
        func == UNNAMED || (func as usize) < self.source.funcs.len()
    }

    fn plan_of(&self, func: u32) -> Option<&FunctionPlan> {
        let index = func.checked_sub(self.source.first_defined())?;
        self.plans.functions.get(index as usize).map(|(_, plan)| plan)
    }

    /// Returns the counts of a function's paths, by call record.
    pub(super) fn paths_of_records(
        &self,
        func: u32,
        plan: &FunctionPlan,
        (first, records): (u32, &AllRecords),
    ) -> Result<PathsOfRecords, Error> {
        let mut all = self.sparse(func, plan, first)?;
        let figures = FIGURES + 8 * self.layout.records.map_or(0, |records| records.events);
        for (record, _) in records.0.iter().filter(|(_, record)| record.func == func) {
            for path in 0..plan.paths_of_record() {
                let count = double(self.region, record + figures + 8 * path)?;
                if count > 0 {
                    all.insert((*record, path.into()), count);
                }
            }
        }
        Ok(all)
    }

    /// Builds the tree.
    pub(super) fn tree(&self, records: &AllRecords, events: &EventsOfRecords) -> Result<ContextTree, Error> {
        let numbers = records.numbers();
        let mut routines = vec![Routine { callee: Callee::Root, sites: Vec::new() }];
        routines.push(Routine { callee: Callee::Beyond, sites: Vec::new() });
        let mut routine_of = BTreeMap::new();
        for record in records.0.values() {
            if let Entry::Vacant(vacant) = routine_of.entry(record.func) {
                vacant.insert(routines.len() as u32);
                routines.push(self.routine(record.func)?);
            }
        }
        let site = |owner: u32, slot: u32| self.site(records, (&routines, &routine_of), owner, slot);
        let empty = |routine, parent, site, calls| CallRecord {
            routine,
            parent,
            site,
            calls,
            back_edges: Vec::new(),
            metrics: Vec::new(),
            paths: Vec::new(),
            unfinished: Vec::new(),
        };
        let mut all = vec![empty(0, 0, 0, 0)];
        all.extend(numbers.contains_key(&BEYOND).then(|| empty(1, 0, 0, 0)));
        for record in records.0.values() {
            let site = site(record.parent, record.from);
            all.push(empty(routine_of[&record.func], numbers[&record.parent], site, record.calls));
        }
        let has_paths = self.add_paths(records, &numbers, &mut all)?;
        let metrics = self.add_events(events, &numbers, &mut all);
        let mut links = Vec::new();
        for (&(slot, _), to) in &self.tables.links {
            let Some(target) = records.0.get(to).filter(|target| target.parent != BEYOND) else { continue };
            if target.from == slot || [ROOT_SLOT, BEYOND_SLOT].contains(&slot) {
                continue;
            }
            let owner = records.0.range(..=slot).next_back().map(|(owner, _)| *owner);
            let from = owner.ok_or(Error::BadCounters("a callee slot of no call record"))?;
            links.push(ContextLink { from: numbers[&from], site: site(from, slot), to: numbers[to] });
        }
        let kind = FigureKind::Exact;
        let log = ContextLog { routines, records: all, links, metrics, has_paths, kind, merges_sites: false };
        Ok(log.tree())
    }

    /// Returns what a record of a function is of.
    fn routine(&self, func: u32) -> Result<Routine, Error> {
        let imports = &self.source.imported_funcs;
        let Some(index) = func.checked_sub(self.source.first_defined()).filter(|_| func != UNNAMED) else {
            let import = imports.get(func as usize);
            let (module, name) = import.map(|it| (it.module.clone(), it.name.clone())).unwrap_or_default();
            return Ok(Routine { callee: Callee::Host { module, name }, sites: Vec::new() });
        };
        let (cfg, _) = &self.plans.functions[index as usize];
        let callee = Callee::Function { index: func, name: self.names.get(&func).cloned() };
        Ok(Routine { callee, sites: sites::calls(cfg, &self.source.body(func))? })
    }

    /// Returns the byte offset of the call whose slot this is; 0 if its record is not a function's of the module.
    fn site(
        &self,
        records: &AllRecords,
        (routines, routine_of): (&[Routine], &BTreeMap<u32, u32>),
        owner: u32,
        slot: u32,
    ) -> u32 {
        let (Some(record), Some(layout)) = (records.0.get(&owner), self.layout.records) else { return 0 };
        let Some(plan) = self.plan_of(record.func) else { return 0 };
        let number = slot.saturating_sub(owner + plan.slots(&layout)) / SLOT_BYTES;
        let sites = &routines[routine_of[&record.func] as usize].sites;
        sites.get(number as usize).copied().unwrap_or(0)
    }

    /// Adds the events of each record, in columns by name; returns the columns.
    fn add_events(
        &self,
        events: &EventsOfRecords,
        numbers: &BTreeMap<u32, u32>,
        all: &mut [CallRecord],
    ) -> Vec<Metric> {
        let mut kinds: Vec<usize> = (0..self.kinds.len()).collect();
        kinds.sort_by_key(|kind| &self.kinds[*kind].name);
        for record in all.iter_mut() {
            record.metrics = vec![0; kinds.len()];
        }
        for (record, sums) in events {
            all[numbers[record] as usize].metrics = kinds.iter().map(|kind| sums[*kind]).collect();
        }
        let metric = |kind: &usize| Metric { name: self.kinds[*kind].name.clone(), taken_off: 0 };
        kinds.iter().map(metric).collect()
    }

    /// Adds the paths of each record, if they are counted; returns whether they are.
    fn add_paths(
        &self,
        records: &AllRecords,
        numbers: &BTreeMap<u32, u32>,
        all: &mut [CallRecord],
    ) -> Result<bool, Error> {
        let (mut has_paths, mut next) = (false, 0);
        let unknown = Error::BadCounters("paths of no call record");
        for (cfg, plan) in &self.plans.functions {
            let first = next;
            next += plan.counters() as u32;
            let FunctionPlan::Flow(path_plan) = plan else { continue };
            let numbering = &path_plan.numbering;
            has_paths = true;
            let figures = Figures::new(self.source, cfg, self.kinds)?;
            for ((record, id), count) in self.paths_of_records(cfg.func, plan, (first, records))? {
                let Some(number) = numbers.get(&record) else { return Err(unknown) };
                all[*number as usize].paths.push(figures.finished(numbering, id, count)?);
            }
            for stop in self.stopped(cfg.func) {
                let Some(number) = numbers.get(&stop.record) else { return Err(unknown) };
                all[*number as usize].unfinished.push(figures.unfinished(plan, numbering, &stop)?);
            }
        }
        Ok(has_paths)
    }
}
