//! Interesting paths: counted without the table of paths, or only recognised.
//!
//! In a function with few paths, other paths are counted as well if they cannot be told apart for free, and ignored
//! otherwise.

use std::sync::Arc;

use wprof_profiler::{Cfg, EdgeWeights, FunctionProfile, PathNumbering, PathPlan, PreferentialPlan, Profile};

use super::Plan;
use crate::limits::MAX_DENSE_PATHS;

/// The interesting paths, and how they are treated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interesting {
    /// A profile of the module. All of its completed paths are interesting; if there are very many, the most frequent
    /// ones.
    pub profile: Arc<Profile>,
    /// Whether interesting paths are counted, or only all others.
    pub counted: bool,
    /// Functions with at most this many paths have a counter for each, interesting or not: that takes less code.
    pub beyond: u64,
}

impl Interesting {
    /// Makes the paths of a profile interesting, and counts them like all others.
    pub fn new(profile: Arc<Profile>) -> Interesting {
        Interesting { profile, counted: true, beyond: MAX_DENSE_PATHS }
    }

    /// Makes the paths of a profile interesting, and counts only the others.
    pub fn uncounted(profile: Arc<Profile>) -> Interesting {
        Interesting { counted: false, ..Interesting::new(profile) }
    }

    /// Returns the numbers of the interesting paths of function `func`, most frequent first; none if the profile's
    /// function differs.
    fn paths(&self, func: u32, shape: &Cfg) -> Vec<u64> {
        let function = self.profile.function(func).filter(|f| f.fingerprint == shape.fingerprint());
        function.map_or(Vec::new(), FunctionProfile::paths_by_count)
    }
}

/// The counting of a function's paths, with interesting ones distinguished.
#[derive(Clone, Debug)]
pub struct PreferentialPaths {
    /// The effects of the edges, and the cells that identify interesting paths.
    pub plan: PreferentialPlan,
    /// Whether interesting paths are counted.
    pub counted: bool,
}

impl PreferentialPaths {
    /// Returns the number of counters: one per cell.
    pub fn counters(&self) -> u32 {
        if self.counted { self.plan.cells.len() as u32 } else { 0 }
    }
}

/// Plans the paths of function `func`.
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
