//! Placement of a function's counters.

use wprof_profiler::{EdgeId, PathPlan, PathStep};

use super::{PathCells, Placement, Plan, Probe, is_dense};

impl Plan {
    /// Places the counters. They begin with counter `first` of the instance; paths are counted in other cells, if
    /// `elsewhere` names some.
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
                    // EXIT stands for the number of calls, which is that of the entry: no edge leads to the entry.
                    let block = if block.index() < to.blocks.len() { block.index() } else { 0 };
                    to.blocks[block].entry.push(Probe::count(counter));
                }
            }
        }
    }
}

/// Places the updates of the path register; `end` makes the probe at the end of a path, given the amount that the
/// register lacks there.
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

/// Returns the cells of a plan's paths, whose counters, if any, begin at `first`.
fn path_cells(plan: &PathPlan, first: u32) -> PathCells {
    match is_dense(plan) {
        true => PathCells::Instance { first, paths: plan.numbering.paths() as u32 },
        false => PathCells::Rows { first, in_record: None },
    }
}
