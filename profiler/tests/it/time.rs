//! Sampled time against stacks that are counted one by one.

use std::collections::BTreeSet;

use arbtest::arbitrary::{self, Unstructured};
use wprof_profiler::{
    Callee, Comparison, Interval, InvalidTime, Profile, TimeLog, TimeNode, TimeProfile, Timed,
};

use crate::profile::example;

/// A stack, outermost first: what runs, and where.
pub type Stack = Vec<(u32, u32)>;

fn callee(number: u32) -> Callee {
    match number {
        4 => Callee::Host { module: "wasi".to_owned(), name: "fd_write".to_owned() },
        5 => Callee::Engine,
        _ => Callee::Function { index: number, name: Some(format!("f{number}")) },
    }
}

fn timed(samples: u64) -> Timed {
    Timed { samples, time_ns: samples * 4_000_000 }
}

/// Random stacks, each with so many samples.
pub fn stacks(u: &mut Unstructured<'_>) -> arbitrary::Result<Vec<(Stack, u64)>> {
    let count = u.int_in_range(0..=30)?;
    let stack = |u: &mut Unstructured<'_>| {
        let depth = u.int_in_range(1..=7)?;
        let frame = |u: &mut Unstructured<'_>| Ok((u.int_in_range(0..=5)?, u.int_in_range(0..=2)? * 10));
        let stack = (0..depth).map(|_| frame(u)).collect::<arbitrary::Result<Stack>>()?;
        Ok((stack, u.int_in_range(1..=50)?))
    };
    (0..count).map(|_| stack(u)).collect()
}

/// The tree of stacks, each with so many samples.
pub fn log(stacks: &[(Stack, u64)]) -> TimeProfile {
    let mut log = TimeLog::new(250);
    for (stack, samples) in stacks {
        let mut caller = None;
        for (depth, &(number, offset)) in stack.iter().enumerate() {
            let own = if depth + 1 == stack.len() { timed(*samples) } else { Timed::default() };
            caller = Some(log.add(caller, (&callee(number), offset, false), own));
        }
    }
    log.tree()
}

fn for_random_stacks(property: impl Fn(&[(Stack, u64)], TimeProfile)) {
    arbtest::arbtest(|u| {
        let stacks = stacks(u)?;
        let time = log(&stacks);
        time.verify().unwrap();
        property(&stacks, time);
        Ok(())
    })
    .budget_ms(800);
}

#[test]
fn totals_are_those_of_the_stacks_and_recursion_counts_once() {
    for_random_stacks(|stacks, time| {
        let sum = |is: &dyn Fn(&Stack) -> bool| {
            timed(stacks.iter().filter(|(stack, _)| is(stack)).map(|(_, samples)| samples).sum())
        };
        assert_eq!(time.total(), sum(&|_| true));
        for routine in time.routines() {
            let is_it = |&(number, _): &(u32, u32)| callee(number) == *routine.callee;
            assert_eq!(routine.own, sum(&|stack| stack.last().is_some_and(is_it)));
            assert_eq!(routine.total, sum(&|stack| stack.iter().any(is_it)));
        }
        let order: Vec<Timed> = time.routines().iter().map(|routine| routine.own).collect();
        assert!(order.is_sorted_by(|a, b| a >= b));
        for place in time.places(|node| vec![(time.nodes[node].callee, time.nodes[node].offset)]) {
            let is_it = |&(number, offset): &(u32, u32)| {
                callee(number) == time.callees[place.place.0 as usize] && offset == place.place.1
            };
            assert_eq!(place.own, sum(&|stack| stack.last().is_some_and(is_it)));
            assert_eq!(place.total, sum(&|stack| stack.iter().any(is_it)));
        }
    });
}

