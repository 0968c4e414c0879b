//! The calling context tree of a store, with names, figures and paths.

use std::sync::Arc;

use hashbrown::HashMap;
use wprof_jit::events::EventModel;
use wprof_jit::plan::FunctionPlan;
use wprof_profiler::{
    ALLOCATION_COLUMNS, BYTES_OF, CallRecord, Callee, ContextLink, ContextLog, ContextTree, FigureKind,
    INSTRUCTIONS, Metric, PathProfile, Routine,
};

use super::Exits;
use super::columns::Columns;
use super::paths::{Counted, InContexts, PathsOfRecords, of_record_cells, of_rows, summed};
use crate::runtime::counts::allocations::{Allocated, Allocations};
use crate::runtime::counts::call_records::{CallRecords, Called, Calls};
use crate::runtime::counts::metrics::Measured;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::{Module, Result};

/// The number of types whose objects have a column in the tree: those of which most bytes were allocated.
const MOST_TYPES: usize = 16;

/// The name of a figure, and the figure of each record.
type Column = (String, Vec<u64>);

/// Returns, by function of an instance, the path counts in each of its call records that has any: those
/// counted in the record, in rows and the rest of the instance's table, and those that stopped frames have not
/// counted yet.
pub fn paths_in_contexts(
    store: &StoreOpaque,
    instance: u32,
    plans: &[(u32, Arc<FunctionPlan>)],
    exits: &HashMap<u32, Exits>,
) -> InContexts {
    let mut all = InContexts::default();
    let Some(contexts) = store.observed.records() else { return all };
    let plans: HashMap<u32, &FunctionPlan> = plans.iter().map(|(func, plan)| (*func, &**plan)).collect();
    let of = store.items.instance(instance);
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

/// Builds the calling context tree as instance `index` sees it, with the paths of its records; `None` if contexts are
/// not counted, or no burst has seen any.
///
/// # Errors
/// Fails if a function on the stack cannot be planned again.
pub fn context_tree(store: &StoreOpaque, index: u32, paths: PathsOfRecords) -> Result<Option<ContextTree>> {
    let routine = |called: &Called| match called {
        Called::Root => Routine { callee: Callee::Root, sites: Vec::new() },
        Called::Beyond => Routine { callee: Callee::Beyond, sites: Vec::new() },
        Called::Host(name) => {
            let (module, name) = name.clone().unwrap_or_default();
            Routine { callee: Callee::Host { module, name }, sites: Vec::new() }
        }
        &Called::Wasm(instance, func) => wasm_routine(store, index, instance, func),
    };
    let Some(contexts) = store.observed.records() else { return Ok(None) };
    let mut beside = vec![(INSTRUCTIONS.to_owned(), contexts.ops())];
    beside.extend(events(store, contexts)?);
    beside.extend(store.observed.allocations.iter().flat_map(|all| allocations(all, contexts)));
    if let Some(all) = &store.observed.allocations {
        beside.extend(objects(store, index, all, contexts));
    }
    let measured = (&mut Columns::measured(store), &store.observed.live_measured()[..]);
    let tree = tree(contexts, measured, paths, beside, routine);
    let Some(rate) = store.observed.burst_rate() else { return Ok(Some(tree)) };
    let tree = ContextTree { kind: FigureKind::Sampled { rate }, ..tree.pruned() };
    // The root always exists.
    Ok((tree.records.len() > 1).then_some(tree))
}

/// Returns the events of each record by kind name: those of the function's own code, including live
/// frames.
fn events(store: &StoreOpaque, contexts: &CallRecords) -> Result<Vec<Column>> {
    let collection = store.engine().counted();
    let live = store.observed.live_events()?;
    let of_kind = |(kind, model): (u32, &EventModel)| {
        let mut events: Vec<u64> = contexts.events(kind).collect();
        for (address, owed) in &live {
            if let Some(record) = contexts.record_at(*address) {
                let sum = &mut events[record as usize];
                *sum = sum.wrapping_add(owed[kind as usize]);
            }
        }
        (model.name.clone(), events)
    };
    let kinds = (0..).zip(&collection.events).take(collection.events_in_records() as usize);
    Ok(kinds.map(of_kind).collect())
}

/// Returns the allocations of each record by figure name.
fn allocations(all: &Allocations, contexts: &CallRecords) -> Vec<Column> {
    let mut by_record = vec![Allocated::default(); contexts.all().count()];
    for (address, of) in all.contexts() {
        if let Some(record) = contexts.record_at(address) {
            by_record[record as usize] = of;
        }
    }
    let of_column = move |(number, name): (usize, &str)| {
        (name.to_owned(), by_record.iter().map(|of: &Allocated| of.columns()[number]).collect())
    };
    ALLOCATION_COLUMNS.into_iter().enumerate().map(of_column).collect()
}

/// Returns the bytes of objects of the instance's types in each record, for the types with most.
fn objects(store: &StoreOpaque, index: u32, all: &Allocations, contexts: &CallRecords) -> Vec<Column> {
    let module = Module::from_loaded(&store.items.instance(index).module);
    let records = contexts.all().count();
    let mut columns: Vec<Column> = Vec::new();
    for (ty, by_address) in all.types(index, MOST_TYPES) {
        let name = module.type_name(ty).map_or_else(|| format!("type-{ty}"), str::to_owned);
        // It is shown on terminals, and as the name of a metric.
        let mut name = format!("{BYTES_OF}{}", name.replace(char::is_control, "?"));
        // Nothing keeps a module from giving one name to two types.
        while columns.iter().any(|(known, _)| *known == name) {
            name.push('+');
        }
        let mut by_record = vec![0; records];
        for (&address, &bytes) in by_address {
            if let Some(record) = contexts.record_at(address) {
                by_record[record as usize] = bytes;
            }
        }
        columns.push((name, by_record));
    }
    columns
}

fn wasm_routine(store: &StoreOpaque, seen_from: u32, instance: u32, index: u32) -> Routine {
    let sites = store.items.instance(instance).module.call_sites(index);
    let sites = sites.first_calls().collect();
    Routine { callee: store.items.callee(seen_from, instance, index), sites }
}

/// Builds the tree, given the routines as readers see them, the uncharged measurements of live frames, and
/// the additional counts `beside` these, by name and record.
fn tree(
    contexts: &CallRecords,
    (columns, live): (&mut Columns<'_>, &[(u64, Measured)]),
    mut paths: PathsOfRecords,
    beside: Vec<Column>,
    routine: impl FnMut(&Called) -> Routine,
) -> ContextTree {
    let mut charged = contexts.charged();
    for (address, measured) in live {
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
    let (mut metrics, has_paths, merges_sites) =
        (columns.metrics(), contexts.has_paths(), contexts.merges_sites());
    beside.into_iter().for_each(|(name, figures)| add_figures(&name, &figures, &mut metrics, &mut all));
    ContextLog { routines, records: all, links, metrics, has_paths, merges_sites, ..ContextLog::default() }
        .tree()
}

/// Adds the counts of each record as a column to its measurements, if there are any.
fn add_figures(name: &str, figures: &[u64], metrics: &mut Vec<Metric>, records: &mut [CallRecord]) {
    if figures.is_empty() {
        return;
    }
    let column = metrics.partition_point(|metric| *metric.name < *name);
    metrics.insert(column, Metric { name: name.to_owned(), taken_off: 0 });
    for (record, &figure) in records.iter_mut().zip(figures) {
        record.metrics.insert(column, figure);
    }
}
