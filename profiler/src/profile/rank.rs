//! Ranks what distinguishes failing runs from passing ones, and orders tests by the paths that they add.
//!
//! Input: profiles with paths, one per run. Output: paths and edges by how well they predict failure; the tests in
//! the order in which each adds the most paths.
//! Invariant: a predictor is listed only if it predicts failure better than the execution of its function does, and a
//! path only if it also does so better than each of its edges.
//! Source: Vaswani 2007, section 6.2.2; Chilimbi, Liblit, Mehra, Nori & Vaswani, *HOLMES: Effective Statistical
//! Debugging via Efficient Path Profiling*, ICSE 2009, with the scores of Liblit et al., *Scalable Statistical Bug
//! Isolation*, PLDI 2005. Failure(p) is the share of failing runs among those in which p ran, Context(p) among those
//! in which its function ran; Increase is their difference; Sensitivity measures how many of the failing runs p
//! explains, on a logarithmic scale; Importance is the harmonic mean of Increase and Sensitivity. Ours: 1 is added in
//! logarithms, so that one failing run counts. Tests: the greedy cover of Chvátal, 1979. Oracle: `tests/it/rank.rs`.

use std::collections::{BTreeMap, BTreeSet};

use super::{Profile, ResidualError};
use crate::{BlockId, EdgeId, Path};

/// A predictor of failure: something that runs in some of the runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Predictor {
    /// An edge was crossed.
    Edge(EdgeId),
    /// A path finished; its number.
    Path(u64),
    /// A frame ended in this block, within a path whose prefix has this sum.
    Stopped(BlockId, u64),
}

/// A predictor with its scores.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspect {
    /// Index of the function.
    pub function: u32,
    /// The predictor.
    pub predictor: Predictor,
    /// Number of failing runs in which the predictor ran.
    pub failing: u64,
    /// Number of passing runs in which the predictor ran.
    pub passing: u64,
    /// The increase of the probability that a run fails, if the predictor ran rather than just its function.
    pub increase: f64,
    /// Harmonic mean of the increase and the sensitivity, from 0 to 1.
    pub importance: f64,
}

/// The paths that a test adds to the tests before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestGain {
    /// Position of the test in the input.
    pub test: usize,
    /// Number of paths that the test covers.
    pub paths: u64,
    /// Number of these paths that no earlier test covers.
    pub new: u64,
}

/// Numbers of failing and passing runs in which a predictor ran.
#[derive(Clone, Copy, Default)]
struct Runs {
    failing: u64,
    passing: u64,
}

impl Runs {
    fn add(&mut self, fails: bool) {
        match fails {
            true => self.failing += 1,
            false => self.passing += 1,
        }
    }

    fn share_of_failing(self) -> f64 {
        self.failing as f64 / (self.failing + self.passing) as f64
    }
}

/// Ranks the predictors of failure, best first.
///
/// # Errors
/// Returns an error if the profiles are of different modules, divide a function into different blocks, or have no
/// paths.
pub fn suspects(failing: &[Profile], passing: &[Profile]) -> Result<Vec<Suspect>, ResidualError> {
    check(&failing.iter().chain(passing).collect::<Vec<_>>())?;
    let mut functions: BTreeMap<u32, Runs> = BTreeMap::new();
    let mut predictors: BTreeMap<(u32, Predictor), Runs> = BTreeMap::new();
    for (fails, profile) in
        failing.iter().map(|run| (true, run)).chain(passing.iter().map(|run| (false, run)))
    {
        profile.functions.iter().for_each(|ran| functions.entry(ran.index).or_default().add(fails));
        predictors_of(profile).into_iter().for_each(|ran| predictors.entry(ran).or_default().add(fails));
    }
    let all = failing.len() as f64;
    let suspect = |(&(function, ref predictor), &runs): (&(u32, Predictor), &Runs)| {
        let increase = runs.share_of_failing() - functions.get(&function)?.share_of_failing();
        let sensitivity = (1.0 + runs.failing as f64).ln() / (1.0 + all).ln();
        let importance = 2.0 / (1.0 / increase + 1.0 / sensitivity);
        let Runs { failing, passing } = runs;
        let predictor = predictor.clone();
        (increase > 0.0).then_some(Suspect { function, predictor, failing, passing, increase, importance })
    };
    let all: Vec<Suspect> = predictors.iter().filter_map(suspect).collect();
    let best: BTreeMap<(u32, EdgeId), f64> = all.iter().filter_map(of_edge).collect();
    let profiles: Vec<&Profile> = failing.iter().chain(passing).collect();
    let tells_more = |suspect: &Suspect| {
        let edges = edges_of(&profiles, suspect).unwrap_or_default();
        edges
            .iter()
            .all(|&edge| best.get(&(suspect.function, edge)).is_none_or(|&edge| edge < suspect.importance))
    };
    let mut found: Vec<Suspect> =
        all.iter().filter(|suspect| of_edge(suspect).is_some() || tells_more(suspect)).cloned().collect();
    found.sort_by(|a, b| {
        let by_place = || (a.function, &a.predictor).cmp(&(b.function, &b.predictor));
        b.importance.total_cmp(&a.importance).then_with(by_place)
    });
    Ok(found)
}