#[test]
fn the_sum_of_two_is_that_of_all_stacks_in_any_order() {
    for_random_stacks(|stacks, time| {
        let (first, second) = stacks.split_at(stacks.len() / 2);
        assert_eq!(log(first).merged(&log(second)), time);
        assert_eq!(log(second).merged(&log(first)), time);
        let reversed: Vec<_> = stacks.iter().rev().cloned().collect();
        assert_eq!(log(&reversed), time);
        let other = TimeProfile { rate: 1000, ..time.clone() };
        assert_eq!(time.merged(&other).rate, 0, "of several rates");
    });
}

#[test]
fn contexts_have_all_time_and_no_function_twice_on_a_way() {
    for_random_stacks(|_, time| {
        let tree = time.contexts();
        tree.verify().unwrap();
        assert_eq!(tree.amounts(0).iter().sum::<u64>(), time.total().time_ns);
        for (record, number) in tree.records.iter().zip(0..).skip(1) {
            let mut above = BTreeSet::new();
            let mut at = number;
            while at != 0 {
                assert!(above.insert(tree.records[at as usize].routine), "{record:?}");
                at = tree.records[at as usize].parent;
            }
        }
    });
}

#[test]
fn profiles_with_time_are_written_and_read_back() {
    for_random_stacks(|_, time| {
        let profile = Profile { time: Some(time), ..example() };
        assert_eq!(Profile::from_bytes(&profile.to_bytes().unwrap()).unwrap(), profile);
        let mut twice = profile.clone();
        twice.merge(&profile).unwrap();
        let total = |profile: &Profile| profile.time.as_ref().unwrap().total().time_ns;
        assert_eq!(total(&twice), 2 * total(&profile));
        assert_eq!(twice.ops(), 2 * profile.ops(), "time is added to nothing else");
        twice.merge(&example()).unwrap();
        assert_eq!(twice.time, None, "of what has not sampled it nothing is known");
    });
}

#[test]
fn what_is_no_tree_is_refused() {
    let good = log(&[(vec![(0, 10), (1, 20)], 3), (vec![(0, 10), (2, 0)], 1)]);
    let broken = |change: &dyn Fn(&mut TimeProfile)| {
        let mut time = good.clone();
        change(&mut time);
        time.verify().unwrap_err()
    };
    assert_eq!(broken(&|time| time.callees.swap(0, 1)), InvalidTime::Callees);
    assert_eq!(broken(&|time| time.callees[0] = Callee::Root), InvalidTime::Callees);
    assert_eq!(broken(&|time| time.nodes[1].callee = 9), InvalidTime::Dangling(1));
    assert_eq!(broken(&|time| time.nodes[1].caller = Some(1)), InvalidTime::Dangling(1));
    assert_eq!(broken(&|time| time.nodes[0].caller = Some(0)), InvalidTime::Dangling(0));
    assert_eq!(broken(&|time| time.nodes.swap(1, 2)), InvalidTime::Unordered(2));
    assert_eq!(broken(&|time| time.nodes[1].own.samples = 0), InvalidTime::Unsampled(1));
    let double = |time: &mut TimeProfile| time.nodes.push(TimeNode { ..time.nodes[2] });
    assert_eq!(broken(&double), InvalidTime::Unordered(3));
}

#[test]
fn changes_of_time_are_told_from_chance() {
    let of = |own: &[(u32, u64)]| {
        let stacks: Vec<(Stack, u64)> =
            own.iter().map(|&(number, samples)| (vec![(number, 0)], samples)).collect();
        Profile { time: Some(log(&stacks)), ..example() }
    };
    let (before, after) = (of(&[(0, 500), (1, 500)]), of(&[(0, 510), (1, 900), (2, 3)]));
    let comparison = Comparison::new(&before, &after);
    let changes = comparison.times();
    let found: Vec<(&str, i128, bool)> = changes
        .iter()
        .map(|found| (found.name.as_str(), found.time.delta() / 4_000_000, found.may_be_chance))
        .collect();
    assert_eq!(found, [("f1", 400, false), ("f0", 10, true), ("f2", 3, true)]);
    let total = &comparison.totals()[0];
    assert_eq!((total.name.as_str(), total.total.delta()), ("time", 413 * 4_000_000));
    assert_eq!(Comparison::new(&before, &example()).times(), []);
    assert_eq!(Comparison::new(&before, &example()).totals()[0].name, "instructions");
}

