//! Residual coverage: what ran in the field but in no test.
//!
//! Input: a profile with paths from the *field*, and one from the tests, possibly merged from several. Output: the
//! field's paths that no test covered, most frequent first, with the edges that make them new; or the profile of
//! these paths alone.
//! Invariant: a finished path is tested if the tests have a finished path with its number. An unfinished path is
//! tested if a test took the same prefix, however that test continued: what matters is the prefix, not that the frame
//! ended. An edge is tested if it was crossed, by unfinished paths too.
//! Source: Vaswani 2007, section 3.5.1; Pavlopoulou & Young, *Residual Test Coverage Monitoring*, ICSE 1999.
//! Oracle: logged walks, in `tests/it/residual.rs`.
//!
//! **Prefixes.** The paths that lead on from a block v have the sums 0..N(v), so the paths that begin with a prefix
//! of sum s that ends in v have the numbers s..s + N(v), and no other path has one of these. A prefix is therefore
//! tested if a finished path with such a number is, or a longer prefix with such a sum.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::{FunctionCounts, FunctionProfile, PathProfile, Profile};
use crate::{Cfg, EdgeId, FigureKind, Path, PathCount, PathNumbering, UnfinishedPath};

/// Why the residual of two profiles cannot be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResidualError {
    /// The profiles are of different modules.
    #[error("the tests ran another module, or another build of it: give profiles of one build")]
    OtherModule,
    /// The profiles are of one module but divide a function into different blocks.
    #[error(
        "the tests divide function {index} into blocks differently: take all profiles with the same version of wprof"
    )]
    OtherShape {
        /// Index of the function.
        index: u32,
    },
    /// One of the profiles has no paths.
    #[error("it has no paths: record it with `wprof run --collect paths`")]
    NoPaths,
}

/// The end of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathEnd {
    /// The path finished; its number.
    Finished(u64),
    /// A frame ended within the path.
    Unfinished(UnfinishedPath),
}

/// A path that ran and that no test covered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntestedPath {
    /// Index of the function in the module.
    pub function: u32,
    /// The end of the path.
    pub end: PathEnd,
    /// The edges of the path, or of its prefix if it did not finish.
    pub path: Path,
    /// The number of times the path ran.
    pub count: u64,
    /// Instructions executed on the path; saturates.
    pub ops: u64,
    /// The edges of the path that no test crossed, in order. If there are none, only their combination is new.
    pub new_edges: Vec<EdgeId>,
}

/// The paths that ran in the field but in no test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Residual {
    /// The untested paths, most frequent first; of equally frequent ones those with more instructions first.
    pub paths: Vec<UntestedPath>,
    /// Number of different paths that ran in the field, tested or not; none if only untested paths were counted.
    pub ran: Option<u64>,
    /// Number of untested paths in functions without untested edges: what edge coverage would miss.
    pub beyond_edges: u64,
    /// Number of functions with untested paths.
    pub functions: u64,
}

impl Profile {
    /// Reports whether the paths of all functions that ran are known, and at least one function ran.
    pub fn has_paths(&self) -> bool {
        !self.functions.is_empty() && self.functions.iter().all(|function| function.paths().is_some())
    }

    /// Computes what ran in this profile and not in `tests`.
    ///
    /// # Errors
    /// Returns an error if the profiles are of different modules, divide a function into different blocks, or one has
    /// no paths.
    pub fn residual(&self, tests: &Self) -> Result<Residual, ResidualError> {
        if self.module_hash != tests.module_hash {
            return Err(ResidualError::OtherModule);
        }
        // If only untested paths were counted, the profile may have no functions.
        let only_untested = self.functions.iter().all(|function| function.kind == FigureKind::Selected);
        if !tests.has_paths() || !self.has_paths() && !only_untested {
            return Err(ResidualError::NoPaths);
        }
        let mut residual = Residual::default();
        for function in &self.functions {
            residual.add(function, tests.function(function.index))?;
        }
        residual.ran = (!only_untested).then(|| self.functions.iter().map(different_paths).sum());
        let order = |path: &UntestedPath| (Reverse((path.count, path.ops)), path.function);
        residual.paths.sort_by(|a, b| order(a).cmp(&order(b)).then_with(|| a.end.cmp(&b.end)));
        Ok(residual)
    }

    /// Returns the profile of the untested paths alone: for each function that has any, the counts that follow from
    /// them.
    #[must_use]
    pub fn only(&self, residual: &Residual) -> Self {
        let functions: BTreeSet<u32> = residual.paths.iter().map(|path| path.function).collect();
        let only = |&index: &u32| self.function(index)?.only(residual);
        Self {
            program: self.program.clone(),
            module_hash: self.module_hash,
            runs: self.runs.clone(),
            code: self.code,
            functions: functions.iter().filter_map(only).collect(),
            ..Self::default()
        }
    }
}

fn different_paths(function: &FunctionProfile) -> u64 {
    let paths = function.paths();
    paths.map_or(0, |paths| (paths.finished.len() + paths.unfinished.len()) as u64)
}

