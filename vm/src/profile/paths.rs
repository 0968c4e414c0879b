//! Paths of instances: raw counters and path registers become a [`PathProfile`].
//!
//! Input: the counters of a function with few paths, or the instance's table, and the frames that ended in
//! mid-path. Output: the paths, with the metrics measured along them, and the edge counts that follow. Invariant:
//! the result is exact, or an error if the table was full. Source: Ammons, Ball & Larus 1997, section 2.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use wprof_jit::abi::path_row;
use wprof_jit::plan::{FunctionPlan, Plan, PreferentialPaths, RecordCells, RoundCell, is_dense};
use wprof_profiler::{BlockId, EdgeCounts, PathCount, PathPlan, PathProfile, PropagateError, UnfinishedPath};

use super::columns::{Blocks, Columns, Way};
use super::{Exits, unfinished_exit};
use crate::runtime::counts::unfinished::{Stop, Stopped};
use crate::runtime::instances::instance::InstanceData;
use crate::{Error, ErrorKind, Result};

/// Reads the paths of function `func` from its `counters`, if it has any, and from those counted in contexts.
///
/// # Errors
/// Returns an error if more paths ran than the instance's table has room for, or the counts contradict the graph.
pub fn read(
    instance: &InstanceData,
    (func, version, plan): (u32, &FunctionPlan, &PathPlan),
    (counters, in_contexts): (&[u64], &[(u32, Vec<Counted>)]),
    exits: Option<&Exits>,
    columns: &mut Columns<'_>,
) -> Result<(EdgeCounts, PathProfile)> {
    let blocks = columns.of_blocks(instance.module.info(), version)?;
    let mut paths = Paths { instance, version, plan, blocks, columns };
    let finished = match &version.plan {
        _ if version.flow_contexts.is_some() => {
            summed(in_contexts.iter().flat_map(|(_, paths)| paths).cloned())
        }
        Plan::Paths(plan) if is_dense(plan) => of_counters(counters, version),
        Plan::Preferential(paths) => {
            let cells = of_cells(paths, counters);
            summed(cells.into_iter().chain(of_rounds(version, counters)).chain(of_table(instance, func)?))
        }
        _ => {
            let rows = of_rows(version, counters).map(|(_, counted)| counted);
            summed(rows.chain(of_rounds(version, counters)).chain(of_table(instance, func)?))
        }
    };
    let finished = finished.iter().map(|(id, figures)| paths.finished(*id, figures));
    let mut finished = finished.collect::<Result<Vec<PathCount>>>()?;
    if let Some(checks) =
        version.checks.as_ref().filter(|checks| version.in_bursts && !checks.boring.is_empty())
    {
        let blocks = |id| plan.numbering.path(id).map_or(Vec::new(), |path| path.blocks(paths.blocks.shape));
        finished.retain(|path| !checks.are_boring(blocks(path.id).into_iter().map(|block| block.0)));
    }
    let stopped = exits.iter().flat_map(|exits| &exits.frames);
    let told = stopped.filter(|(stop, _)| plan.is_told(BlockId(stop.origin.block)));
    let unfinished = told.map(|(stop, stopped)| paths.unfinished(stop, stopped));
    let unfinished = unfinished.collect::<Result<_>>()?;
    let found = PathProfile { possible: plan.numbering.paths(), finished, unfinished };
    let counts = found.edge_counts(paths.blocks.shape, &plan.numbering)?;
    Ok((counts, found))
}

/// The number of a path, how often it ran, and the metrics measured along it.
pub type Counted = (u64, Vec<u64>);

/// By number of the call record, its paths with all their figures.
pub type PathsOfRecords = HashMap<u32, PathProfile>;

/// By function, the numbers of its call records with the paths of each.
pub type InContexts = HashMap<u32, Vec<(u32, Vec<Counted>)>>;

/// Reads the paths of a function with one counter per path, followed by one per path for each metric.
pub fn of_counters(counters: &[u64], version: &FunctionPlan) -> Vec<Counted> {
    let paths = counters.len() / version.counters_of_path as usize;
    let ran = (0..paths).filter(|&path| counters[path] > 0);
    ran.map(|path| (path as u64, counters[path..].iter().step_by(paths).copied().collect())).collect()
}

/// Returns the rows of the path table among a function's counters, if it has one: see `abi::path_row`.
pub fn rows<'a>(version: &FunctionPlan, counters: &'a [u64]) -> impl Iterator<Item = &'a [u64]> + use<'a> {
    let words = path_row::words(version.counters_of_path) as usize;
    let count = if version.has_path_rows() { path_row::COUNT as usize } else { 0 };
    counters.chunks_exact(words).take(count)
}

/// Reads the rows of the path table, each with the number of its call record, or 0.
pub fn of_rows(version: &FunctionPlan, counters: &[u64]) -> impl Iterator<Item = (u32, Counted)> {
    rows(version, counters).filter(|row| row[1] > 0).map(|row| {
        let (record, number) = path_row::split(row[0] - 1);
        (record, (number, row[1..].to_vec()))
    })
}

