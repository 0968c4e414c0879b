//! Plans of path profiles: what each edge does to the path register.
//!
//! Input: a [`Cfg`] and [`EdgeWeights`]. Output: a [`PathPlan`]: a [`PathStep`] for each edge, the register's value
//! at entry, and the correction for reading it in mid-function.
//! Invariant: at the end of a path, the register plus the step's amount is the path's number; in block v, the
//! register plus `queries[v]` is the sum of the prefix that led there. All arithmetic is modulo 2^64.
//! Source: Ball & Larus 1996, sections 3.2 and 3.3: the increments of [`EventTree`] for the values of a
//! [`PathNumbering`], so that only chords of a maximum spanning tree of the acyclic view add anything. Ours: an
//! amount at the beginning or end of a path is free, as it becomes part of the constant that the register is set to
//! or of the counter's address. Such edges therefore have weight 0 and are chords wherever possible, which folds the
//! first addition into the beginning and the last one into the count; the papers do this afterwards. Where the
//! register's value is known further on, the code generator's constant folding finds it.
//! Oracle: random walks whose paths are logged, in `tests/it/path_plan.rs`.

use crate::{BlockId, Cfg, CounterCost, EdgeCounts, EdgeId, EdgeWeights, EventTree, PathNumbering};

/// The plan that counts the paths of one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPlan {
    /// The numbering of the paths.
    pub numbering: PathNumbering,
    /// Value of the register at function entry.
    pub entry: i64,
    /// By real edge: what crossing it does.
    pub steps: Vec<PathStep>,
    /// By real block: what to add to the register to obtain the prefix's sum.
    pub queries: Vec<i64>,
    /// By real block: whether the register identifies the prefix there; see [`PathPlan::of_others`]. Empty if it does
    /// in all blocks.
    pub(crate) told: Vec<bool>,
}

/// The effect of crossing an edge on the path register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// Does nothing.
    Stay,
    /// Adds to the register.
    Add(i64),
    /// Sets the register. A path that ends here is not counted.
    Set(i64),
    /// Counts the path whose number is the register plus `add`, and sets the register for the next path, unless the
    /// edge leads to EXIT.
    Finish {
        /// Amount missing in the register.
        add: i64,
        /// Value of the register for the path that begins.
        restart: Option<i64>,
    },
}

impl PathPlan {
    /// Plans additions on the chords of a maximum spanning tree.
    pub fn new(cfg: &Cfg, weights: &EdgeWeights) -> Self {
        Self::of_numbering(cfg, weights, PathNumbering::new(cfg))
    }

    /// Plans as [`PathPlan::new`] does, with an existing numbering of the same graph.
    pub fn of_numbering(cfg: &Cfg, weights: &EdgeWeights, numbering: PathNumbering) -> Self {
        let values = numbering.values().to_vec();
        Self::of_values(cfg, weights, numbering, &values)
    }

    /// Plans with other values than the numbering's, given by edge of the view, the closing edge last, modulo 2^64.
    /// At the end of a path the register is the sum of these values along it.
    pub(crate) fn of_values(
        cfg: &Cfg,
        weights: &EdgeWeights,
        numbering: PathNumbering,
        values: &[u64],
    ) -> Self {
        let view = numbering.view();
        let weigh = |edge| match edge < cfg.closing_edge() && !numbering.ends_path(edge) {
            true => weights.get(edge),
            false => 0.0,
        };
        let weights = EdgeWeights::from_vec(view.closed_edges().map(weigh).collect());
        let plan = EventTree::new(view, &weights, &[]).plan(values);
        let mut amounts = vec![0_i64; view.edge_count() + 1];
        plan.increments.iter().for_each(|&(edge, amount)| amounts[edge.index()] = amount);
        let entry = amounts[view.closing_edge().index()];
        let mut begins = vec![entry; cfg.block_count()];
        for (edge, start) in numbering.starts() {
            begins[start.index()] = entry.wrapping_add(amounts[edge.index()]);
        }
        let step = |edge: EdgeId| {
            let add = amounts[edge.index()];
            match numbering.ends_path(edge) {
                true => PathStep::Finish { add, restart: begins.get(cfg.edge(edge).to.index()).copied() },
                false if add == 0 => PathStep::Stay,
                false => PathStep::Add(add),
            }
        };
        let steps = cfg.edges().map(step).collect();
        Self { entry, steps, queries: plan.queries, numbering, told: Vec::new() }
    }

    /// Reports whether the register identifies the prefix that led to `block`. If not, the prefix is that of a known
    /// path, which is not counted.
    pub fn is_told(&self, block: BlockId) -> bool {
        self.told.get(block.index()).copied().unwrap_or(true)
    }

    /// Returns the sum of the prefix that led to `block`, given the register's value there. Without a register (the
    /// function had just been entered) the sum is 0.
    pub fn prefix_sum(&self, block: BlockId, register: Option<u64>) -> u64 {
        let Some(register) = register else { return 0 };
        let query = self.queries.get(block.index()).copied().unwrap_or(0);
        register.wrapping_add_signed(query)
    }

    /// Returns the number of places in the code that change the register or count.
    pub fn places(&self) -> u64 {
        self.steps.iter().filter(|step| **step != PathStep::Stay).count() as u64
    }

    /// Returns the plan's cost in the run that `counts` describes: places in the code that change the register or
    /// count, and how often they did.
    pub fn cost(&self, counts: &EdgeCounts) -> CounterCost {
        let crossed = self.steps.iter().zip(&counts.edges);
        let updates: Vec<u64> =
            crossed.filter(|(step, _)| **step != PathStep::Stay).map(|(_, n)| *n).collect();
        CounterCost::new(updates.into_iter())
    }
}
