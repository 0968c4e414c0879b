//! What ran that no test ran.
//!
//! Input: a profile with paths, that of the *field*, and that of the tests, several of them merged. Output: the paths
//! of the field that no test took, most frequent first, and the edges that make them new; or the profile of these
//! alone.
//! Invariant: a path that ran to its end is tested if one with its number is among those of the tests. A path that
//! did not is tested if a test went that way as far, whatever it did then: what is new is the way, not that it ended.
//! Edges are tested if they were crossed, by unfinished paths too.
//! Source: Vaswani 2007, section 3.5.1; Pavlopoulou & Young, *Residual Test Coverage Monitoring*, ICSE 1999.
//! Oracle: logged walks, in `tests/it/residual.rs`.
//!
//! **Prefixes.** The ways on from a block v have the sums 0..N(v), so the paths that begin with a prefix of sum s
//! that ends in v have the numbers s..s + N(v), and nobody else has one of these. So a prefix is tested if a path
//! with such a number is, or a longer prefix with such a sum.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::{FunctionProfile, PathProfile, Profile};
use crate::{Cfg, EdgeId, EdgeProfile, FigureKind, Path, PathCount, PathNumbering, UnfinishedPath};

/// Why the residual of two profiles cannot be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResidualError {
    /// They are of different modules.
    #[error("the tests ran another module, or another build of it: give profiles of one build")]
    OtherModule,
    /// They are of one module but divide a function differently.
    #[error(
        "the tests divide function {index} into blocks differently: take all profiles with the same version of wprof"
    )]
    OtherShape {
        /// Index of the function.
        index: u32,
    },
    /// One of them does not know paths.
    #[error("it says nothing about paths: take it with `wprof run --collect paths`")]
    NoPaths,
}

/// How a path ran.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathEnd {
    /// To its end: its number.
    Finished(u64),
    /// Until a frame ended in its middle.
    Unfinished(UnfinishedPath),
}

/// A path that ran, and that no test took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntestedPath {
    /// Index of the function in the module.
    pub function: u32,
    /// How it ran.
    pub end: PathEnd,
    /// Its edges; the beginning of a path if it did not run to its end.
    pub path: Path,
    /// How often it ran.
    pub count: u64,
    /// Instructions that it executed then; saturates.
    pub ops: u64,
    /// The edges of it that no test crossed, in order. If there are none, only the combination is new.
    pub new_edges: Vec<EdgeId>,
}

/// What ran that no test ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Residual {
    /// The untested paths, most frequent first, and of equals those with more instructions.
    pub paths: Vec<UntestedPath>,
    /// How many different paths ran in the field, tested or not; none if only untested ones were counted.
    pub ran: Option<u64>,
    /// Untested paths in functions that have no untested edge: what the coverage of edges would miss.
    pub beyond_edges: u64,
    /// Functions that have untested paths.
    pub functions: u64,
}

impl Profile {
    /// Whether the paths of all functions that ran are known, and any did.
    pub fn has_paths(&self) -> bool {
        !self.functions.is_empty() && self.functions.iter().all(|function| function.paths.is_some())
    }

    /// What ran here and not in `tests`.
    ///
    /// # Errors
    /// If they are of different modules, divide a function differently, or one does not know paths.
    pub fn residual(&self, tests: &Self) -> Result<Residual, ResidualError> {
        if self.module_hash != tests.module_hash {
            return Err(ResidualError::OtherModule);
        }
        // Where only untested paths were counted, there may be none.
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

    /// The profile of the untested paths alone: of each function that has any the counts that follow from them.
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
    let paths = function.paths.as_ref();
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
        // An edge that is new is on a path that is.
        if tests.is_some() && untested.iter().all(|path| path.new_edges.is_empty()) {
            self.beyond_edges += untested.len() as u64;
        }
        self.paths.extend(untested);
        Ok(())
    }
}

/// A function in the field and in the tests.
struct Comparison<'a> {
    field: &'a FunctionProfile,
    cfg: Cfg,
    numbering: PathNumbering,
    paths: &'a PathProfile,
    /// None if no test called it.
    tests: Option<(&'a PathProfile, &'a [EdgeProfile])>,
}

impl<'a> Comparison<'a> {
    /// `None` if the function has no graph, or no paths, which valid profiles with paths do not have.
    fn new(field: &'a FunctionProfile, tests: Option<&'a FunctionProfile>) -> Option<Self> {
        let (cfg, numbering, paths) = (field.cfg().ok()?, field.path_numbering()?, field.paths.as_ref()?);
        let tests = tests.and_then(|tests| Some((tests.paths.as_ref()?, &*tests.edges)));
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

    /// Whether a test took this beginning of a path, of so many edges.
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
        let crossed = |edge: &EdgeId| self.tests.is_some_and(|(_, edges)| edges[edge.index()].count > 0);
        let new_edges = path.edges.iter().copied().filter(|edge| !crossed(edge)).collect();
        let function = self.field.index;
        UntestedPath { function, end, path, count, ops: ops.saturating_mul(count), new_edges }
    }
}

impl FunctionProfile {
    /// The function with those of its paths only that are in `residual`. What counting them cost is not known.
    fn only(&self, residual: &Residual) -> Option<Self> {
        let mut paths = PathProfile { possible: self.paths.as_ref()?.possible, ..PathProfile::default() };
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

    /// The function with these paths alone, and the counts of edges that follow.
    fn of_paths(&self, mut paths: PathProfile) -> Self {
        paths.normalize();
        let counts = self.cfg().ok().and_then(|cfg| paths.edge_counts(&cfg, &PathNumbering::new(&cfg)).ok());
        let mut function = Self { kind: FigureKind::Selected, exits: paths.exits(), ..self.clone() };
        function.cost = crate::CounterCost::default();
        for (edge, count) in function.edges.iter_mut().zip(counts.into_iter().flat_map(|counts| counts.edges))
        {
            edge.count = count;
        }
        function.paths = Some(paths);
        function
    }
}
