//! The calling contexts of a store as a tree with names, figures and paths.

use std::sync::Arc;

use hashbrown::HashMap;
use wprof_jit::plan::FunctionPlan;
use wprof_profiler::{
    ALLOCATION_COLUMNS, CallRecord, Callee, ContextLink, ContextLog, ContextTree, FigureKind, INSTRUCTIONS,
    Metric, PathProfile, Routine,
};

use super::Exits;
use super::columns::Columns;
use super::paths::{Counted, InContexts, PathsOfRecords, of_record_cells, of_rows, summed};
use crate::runtime::counts::allocations::{Allocated, Allocations};
use crate::runtime::counts::call_records::{CallRecords, Called, Calls};
use crate::runtime::counts::metrics::Measured;
use crate::runtime::instances::store::StoreOpaque;

/// The paths of the functions of an instance in each of their call records that has any, by function: those
/// counted in the record, in rows and the rest of the instance's table, and those that frames which stop have not
/// counted.
pub fn paths_in_contexts(
    store: &StoreOpaque,
    instance: u32,
    plans: &[(u32, Arc<FunctionPlan>)],
    exits: &HashMap<u32, Exits>,
) -> InContexts {
    let mut all = InContexts::default();
    let Some(contexts) = &store.contexts else { return all };
    let plans: HashMap<u32, &FunctionPlan> = plans.iter().map(|(func, plan)| (*func, &**plan)).collect();
    let of = &store.instances[instance as usize];
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
pub fn context_tree(store: &StoreOpaque, index: u32, paths: PathsOfRecords) -> Option<ContextTree> {
    let routine = |called: &Called| match called {
        Called::Root => Routine { callee: Callee::Root, sites: Vec::new() },
        Called::Beyond => Routine { callee: Callee::Beyond, sites: Vec::new() },
        Called::Host(name) => {
            let (module, name) = name.clone().unwrap_or_default();
            Routine { callee: Callee::Host { module, name }, sites: Vec::new() }
        }
        &Called::Wasm(instance, func) => wasm_routine(store, index, instance, func),
    };
    let contexts = store.contexts.as_ref()?;
    let allocated = store.allocations.as_ref();
    let live = (store.live_measured(), allocated);
    let tree = tree(contexts, &mut Columns::measured(store), (live, paths), routine);
    match store.burst_rate() {
        Some(rate) => {
            let tree = ContextTree { kind: FigureKind::Sampled { rate }, ..tree.pruned() };
            // The root is always there.
            (tree.records.len() > 1).then_some(tree)
        }
        None => Some(tree),
    }
}

fn wasm_routine(store: &StoreOpaque, seen_from: u32, instance: u32, index: u32) -> Routine {
    let sites = store.instances[instance as usize].module.call_sites(index);
    let sites = sites.iter().map(|site| site.offset).collect();
    Routine { callee: store.function_of(seen_from, instance, index), sites }
}

/// What live frames have measured, by address of their records, and what was allocated.
type Uncharged<'a> = (Vec<(u64, Measured)>, Option<&'a Allocations>);

/// The tree, given what each routine is to its readers, what live frames have measured that is not charged yet, and what
/// was allocated.
fn tree(
    contexts: &CallRecords,
    columns: &mut Columns<'_>,
    ((live, allocated), mut paths): (Uncharged<'_>, PathsOfRecords),
    routine: impl FnMut(&Called) -> Routine,
) -> ContextTree {
    let mut charged = contexts.charged();
    for (address, measured) in &live {
        if let Some(record) = contexts.record_at(*address) {
            let sums = &mut charged[record as usize].0;
            sums.iter_mut().zip(measured).for_each(|(sum, more)| *sum = sum.wrapping_add(*more));
        }
    }
    let mut figures: Vec<Vec<u64>> =
        charged.iter().map(|(measured, starts)| columns.of_starts(measured, *starts)).collect();
    let routines: Vec<Routine> = contexts.routines().iter().map(routine).collect();
    let records: Vec<Calls> = contexts.all().collect();
    let site = |record: u32, slot: u32| {
        let sites = &routines[records[record as usize].routine as usize].sites;
        sites.get(slot as usize).copied().unwrap_or(0)
    };
    let record = |(number, record): (usize, &Calls)| {
        let PathProfile { finished, unfinished, .. } = paths.remove(&(number as u32)).unwrap_or_default();
        CallRecord {
            routine: record.routine,
            parent: record.parent,
            site: site(record.parent, record.slot),
            calls: record.calls,
            back_edges: Vec::new(),
            metrics: std::mem::take(&mut figures[number]),
            paths: finished,
            unfinished,
        }
    };
    let mut all: Vec<CallRecord> = records.iter().enumerate().map(record).collect();
    let links =
        contexts.recursive_calls().map(|(from, slot, to)| ContextLink { from, site: site(from, slot), to });
    let links = links.collect();
    let (mut metrics, has_paths) = (columns.metrics(), contexts.has_paths());
    add_instructions(&contexts.ops(), &mut metrics, &mut all);
    if let Some(allocated) = allocated {
        add_allocations(contexts, allocated, &mut metrics, &mut all);
    }
    ContextLog { routines, records: all, links, metrics, has_paths, ..ContextLog::default() }.tree()
}

/// Adds the instructions that bursts have counted in each record to what was measured there, if there are bursts.
fn add_instructions(ops: &[u64], metrics: &mut Vec<Metric>, records: &mut [CallRecord]) {
    if ops.is_empty() {
        return;
    }
    let name = INSTRUCTIONS.to_owned();
    let column = metrics.partition_point(|metric| metric.name < name);
    metrics.insert(column, Metric { name, taken_off: 0 });
    for (record, &ops) in records.iter_mut().zip(ops) {
        record.metrics.insert(column, ops);
    }
}

/// Adds what was allocated in each record to what was measured there.
fn add_allocations(
    contexts: &CallRecords,
    allocated: &Allocations,
    metrics: &mut Vec<Metric>,
    records: &mut [CallRecord],
) {
    let mut by_record = vec![Allocated::default(); records.len()];
    for (address, of) in allocated.contexts() {
        if let Some(record) = contexts.record_at(address) {
            by_record[record as usize] = of;
        }
    }
    for (number, name) in ALLOCATION_COLUMNS.into_iter().enumerate() {
        let column = metrics.partition_point(|metric| metric.name.as_str() < name);
        metrics.insert(column, Metric { name: name.to_owned(), taken_off: 0 });
        for (record, of) in records.iter_mut().zip(&by_record) {
            record.metrics.insert(column, of.columns()[number]);
        }
    }
}
