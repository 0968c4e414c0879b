//! The predicted accuracy of samples against their real one, of made-up programs whose every step is known.

use wprof_profiler::{Accuracy, BurstSpread, Change, Profile, Rate, SkippedBursts, SkippedIn, overlap};

use crate::rng::Rng;

/// A made-up run: the item that each of its steps is of.
type Steps = Vec<usize>;

/// A program of `phases`, in each of which it goes from item to item, with a mean stay of `stay` steps; low items are
/// the more frequent ones.
fn program(rng: &mut Rng, items: usize, phases: usize, stay: usize) -> Steps {
    let mut steps = Steps::new();
    for _ in 0..phases {
        let first = rng.below(items);
        let mut item = first;
        for _ in 0..420_000 / phases {
            if rng.once_in(stay) {
                let range = 1 + rng.below(items);
                item = (first + rng.below(range)) % items;
            }
            steps.push(item);
        }
    }
    steps
}

/// Samples `burst` of each `burst + between` steps, and returns the predicted and the real overlap.
fn sample(steps: &Steps, between: usize, burst: usize) -> (Accuracy, f64) {
    let items = 1 + steps.iter().copied().max().unwrap();
    let (mut spread, mut seen, mut bursts) = (BurstSpread::default(), vec![0; items], 0);
    for stretch in steps.chunks(between + burst).filter(|stretch| stretch.len() == between + burst) {
        let mut ops = vec![0; items];
        stretch[between..].iter().for_each(|&item| ops[item] += 1);
        seen.iter_mut().zip(&ops).for_each(|(seen, ops)| *seen += ops);
        spread.add(&ops);
        bursts += 1;
    }
    let mut all = vec![0; items];
    steps.iter().for_each(|&item| all[item] += 1);
    let changes: Vec<Change> =
        all.iter().zip(&seen).map(|(&before, &after)| Change { before, after }).collect();
    let rate = Rate { counted: burst as u64, of: (between + burst) as u64 };
    (spread.accuracy(&seen, bursts, rate).unwrap(), overlap(&changes).unwrap())
}

#[test]
fn predicted_overlaps_are_near_the_real_ones() {
    let mut rng = Rng::new(41);
    let (mut worst, mut lowest, mut most): (f64, f64, f64) = (0.0, 1.0, 0.0);
    for (items, phases, stay) in
        [(8, 1, 3), (30, 1, 30), (30, 5, 20), (200, 2, 10), (200, 1, 400), (60, 9, 5)]
    {
        for (between, burst) in [(990, 10), (1900, 100), (300, 1), (3900, 100)] {
            let each = (0..8).map(|_| sample(&program(&mut rng, items, phases, stay), between, burst));
            let each: Vec<(f64, f64)> = each.map(|(found, real)| (found.overlap(), real)).collect();
            let mean = |of: fn(&(f64, f64)) -> f64| each.iter().map(of).sum::<f64>() / each.len() as f64;
            let (predicted, real) = (mean(|both| both.0), mean(|both| both.1));
            println!("{items} items, {phases} phases, {stay}, {between}:{burst}: {predicted:.4} {real:.4}");
            most = most.max(predicted - real);
            // Where the program stays with items until the next burst or so, it does better than predicted.
            if stay < 100 {
                worst = worst.max((predicted - real).abs());
                lowest = lowest.min(real);
            }
        }
    }
    assert!(worst < 0.02 && most < 0.02 && lowest < 0.9, "{worst} {most} {lowest}");
}

#[test]
fn phases_are_no_errors_but_chance_is() {
    let phases: Steps = (0..400_000).map(|step| step / 100_000).collect();
    let (found, real) = sample(&phases, 990, 10);
    assert!(real > 0.999 && found.overlap() > 0.99, "{found:?} {real}");
    let mut rng = Rng::new(42);
    let chance: Steps = (0..12_000).flat_map(|_| vec![rng.below(4); 100]).collect();
    let (found, real) = sample(&chance, 9990, 10);
    assert!((found.overlap() - real).abs() < 0.15 && found.overlap() < 0.95, "{found:?} {real}");
}

