//! Path numbering and counting of a function, as notes on its control-flow graph.

use wprof_jit::plan::{FunctionPlan, Plan, PreferentialPaths, is_dense};
use wprof_profiler::{EdgeId, PathPlan, PathStep};

use super::numbers::{average, count_of, grouped};

/// The notes of a function; all are empty if paths are not counted.
pub struct PathNotes<'a> {
    plan: Option<&'a PathPlan>,
    /// The numbering of interesting paths, if they are distinguished from others.
    preferential: Option<&'a PreferentialPaths>,
}

impl<'a> PathNotes<'a> {
    /// Creates the notes of a function.
    pub fn new(plan: &'a FunctionPlan) -> Self {
        let preferential = match &plan.plan {
            Plan::Preferential(paths) => Some(&**paths),
            _ => None,
        };
        Self { plan: plan.plan.paths(), preferential }
    }

    /// Returns the number of paths, and how they are counted.
    pub fn head(&self) -> String {
        let Some(plan) = self.plan else { return String::new() };
        let numbering = &plan.numbering;
        let place = match self.preferential {
            Some(_) => "those without a cell counted in a table",
            None if is_dense(plan) => "each with a counter",
            None => "counted in a table",
        };
        let cuts = match numbering.cuts().len() {
            0 => String::new(),
            cuts => format!(", {} cut, as there were too many", count_of(cuts as u64, "edge")),
        };
        format!(
            "{}, {place}{cuts}; the register r starts at {}\n\
             value: what an edge adds to a path's number; r: what the code does\n{}",
            count_of(numbering.paths(), "path"),
            shown(self.preferential, plan.entry),
            self.interesting()
        )
    }

    /// Describes the numbering of interesting paths.
    fn interesting(&self) -> String {
        let Some(PreferentialPaths { plan, counted }) = self.preferential else { return String::new() };
        let numbering = &plan.numbering;
        let what = if *counted { "" } else { "; they are not counted" };
        format!(
            "interesting: {}, with numbers below {} in {}{what}\n\
             delta: {:.2} numbers for each interesting path, {} by the numbers of all paths\n\
             amounts are pairs: of the interesting paths' numbers, and of all paths'\n",
            count_of(numbering.paths().len() as u64, "path"),
            grouped(numbering.range()),
            count_of(plan.cells.len() as u64, "cell"),
            numbering.delta(),
            average(numbering.ball_larus_delta()),
        )
    }

    /// Returns the value that an edge adds to the path number, and the probe on the edge.
    pub fn edge(&self, edge: EdgeId) -> String {
        let Some(plan) = self.plan else { return String::new() };
        let value = plan.numbering.values()[edge.index()];
        let cut = if plan.numbering.cuts().contains(&edge) { "  cut" } else { "" };
        let step = match plan.steps[edge.index()] {
            PathStep::Stay => String::new(),
            PathStep::Add(amount) => format!("  r {}", self.added(amount)),
            PathStep::Set(value) => format!("  r = {}", shown(self.preferential, value)),
            PathStep::Finish { add, restart: None } => format!("  count r{}", self.added(add)),
            PathStep::Finish { add, restart: Some(first) } => {
                format!("  count r{}, r = {}", self.added(add), shown(self.preferential, first))
            }
        };
        let weight = self.preferential.map(|paths| paths.plan.numbering.weights()[edge.index()]);
        let weight = weight.map(|weight| format!("{weight}|")).unwrap_or_default();
        format!("value {weight}{value}{step}{cut}")
    }

    /// Formats an amount that is added to the register, or to both halves of the register.
    fn added(&self, amount: i64) -> String {
        // The lower half of a sum may have borrowed from the upper half.
        let low = i64::from(amount as i32);
        match self.preferential {
            Some(_) => format!("+ ({}|{low})", amount.wrapping_sub(low) >> 32),
            None => format!("{amount:+}"),
        }
    }

    /// Returns the initial value of a path that begins at a block other than the entry.
    pub fn block(&self, block: usize) -> String {
        let Some(plan) = self.plan else { return String::new() };
        let start = plan.numbering.starts().find(|(_, start)| start.index() == block);
        start.map_or(String::new(), |(edge, _)| {
            format!("paths begin here, value {}", plan.numbering.values()[edge.index()])
        })
    }
}

/// Formats a value of the register, or of both halves of the register.
fn shown(preferential: Option<&PreferentialPaths>, value: i64) -> String {
    match preferential {
        Some(_) => format!("({}|{})", value >> 32, value as u32),
        None => value.to_string(),
    }
}
