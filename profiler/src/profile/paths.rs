//! The paths that a function took.
//!
//! Input: counts of numbered paths, and the sums of the prefixes of frames that ended in mid-path. Output: themselves
//! merged; the counts of edges that follow; paths as blocks, hottest first.
//! Invariant: numbers are those of a [`PathNumbering`] of the function's graph. Every crossing of an edge is on one
//! path, so the counts of edges follow exactly.
//! Source: Ammons, Ball & Larus 1997, section 2. Oracle: logged walks, in `tests/it/path_profile.rs`.

use serde::{Deserialize, Serialize};

use super::{FunctionProfile, Profile};
use crate::counts::path_counts::{
    is_normal_unfinished, normalize_exits, normalize_paths, normalize_unfinished,
};
use crate::limits::MAX_PATH_STEPS;
use crate::plan::propagate::sum_blocks;
use crate::{
    Cfg, EdgeCounts, Path, PathCount, PathNumbering, PropagateError, UnfinishedExit, UnfinishedPath,
};

/// How often each path of a function ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathProfile {
    /// How many paths the function has.
    pub possible: u64,
    /// The paths that ran to their end, ascending by number.
    pub finished: Vec<PathCount>,
    /// Those that did not: all frames that ended in the middle of a block, ascending by exit's place and prefix.
    pub unfinished: Vec<UnfinishedPath>,
}

/// A path and what it cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HotPath {
    /// Index of the function in the module.
    pub function: u32,
    /// Its number.
    pub id: u64,
    /// How often it ran to its end.
    pub count: u64,
    /// Instructions that it executed then; saturates.
    pub ops: u64,
    /// What was measured along it, by metric of the profile.
    pub metrics: Vec<u64>,
}

impl PathProfile {
    /// Brings the lists into their order, and adds up what is the same.
    pub(super) fn normalize(&mut self) {
        normalize_paths(&mut self.finished);
        normalize_unfinished(&mut self.unfinished);
    }

    /// Whether the lists are in the order that [`normalize`](Self::normalize) makes.
    pub(super) fn is_normal(&self) -> bool {
        self.finished.is_sorted_by(|a, b| a.id < b.id) && is_normal_unfinished(&self.unfinished)
    }

    /// The figures of all paths, those that ran to their end first.
    pub(crate) fn figures(&self) -> impl Iterator<Item = &Vec<u64>> {
        let unfinished = self.unfinished.iter().map(|path| &path.metrics);
        self.finished.iter().map(|path| &path.metrics).chain(unfinished)
    }

    /// The same, to be changed.
    pub(crate) fn figures_mut(&mut self) -> impl Iterator<Item = &mut Vec<u64>> {
        let unfinished = self.unfinished.iter_mut().map(|path| &mut path.metrics);
        self.finished.iter_mut().map(|path| &mut path.metrics).chain(unfinished)
    }

    /// Keeps only these columns of figures, which are in their order.
    pub(super) fn keep_columns(&mut self, columns: &[usize]) {
        for figures in self.figures_mut() {
            *figures = columns.iter().map(|&column| figures[column]).collect();
        }
    }

    /// Both together, of one function.
    pub(super) fn merged(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        sum.finished.extend_from_slice(&other.finished);
        sum.unfinished.extend_from_slice(&other.unfinished);
        sum.normalize();
        sum
    }

    /// Whether a count has reached its limit, so that sums need not agree.
    pub(super) fn is_saturated(&self) -> bool {
        let unfinished = self.unfinished.iter().map(|path| path.exit.count);
        self.finished.iter().map(|path| path.count).chain(unfinished).any(|count| count == u64::MAX)
    }

    /// The exits of all unfinished paths, one for each place.
    pub(super) fn exits(&self) -> Vec<UnfinishedExit> {
        let mut exits: Vec<_> = self.unfinished.iter().map(|path| path.exit).collect();
        normalize_exits(&mut exits);
        exits
    }

    /// How many paths began at ENTRY; saturates.
    pub(super) fn calls(&self, numbering: &PathNumbering) -> u64 {
        let end = numbering.paths_from_entry();
        let finished = self.finished.iter().filter(|path| path.id < end).map(|path| path.count);
        let unfinished = self.unfinished.iter().filter(|path| path.prefix < end).map(|path| path.exit.count);
        finished.chain(unfinished).fold(0, u64::saturating_add)
    }

    /// The counts of edges and blocks, and of calls: each path crosses its edges as often as it ran. Saturates but for
    /// the counts of blocks.
    ///
    /// # Errors
    /// If a path is none of this numbering, or the paths are so many and so long that they are too much to follow.
    pub fn edge_counts(&self, cfg: &Cfg, numbering: &PathNumbering) -> Result<EdgeCounts, PropagateError> {
        self.edge_counts_within(cfg, numbering, &mut { MAX_PATH_STEPS })
    }

