//! The laws of merging, and merging against the concatenated log.

use wprof_profiler::{EdgeId, FigureKind, MergeError, Profile, Rate, SkippedBursts, SkippedIn};

use crate::profile::{events, example, example_with_trap, host_calls, profile_of, without_edges};
use crate::rng::Rng;
use crate::walk::{Function, Run, random_program, run};

fn sum(a: &Profile, b: &Profile) -> Profile {
    let mut sum = a.clone();
    sum.merge(b).unwrap();
    sum.verify().unwrap();
    sum
}

/// Several profiles of one random program, with different header figures.
fn random_profiles(rng: &mut Rng, program: &[Function], profiles: usize) -> Vec<Profile> {
    let one = |number: usize| {
        let fuel = rng.below(300);
        let mut profile = profile_of(program, &run(program, rng, fuel));
        profile.program = ["", "a.wasm", "b.wasm"][rng.below(3)].to_owned();
        profile.runs[0].started = number as u64;
        profile.code.compiled = rng.below(5) as u64;
        profile.host_calls.push(host_calls("random_get", rng.next()));
        let counted = 1 + rng.below(5) as u64;
        let kinds = [FigureKind::Derived, FigureKind::Sampled { rate: Rate { counted, of: 9 } }];
        profile.functions.iter_mut().for_each(|function| function.kind = kinds[rng.below(2)]);
        profile.events = ["cycles", "fuel", "loads"].map(|name| events(name, rng.next())).to_vec();
        profile.events.retain(|_| !rng.once_in(3));
        if rng.once_in(4) {
            profile.functions.iter_mut().for_each(|function| function.name = None);
        }
        if rng.once_in(2) {
            profile.skipped = Some(skipped(rng));
        }
        profile.normalize();
        if rng.once_in(3) { without_edges(&profile) } else { profile }
    };
    (0..profiles).map(one).collect()
}

/// Skipped bursts of some functions, of which some have names.
fn skipped(rng: &mut Rng) -> SkippedBursts {
    let one = |function: u32, rng: &mut Rng| SkippedIn {
        function,
        name: [None, Some("f".to_owned())][rng.below(2)].clone(),
        bursts: rng.below(9) as u64,
        ops: rng.next(),
    };
    let functions: Vec<SkippedIn> = (0..rng.below(4) as u32).map(|function| one(function, rng)).collect();
    let bursts = functions.iter().map(|of| of.bursts).sum::<u64>() + rng.below(3) as u64;
    SkippedBursts { bursts, functions }
}

#[test]
fn skipped_bursts_add_up_by_function() {
    let of = |function, bursts, ops| SkippedIn { function, name: None, bursts, ops };
    let skips = |bursts, functions: &[SkippedIn]| {
        let skipped = Some(SkippedBursts { bursts, functions: functions.to_vec() });
        Profile { skipped, bursts: Some(5), ..example() }
    };
    let merged = sum(&skips(7, &[of(1, 4, 40), of(3, 2, 9)]), &skips(2, &[of(3, 2, 1)]));
    assert_eq!((merged.skipped_bursts(), merged.bursts), (9, Some(10)));
    assert_eq!(merged.skipped.map(|skipped| skipped.functions), Some(vec![of(1, 4, 40), of(3, 4, 10)]));
    assert_eq!(sum(&skips(7, &[]), &example()).skipped_bursts(), 7);
    // Another module of the run has the same bursts, and its own functions.
    let mut of_run = skips(9, &[of(1, 3, 30)]);
    of_run.add_instance(&skips(9, &[of(1, 1, 10), of(3, 4, 10)])).unwrap();
    assert_eq!((of_run.skipped_bursts(), of_run.bursts), (9, Some(5)));
    assert_eq!(of_run.skipped.map(|skipped| skipped.functions), Some(vec![of(1, 4, 40), of(3, 4, 10)]));
}

#[test]
fn merging_is_commutative_and_associative() {
    arbtest::arbtest(|u| {
        let mut rng = Rng::new(u.arbitrary()?);
        let program = random_program(&mut rng, 8);
        let [a, b, c] = &random_profiles(&mut rng, &program, 3)[..] else { unreachable!() };
        assert_eq!(sum(a, b), sum(b, a));
        assert_eq!(sum(&sum(a, b), c), sum(a, &sum(b, c)));
        Ok(())
    })
    .budget_ms(1500);
}

#[test]
fn the_sum_of_two_profiles_is_the_profile_of_both_logs() {
    arbtest::arbtest(|u| {
        let mut rng = Rng::new(u.arbitrary()?);
        let program = random_program(&mut rng, 8);
        let (first, second) = (run(&program, &mut rng, 200), run(&program, &mut rng, 200));
        let merged = sum(&profile_of(&program, &first), &profile_of(&program, &second));
        let whole = profile_of(&program, &concatenated(first, second));
        assert_eq!(merged.functions, whole.functions);
        assert_eq!(merged.runs.len(), 2);
        assert_eq!(merged.events, [events("fuel", 14), whole.events[1].clone()]);
        assert_eq!(merged.host_calls.iter().map(|calls| calls.count).collect::<Vec<_>>(), [10, 4]);
        Ok(())
    })
    .budget_ms(1500);
}

