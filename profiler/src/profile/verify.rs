//! The conditions of a valid profile.
//!
//! Input: a [`Profile`], perhaps read from a file. Output: the first violation.
//! Invariant: linear time, bounded by a constant for all paths together; all other code may rely on everything that is
//! checked here.
//! Oracle: broken profiles, in `tests/it/profile.rs`.

use std::collections::BTreeMap;

use super::{
    FunctionCounts, FunctionProfile, ModulePart, Profile, SkippedBursts, Supergraphs, ThreadProfile,
};
use crate::limits::{MAX_ALL_PATH_STEPS, MAX_PATH_STEPS};
use crate::{
    Accuracy, AllocationProfile, BlockCounts, BlockId, BranchOutcome, Callee, Cfg, CfgError, ContextTree,
    ExtendedProfile, FigureKind, InvalidContexts, InvalidTime, PathNumbering, PathProfile, PropagateError,
    TimeProfile, Timeline,
};

/// A violation in a profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProfile {
    /// A list is not sorted, or contains an item twice.
    #[error("the {list} are not in order: normalize the profile first")]
    Unsorted {
        /// The list.
        list: &'static str,
    },
    /// The blocks and edges of a function do not form a graph.
    #[error("function {index} has no control-flow graph: {error}")]
    BadGraph {
        /// Index of the function.
        index: u32,
        /// The violation in the graph.
        error: CfgError,
    },
    /// The fingerprint does not match the graph.
    #[error("function {index} has the fingerprint of another graph")]
    WrongFingerprint {
        /// Index of the function.
        index: u32,
    },
    /// A frame ended outside all blocks, or after the last instruction of its block.
    #[error("function {index} has a frame that ended outside {block}")]
    BadExit {
        /// Index of the function.
        index: u32,
        /// The given block.
        block: BlockId,
    },
    /// Counts do not match the blocks or the edges.
    #[error("function {index} has counts of other blocks or other edges")]
    WrongCounts {
        /// Index of the function.
        index: u32,
    },
    /// A path is not one of the function's, or there are too many.
    #[error("function {index} has paths that are not its own: {error}")]
    BadPaths {
        /// Index of the function.
        index: u32,
        /// The violation in the paths.
        error: PropagateError,
    },
    /// The paths of all functions are too long in total.
    #[error("the paths of all functions cross more than {MAX_ALL_PATH_STEPS} edges: count edges only")]
    TooManySteps,
    /// The path counts contradict the counts of edges and of ended frames.
    #[error("function {index} has paths and edges with counts that contradict each other")]
    WrongPaths {
        /// Index of the function.
        index: u32,
    },
    /// A path does not have exactly one figure per metric.
    #[error("function {index} has a path without one figure for each metric")]
    WrongFigures {
        /// Index of the function.
        index: u32,
    },
    /// The paths in calling contexts do not match those of their functions.
    #[error("function {index} has other paths in all its calling contexts together")]
    OtherPathsInContexts {
        /// Index of the function.
        index: u32,
    },
    /// A block's incoming and outgoing counts differ.
    #[error("function {index} has counts that contradict each other at {block}")]
    Imbalance {
        /// Index of the function.
        index: u32,
        /// The block.
        block: BlockId,
    },
    /// The calling contexts do not form a tree of calls.
    #[error(transparent)]
    Contexts(#[from] InvalidContexts),
    /// The sampled stacks do not form a tree.
    #[error(transparent)]
    Time(#[from] InvalidTime),
}

impl Profile {
    /// Checks order, graphs, fingerprints, places of exits, the flow law of exact counts, agreement of paths with
    /// edges, calling contexts and sampled stacks.
    ///
    /// # Errors
    /// Returns the first violation.
    pub fn verify(&self) -> Result<(), InvalidProfile> {
        let sorted =
            |list, sorted: bool| if sorted { Ok(()) } else { Err(InvalidProfile::Unsorted { list }) };
        sorted("runs", self.runs.is_sorted())?;
        sorted("functions", self.functions.is_sorted_by(|a, b| a.index < b.index))?;
        sorted("host calls", self.host_calls.is_sorted_by(|a, b| a.key() < b.key()))?;
        sorted("events", self.events.is_sorted_by(|a, b| a.name < b.name))?;
        sorted("metrics", self.metrics.is_sorted_by(|a, b| a.name < b.name))?;
        sorted("call targets", self.call_targets.is_sorted_by(|a, b| a.key() < b.key()))?;
        sorted("skipped bursts", self.skipped.as_ref().is_none_or(SkippedBursts::is_valid))?;
        sorted("extended paths", self.extended.as_ref().is_none_or(ExtendedProfile::is_normal))?;
        sorted("events of the time line", self.timeline.as_ref().is_none_or(Timeline::is_sorted))?;
        sorted("allocations", self.allocations.as_ref().is_none_or(AllocationProfile::is_valid))?;
        sorted("expected overlaps", self.accuracy.is_none_or(Accuracy::is_valid))?;
        let place = |branch: &BranchOutcome| (branch.function, branch.offset);
        sorted("branches", self.branches.is_sorted_by(|a, b| place(a) < place(b)))?;
        let graphs = self.supergraphs.as_ref();
        sorted("supergraphs", graphs.is_none_or(Supergraphs::is_valid))?;
        let across = graphs.map_or(&[][..], |graphs| &graphs.functions).iter().map(|graph| &graph.function);
        sorted("supergraphs", across.clone().is_sorted_by(|a, b| a.index < b.index))?;
        let first = |part: &ModulePart| (part.first_function, part.first_offset);
        sorted("core modules", self.parts.is_sorted_by(|a, b| first(a) < first(b)))?;
        sorted("threads", self.threads.is_sorted_by(|a, b| a.number < b.number))?;
        sorted("functions of threads", self.threads.iter().all(ThreadProfile::is_sorted))?;
        let mut steps = MAX_ALL_PATH_STEPS;
        for function in self.functions.iter().chain(across.clone()) {
            sorted("unfinished exits", function.is_normal())?;
            sorted("paths", function.paths().is_none_or(PathProfile::is_normal))?;
            function.verify(&mut steps)?;
        }
        self.functions.iter().try_for_each(|function| function.verify_figures(self.metrics.len()))?;
        across.into_iter().try_for_each(|function| function.verify_figures(0))?;
        self.contexts.as_ref().map_or(Ok(()), ContextTree::verify)?;
        self.contexts.as_ref().map_or(Ok(()), |contexts| self.verify_paths_in(contexts))?;
        self.time.as_ref().map_or(Ok(()), TimeProfile::verify)?;
        for thread in &self.threads {
            thread.contexts.as_ref().map_or(Ok(()), ContextTree::verify)?;
            thread.time.as_ref().map_or(Ok(()), TimeProfile::verify)?;
        }
        Ok(())
    }
}

impl Profile {
    /// Checks that paths in contexts have the profile's metrics, and that exact ones add up to those of their
    /// functions, unless counts have saturated.
    fn verify_paths_in(&self, contexts: &ContextTree) -> Result<(), InvalidProfile> {
        if !contexts.has_paths {
            return Ok(());
        }
        let mut sums: BTreeMap<u32, BTreeMap<u64, u64>> = BTreeMap::new();
        for (record, number) in contexts.records.iter().zip(0..) {
            let &Callee::Function { index, .. } = contexts.callee(number) else { continue };
            let unfinished = record.unfinished.iter().map(|path| &path.metrics);
            let mut figures = record.paths.iter().map(|path| &path.metrics).chain(unfinished);
            if figures.any(|figures| figures.len() != self.metrics.len()) {
                return Err(InvalidProfile::WrongFigures { index });
            }
            for path in &record.paths {
                let sum = sums.entry(index).or_default().entry(path.id).or_default();
                *sum = sum.saturating_add(path.count);
            }
        }
        for function in self.functions.iter().filter(|function| function.kind == FigureKind::Exact) {
            let index = function.index;
            let found = sums.remove(&index).unwrap_or_default();
            let paths = function.paths().into_iter().flat_map(|paths| &paths.finished);
            let expected: BTreeMap<u64, u64> = paths.map(|path| (path.id, path.count)).collect();
            let is_saturated = expected.values().chain(found.values()).any(|&count| count == u64::MAX);
            if found != expected && !is_saturated {
                return Err(InvalidProfile::OtherPathsInContexts { index });
            }
        }
        match sums.first_key_value() {
            Some((&index, _)) => Err(InvalidProfile::OtherPathsInContexts { index }),
            None => Ok(()),
        }
    }
}

impl FunctionProfile {
    /// Verifies the function, and subtracts the edges that its paths cross from the remaining `steps`.
    fn verify(&self, steps: &mut usize) -> Result<(), InvalidProfile> {
        let index = self.index;
        let cfg = self.cfg().map_err(|error| InvalidProfile::BadGraph { index, error })?;
        if cfg.fingerprint() != self.fingerprint {
            return Err(InvalidProfile::WrongFingerprint { index });
        }
        for exit in &self.exits {
            let block = self.blocks.get(exit.block.index());
            if block.is_none_or(|block| exit.ops_executed > block.ops) {
                return Err(InvalidProfile::BadExit { index, block: exit.block });
            }
        }
        match &self.counts {
            FunctionCounts::Edges(edges) | FunctionCounts::Paths(edges, _) => self.verify_flow(edges)?,
            FunctionCounts::Blocks(counts) => self.verify_blocks(counts)?,
        }
        match &self.counts {
            FunctionCounts::Paths(edges, paths) => self.verify_paths(&cfg, (edges, paths), steps),
            _ if self.kind == FigureKind::Selected => Err(InvalidProfile::WrongPaths { index }),
            _ => Ok(()),
        }
    }

    fn verify_figures(&self, metrics: usize) -> Result<(), InvalidProfile> {
        let mut figures = self.paths().into_iter().flat_map(PathProfile::figures);
        match figures.any(|figures| figures.len() != metrics) {
            true => Err(InvalidProfile::WrongFigures { index: self.index }),
            false => Ok(()),
        }
    }

    /// Checks that paths belong to the graph, and that exact ones match edges and exits, unless counts have saturated.
    fn verify_paths(
        &self,
        cfg: &Cfg,
        (edges, paths): (&[u64], &PathProfile),
        steps: &mut usize,
    ) -> Result<(), InvalidProfile> {
        let index = self.index;
        let numbering = PathNumbering::new(cfg);
        let mut left = MAX_PATH_STEPS.min(*steps);
        let (before, is_last) = (left, *steps < MAX_PATH_STEPS);
        let counts = paths.edge_counts_within(cfg, &numbering, &mut left).map_err(|error| match error {
            PropagateError::TooManySteps if is_last => InvalidProfile::TooManySteps,
            error => InvalidProfile::BadPaths { index, error },
        })?;
        *steps -= before - left;
        let saturated = paths.is_saturated() || counts.edges.contains(&u64::MAX);
        let agrees = counts.edges == edges && paths.exits() == self.exits;
        let counted = [FigureKind::Exact, FigureKind::Selected].contains(&self.kind) && !saturated;
        let fits = paths.possible == numbering.paths() && (agrees || !counted);
        if fits { Ok(()) } else { Err(InvalidProfile::WrongPaths { index }) }
    }

    /// Checks the conditions of block counts without edge counts, unless they have saturated: each block began at least
    /// as often as frames ended in it, and ENTRY as often as the function was called.
    fn verify_blocks(&self, counts: &BlockCounts) -> Result<(), InvalidProfile> {
        let index = self.index;
        if counts.blocks.len() != self.blocks.len() {
            return Err(InvalidProfile::WrongCounts { index });
        }
        if self.kind != FigureKind::Exact || counts.blocks.contains(&u64::MAX) {
            return Ok(());
        }
        let mut left: Vec<i128> = counts.blocks.iter().map(|&count| count.into()).collect();
        let too_often = left[BlockId::ENTRY.index()] < counts.entries.into();
        self.exits.iter().for_each(|exit| left[exit.block.index()] -= i128::from(exit.count));
        match left.iter().position(|&left| left < 0).or(too_often.then_some(0)) {
            Some(block) => Err(InvalidProfile::Imbalance { index, block: BlockId::new(block) }),
            None => Ok(()),
        }
    }

    /// Checks that each edge has a count, and the flow law, for exact counts that have not saturated.
    fn verify_flow(&self, edges: &[u64]) -> Result<(), InvalidProfile> {
        if edges.len() != self.edges.len() {
            return Err(InvalidProfile::WrongCounts { index: self.index });
        }
        let mut counts = edges.iter().copied().chain(self.exits.iter().map(|exit| exit.count));
        if self.kind != FigureKind::Exact || counts.any(|count| count == u64::MAX) {
            return Ok(());
        }
        let mut excess = vec![0_i128; self.blocks.len() + 1];
        for (edge, &count) in self.edges.iter().zip(edges) {
            excess[edge.from.index()] -= i128::from(count);
            excess[edge.to.index()] += i128::from(count);
        }
        for exit in &self.exits {
            excess[exit.block.index()] -= i128::from(exit.count);
            excess[self.blocks.len()] += i128::from(exit.count);
        }
        // The closing edge carries the count of EXIT back to ENTRY.
        let calls = excess.pop().unwrap_or(0);
        excess[BlockId::ENTRY.index()] += calls;
        match excess.iter().position(|&excess| excess != 0) {
            Some(block) => Err(InvalidProfile::Imbalance { index: self.index, block: BlockId::new(block) }),
            None => Ok(()),
        }
    }
}