#[test]
fn what_was_not_seen_is_about_what_was_seen_once() {
    // Half of the steps are of items that occur but once in the whole run.
    let mut rng = Rng::new(43);
    let steps: Steps = (0..200_000).map(|step| if rng.once_in(2) { 1 + step } else { 0 }).collect();
    let (found, real) = sample(&steps, 90, 10);
    // All of these that were seen were seen once; nine in ten were not.
    assert!((found.unseen() - 0.45).abs() < 0.01, "{found:?}");
    assert!((found.overlap() - real).abs() < 0.04, "{found:?} {real}");
}

#[test]
fn nothing_is_left_to_chance_where_all_was_seen_and_nothing_told_of_few_bursts() {
    let mut spread = BurstSpread::default();
    let all = Rate { counted: 7, of: 7 };
    for burst in 0..100 {
        assert_eq!(spread.accuracy(&[5, 4], burst, all), None);
        spread.add(&[burst % 2, 1 - burst % 2]);
    }
    assert_eq!(spread.accuracy(&[50, 50], 100, all), Some(Accuracy::new(100, 1.0, 0.0)));
    let half = Rate { counted: 7, of: 14 };
    assert!(spread.accuracy(&[50, 50], 100, half).unwrap().overlap() < 0.98);
    assert_eq!(spread.accuracy(&[0, 0], 100, half), None);
}

#[test]
fn bursts_of_which_some_were_read_are_as_many_as_they_are() {
    let (mut spread, half) = (BurstSpread::default(), Rate { counted: 1, of: 2 });
    (0..32).for_each(|burst| spread.add(&[burst % 2, 1 - burst % 2]));
    assert_eq!(spread.accuracy(&[800, 800], 1600, half), None, "of 31 pairs");
    spread.add(&[1, 0]);
    assert!(spread.accuracy(&[800, 800], 1600, half).is_some_and(|found| found.overlap() > 0.97));
    assert_eq!(spread.accuracy(&[30, 30], 60, half), None, "of 60 bursts");
}

#[test]
fn skipped_bursts_cost_what_they_differ_from_the_sample() {
    // Two functions with half of the sample each; what they skipped is given in parts of the sample.
    let among = |begun: u64, skipped: [f64; 2]| {
        let mut profile: Profile = crate::profile::example();
        let mut other = profile.functions[0].clone();
        other.index += 1;
        profile.functions.push(other);
        profile.accuracy = Some(Accuracy::new(1000, 0.99, 0.0));
        profile.bursts = Some(begun);
        let all = 100_000.0 * profile.ops() as f64;
        profile.functions.iter_mut().for_each(|function| {
            function.counts.edges_mut().unwrap().iter_mut().for_each(|count| *count *= 100_000);
        });
        let of = |(function, share): (u32, f64)| SkippedIn {
            function,
            name: None,
            bursts: 1,
            ops: (share * all) as u64,
        };
        let functions = (profile.functions[0].index..).zip(skipped).map(of).collect();
        profile.skipped = Some(SkippedBursts { bursts: 2, functions });
        profile.expected_overlap()
    };
    let expected = |skipped| among(1_000_000, skipped);
    let near = |found: Option<f64>, wanted: f64| found.is_some_and(|found| (found - wanted).abs() < 1e-3);
    // What is divided as the sample is costs nothing; what is all in one function differs from it by half.
    assert!(near(expected([0.1, 0.1]), 0.99), "{:?}", expected([0.1, 0.1]));
    assert!(near(expected([1.0 / 39.0, 0.0]), 0.99 - 0.5 / 40.0), "{:?}", expected([1.0 / 39.0, 0.0]));
    assert_eq!([expected([0.1, 0.0]), expected([0.2, 0.2])], [None; 2], "too uncertain");
    // Two bursts of 80 may be somewhat more than graphs say, but two of 32 much more, and a fifth of all is too much.
    assert!(near(among(78, [0.001, 0.0]), 0.99), "{:?}", among(78, [0.001, 0.0]));
    assert_eq!([among(30, [0.001, 0.0]), among(6, [0.001, 0.001])], [None; 2]);
}

#[test]
fn errors_of_two_samples_are_independent() {
    let one = Accuracy::new(500_000, 0.9, 0.02);
    let both = one.merged(one);
    assert!(
        (both.overlap() - (1.0 - 0.1 / 2_f64.sqrt())).abs() < 1e-6 && (both.unseen() - 0.02).abs() < 1e-6
    );
    assert_eq!(one.merged(Accuracy::new(0, 0.1, 0.5)), one);
}
