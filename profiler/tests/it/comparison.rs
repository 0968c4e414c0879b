//! Comparisons against figures looked up one by one.

use std::collections::BTreeMap;

use wprof_profiler::{Change, Comparison, FigureKind, Profile, Rate, hot_coverage, overlap};

use crate::contexts;
use crate::profile::{example, profile_of};
use crate::rng::Rng;
use crate::walk::{random_program, run};

/// Two runs of one program.
fn for_random_pairs(property: impl Fn(&Profile, &Profile)) {
    arbtest::arbtest(|u| {
        let size = u.int_in_range(1..=15)?;
        let mut rng = Rng::new(u.arbitrary()?);
        let program = random_program(&mut rng, size);
        let mut profile = || profile_of(&program, &run(&program, &mut rng, 400));
        let (mut before, mut after) = (profile(), profile());
        before.contexts = Some(contexts::log(&contexts::stacks(u)?).tree());
        after.contexts = Some(contexts::log(&contexts::stacks(u)?).tree());
        property(&before, &after);
        Ok(())
    })
    .budget_ms(1500);
}

/// The same profile as of another build, in which functions have other indices.
fn rebuilt(profile: &Profile) -> Profile {
    let mut profile = profile.clone();
    profile.module_hash = [9; 32];
    profile.functions.iter_mut().for_each(|function| function.index = 1000 - function.index);
    profile.normalize();
    profile
}

fn sum(changes: impl Iterator<Item = Change>) -> Change {
    changes.fold(Change::default(), |sum, change| Change {
        before: sum.before + change.before,
        after: sum.after + change.after,
    })
}

#[test]
fn changes_add_up_to_the_totals() {
    for_random_pairs(|before, after| {
        for after in [after, &rebuilt(after)] {
            let comparison = Comparison::new(before, after);
            let functions = comparison.functions();
            let ops = Change { before: before.ops(), after: after.ops() };
            let calls = Change { before: before.calls(), after: after.calls() };
            assert_eq!(sum(functions.iter().map(|function| function.ops)), ops);
            assert_eq!(sum(functions.iter().map(|function| function.calls)), calls);
            let totals: BTreeMap<_, _> =
                comparison.totals().into_iter().map(|total| (total.name, total.total)).collect();
            assert_eq!((totals["instructions"], totals["calls"]), (ops, calls));
            assert_eq!(totals["host calls"], Change { before: 7, after: 7 });
            let edges = |profile: &Profile| -> u64 {
                profile
                    .functions
                    .iter()
                    .flat_map(|function| function.counted_edges())
                    .map(|(_, count)| count)
                    .sum()
            };
            let edges = Change { before: edges(before), after: edges(after) };
            assert_eq!(sum(comparison.edges().into_iter()), edges);
            let calls =
                |profile: &Profile| -> u64 { profile.contexts.as_ref().unwrap().calls().iter().sum() };
            let calls = Change { before: calls(before), after: calls(after) };
            assert_eq!(sum(comparison.contexts().changes.iter().map(|context| context.calls)), calls);
        }
    });
}

#[test]
fn another_build_changes_nothing_but_indices() {
    for_random_pairs(|before, after| {
        let (one, other) = (rebuilt(after), Comparison::new(before, after));
        let rebuilt = Comparison::new(before, &one);
        let figures = |comparison: &Comparison<'_>| -> BTreeMap<_, _> {
            let functions = comparison.functions().into_iter();
            functions
                .map(|function| (function.name, (function.ops, function.calls, function.was_reshaped)))
                .collect()
        };
        assert_eq!(figures(&rebuilt), figures(&other));
        assert_eq!(overlap(&rebuilt.edges()).is_some(), overlap(&other.edges()).is_some());
        let calls = |comparison: &Comparison<'_>| {
            let mut all: Vec<_> =
                comparison.contexts().changes.iter().map(|c| (c.calls.before, c.calls.after)).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(calls(&rebuilt), calls(&other));
    });
}

#[test]
fn functions_of_another_build_are_matched_by_name_then_shape() {
    let (mut before, mut after) = (example(), example());
    after.module_hash = [9; 32];
    let copy = |profile: &mut Profile, index: u32, name: Option<&str>, fingerprint: u64| {
        let name = name.map(str::to_owned);
        let function =
            wprof_profiler::FunctionProfile { index, name, fingerprint, ..profile.functions[0].clone() };
        profile.functions.push(function);
    };
    copy(&mut before, 3, Some("twice"), 1);
    copy(&mut before, 4, Some("twice"), 2);
    copy(&mut before, 5, None, 3);
    copy(&mut before, 6, None, 4);
    copy(&mut after, 7, Some("twice"), 2);
    copy(&mut after, 8, Some("twice"), 5);
    copy(&mut after, 9, None, 3);
    copy(&mut after, 10, None, 6);
    let mut pairs: Vec<_> = Comparison::new(&before, &after)
        .functions()
        .iter()
        .map(|function| (function.index_before, function.index_after))
        .collect();
    pairs.sort_unstable();
    let alone = [(None, Some(10)), (Some(6), None)];
    let matched = [(Some(2), Some(2)), (Some(4), Some(7)), (Some(3), Some(8)), (Some(5), Some(9))];
    let mut expected = [&alone[..], &matched].concat();
    expected.sort_unstable();
    assert_eq!(pairs, expected);
}

