//! Path profiles of functions.
//!
//! Input: counts of numbered paths, and the path sums of frames that ended in mid-path. Output: merged path profiles;
//! the edge counts that follow from them; paths as blocks, hottest first.
//! Invariant: path numbers are those of a [`PathNumbering`] of the function's graph. Every crossing of an edge is on
//! exactly one path, so the edge counts follow exactly.
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

/// The counts of a function's paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathProfile {
    /// Number of paths that the function has.
    pub possible: u64,
    /// The finished paths, ascending by number.
    pub finished: Vec<PathCount>,
    /// The unfinished paths: all frames that ended in the middle of a block, ascending by place of exit and prefix.
    pub unfinished: Vec<UnfinishedPath>,
}

/// A finished path and its cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HotPath {
    /// Index of the function in the module.
    pub function: u32,
    /// Number of the path.
    pub id: u64,
    /// The number of times the path finished.
    pub count: u64,
    /// Instructions executed on the path; saturates.
    pub ops: u64,
    /// Figures measured along the path, one per metric of the profile.
    pub metrics: Vec<u64>,
}

impl PathProfile {
    /// Sorts the lists and merges duplicates.
    pub(super) fn normalize(&mut self) {
        normalize_paths(&mut self.finished);
        normalize_unfinished(&mut self.unfinished);
    }

    /// Reports whether the lists are sorted and merged as [`normalize`](Self::normalize) leaves them.
    pub(super) fn is_normal(&self) -> bool {
        self.finished.is_sorted_by(|a, b| a.id < b.id) && is_normal_unfinished(&self.unfinished)
    }

    /// Iterates over the figures of all paths, finished ones first.
    pub(crate) fn figures(&self) -> impl Iterator<Item = &Vec<u64>> {
        let unfinished = self.unfinished.iter().map(|path| &path.metrics);
        self.finished.iter().map(|path| &path.metrics).chain(unfinished)
    }

    /// Iterates mutably over the figures of all paths, finished ones first.
    pub(crate) fn figures_mut(&mut self) -> impl Iterator<Item = &mut Vec<u64>> {
        let unfinished = self.unfinished.iter_mut().map(|path| &mut path.metrics);
        self.finished.iter_mut().map(|path| &mut path.metrics).chain(unfinished)
    }

    /// Keeps only the figures of these columns, which are ascending.
    pub(super) fn keep_columns(&mut self, columns: &[usize]) {
        for figures in self.figures_mut() {
            *figures = columns.iter().map(|&column| figures[column]).collect();
        }
    }

    /// Returns the sum of two path profiles of one function.
    pub(super) fn merged(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        sum.finished.extend_from_slice(&other.finished);
        sum.unfinished.extend_from_slice(&other.unfinished);
        sum.normalize();
        sum
    }

    /// Reports whether a count has reached its limit, so that sums need not agree.
    pub(super) fn is_saturated(&self) -> bool {
        let unfinished = self.unfinished.iter().map(|path| path.exit.count);
        self.finished.iter().map(|path| path.count).chain(unfinished).any(|count| count == u64::MAX)
    }

    /// Returns the exits of all unfinished paths, one for each place.
    pub(super) fn exits(&self) -> Vec<UnfinishedExit> {
        let mut exits: Vec<_> = self.unfinished.iter().map(|path| path.exit).collect();
        normalize_exits(&mut exits);
        exits
    }

    /// Returns the number of paths that began at ENTRY; saturates.
    pub(super) fn calls(&self, numbering: &PathNumbering) -> u64 {
        let end = numbering.paths_from_entry();
        let finished = self.finished.iter().filter(|path| path.id < end).map(|path| path.count);
        let unfinished = self.unfinished.iter().filter(|path| path.prefix < end).map(|path| path.exit.count);
        finished.chain(unfinished).fold(0, u64::saturating_add)
    }

    /// Derives the counts of edges, blocks and calls: each path crosses its edges as often as it ran. Saturates,
    /// except for block counts.
    ///
    /// # Errors
    /// Returns an error if the numbering does not have a path, if a block count overflows, or if the paths together
    /// cross too many edges to follow.
    pub fn edge_counts(&self, cfg: &Cfg, numbering: &PathNumbering) -> Result<EdgeCounts, PropagateError> {
        self.edge_counts_within(cfg, numbering, &mut { MAX_PATH_STEPS })
    }

    /// Derives the counts as [`edge_counts`](Self::edge_counts) does, if the paths together cross at most `steps`
    /// edges, and subtracts the edges crossed from `steps`.
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
    /// Numbers the function's paths, if paths were counted and it has a valid graph.
    pub fn path_numbering(&self) -> Option<PathNumbering> {
        self.paths()?;
        Some(PathNumbering::new(&self.cfg().ok()?))
    }

    /// Returns by block the number of different finished paths through it; none if paths were not counted.
    pub fn paths_through(&self) -> Option<Vec<u64>> {
        let (cfg, numbering) = (self.cfg().ok()?, self.path_numbering()?);
        let mut through = vec![0; cfg.block_count()];
        for path in
            self.paths().into_iter().flat_map(|paths| &paths.finished).filter_map(|p| numbering.path(p.id))
        {
            path.blocks(&cfg).iter().for_each(|block| through[block.index()] += 1);
        }
        Some(through)
    }

    /// Returns by metric and block the figures measured along the finished paths through the block; saturates. None
    /// if paths were not counted.
    pub fn metrics_through(&self) -> Option<Vec<Vec<u64>>> {
        let (cfg, numbering) = (self.cfg().ok()?, self.path_numbering()?);
        let finished = &self.paths()?.finished;
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

    /// Returns how often the path with this number finished; 0 also if paths were not counted.
    pub fn path_count(&self, id: u64) -> u64 {
        let finished = self.paths().map_or(&[][..], |paths| &paths.finished);
        let found = finished.binary_search_by_key(&id, |path| path.id);
        found.map_or(0, |position| finished[position].count)
    }

    /// Returns the numbers of the finished paths, most frequent first.
    pub fn paths_by_count(&self) -> Vec<u64> {
        let mut finished = self.paths().map_or(Vec::new(), |paths| paths.finished.clone());
        finished.sort_by_key(|path| std::cmp::Reverse(path.count));
        finished.iter().map(|path| path.id).collect()
    }

    /// Returns the finished paths with their costs, by number.
    pub(crate) fn path_costs(&self) -> Vec<HotPath> {
        let (Some(paths), Some(numbering), Ok(cfg)) = (self.paths(), self.path_numbering(), self.cfg())
        else {
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
    /// Returns the finished paths, most executed instructions first.
    pub fn hottest_paths(&self) -> Vec<HotPath> {
        let mut list: Vec<HotPath> = self.functions.iter().flat_map(FunctionProfile::path_costs).collect();
        list.sort_by_key(|hot| std::cmp::Reverse(hot.ops));
        list
    }
}
