//! Plans of path profiles that leave known paths uncounted where that saves work.
//!
//! Input: a [`PathPlan`], and numbers of paths, such as those that tests covered. Output: a plan that counts every
//! other path. A known path is counted only if it ends with an edge with which unknown paths end, too.
//! Invariant: where an unknown path ends, the register plus the step's amount is its number. In a block that is
//! [told](PathPlan::is_told), the register identifies the prefix; every prefix that leads to another block is that of
//! a known path. Linear in edges and in the lengths of the known paths.
//! Source: ours. Vaswani 2007, section 3.5.1, distinguishes tested paths from others at their ends; Joshi, Bond &
//! Zilles, *Targeted Path Profiling*, CGO 2004, omit what an edge profile determines. Oracle: random walks, in
//! `tests/it/path_plan.rs`.
//!
//! The number of distinct paths that end with an edge is the number of prefixes that lead to it. If as many known
//! paths end with it, the edge is *done*. In a block from which only done ends are reachable, the register is not
//! needed and is set to 0, so that it is a compile-time constant and takes no machine register.

use std::collections::HashSet;

use crate::{BlockId, Cfg, DepthFirst, EdgeId, PathNumbering, PathPlan, PathStep};

impl PathPlan {
    /// Plans the least counting that determines how often each path ran that is not `known`. Numbers without a path
    /// are ignored.
    #[must_use]
    pub fn of_others(self, cfg: &Cfg, known: &[u64]) -> PathPlan {
        let wanted = UnknownPaths::new(&self.numbering, known);
        let start = |block: BlockId, first: i64| if wanted.from(block) { first } else { 0 };
        let step = |edge: EdgeId| {
            let ends = cfg.edge(edge);
            match self.steps[edge.index()] {
                PathStep::Finish { add, restart } => {
                    let restart = restart.map(|first| start(ends.to, first));
                    match (wanted.is_done(edge), restart) {
                        (false, _) => PathStep::Finish { add, restart },
                        (true, Some(first)) => PathStep::Set(first),
                        (true, None) => PathStep::Stay,
                    }
                }
                step if wanted.from(ends.to) => step,
                _ if wanted.from(ends.from) => PathStep::Set(0),
                _ => PathStep::Stay,
            }
        };
        let steps = cfg.edges().map(step).collect();
        let told = cfg.blocks().map(|block| wanted.from(block)).collect();
        PathPlan { entry: start(BlockId::ENTRY, self.entry), steps, told, ..self }
    }
}

/// The parts of a graph where paths must be counted.
struct UnknownPaths {
    /// By edge of the view: whether all paths that end with it are known.
    done: Vec<bool>,
    /// By block: whether an end that is not done is reachable from it.
    from: Vec<bool>,
}

impl UnknownPaths {
    fn new(numbering: &PathNumbering, known: &[u64]) -> UnknownPaths {
        let view = numbering.view();
        let search = DepthFirst::new(view);
        let order = search.reverse_postorder();
        let mut prefixes = vec![0_u64; view.vertex_count()];
        prefixes[BlockId::ENTRY.index()] = 1;
        for &block in order.iter().filter(|&&block| block != view.exit()) {
            for &edge in view.out_edges(block) {
                let to = view.edge(edge).to.index();
                prefixes[to] = prefixes[to].saturating_add(prefixes[block.index()]);
            }
        }
        let mut ended = vec![0_u64; view.edge_count()];
        let known: HashSet<u64> = known.iter().copied().collect();
        for last in known.into_iter().filter_map(|id| numbering.path(id)?.edges.pop()) {
            ended[last.index()] += 1;
        }
        let is_done = |edge: EdgeId| {
            numbering.ends_path(edge) && ended[edge.index()] == prefixes[view.edge(edge).from.index()]
        };
        let done: Vec<bool> = view.edges().map(is_done).collect();
        let mut from = vec![false; view.vertex_count()];
        for &block in order.iter().rev().filter(|&&block| block != view.exit()) {
            let mut ways = view.out_edges(block).iter().filter(|edge| numbering.goes_on(**edge));
            from[block.index()] = ways.any(|edge| match view.edge(*edge).to {
                to if to == view.exit() => !done[edge.index()],
                to => from[to.index()],
            });
        }
        UnknownPaths { done, from }
    }

    fn is_done(&self, edge: EdgeId) -> bool {
        self.done[edge.index()]
    }

    fn from(&self, block: BlockId) -> bool {
        self.from.get(block.index()).copied().unwrap_or(false)
    }
}
