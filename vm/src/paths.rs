//! Paths of instances: raw counters and path registers become a [`PathProfile`].
//!
//! Input: the counters of a function whose paths are few, or the instance's table, and the frames that ended in mid-path.
//! Output: its paths, and the counts of edges that follow.
//! Invariant: exact, or an error if the table was full.
//! Source: algorithms.md, section 5.

use wprof_jit::plan::{FunctionPlan, Plan, PreferentialPaths, is_dense};
use wprof_profiler::{BlockId, EdgeCounts, PathCount, PathPlan, PathProfile, UnfinishedPath};

use crate::profile::{Exits, unfinished_exit};
use crate::runtime::instance::InstanceData;
use crate::{Error, ErrorKind, Result};

/// The paths of function `func`, of which `counters` are the counters, if it has any.
///
/// # Errors
/// If there were more paths than the instance's table has room for, or the counts contradict the graph.
pub fn read(
    instance: &InstanceData,
    (func, version, plan): (u32, &FunctionPlan, &PathPlan),
    counters: &[u64],
    exits: Option<&Exits>,
) -> Result<(EdgeCounts, PathProfile)> {
    let finished = match &version.plan {
        Plan::Preferential(paths) => [of_cells(paths, counters), of_table(instance, func)?].concat(),
        _ if is_dense(plan) => (0..).zip(counters.iter().copied()).filter(|(_, count)| *count > 0).collect(),
        _ => of_table(instance, func)?,
    };
    let unfinished = exits.iter().flat_map(|exits| &exits.frames).map(|(stop, &count)| {
        let exit = unfinished_exit(instance.module.info(), &version.cfg, stop.origin, count)?;
        let block = BlockId(stop.origin.block);
        let prefix = match &version.plan {
            Plan::Preferential(paths) => paths.plan.prefix_sum(block, stop.path),
            _ => plan.prefix_sum(block, stop.path),
        };
        Ok(UnfinishedPath { exit, prefix })
    });
    let paths = PathProfile {
        possible: plan.numbering.paths(),
        finished: finished.into_iter().map(|(id, count)| PathCount { id, count }).collect(),
        unfinished: unfinished.collect::<Result<_>>()?,
    };
    let counts = paths.edge_counts(&version.cfg.shape(), &plan.numbering)?;
    Ok((counts, paths))
}

/// The interesting paths that ran.
fn of_cells(paths: &PreferentialPaths, counters: &[u64]) -> Vec<(u64, u64)> {
    let cells = paths.plan.cells.iter().zip(counters);
    cells.filter(|(_, count)| **count > 0).map(|(&id, &count)| (id.into(), count)).collect()
}

fn of_table(instance: &InstanceData, func: u32) -> Result<Vec<(u64, u64)>> {
    if instance.paths.is_full() {
        let message = "more different paths ran than can be counted: collect edges instead";
        return Err(Error::new(ErrorKind::Limit, message));
    }
    Ok(instance.paths.of(func).collect())
}
