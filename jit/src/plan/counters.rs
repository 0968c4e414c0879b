//! Where the counters of a function stand.

use wprof_profiler::{EdgeId, PathPlan, PathStep};

use super::{PathCells, Placement, Plan, Probe, is_dense};

impl Plan {
    /// Places the counters, the first of which is counter `first` of the instance; those of paths in other cells, if
    /// they are counted `elsewhere`.
    pub(super) fn place(&self, first: u32, elsewhere: Option<PathCells>, to: &mut Placement) {
        match self {
            Plan::Off => {}
            Plan::Blocks => {
                for (block, counter) in to.blocks.iter_mut().zip(first..) {
                    block.entry.push(Probe::count(counter));
                }
            }
            Plan::Edges => {
                for (edge, counter) in to.edges().zip(first..) {
                    edge.push(Probe::count(counter));
                }
            }
            Plan::Chords(plan) => place_on_edges(&plan.counted, first, to),
            Plan::Vertex(plan) => place_on_edges(&plan.counted, first, to),
            Plan::Paths(plan) => {
                let cells = elsewhere.unwrap_or_else(|| path_cells(plan, first));
                place_path_register(plan, |amount| Probe::PathEnd { amount, cells }, to);
            }
            Plan::Preferential(paths) => {
                let counters = paths.counted.then_some(first);
                to.cells = Some(paths.plan.cells.clone());
                let end = |amount| Probe::PreferentialEnd { amount, counters };
                place_path_register(&paths.plan.paths, end, to);
            }
            Plan::BlockCounters(plan) => {
                for (block, counter) in plan.counted.iter().zip(first..) {
                    // EXIT stands for the calls, and so for the entry, which nothing else leads to.
                    let block = if block.index() < to.blocks.len() { block.index() } else { 0 };
                    to.blocks[block].entry.push(Probe::count(counter));
                }
            }
        }
    }
}

/// Has the path register made up; `end` is what is done with it where a path ends, given what is missing in it.
fn place_path_register(plan: &PathPlan, end: impl Fn(i64) -> Probe, to: &mut Placement) {
    to.path_register = Some(plan.entry);
    for (edge, step) in to.edges().zip(&plan.steps) {
        match *step {
            PathStep::Stay => {}
            PathStep::Add(amount) => edge.push(Probe::PathAdd(amount)),
            PathStep::Set(value) => edge.push(Probe::PathStart(value)),
            PathStep::Finish { add, restart } => {
                edge.push(end(add));
                edge.extend(restart.map(Probe::PathStart));
            }
        }
    }
}

fn place_on_edges(counted: &[EdgeId], first: u32, to: &mut Placement) {
    let mut edges: Vec<_> = to.edges().collect();
    for (edge, counter) in counted.iter().zip(first..) {
        edges[edge.index()].push(Probe::count(counter));
    }
}

/// Where the paths of a plan are counted, whose counters begin at `first`, if they have any.
fn path_cells(plan: &PathPlan, first: u32) -> PathCells {
    match is_dense(plan) {
        true => PathCells::Instance { first, paths: plan.numbering.paths() as u32 },
        false => PathCells::Rows { first, in_record: None },
    }
}