/// Orders the tests greedily, each adding as many paths as any other could. Tests that add none come last, in the
/// order given; those before are a small set that covers all paths.
///
/// # Errors
/// Returns the errors of [`suspects`].
pub fn order_tests(tests: &[Profile]) -> Result<Vec<TestGain>, ResidualError> {
    check(&tests.iter().collect::<Vec<_>>())?;
    let is_path = |predictor: &(u32, Predictor)| !matches!(predictor.1, Predictor::Edge(_));
    let paths_of = |test: &Profile| predictors_of(test).into_iter().filter(is_path).collect();
    let mut left: Vec<BTreeSet<(u32, Predictor)>> = tests.iter().map(paths_of).collect();
    let paths: Vec<u64> = left.iter().map(|paths| paths.len() as u64).collect();
    let (mut waiting, mut order): (Vec<usize>, Vec<TestGain>) = ((0..tests.len()).collect(), Vec::new());
    while !waiting.is_empty() {
        let most = (0..waiting.len()).max_by_key(|&at| (left[waiting[at]].len(), std::cmp::Reverse(at)));
        let test = waiting.remove(most.unwrap_or(0));
        let new = std::mem::take(&mut left[test]);
        order.push(TestGain { test, paths: paths[test], new: new.len() as u64 });
        if !new.is_empty() {
            waiting.iter().for_each(|&other| left[other].retain(|path| !new.contains(path)));
        }
    }
    Ok(order)
}

fn of_edge(suspect: &Suspect) -> Option<((u32, EdgeId), f64)> {
    match suspect.predictor {
        Predictor::Edge(edge) => Some(((suspect.function, edge), suspect.importance)),
        _ => None,
    }
}

/// Returns the edges of a suspect's path.
fn edges_of(profiles: &[&Profile], suspect: &Suspect) -> Option<Vec<EdgeId>> {
    let function = profiles.iter().find_map(|profile| profile.function(suspect.function))?;
    Some(suspect.predictor.path(&function.path_numbering()?)?.edges)
}

impl Predictor {
    /// Returns the path, or the prefix of one, unless the predictor is an edge.
    pub fn path(&self, numbering: &crate::PathNumbering) -> Option<Path> {
        match *self {
            Predictor::Edge(_) => None,
            Predictor::Path(id) => numbering.path(id),
            Predictor::Stopped(block, prefix) => numbering.prefix(block, prefix),
        }
    }
}

/// Returns the distinct predictors that ran in a profile.
fn predictors_of(profile: &Profile) -> BTreeSet<(u32, Predictor)> {
    let mut ran = BTreeSet::new();
    for function in &profile.functions {
        let edges = function.counted_edges().zip(0..).filter(|((_, count), _)| *count > 0);
        ran.extend(edges.map(|(_, edge)| (function.index, Predictor::Edge(EdgeId(edge)))));
        let paths = function.paths().into_iter();
        let finished = paths.clone().flat_map(|paths| &paths.finished);
        ran.extend(finished.map(|path| (function.index, Predictor::Path(path.id))));
        let stopped = paths.flat_map(|paths| &paths.unfinished);
        ran.extend(stopped.map(|path| (function.index, Predictor::Stopped(path.exit.block, path.prefix))));
    }
    ran
}

fn check(profiles: &[&Profile]) -> Result<(), ResidualError> {
    let mut shapes = BTreeMap::new();
    for profile in profiles {
        if profile.module_hash != profiles[0].module_hash {
            return Err(ResidualError::OtherModule);
        }
        if !profile.has_paths() {
            return Err(ResidualError::NoPaths);
        }
        for function in &profile.functions {
            if *shapes.entry(function.index).or_insert(function.fingerprint) != function.fingerprint {
                return Err(ResidualError::OtherShape { index: function.index });
            }
        }
    }
    Ok(())
}
