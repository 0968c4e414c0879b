//! Profiles that no run produces: with any profile, the code must behave as the module says.

use wprof::Module;
use wprof_profiler::{
    CallTarget, Callee, FigureKind, FunctionCounts, FunctionProfile, PathCount, PathNumbering, PathProfile,
    Profile,
};

use crate::rng::Rng;

/// Number of different paths of a function that the profile claims have run.
const PATHS: usize = 12;

/// Returns a profile of `module` from the random numbers of `seed`: edge counts that do not add up, paths that may be
/// impossible, and callees of any type at every call.
pub fn profile(module: &Module, seed: u64) -> Profile {
    let rng = &mut Rng::new(seed);
    let info = module.info();
    let (mut functions, mut call_targets) = (Vec::new(), Vec::new());
    for index in info.imported_funcs..info.imported_funcs + info.defined_funcs() {
        let Ok(mut function) = module.idle_function(index) else { continue };
        for site in function.code.start..function.code.end {
            let callee = Callee::Function { index: rng.below(info.funcs.len()) as u32, name: None };
            let (caller, count) = (index, 1 + rng.below(100) as u64);
            call_targets.push(CallTarget { caller, site, callee, count, kind: FigureKind::Exact });
        }
        let edges = function.edges.iter().map(|_| rng.below(1000) as u64).collect();
        function.counts = match rng.chance(80).then(|| paths(&function, rng)).flatten() {
            Some(paths) => FunctionCounts::Paths(edges, paths),
            None => FunctionCounts::Edges(edges),
        };
        functions.push(function);
    }
    Profile { module_hash: module.hash(), functions, call_targets, ..Profile::default() }
}

fn paths(function: &FunctionProfile, rng: &mut Rng) -> Option<PathProfile> {
    let possible = PathNumbering::new(&function.cfg().ok()?).paths();
    let mut ids: Vec<u64> = (0..PATHS).map(|_| rng.word() % possible.max(1)).collect();
    ids.sort_unstable();
    ids.dedup();
    let path = |id| PathCount { id, count: 1 + rng.below(500) as u64, metrics: Vec::new() };
    Some(PathProfile { possible, finished: ids.into_iter().map(path).collect(), unfinished: Vec::new() })
}
