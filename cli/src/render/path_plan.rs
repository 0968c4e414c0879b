//! How the paths of a function are numbered and counted, as notes on its control-flow graph.

use wprof_jit::plan::{FunctionPlan, Plan, is_dense};
use wprof_profiler::{EdgeId, PathPlan, PathStep};

use super::numbers::count_of;

/// The notes; all are empty if paths are not counted.
pub struct PathNotes<'a>(Option<&'a PathPlan>);

impl<'a> PathNotes<'a> {
    /// Notes on a function.
    pub fn new(plan: &'a FunctionPlan) -> Self {
        match &plan.plan {
            Plan::Paths(plan) => Self(Some(plan)),
            _ => Self(None),
        }
    }

    /// How many paths there are, and how they are counted.
    pub fn head(&self) -> String {
        let Some(plan) = self.0 else { return String::new() };
        let numbering = &plan.numbering;
        let place = if is_dense(plan) { "each with a counter" } else { "counted in a table" };
        let cuts = match numbering.cuts().len() {
            0 => String::new(),
            cuts => format!(", {} cut, as there were too many", count_of(cuts as u64, "edge")),
        };
        format!(
            "{}, {place}{cuts}; the register r starts at {}\n\
             value: what an edge adds to a path's number; r: what the code does\n",
            count_of(numbering.paths(), "path"),
            plan.entry
        )
    }

    /// What an edge adds to the number, and what is done where it is crossed.
    pub fn edge(&self, edge: EdgeId) -> String {
        let Some(plan) = self.0 else { return String::new() };
        let value = plan.numbering.values()[edge.index()];
        let cut = if plan.numbering.cuts().contains(&edge) { "  cut" } else { "" };
        let step = match plan.steps[edge.index()] {
            PathStep::Stay => String::new(),
            PathStep::Add(amount) => format!("  r {amount:+}"),
            PathStep::Finish { add, restart: None } => format!("  count r{add:+}"),
            PathStep::Finish { add, restart: Some(first) } => format!("  count r{add:+}, r = {first}"),
        };
        format!("value {value}{step}{cut}")
    }

    /// The value of beginning a path at a block other than the entry.
    pub fn block(&self, block: usize) -> String {
        let Some(plan) = self.0 else { return String::new() };
        let start = plan.numbering.starts().find(|(_, start)| start.index() == block);
        start.map_or(String::new(), |(edge, _)| {
            format!("paths begin here, value {}", plan.numbering.values()[edge.index()])
        })
    }
}
