//! Hot, dense and sparse paths and functions, against the definitions.

use wprof_profiler::{Density, Group, Metric, MetricView, Profile};

use crate::path_profile::measured_profile;

/// Four ways through two branches, which ran 96, 2, 1 and 1 times, with so much of a metric each.
fn profile(amounts: [u64; 4]) -> Profile {
    measured_profile(
        &[[0, 2, 4, 6].as_slice(); 96]
            .into_iter()
            .chain([[0, 2, 5, 7].as_slice(); 2])
            .chain([[1, 3, 4, 6].as_slice(), &[1, 3, 5, 7]])
            .collect::<Vec<_>>(),
        amounts,
    )
}

#[test]
fn dense_is_more_than_average_for_each_instruction() {
    let profile = profile([960, 40, 0, 0]);
    assert_eq!(profile.metrics, [Metric { name: "m".into(), taken_off: 0 }]);
    let view = MetricView::new(&profile, 0, 0.01);
    assert_eq!(view.amount(), 1000);
    let paths: Vec<u64> = view.paths().iter().map(|(_, amount)| *amount).collect();
    assert_eq!(paths, [960, 40, 0, 0]);
    let spread = view.over_paths();
    // The average is 10 for each time; the blocks of all paths have as many instructions.
    assert_eq!((spread.dense.members, spread.dense.amount), (1, 40));
    assert_eq!((spread.sparse.members, spread.sparse.amount), (1, 960));
    assert_eq!((spread.cold.members, spread.cold.amount), (2, 0));
    let all = [spread.dense, spread.sparse, spread.cold];
    assert_eq!(all.iter().map(|group| group.ops).sum::<u64>(), profile.ops());
    let functions = view.over_functions();
    let only = Group { members: 1, paths: 4, ops: profile.ops(), amount: 1000 };
    assert_eq!((functions.sparse, functions.dense.members, functions.cold.members), (only, 0, 0));
}

#[test]
fn blocks_have_what_was_measured_on_the_paths_through_them() {
    let profile = profile([960, 40, 7, 3]);
    let through = profile.functions[0].metrics_through().expect("paths were counted");
    assert_eq!(through, [[1010, 1000, 10, 1010, 967, 43, 1010]]);
}

#[test]
fn hot_begins_at_the_share() {
    let profile = profile([900, 50, 49, 1]);
    let hot = |share| {
        let view = MetricView::new(&profile, 0, share);
        view.paths().iter().filter(|(path, amount)| view.density(*amount, path.ops) != Density::Cold).count()
    };
    assert_eq!([0.9, 0.05, 0.049, 0.001, 0.0].map(hot), [1, 2, 3, 4, 4]);
}

#[test]
fn nothing_is_never_hot() {
    let profile = profile([0; 4]);
    assert_eq!(MetricView::new(&profile, 0, 0.0).over_paths().cold.members, 4);
}
