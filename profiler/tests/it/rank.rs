//! What predicts failure, against counting in logged walks; and the order of tests, against trying all.

use std::collections::{HashMap, HashSet};

use wprof_profiler::{
    Cfg, EdgeId, Path, PathNumbering, Predictor, Profile, ResidualError, order_tests, suspects,
};

use crate::path_plan::{Walk, split};
use crate::path_profile::profile_of;
use crate::rng::Rng;

/// Two diamonds in a row: 0 to 1 or 2 to 3 to 4 or 5 to 6.
fn diamonds() -> Cfg {
    let edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5), (4, 6), (5, 6), (6, 7)];
    Cfg::from_pairs(7, &edges).unwrap()
}

fn walk(left: bool, again: bool) -> Walk {
    let first: [u32; 2] = if left { [0, 2] } else { [1, 3] };
    let second: [u32; 2] = if again { [4, 6] } else { [5, 7] };
    Walk { edges: first.into_iter().chain(second).chain([8]).map(EdgeId).collect(), stopped: None }
}

fn profiles(cfg: &Cfg, runs: &[Vec<Walk>]) -> Vec<Profile> {
    runs.iter().map(|walks| profile_of(cfg, walks)).collect()
}

#[test]
fn a_combination_that_fails_is_a_path_that_tells_more_than_its_edges() {
    let cfg = diamonds();
    let failing = profiles(&cfg, &[vec![walk(true, true)], vec![walk(true, true), walk(false, false)]]);
    let passing = profiles(
        &cfg,
        &[
            vec![walk(true, false)],
            vec![walk(false, true), walk(true, false)],
            vec![walk(false, false), walk(false, true)],
        ],
    );
    let found = suspects(&failing, &passing).unwrap();
    let id = |walk: &Walk| {
        let numbering = PathNumbering::new(&cfg);
        (0..numbering.paths())
            .find(|&id| numbering.path(id).is_some_and(|path| path.edges == walk.edges))
            .unwrap()
    };
    let first = &found[0];
    assert_eq!(first.predictor, Predictor::Path(id(&walk(true, true))), "{found:?}");
    assert_eq!((first.failing, first.passing, first.increase), (2, 0, 1.0 - 2.0 / 5.0));
    assert_eq!(first.importance, 2.0 / (1.0 / 0.6 + 1.0));
}

#[test]
fn a_branch_that_fails_is_an_edge_and_no_path() {
    let cfg = diamonds();
    let failing = profiles(&cfg, &[vec![walk(true, true)], vec![walk(true, false)]]);
    let passing = profiles(&cfg, &[vec![walk(false, true)], vec![walk(false, false)]]);
    let found = suspects(&failing, &passing).unwrap();
    let edges: Vec<_> = found.iter().map(|suspect| suspect.predictor.clone()).collect();
    assert_eq!(edges, [Predictor::Edge(EdgeId(0)), Predictor::Edge(EdgeId(2))]);
}

/// All that a run took.
fn ran(cfg: &Cfg, walks: &[Walk]) -> (HashSet<EdgeId>, HashSet<Path>) {
    let numbering = PathNumbering::new(cfg);
    let paths = walks.iter().flat_map(|walk| split(cfg, walk, |edge| numbering.ends_path(edge)).0);
    (walks.iter().flat_map(|walk| walk.edges.iter().copied()).collect(), paths.collect())
}

fn random_runs(rng: &mut Rng) -> Vec<Vec<Walk>> {
    let runs = 1 + rng.below(5);
    (0..runs).map(|_| (0..1 + rng.below(3)).map(|_| walk(rng.once_in(2), rng.once_in(2))).collect()).collect()
}