    /// The same if the paths cross no more than so many edges together, which are taken off.
    pub(super) fn edge_counts_within(
        &self,
        cfg: &Cfg,
        numbering: &PathNumbering,
        steps: &mut usize,
    ) -> Result<EdgeCounts, PropagateError> {
        let mut edges = vec![0_u64; cfg.edge_count()];
        let mut cross = |path: Path, count: u64| {
            *steps = steps.checked_sub(path.edges.len()).ok_or(PropagateError::TooManySteps)?;
            for edge in path.edges {
                edges[edge.index()] = edges[edge.index()].saturating_add(count);
            }
            Ok(())
        };
        for &PathCount { id, count, .. } in &self.finished {
            cross(numbering.path(id).ok_or(PropagateError::UnknownPath(id))?, count)?;
        }
        for &UnfinishedPath { exit, prefix, .. } in &self.unfinished {
            let path = numbering.prefix(exit.block, prefix);
            cross(path.ok_or(PropagateError::UnknownPrefix { block: exit.block, prefix })?, exit.count)?;
        }
        let returned = cfg.in_edges(cfg.exit()).iter().map(|edge| edges[edge.index()]);
        let ended = self.unfinished.iter().map(|path| path.exit.count);
        let entries = returned.chain(ended).fold(0, u64::saturating_add);
        Ok(EdgeCounts { blocks: sum_blocks(cfg, &edges, entries)?, edges, entries })
    }
}

impl FunctionProfile {
    /// How its paths are numbered, if paths were counted and it is a graph.
    pub fn path_numbering(&self) -> Option<PathNumbering> {
        self.paths.as_ref()?;
        Some(PathNumbering::new(&self.cfg().ok()?))
    }

    /// By block, how many different paths that ran to their end go through it; none if paths were not counted.
    pub fn paths_through(&self) -> Option<Vec<u64>> {
        let (cfg, numbering) = (self.cfg().ok()?, self.path_numbering()?);
        let mut through = vec![0; cfg.block_count()];
        for path in self.paths.iter().flat_map(|paths| &paths.finished).filter_map(|p| numbering.path(p.id)) {
            path.blocks(&cfg).iter().for_each(|block| through[block.index()] += 1);
        }
        Some(through)
    }

    /// By metric and block, how much was measured along the paths that ran to their end and go through it; saturates.
    /// None if paths were not counted.
    pub fn metrics_through(&self) -> Option<Vec<Vec<u64>>> {
        let (cfg, numbering) = (self.cfg().ok()?, self.path_numbering()?);
        let finished = &self.paths.as_ref()?.finished;
        let columns = finished.first().map_or(0, |path| path.metrics.len());
        let mut through = vec![vec![0_u64; cfg.block_count()]; columns];
        for (way, path) in finished.iter().filter_map(|path| Some((numbering.path(path.id)?, path))) {
            for block in way.blocks(&cfg) {
                let sums = through.iter_mut().map(|blocks| &mut blocks[block.index()]);
                sums.zip(&path.metrics).for_each(|(sum, amount)| *sum = sum.saturating_add(*amount));
            }
        }
        Some(through)
    }

    /// How often the path with this number ran to its end; 0 also if paths were not counted.
    pub fn path_count(&self, id: u64) -> u64 {
        let finished = self.paths.as_ref().map_or(&[][..], |paths| &paths.finished);
        let found = finished.binary_search_by_key(&id, |path| path.id);
        found.map_or(0, |position| finished[position].count)
    }

    /// The numbers of its paths that ran to their end, most frequent first.
    pub fn paths_by_count(&self) -> Vec<u64> {
        let mut finished = self.paths.as_ref().map_or(Vec::new(), |paths| paths.finished.clone());
        finished.sort_by_key(|path| std::cmp::Reverse(path.count));
        finished.iter().map(|path| path.id).collect()
    }

    /// Its paths that ran to their end, by number.
    pub(crate) fn path_costs(&self) -> Vec<HotPath> {
        let (Some(paths), Some(numbering), Ok(cfg)) = (&self.paths, self.path_numbering(), self.cfg()) else {
            return Vec::new();
        };
        let ops = |path: Path| -> u64 {
            path.blocks(&cfg).iter().map(|block| u64::from(self.blocks[block.index()].ops)).sum()
        };
        let hot = |PathCount { id, count, metrics }: &PathCount| {
            let (id, count) = (*id, *count);
            let ops = numbering.path(id).map_or(0, ops).saturating_mul(count);
            HotPath { function: self.index, id, count, ops, metrics: metrics.clone() }
        };
        paths.finished.iter().map(hot).collect()
    }
}

impl Profile {
    /// The paths that ran to their end, those with the most executed instructions first.
    pub fn hottest_paths(&self) -> Vec<HotPath> {
        let mut list: Vec<HotPath> = self.functions.iter().flat_map(FunctionProfile::path_costs).collect();
        list.sort_by_key(|hot| std::cmp::Reverse(hot.ops));
        list
    }
}