fn concatenated(mut first: Run, second: Run) -> Run {
    first.log.extend(second.log);
    first.unfinished.extend(second.unfinished);
    for (sums, added) in first.counters.iter_mut().zip(second.counters) {
        sums.iter_mut().zip(added).for_each(|(sum, added)| *sum += added);
    }
    first
}

#[test]
fn with_counts_of_blocks_only_blocks_are_summed() {
    let (edges, blocks) = (example(), without_edges(&example_with_trap()));
    assert_eq!(sum(&edges, &blocks), without_edges(&sum(&edges, &example_with_trap())));
}

#[test]
fn events_that_one_run_did_not_count_have_no_total() {
    let (mut more, mut less) = (example(), example());
    more.events.push(events("stores", 1));
    less.events = vec![events("loads", u64::MAX)];
    assert_eq!(sum(&more, &less).events, [events("loads", u64::MAX)]);
    less.events[0].kind = FigureKind::Derived;
    assert_eq!(sum(&less, &more).events[0].kind, FigureKind::Derived);
}

#[test]
fn sums_saturate_and_stay_valid() {
    let mut large = example_with_trap();
    for count in large.functions[0].counts.edges_mut().unwrap() {
        *count = count.saturating_mul(u64::MAX / 3);
    }
    large.functions[0].exits[0].count = u64::MAX / 3;
    large.functions[0].kind = FigureKind::Exact;
    let large = {
        large.functions[0].counts.edges_mut().unwrap()[0] = u64::MAX;
        large
    };
    let both = sum(&large, &large);
    assert_eq!(both.functions[0].edge_count(EdgeId(0)), Some(u64::MAX));
    assert_eq!(both.ops(), u64::MAX);
}

#[test]
fn profiles_of_another_module_or_division_are_refused_and_nothing_changes() {
    let mut sum = example();
    let mut other = example();
    other.module_hash[0] ^= 1;
    let refused = sum.merge(&other).unwrap_err();
    assert!(matches!(refused, MergeError::OtherModule(..)));
    assert_eq!(
        refused.to_string(),
        "the profiles are of different modules (abababab… and aaababab…): merge only profiles of one build"
    );
    let damages: [fn(&mut Profile); 4] = [
        |p| p.functions[0].fingerprint += 1,
        |p| p.functions[0].blocks[1].ops += 1,
        |p| p.functions[0].edges[1].kind = p.functions[0].edges[0].kind,
        |p| p.functions[0].code.end += 1,
    ];
    for damage in damages {
        let mut other = example();
        damage(&mut other);
        assert_eq!(sum.merge(&other), Err(MergeError::OtherShape { index: 2 }));
    }
    let sampled = |counted, of| {
        let (mut profile, rate) = (example(), Rate { counted, of });
        profile.functions.iter_mut().for_each(|function| function.kind = FigureKind::Sampled { rate });
        profile
    };
    // No exact count is added to one of a sample.
    assert_eq!(sum.merge(&sampled(1, 9)), Err(MergeError::OtherKind));
    assert_eq!(sampled(1, 9).merge(&example()), Err(MergeError::OtherKind));
    // A sample that saw nothing is one nevertheless.
    let mut nothing = Profile { functions: Vec::new(), bursts: Some(0), ..example() };
    assert_eq!(nothing.merge(&example()), Err(MergeError::OtherKind));
    assert_eq!(example().merge(&nothing), Err(MergeError::OtherKind));
    assert_eq!(nothing.clone().merge(&nothing), Ok(()));
    assert_eq!(sum, example());
    let mut both = sampled(1, 9);
    both.merge(&sampled(3, 11)).expect("two samples have a sum");
    assert_eq!(both.sampled(), Some(Rate { counted: 4, of: 20 }));
}

#[test]
fn times_and_bursts_are_added_up_where_they_are_known() {
    let with = |time_ns, bursts| {
        let mut profile = example();
        (profile.host_calls[0].time_ns, profile.bursts) = (time_ns, bursts);
        profile
    };
    let sum = |a: Profile, b: Profile| {
        let mut sum = a;
        sum.merge(&b).unwrap();
        (sum.host_time_ns(), sum.bursts)
    };
    assert_eq!(sum(with(Some(3), Some(7)), with(Some(4), Some(1))), (Some(7), Some(8)));
    assert_eq!(sum(with(Some(u64::MAX), None), with(Some(4), Some(1))), (Some(u64::MAX), Some(1)));
    assert_eq!(sum(with(None, Some(2)), with(Some(4), None)), (None, Some(2)));
}