#[test]
fn scores_are_those_of_the_log() {
    let cfg = diamonds();
    let numbering = PathNumbering::new(&cfg);
    let mut paths_listed = 0;
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let [failing, passing] = [(); 2].map(|()| random_runs(&mut rng));
        let counted = |runs: &[Vec<Walk>]| {
            let (mut edges, mut paths) = (HashMap::new(), HashMap::new());
            for walks in runs {
                let ran = ran(&cfg, walks);
                ran.0.into_iter().for_each(|edge| *edges.entry(edge).or_insert(0_u64) += 1);
                ran.1.into_iter().for_each(|path| *paths.entry(path).or_insert(0_u64) += 1);
            }
            (edges, paths)
        };
        let (bad, good) = (counted(&failing), counted(&passing));
        let context = failing.len() as f64 / (failing.len() + passing.len()) as f64;
        let importance = |failing_in: u64, passing_in: u64| {
            let increase = failing_in as f64 / (failing_in + passing_in) as f64 - context;
            let sensitivity = (1.0 + failing_in as f64).ln() / (1.0 + failing.len() as f64).ln();
            if increase > 0.0 { 2.0 / (1.0 / increase + 1.0 / sensitivity) } else { 0.0 }
        };
        let of_edge =
            |edge: &EdgeId| importance(*bad.0.get(edge).unwrap_or(&0), *good.0.get(edge).unwrap_or(&0));
        let mut expected: HashMap<Predictor, f64> = HashMap::new();
        for edge in bad.0.keys().filter(|edge| of_edge(edge) > 0.0) {
            expected.insert(Predictor::Edge(*edge), of_edge(edge));
        }
        for (path, &count) in &bad.1 {
            let score = importance(count, *good.1.get(path).unwrap_or(&0));
            if score > 0.0 && path.edges.iter().all(|edge| of_edge(edge) < score) {
                let id =
                    (0..numbering.paths()).find(|&id| numbering.path(id).as_ref() == Some(path)).unwrap();
                expected.insert(Predictor::Path(id), score);
                paths_listed += 1;
            }
        }
        let found = suspects(&profiles(&cfg, &failing), &profiles(&cfg, &passing)).unwrap();
        assert!(found.is_sorted_by(|a, b| a.importance >= b.importance));
        let found: HashMap<_, _> =
            found.into_iter().map(|suspect| (suspect.predictor, suspect.importance)).collect();
        assert_eq!(found, expected, "seed {seed}");
    }
    assert!(paths_listed > 20, "{paths_listed}");
}

#[test]
fn each_test_adds_the_most_that_any_could() {
    let cfg = diamonds();
    for seed in 0..200 {
        let tests = random_runs(&mut Rng::new(seed));
        let order = order_tests(&profiles(&cfg, &tests)).unwrap();
        let mut covered = HashSet::new();
        let mut waiting: Vec<usize> = (0..tests.len()).collect();
        for gain in &order {
            let new = |test: usize| ran(&cfg, &tests[test]).1.difference(&covered).count() as u64;
            let most = waiting.iter().map(|&test| new(test)).max().unwrap();
            assert_eq!((gain.new, new(gain.test)), (most, most), "seed {seed}");
            assert_eq!(gain.paths, ran(&cfg, &tests[gain.test]).1.len() as u64);
            covered.extend(ran(&cfg, &tests[gain.test]).1);
            waiting.retain(|&test| test != gain.test);
        }
        assert!(waiting.is_empty());
    }
}

#[test]
fn profiles_that_do_not_fit_are_refused() {
    let cfg = diamonds();
    let one = profiles(&cfg, &[vec![walk(true, true)]]);
    let changed = |change: fn(&mut Profile)| {
        let mut other = one.clone();
        change(&mut other[0]);
        suspects(&one, &other).unwrap_err()
    };
    assert_eq!(changed(|other| other.module_hash[0] ^= 1), ResidualError::OtherModule);
    assert_eq!(changed(|other| other.functions[0].fingerprint ^= 1), ResidualError::OtherShape { index: 4 });
    assert_eq!(changed(|other| other.functions[0].counts.forget_paths()), ResidualError::NoPaths);
    assert_eq!(suspects(&one, &one).unwrap(), []);
}
