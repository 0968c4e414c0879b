//! What no test ran, against logged walks: those of the field that are on no path of the tests.

use std::collections::{HashMap, HashSet};

use wprof_profiler::{
    Cfg, EdgeId, FigureKind, MergeError, Path, PathEnd, PathNumbering, Profile, ResidualError, UntestedPath,
};

use crate::path_plan::{Walk, split};
use crate::path_profile::{for_random_profiles, profile_of};

/// Everything that the tests took: whole paths, and the beginnings of all paths.
struct Tested {
    finished: HashSet<Path>,
    begun: HashSet<Path>,
    edges: HashSet<EdgeId>,
}

impl Tested {
    fn new(cfg: &Cfg, walks: &[Walk]) -> Self {
        let numbering = PathNumbering::new(cfg);
        let (mut finished, mut begun) = (HashSet::new(), HashSet::new());
        for walk in walks {
            let (whole, rest) = split(cfg, walk, |edge| numbering.ends_path(edge));
            for path in whole.iter().chain(&rest) {
                let beginning = |length| Path { start: path.start, edges: path.edges[..length].to_vec() };
                begun.extend((0..=path.edges.len()).map(beginning));
            }
            finished.extend(whole);
        }
        let edges = walks.iter().flat_map(|walk| walk.edges.iter().copied()).collect();
        Self { finished, begun, edges }
    }
}

/// What the log says, by path: how often it ran to its end, or stopped.
fn expected(cfg: &Cfg, field: &[Walk], tested: &Tested) -> HashMap<(Path, bool), u64> {
    let numbering = PathNumbering::new(cfg);
    let mut ways: HashMap<(Path, bool), u64> = HashMap::new();
    for walk in field {
        let (finished, stopped) = split(cfg, walk, |edge| numbering.ends_path(edge));
        let new = finished.into_iter().filter(|path| !tested.finished.contains(path));
        let stopped = stopped.into_iter().filter(|path| !tested.begun.contains(path));
        for way in new.map(|path| (path, true)).chain(stopped.map(|path| (path, false))) {
            *ways.entry(way).or_default() += 1;
        }
    }
    ways
}

fn is_finished(path: &UntestedPath) -> bool {
    matches!(path.end, PathEnd::Finished(_))
}

#[test]
fn untested_paths_are_those_that_the_log_of_the_tests_does_not_have() {
    for_random_profiles(|cfg, [field, tests], [ran, suite]| {
        let tested = Tested::new(cfg, tests);
        let residual = ran.residual(&suite).unwrap();
        let found: HashMap<_, _> =
            residual.paths.iter().map(|path| ((path.path.clone(), is_finished(path)), path.count)).collect();
        assert_eq!(found, expected(cfg, field, &tested), "{cfg:?}");
        assert!(residual.paths.is_sorted_by(|a, b| a.count >= b.count));
        for path in &residual.paths {
            let new = path.path.edges.iter().filter(|edge| !tested.edges.contains(edge));
            assert!(new.eq(&path.new_edges));
        }
        let has_new = field.iter().flat_map(|walk| &walk.edges).any(|edge| !tested.edges.contains(edge));
        let beyond = if has_new { 0 } else { residual.paths.len() as u64 };
        assert_eq!(residual.beyond_edges, beyond);
        assert_eq!(residual.functions, u64::from(!residual.paths.is_empty()));
    });
}

#[test]
fn the_profile_of_untested_paths_alone_says_the_same() {
    for_random_profiles(|_, _, [ran, suite]| {
        let residual = ran.residual(&suite).unwrap();
        let only = ran.only(&residual);
        only.verify().unwrap();
        assert!(only.functions.iter().all(|function| function.kind == FigureKind::Selected));
        let read = Profile::from_bytes(&only.to_bytes().unwrap()).unwrap();
        assert_eq!(read, only);
        let again = read.residual(&suite).unwrap();
        assert_eq!((again.paths, again.beyond_edges), (residual.paths, residual.beyond_edges));
        assert_eq!(again.ran, None, "how many ran in all is not known of it");
    });
}

#[test]
fn what_tests_ran_is_tested_and_what_a_function_ran_that_none_called_is_not() {
    for_random_profiles(|_, _, [ran, suite]| {
        assert_eq!(ran.residual(&ran).unwrap().paths, []);
        let mut elsewhere = suite.clone();
        elsewhere.functions[0].index = 5;
        let residual = ran.residual(&elsewhere).unwrap();
        let paths = ran.functions[0].paths().unwrap();
        assert_eq!(residual.ran, Some(residual.paths.len() as u64));
        assert_eq!(residual.paths.len(), paths.finished.len() + paths.unfinished.len());
        assert_eq!(residual.beyond_edges, 0, "the call itself is new");
        assert!(residual.paths.iter().all(|path| path.new_edges == path.path.edges));
    });
}

#[test]
fn profiles_that_do_not_fit_are_refused() {
    let cfg = Cfg::from_pairs(2, &[(0, 1), (0, 2), (1, 2)]).unwrap();
    let walk = Walk { edges: vec![EdgeId(1)], stopped: None };
    let profile = profile_of(&cfg, &[walk]);
    let refused = |change: fn(&mut Profile)| {
        let mut tests = profile.clone();
        change(&mut tests);
        profile.residual(&tests).unwrap_err()
    };
    assert_eq!(refused(|tests| tests.module_hash[0] = 1), ResidualError::OtherModule);
    assert_eq!(refused(|tests| tests.functions[0].fingerprint = 1), ResidualError::OtherShape { index: 4 });
    assert_eq!(refused(|tests| tests.functions[0].counts.forget_paths()), ResidualError::NoPaths);
    let mut without = profile.clone();
    without.functions[0].counts.forget_paths();
    assert_eq!(without.residual(&profile), Err(ResidualError::NoPaths));
    let selected = profile.only(&profile.residual(&empty(&profile)).unwrap());
    let mut wrong = selected.clone();
    wrong.functions[0].counts.forget_paths();
    assert!(wrong.verify().is_err() && selected.verify().is_ok());
    let mut sum = selected.clone();
    assert_eq!(sum.merge(&profile), Ok::<(), MergeError>(()));
    assert_eq!(sum.functions[0].kind, FigureKind::Derived);
}

/// Tests that called another function only.
fn empty(profile: &Profile) -> Profile {
    let mut tests = profile.clone();
    tests.functions[0].index += 1;
    tests
}

/// Two diamonds: the tests take 0 1 3 4 6 and 0 2 3 5 6, so that all edges are tested, and the field another
/// combination.
#[test]
fn a_new_combination_of_tested_edges_is_found() {
    let edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5), (4, 6), (5, 6), (6, 7)];
    let cfg = Cfg::from_pairs(7, &edges).unwrap();
    let walk = |edges: [u32; 5]| Walk { edges: edges.map(EdgeId).to_vec(), stopped: None };
    let tests = profile_of(&cfg, &[walk([0, 2, 4, 6, 8]), walk([1, 3, 5, 7, 8])]);
    let field = profile_of(&cfg, &[walk([0, 2, 5, 7, 8]), walk([0, 2, 4, 6, 8])]);
    let residual = field.residual(&tests).unwrap();
    assert_eq!((residual.paths.len(), residual.ran, residual.beyond_edges), (1, Some(2), 1));
    assert_eq!(residual.paths[0].new_edges, []);
    let blocks: Vec<u32> = residual.paths[0].path.blocks(&cfg).iter().map(|block| block.0).collect();
    assert_eq!(blocks, [0, 1, 3, 5, 6]);
}