/// Reads the loop paths that have a counter of their own.
fn of_rounds(version: &FunctionPlan, counters: &[u64]) -> Vec<Counted> {
    let rounds = version.loops.iter().filter_map(|found| found.path);
    let counted = rounds.filter_map(|path| match path.cell {
        RoundCell::Counter(counter) => Some((path.id, vec![counters[counter as usize]])),
        RoundCell::Record(_) => None,
    });
    counted.filter(|(_, figures)| figures[0] > 0).collect()
}

/// Reads the cells of a call record: its paths, or the loop paths that have a cell of their own.
pub fn of_record_cells(version: &FunctionPlan, cells: &[u64]) -> Vec<Counted> {
    let RecordCells::Number { .. } = version.record_cells() else { return of_counters(cells, version) };
    let rounds = version.loops.iter().filter_map(|found| found.path).zip(&cells[1..]);
    rounds.filter(|(_, count)| **count > 0).map(|(path, &count)| (path.id, vec![count])).collect()
}

/// Reads the interesting paths that ran.
fn of_cells(paths: &PreferentialPaths, counters: &[u64]) -> Vec<Counted> {
    if !paths.counted {
        return Vec::new();
    }
    let cells = paths.plan.cells.iter().zip(counters);
    cells.filter(|(_, count)| **count > 0).map(|(&id, &count)| (id.into(), vec![count])).collect()
}

/// The number of a call record, and a frame that stopped in it.
pub type StoppedIn = (u32, Stop, Stopped);

/// Adds, to those of other functions, the paths of each call record of a function with the figures of their
/// columns: the counted paths, and those of frames that stopped.
///
/// # Errors
/// Returns an error as [`read`] does.
pub fn add_of_records(
    instance: &InstanceData,
    (version, plan): (&FunctionPlan, &PathPlan),
    (in_contexts, stopped): (&[(u32, Vec<Counted>)], &[StoppedIn]),
    columns: &mut Columns<'_>,
    all: &mut PathsOfRecords,
) -> Result<()> {
    if instance.paths.is_full() {
        return Err(table_is_full());
    }
    let blocks = columns.of_blocks(instance.module.info(), version)?;
    let mut paths = Paths { instance, version, plan, blocks, columns };
    for (record, counted) in in_contexts {
        let finished = counted.iter().map(|(id, figures)| paths.finished(*id, figures));
        let mut finished: Vec<PathCount> = finished.collect::<Result<_>>()?;
        finished.sort();
        all.entry(*record).or_default().finished = finished;
    }
    for (record, stop, stopped) in stopped {
        all.entry(*record).or_default().unfinished.push(paths.unfinished(stop, stopped)?);
    }
    Ok(())
}

/// Merges paths that are counted in several places into one entry each.
pub fn summed(counted: impl Iterator<Item = Counted>) -> Vec<Counted> {
    let mut sums: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (id, figures) in counted {
        let sum = sums.entry(id).or_insert_with(|| vec![0; figures.len()]);
        sum.iter_mut().zip(figures).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
    }
    sums.into_iter().collect()
}

fn table_is_full() -> Error {
    let message = "more different paths ran than can be counted: collect edges instead";
    Error::new(ErrorKind::Limit, message)
}

fn of_table(instance: &InstanceData, func: u32) -> Result<Vec<Counted>> {
    if instance.paths.is_full() {
        return Err(table_is_full());
    }
    Ok(instance.paths.counts(func).map(|(number, figures)| (number, figures.to_vec())).collect())
}

/// The data for reading one function's paths.
struct Paths<'a, 'b> {
    instance: &'a InstanceData,
    version: &'a FunctionPlan,
    plan: &'a PathPlan,
    blocks: Blocks<'a>,
    columns: &'a mut Columns<'b>,
}

impl Paths<'_, '_> {
    fn finished(&mut self, id: u64, figures: &[u64]) -> Result<PathCount> {
        let [count, measured @ ..] = figures else { unreachable!("a path has a count") };
        let path = self.plan.numbering.path(id).ok_or(PropagateError::UnknownPath(id))?;
        let whole = path.blocks(self.blocks.shape);
        let way = Way { path: &path, whole: &whole, stop: None, count: *count };
        let metrics = self.columns.figures(&self.blocks, &way, measured)?;
        Ok(PathCount { id, count: *count, metrics })
    }

    fn unfinished(&mut self, stop: &Stop, stopped: &Stopped) -> Result<UnfinishedPath> {
        let (info, origin) = (self.instance.module.info(), stop.origin);
        let exit = unfinished_exit(info, &self.version.cfg, origin, stopped.count)?;
        let block = BlockId(origin.block);
        let prefix = match &self.version.plan {
            Plan::Preferential(paths) => paths.plan.prefix_sum(block, stop.path),
            _ => self.plan.prefix_sum(block, stop.path),
        };
        let unknown = PropagateError::UnknownPrefix { block, prefix };
        let path = self.plan.numbering.prefix(block, prefix).ok_or(unknown)?;
        let blocks = path.blocks_of_prefix(self.blocks.shape);
        let whole = &blocks[..blocks.len() - 1];
        let stop = Some((origin.block, origin.offset, stop.path.is_some()));
        let way = Way { path: &path, whole, stop, count: stopped.count };
        let metrics = self.columns.figures(&self.blocks, &way, &stopped.measured)?;
        Ok(UnfinishedPath { exit, prefix, metrics })
    }
}