#[test]
fn functions_without_names_are_matched_by_code() {
    for_random_pairs(|before, after| {
        let stripped = |profile: &Profile| {
            let mut profile = profile.clone();
            profile.rename(|_, _| Some(String::new()));
            profile.functions.iter_mut().for_each(|function| function.name = None);
            profile
        };
        // The program's functions differ in shape, or in nothing that code shows.
        let pairs = |before: &Profile, after: &Profile| -> Vec<(u64, Option<u64>)> {
            let shape =
                |profile: &Profile, index| profile.function(index).map(|function| function.fingerprint);
            let found = Comparison::new(before, after).functions().into_iter();
            let found = found.filter_map(|pair| {
                let old = shape(before, pair.index_before?)?;
                Some((old, pair.index_after.and_then(|index| shape(after, index))))
            });
            found.collect()
        };
        let after = rebuilt(after);
        for (before, after) in
            [(before, &stripped(&after)), (&stripped(before), &after), (&stripped(before), &stripped(&after))]
        {
            for (old, new) in pairs(before, after) {
                assert!(new.is_none_or(|new| new == old));
            }
        }
    });
}

#[test]
fn functions_of_the_same_code_are_matched_in_order_where_names_are_missing() {
    let (mut before, mut after) = (example(), example());
    after.module_hash = [9; 32];
    let copies = |profile: &mut Profile, indices: [u32; 3], name: Option<&str>| {
        for index in indices {
            let name = name.map(|name| format!("{name}{index}"));
            let function = wprof_profiler::FunctionProfile { index, name, ..profile.functions[0].clone() };
            profile.functions.push(function);
        }
        profile.functions.remove(0);
    };
    copies(&mut before, [5, 6, 7], Some("f"));
    copies(&mut after, [8, 9, 10], None);
    let mut found: Vec<_> = Comparison::new(&before, &after)
        .functions()
        .into_iter()
        .map(|function| (function.index_before, function.index_after, function.name))
        .collect();
    found.sort();
    let pair = |before: u32, after| (Some(before), Some(after), Some(format!("f{before}")));
    assert_eq!(found, [pair(5, 8), pair(6, 9), pair(7, 10)]);
    wprof_profiler::share_names(&mut before, &mut after);
    let names: Vec<_> = after.functions.iter().map(|function| function.name.as_deref()).collect();
    assert_eq!(names, [Some("f5"), Some("f6"), Some("f7")]);
    // Of different numbers of functions nobody knows which is which.
    after.functions.pop();
    after.rename(|_, _| Some(String::new()));
    after.functions.iter_mut().for_each(|function| function.name = None);
    let pairs = Comparison::new(&before, &after).functions();
    assert!(pairs.iter().all(|pair| pair.index_before.is_none() || pair.index_after.is_none()));
}

#[test]
fn one_sampled_function_makes_a_comparison_inexact() {
    let (exact, mut sampled) = (example(), example());
    sampled.functions[0].kind = FigureKind::Sampled { rate: Rate { counted: 1, of: 20 } };
    assert!(Comparison::new(&exact, &exact).is_exact());
    assert!(!Comparison::new(&exact, &sampled).is_exact());
}

#[test]
fn overlap_is_the_sum_of_smaller_shares() {
    let items = |pairs: &[(u64, u64)]| -> Vec<Change> {
        pairs.iter().map(|&(before, after)| Change { before, after }).collect()
    };
    assert_eq!(overlap(&items(&[(1, 10), (3, 30)])), Some(1.0));
    assert_eq!(overlap(&items(&[(5, 0), (0, 5)])), Some(0.0));
    assert_eq!(overlap(&items(&[(1, 1), (3, 1)])), Some(0.75));
    assert_eq!(overlap(&items(&[(1, 0)])), None);
    assert_eq!(overlap(&[]), None);
    let hot = items(&[(60, 1), (30, 9), (10, 5)]);
    assert_eq!(hot_coverage(&hot, 1), Some(0.0));
    assert_eq!(hot_coverage(&hot, 2), Some(30.0 / 90.0));
    assert_eq!(hot_coverage(&hot, 3), Some(1.0));
}

#[test]
fn a_profile_overlaps_itself_wholly() {
    for_random_pairs(|before, _| {
        let comparison = Comparison::new(before, before);
        let wholly = |items: &[Change]| overlap(items).is_none_or(|share| share == 1.0);
        assert!(wholly(&comparison.edges()));
        assert!(wholly(
            &comparison.contexts().changes.iter().map(|context| context.calls).collect::<Vec<_>>()
        ));
        assert!(wholly(&comparison.call_targets().iter().map(|target| target.calls).collect::<Vec<_>>()));
        assert!(
            comparison.functions().iter().all(|function| function.ops.delta() == 0 && !function.was_reshaped)
        );
    });
}
