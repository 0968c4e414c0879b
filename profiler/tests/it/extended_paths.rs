//! Extended paths against the definition, on logs of runs.

use std::collections::BTreeMap;

use wprof_profiler::{ExtendedPaths, Extension, PathOf};

use crate::rng::Rng;

/// A call: the paths of its function in order, each with the calls made along it.
struct Call {
    func: u32,
    paths: Vec<(u64, Vec<Call>)>,
}

fn call(rng: &mut Rng, depth: u32) -> Call {
    let paths = (0..1 + rng.below(3) * rng.below(2)).map(|_| {
        let calls = if depth == 0 { 0 } else { rng.below(3) };
        (rng.below(3) as u64, (0..calls).map(|_| call(rng, depth - 1)).collect())
    });
    Call { func: depth, paths: paths.collect() }
}

fn replay(call: &Call, found: &mut ExtendedPaths) {
    found.enter(call.func);
    for (at, (id, calls)) in call.paths.iter().enumerate() {
        calls.iter().for_each(|call| replay(call, found));
        found.end((call.func, *id), at + 1 == call.paths.len());
    }
}

type Counts = BTreeMap<Vec<PathOf>, u64>;

fn over_back_edges(call: &Call, most: usize, counts: &mut Counts) {
    let ids: Vec<PathOf> = call.paths.iter().map(|(id, _)| (call.func, *id)).collect();
    for paths in ids.chunks(most + 1) {
        *counts.entry(paths.to_vec()).or_default() += 1;
    }
    let calls = call.paths.iter().flat_map(|(_, calls)| calls);
    calls.for_each(|call| over_back_edges(call, most, counts));
}

/// What a call is to the path that makes it, and how deep that is; `None` if it is counted by itself.
fn into_calls(call: &Call, most: u32, is_called: bool, counts: &mut Counts) -> Option<(Vec<PathOf>, u32)> {
    let mut last = None;
    for (id, calls) in &call.paths {
        let (mut paths, mut depth) = (Vec::new(), 0);
        for (below, deep) in calls.iter().filter_map(|call| into_calls(call, most, true, counts)) {
            paths.extend(below);
            depth = depth.max(deep + 1);
        }
        paths.push((call.func, *id));
        if call.paths.len() == 1 && is_called && depth < most {
            last = Some((paths, depth));
        } else {
            *counts.entry(paths).or_default() += 1;
        }
    }
    last
}

#[test]
fn extended_paths_are_those_of_the_definition() {
    let mut rng = Rng::new(11);
    for round in 0..300 {
        let program = call(&mut rng, 4);
        for most in 0..4 {
            let counted = |extension, expected: Counts| {
                let mut found = ExtendedPaths::new(extension);
                replay(&program, &mut found);
                let counts = found.counts();
                assert!(counts.is_sorted_by(|a, b| a.1 >= b.1));
                let counts: Counts =
                    counts.into_iter().map(|(paths, count)| (paths.to_vec(), count)).collect();
                assert_eq!(counts, expected, "{round} {extension:?}");
            };
            let mut expected = Counts::new();
            over_back_edges(&program, most as usize, &mut expected);
            counted(Extension::BackEdges(most), expected);
            let mut expected = Counts::new();
            assert!(into_calls(&program, most, false, &mut expected).is_none());
            counted(Extension::Calls(most), expected);
        }
    }
}

#[test]
fn in_bounded_memory_counts_are_the_same_while_there_is_room() {
    let (mut rng, mut most) = (Rng::new(5), 0);
    for _ in 0..100 {
        let program = call(&mut rng, 3);
        for extension in [Extension::BackEdges(1), Extension::Calls(2)] {
            let (mut all, mut hot) = (ExtendedPaths::new(extension), ExtendedPaths::bounded(extension, 4096));
            [&mut all, &mut hot].into_iter().for_each(|found| replay(&program, found));
            assert_eq!(all.counts(), hot.counts(), "{extension:?}");
            most = most.max(all.counts().len());
        }
    }
    assert!(most > 10);
}

#[test]
fn bounded_memory_splits_long_paths_and_forgets_rare_ones() {
    let mut found = ExtendedPaths::bounded(Extension::BackEdges(1000), 8);
    found.enter(1);
    (0..70).for_each(|round| found.end((1, 0), round == 69));
    let lengths: Vec<(usize, u64)> =
        found.counts().into_iter().map(|(paths, count)| (paths.len(), count)).collect();
    assert_eq!(lengths, [(32, 2), (6, 1)]);
    let mut found = ExtendedPaths::bounded(Extension::Calls(9), 8);
    found.enter(1);
    for _ in 0..40 {
        found.enter(2);
        found.end((2, 0), true);
    }
    found.end((1, 7), true);
    let counts = found.counts();
    assert_eq!((counts[0].0, counts[0].1), (&[(2, 0)][..], 9));
    assert_eq!((counts[1].0.len(), counts[1].0.last()), (32, Some(&(1, 7))));
    (0..1000).for_each(|id| {
        found.enter(3);
        found.end((3, id), true);
    });
    assert!(found.counts().len() <= 8);
}

#[test]
fn frames_that_were_there_before_a_burst_are_known_from_their_first_path_on() {
    let mut found = ExtendedPaths::new(Extension::BackEdges(1));
    found.enter(9);
    found.begin();
    // A caller goes on that nobody saw being called; its callee is cut off by the next burst.
    for id in [1, 2, 3] {
        found.end((7, id), false);
    }
    found.enter(8);
    found.end((8, 4), false);
    found.begin();
    assert_eq!(found.counts(), [(&[(7, 1), (7, 2)][..], 1)]);
}

#[test]
fn an_extension_is_a_kind_and_a_number() {
    assert_eq!("back-edges:2".parse(), Ok(Extension::BackEdges(2)));
    assert_eq!("calls:1".parse(), Ok(Extension::Calls(1)));
    for text in ["", "calls", "calls:", "calls:x", "loops:1", "calls:-1"] {
        assert!(text.parse::<Extension>().is_err(), "{text}");
    }
}