impl Residual {
    /// Adds the untested paths of a function.
    fn add(&mut self, field: &FunctionProfile, tests: Option<&FunctionProfile>) -> Result<(), ResidualError> {
        let index = field.index;
        if tests.is_some_and(|tests| !tests.has_shape_of(field)) {
            return Err(ResidualError::OtherShape { index });
        }
        let untested = Comparison::new(field, tests).map_or(Vec::new(), |both| both.untested());
        if untested.is_empty() {
            return Ok(());
        }
        self.functions += 1;
        // A new edge always lies on a new path.
        if tests.is_some() && untested.iter().all(|path| path.new_edges.is_empty()) {
            self.beyond_edges += untested.len() as u64;
        }
        self.paths.extend(untested);
        Ok(())
    }
}

/// The field's and the tests' profiles of one function.
struct Comparison<'a> {
    field: &'a FunctionProfile,
    cfg: Cfg,
    numbering: PathNumbering,
    paths: &'a PathProfile,
    /// Paths and edges in the tests; none if no test called the function.
    tests: Option<(&'a PathProfile, &'a [u64])>,
}

impl<'a> Comparison<'a> {
    /// Pairs the profiles; `None` if the function has no graph or no paths, which does not occur in valid profiles
    /// with paths.
    fn new(field: &'a FunctionProfile, tests: Option<&'a FunctionProfile>) -> Option<Self> {
        let (cfg, numbering, paths) = (field.cfg().ok()?, field.path_numbering()?, field.paths()?);
        let tests = tests.and_then(|tests| Some((tests.paths()?, tests.counts.edges()?)));
        Some(Self { field, cfg, numbering, paths, tests })
    }

    fn untested(&self) -> Vec<UntestedPath> {
        let finished = self.paths.finished.iter().filter(|path| !self.is_tested(path.id));
        let finished = finished.filter_map(|&PathCount { id, count, .. }| {
            let path = self.numbering.path(id)?;
            let ops = self.ops(&path.blocks(&self.cfg));
            Some(self.untested_path(PathEnd::Finished(id), path, count, ops))
        });
        let unfinished = self.paths.unfinished.iter().filter_map(|unfinished| {
            let path = self.numbering.prefix(unfinished.exit.block, unfinished.prefix)?;
            let mut before = path.blocks_of_prefix(&self.cfg);
            before.pop();
            let ops = self.ops(&before) + u64::from(unfinished.exit.ops_executed);
            let is_tested = self.is_prefix_tested(unfinished, path.edges.len());
            let end = PathEnd::Unfinished(UnfinishedPath { metrics: Vec::new(), ..*unfinished });
            (!is_tested).then(|| self.untested_path(end, path, unfinished.exit.count, ops))
        });
        finished.chain(unfinished).collect()
    }

    fn is_tested(&self, id: u64) -> bool {
        self.tests.is_some_and(|(paths, _)| paths.finished.binary_search_by_key(&id, |path| path.id).is_ok())
    }

    /// Reports whether a test took this prefix, which has `length` edges.
    fn is_prefix_tested(&self, prefix: &UnfinishedPath, length: usize) -> bool {
        let Some((tests, _)) = self.tests else { return false };
        let ids = self.numbering.ids_from(prefix.exit.block, prefix.prefix);
        let next = tests.finished.partition_point(|path| path.id < ids.start);
        let by_path = tests.finished.get(next).is_some_and(|path| ids.contains(&path.id));
        let is_longer = |other: &UnfinishedPath| {
            let other = self.numbering.prefix(other.exit.block, other.prefix);
            other.is_some_and(|path| path.edges.len() >= length)
        };
        by_path || tests.unfinished.iter().any(|other| ids.contains(&other.prefix) && is_longer(other))
    }

    fn ops(&self, blocks: &[crate::BlockId]) -> u64 {
        blocks.iter().map(|block| u64::from(self.field.blocks[block.index()].ops)).sum()
    }

    fn untested_path(&self, end: PathEnd, path: Path, count: u64, ops: u64) -> UntestedPath {
        let crossed = |edge: &EdgeId| self.tests.is_some_and(|(_, edges)| edges[edge.index()] > 0);
        let new_edges = path.edges.iter().copied().filter(|edge| !crossed(edge)).collect();
        let function = self.field.index;
        UntestedPath { function, end, path, count, ops: ops.saturating_mul(count), new_edges }
    }
}

impl FunctionProfile {
    /// Returns the function with only those of its paths that are in `residual`. The cost of counting them is
    /// unknown.
    fn only(&self, residual: &Residual) -> Option<Self> {
        let mut paths = PathProfile { possible: self.paths()?.possible, ..PathProfile::default() };
        for path in residual.paths.iter().filter(|path| path.function == self.index) {
            match &path.end {
                &PathEnd::Finished(id) => {
                    paths.finished.push(PathCount { id, count: path.count, metrics: Vec::new() });
                }
                PathEnd::Unfinished(unfinished) => paths.unfinished.push(unfinished.clone()),
            }
        }
        Some(self.of_paths(paths))
    }

    /// Returns the function with these paths alone, and the edge counts that follow from them.
    fn of_paths(&self, mut paths: PathProfile) -> Self {
        paths.normalize();
        let counts = self.cfg().ok().and_then(|cfg| paths.edge_counts(&cfg, &PathNumbering::new(&cfg)).ok());
        let edges = counts.map_or_else(|| vec![0; self.edges.len()], |counts| counts.edges);
        Self {
            kind: FigureKind::Selected,
            exits: paths.exits(),
            cost: crate::CounterCost::default(),
            counts: FunctionCounts::Paths(edges, paths),
            ..self.clone()
        }
    }
}