/// Samples that are drawn, and how often the true share lies in the interval that is stated.
#[test]
fn nineteen_of_twenty_intervals_have_the_true_share() {
    let mut rng = crate::rng::Rng::new(7);
    for (share, samples) in [(0.5, 20_u64), (0.1, 60), (0.02, 300), (0.9, 1000)] {
        let rounds = 2000;
        let hits = (0..rounds).filter(|_| {
            let drawn =
                (0..samples).filter(|_| (rng.below(1 << 20) as f64) < share * f64::from(1 << 20)).count();
            let found = Interval::of_share(timed(drawn as u64), timed(samples));
            (found.least..=found.most).contains(&share)
        });
        let hits = hits.count() as f64 / f64::from(rounds);
        assert!((0.92..1.0).contains(&hits), "{share} of {samples}: {hits}");
    }
}

/// Samples of unequal length, each of a random function: those of 4 ms come later than those of 1 ms.
#[test]
fn intervals_of_unequal_samples_have_the_true_share() {
    let mut rng = crate::rng::Rng::new(11);
    let (share, rounds) = (0.3, 2000);
    let hits = (0..rounds).filter(|_| {
        let mut log = TimeLog::new(1000);
        for at in 0..60 {
            let number = u32::from(rng.below(1 << 20) as f64 >= share * f64::from(1 << 20));
            let time_us = if at < 40 { 1000 } else { 4000 };
            log.squares += time_us * time_us;
            log.add(None, (&callee(number), 0, false), Timed { samples: 1, time_ns: 1000 * time_us });
        }
        let time = log.tree();
        assert_eq!((time.total().samples, time.basis().samples), (60, 40));
        let found = Interval::of_share(time.of_function(0).0, time.basis());
        (found.least..=found.most).contains(&share)
    });
    let hits = hits.count() as f64 / f64::from(rounds);
    assert!((0.93..1.0).contains(&hits), "{hits}");
}

#[test]
fn the_basis_of_unequal_samples_is_kept_in_files_and_sums() {
    let unequal = |squares| {
        let time = TimeProfile { squares, ..log(&[(vec![(0, 0)], 10), (vec![(1, 0)], 20)]) };
        assert!(time.basis().time_ns == time.total().time_ns);
        time
    };
    // Thirty samples of 4 ms, by their sum.
    assert_eq!(unequal(0).basis().samples, 30);
    assert_eq!(unequal(30 * 4000 * 4000).basis().samples, 30);
    assert_eq!(unequal(60 * 4000 * 4000).basis().samples, 15);
    // Whatever a file claims, there is one sample at least, and no more than there are.
    assert_eq!((unequal(u64::MAX).basis().samples, unequal(1).basis().samples), (1, 30));
    let profile = Profile { time: Some(unequal(60 * 4000 * 4000)), ..example() };
    assert_eq!(Profile::from_bytes(&profile.to_bytes().unwrap()).unwrap(), profile);
    let sum = unequal(60 * 4000 * 4000).merged(&unequal(0));
    assert_eq!((sum.squares, sum.basis().samples), (90 * 4000 * 4000, 40));
}

#[test]
fn time_of_few_samples_does_not_lead_where_code_is_counted() {
    let with =
        |profile: Profile, samples: u64| Profile { time: Some(log(&[(vec![(5, 0)], samples)])), ..profile };
    let leads = |profile: &Profile| profile.is_led_by_time();
    let exact = example();
    assert!(!leads(&with(exact.clone(), 1)) && !leads(&with(exact.clone(), 4)));
    assert!(leads(&with(exact, 5)));
    // Nothing else is known.
    assert!(leads(&with(Profile::default(), 1)));
    assert!(!leads(&Profile::default()));
}
