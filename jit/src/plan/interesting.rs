//! Interesting paths: those that are counted without the table of paths, or told apart and not counted.
//!
//! In a function with few paths others are counted where they cannot be told apart for nothing, and left alone where
//! they can.

use std::sync::Arc;

use wprof_profiler::{Cfg, EdgeWeights, FunctionProfile, PathNumbering, PathPlan, PreferentialPlan, Profile};

use super::Plan;
use crate::limits::MAX_DENSE_PATHS;

/// Which paths are interesting, and what becomes of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interesting {
    /// A profile of the module, all of whose paths that ran to their end are interesting; if there are very many, the
    /// most frequent ones.
    pub profile: Arc<Profile>,
    /// Whether they are counted, or only all others.
    pub counted: bool,
    /// Functions with at most so many paths have a counter for each, interesting or not: that takes less code.
    pub beyond: u64,
}

impl Interesting {
    /// The paths of a profile, which are counted as all others are.
    pub fn new(profile: Arc<Profile>) -> Interesting {
        Interesting { profile, counted: true, beyond: MAX_DENSE_PATHS }
    }

    /// The paths of a profile, which are not counted: only others are.
    pub fn uncounted(profile: Arc<Profile>) -> Interesting {
        Interesting { counted: false, ..Interesting::new(profile) }
    }

    /// The numbers of those of function `func`, most frequent first; none if the function is another in the profile.
    fn paths(&self, func: u32, shape: &Cfg) -> Vec<u64> {
        let function = self.profile.function(func).filter(|f| f.fingerprint == shape.fingerprint());
        function.map_or(Vec::new(), FunctionProfile::paths_by_count)
    }
}

/// How the paths of a function are counted, and its interesting ones told apart.
#[derive(Clone, Debug)]
pub struct PreferentialPaths {
    /// What each edge does, and the cells by which interesting paths are told.
    pub plan: PreferentialPlan,
    /// Whether interesting paths are counted.
    pub counted: bool,
}

impl PreferentialPaths {
    /// How many counters it takes: one a cell.
    pub fn counters(&self) -> u32 {
        if self.counted { self.plan.cells.len() as u32 } else { 0 }
    }
}

/// The plan of the paths of function `func`.
pub(super) fn plan_paths(
    shape: &Cfg,
    weights: &EdgeWeights,
    interesting: Option<&Interesting>,
    func: u32,
) -> Plan {
    let numbering = PathNumbering::new(shape);
    let Some(interesting) = interesting else {
        return Plan::Paths(Box::new(PathPlan::of_numbering(shape, weights, numbering)));
    };
    let paths = interesting.paths(func, shape);
    if numbering.paths() > interesting.beyond
        && let Some(plan) = PreferentialPlan::new(shape, weights, numbering.clone(), &paths)
    {
        return Plan::Preferential(Box::new(PreferentialPaths { plan, counted: interesting.counted }));
    }
    let plan = PathPlan::of_numbering(shape, weights, numbering);
    Plan::Paths(Box::new(if interesting.counted { plan } else { plan.of_others(shape, &paths) }))
}
