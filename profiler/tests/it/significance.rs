//! Significance against samples drawn from programs that are known.

use wprof_profiler::{
    Accuracy, BlockId, BlockProfile, Callee, Cfg, CodeRange, CodeStats, Comparison, CounterCost, EdgeKind,
    EdgeProfile, FigureKind, FunctionCounts, FunctionProfile, INSTRUCTIONS, Metric, PathCount, PathProfile,
    Profile, Rate, Shares, SkippedBursts, SkippedIn, Stacks,
};

use crate::rng::Rng;

/// Paths in a burst.
const BURST: u64 = 50;

/// A function of one block with so many instructions, which was called so often while it was looked at.
fn function(index: u32, ops: u32, count: u64) -> FunctionProfile {
    let cfg = Cfg::from_pairs(1, &[(0, 1)]).unwrap();
    FunctionProfile {
        index,
        name: None,
        code: CodeRange::default(),
        fingerprint: cfg.fingerprint(),
        kind: FigureKind::Sampled { rate: Rate { counted: 1, of: 100 } },
        blocks: vec![BlockProfile { code: CodeRange::default(), ops }],
        edges: vec![EdgeProfile { from: BlockId(0), to: BlockId(1), kind: EdgeKind::Return }],
        exits: Vec::new(),
        cost: CounterCost::default(),
        counts: FunctionCounts::Paths(
            vec![count],
            PathProfile {
                possible: 1,
                finished: vec![PathCount { id: 0, count, metrics: Vec::new() }],
                unfinished: Vec::new(),
            },
        ),
    }
}

/// A sample of a program with two functions: each burst sees only one of them, the first with a probability in percent.
fn sample(rng: &mut Rng, percent: u64, bursts: u64) -> Profile {
    let first = (0..bursts).filter(|_| rng.next() % 100 < percent).count() as u64;
    let functions = vec![function(0, 3, first * BURST), function(1, 40, (bursts - first) * BURST)];
    let functions = functions.into_iter().filter(|function| function.calls() > 0).collect();
    Profile { functions, bursts: Some(bursts), ..Profile::default() }
}

/// How many of 1000 pairs of samples differ significantly in the instructions of the first function, and in all.
fn significant(before: u64, after: u64, bursts: u64) -> (u32, u32) {
    let mut rng = Rng::new(5);
    let mut found = (0, 0);
    for _ in 0..1000 {
        let (before, after) = (sample(&mut rng, before, bursts), sample(&mut rng, after, bursts));
        let comparison = Comparison::new(&before, &after);
        let functions = comparison.functions();
        // Of a few bursts none may have seen it.
        let first = functions.iter().find(|function| function.index_before == Some(0));
        let differs = |delta: i128, may_be_chance: bool| u32::from(delta != 0 && !may_be_chance);
        found.0 += first.map_or(0, |first| differs(first.ops.delta(), first.ops_may_be_chance));
        let all = &comparison.totals()[0];
        found.1 += differs(all.total.delta(), all.may_be_chance);
    }
    found
}

#[test]
fn samples_of_one_program_seldom_differ_significantly() {
    for (percent, bursts) in [(50, 100), (20, 400), (90, 1000)] {
        let (of_function, of_all) = significant(percent, percent, bursts);
        // Five in a hundred are expected, and where bursts are all alike, hardly fewer.
        assert!((10..80).contains(&of_function), "{percent}, {bursts}: {of_function}");
        assert!((10..80).contains(&of_all), "{percent}, {bursts}: {of_all}");
    }
}

#[test]
fn large_changes_are_significant_if_there_are_enough_bursts() {
    assert!(significant(20, 60, 400).0 > 990);
    assert!(significant(20, 25, 20).0 < 200);
}

#[test]
fn without_bursts_nothing_is_significant_and_exact_changes_always_are() {
    let mut rng = Rng::new(1);
    let (before, after) = (sample(&mut rng, 20, 400), sample(&mut rng, 60, 400));
    let unknown = |profile: &Profile| Profile { bursts: None, ..profile.clone() };
    let (before_unknown, after_unknown) = (unknown(&before), unknown(&after));
    assert!(Comparison::new(&before_unknown, &after_unknown).totals()[0].may_be_chance);
    let exact = |mut profile: Profile| {
        profile.functions.iter_mut().for_each(|function| function.kind = FigureKind::Exact);
        profile
    };
    let (before, after) = (exact(before), exact(after));
    let comparison = Comparison::new(&before, &after);
    assert!(comparison.totals().iter().all(|total| !total.may_be_chance));
    assert!(comparison.functions().iter().all(|function| !function.ops_may_be_chance));
}

#[test]
fn figures_are_scaled_up_to_the_whole_run() {
    let (sampled, mut exact) = (sample(&mut Rng::new(2), 50, 100), Profile::default());
    exact.functions = sampled.functions.clone();
    for function in &mut exact.functions {
        function.kind = FigureKind::Exact;
        function.counts.edges_mut().unwrap()[0] *= 100;
    }
    let comparison = Comparison::new(&sampled, &exact);
    assert!(comparison.functions().iter().all(|function| function.ops.delta() == 0));
    assert_eq!(comparison.totals()[0].total.before, exact.ops());
}

/// One long burst that saw nearly all leaves little to chance.
#[test]
fn intervals_are_no_wider_than_what_was_not_seen() {
    let of = |counted: u64| {
        let kind = FigureKind::Sampled { rate: Rate { counted, of: 1000 } };
        let function = |index, count| FunctionProfile { kind, ..function(index, 10, count) };
        let functions = vec![function(0, 250), function(1, 750)];
        Shares::new(&Profile { functions, bursts: Some(1), ..Profile::default() }).function(0)
    };
    let most = of(988);
    assert!(most.low > 0.24 && most.share == 0.25 && most.high < 0.28, "{most:?}");
    let half = of(500);
    assert!(half.low < 0.1 && half.high > 0.7, "{half:?}");
    let all = of(1000);
    assert_eq!([all.low, all.high], [0.25; 2]);
}

/// A twelfth of the checks is in a function without code for bursts, which executes twice as much between two of them as
/// graphs tell.
#[test]
fn intervals_have_the_true_share_though_bursts_are_skipped() {
    const DUE: u64 = 60;
    const IN_BURST: u64 = 10 * BURST;
    let mut rng = Rng::new(17);
    let hidden = 1.0 / 12.0;
    let of_hidden = 2.0 * hidden / (1.0 + hidden);
    let of_others = (1.0 - of_hidden) / 2.0;
    let (mut misses, rounds) = ([0; 3], 2000);
    for _ in 0..rounds {
        let mut seen = [0_u64; 3];
        (0..DUE).for_each(|_| match rng.next() % 24 {
            0 | 1 => seen[2] += 1,
            other => seen[other as usize % 2] += 1,
        });
        let [first, second, skipped] = seen;
        let in_hidden = SkippedIn { function: 2, name: None, bursts: skipped, ops: skipped * IN_BURST };
        let functions = vec![function(0, 10, first * BURST), function(1, 10, second * BURST)];
        let profile = Profile {
            functions,
            bursts: Some(first + second),
            skipped: (skipped > 0).then(|| SkippedBursts { bursts: skipped, functions: vec![in_hidden] }),
            ..Profile::default()
        };
        let shares = Shares::new(&profile);
        for (index, exact) in [of_others, of_others, of_hidden].into_iter().enumerate() {
            let found = shares.function(index as u32);
            assert!(found.low <= found.share && found.share <= found.high, "{found:?}");
            misses[index] += u32::from(!(found.low..=found.high).contains(&exact));
        }
    }
    assert!(misses.iter().all(|&misses| misses <= rounds / 20), "{misses:?} of {rounds}");
}

/// Every burst counts a caller, and none its callee, which has six times as many instructions.
#[test]
fn intervals_have_the_true_share_of_callees_that_bursts_cannot_count() {
    for estimated in [36_000, 72_000, 144_000] {
        let callee = SkippedIn { function: 1, name: None, bursts: 0, ops: estimated };
        let profile = Profile {
            functions: vec![function(0, 10, 1200)],
            bursts: Some(12),
            skipped: Some(SkippedBursts { bursts: 0, functions: vec![callee] }),
            ..Profile::default()
        };
        let shares = Shares::new(&profile);
        for (index, exact) in [(0, 1.0 / 7.0), (1, 6.0 / 7.0)] {
            let found = shares.function(index);
            assert!((found.low..=found.high).contains(&exact), "{estimated}, {index}: {found:?}");
            assert!((found.low..=found.high).contains(&found.share), "{estimated}, {index}: {found:?}");
        }
        let expected = estimated as f64 / (12_000 + estimated) as f64;
        assert!((shares.function(1).share - expected).abs() < 1e-9);
        assert!(!profile.saw_enough() && profile.skipped_bursts() == 0);
    }
}

#[test]
fn nothing_is_known_of_a_run_without_bursts() {
    let code = CodeStats { compiled: 3, ..CodeStats::default() };
    let shares = Shares::new(&Profile { bursts: Some(0), code, ..Profile::default() });
    let of_any = shares.function(1);
    assert_eq!([of_any.low, of_any.high], [0.0, 1.0]);
    assert_eq!(shares.unseen().map(|unseen| (unseen.functions, unseen.together)), Some((3, 1.0)));
}

/// The rule of three, with some more for an interval of Agresti and Coull.
#[test]
fn what_no_burst_saw_has_little_of_a_run_with_many_bursts() {
    let unseen = |bursts, compiled, unseen: Option<f64>| {
        let kind = FigureKind::Sampled { rate: Rate { counted: 1, of: 1000 } };
        let functions = vec![FunctionProfile { kind, ..function(0, 10, 250) }];
        let accuracy = unseen.map(|unseen| Accuracy::new(1_000_000, 0.99, unseen));
        let code = CodeStats { compiled, ..CodeStats::default() };
        Shares::new(&Profile { functions, bursts: Some(bursts), code, accuracy, ..Profile::default() })
            .unseen()
    };
    assert_eq!(unseen(1000, 1, None), None);
    let one = unseen(1000, 2, None).unwrap();
    assert!(one.functions == 1 && one.each == one.together && (0.003..0.005).contains(&one.each), "{one:?}");
    let ten = unseen(1000, 11, None).unwrap();
    assert!(ten.each == one.each && (ten.together - 10.0 * ten.each).abs() < 1e-9, "{ten:?}");
    let (none, some) = (unseen(1000, 11, Some(0.0)).unwrap(), unseen(1000, 11, Some(0.01)).unwrap());
    assert!(none.together == none.each && (0.015..0.025).contains(&some.together), "{none:?} {some:?}");
    assert!(unseen(1, 11, None).unwrap().together > 0.7);
    let exact = Profile { functions: vec![function(0, 10, 250)], ..Profile::default() };
    assert_eq!(Shares::new(&exact).unseen(), None);
}

/// By record, by stack and as a fraction of records.
#[test]
fn shares_of_contexts_are_sums_of_their_records() {
    let kind = FigureKind::Sampled { rate: Rate { counted: 1, of: 1000 } };
    let functions = (0..4).map(|index| FunctionProfile { kind, ..function(index, 10, 250) }).collect();
    let mut tree = crate::contexts::example();
    tree.metrics = vec![Metric { name: INSTRUCTIONS.to_owned(), taken_off: 0 }];
    tree.records.iter_mut().zip(0..).for_each(|(record, number)| record.metrics = vec![100 * number]);
    let profile = Profile { functions, contexts: Some(tree), bursts: Some(40), ..Profile::default() };
    let (shares, tree) = (Shares::new(&profile), profile.contexts.as_ref().unwrap());
    let below = |record: u32| {
        let is_below = |&at: &u32| {
            let up =
                std::iter::successors(Some(at), |&at| (at > 0).then(|| tree.records[at as usize].parent));
            up.into_iter().any(|above| above == record)
        };
        (0..tree.records.len() as u32).filter(is_below).collect::<Vec<u32>>()
    };
    let mut stacks = Stacks::default();
    let stack_of = stacks.add(tree, Callee::clone);
    let by_stack = shares.of_stacks(&stacks, &stack_of).unwrap();
    for (record, found) in (0..).zip(shares.with_callees(tree).unwrap()) {
        let expected = shares.records(below(record)).unwrap();
        assert!((found.share - expected.share).abs() < 1e-9, "{found:?} {expected:?}");
        assert!((found.points() - expected.points()).abs() < 1e-6 && found.points() > 0.0, "{found:?}");
        if let Some(stack) = stack_of[record as usize] {
            assert!(by_stack[stack as usize].share >= found.share - 1e-9);
        }
    }
    let (whole, half) = (shares.records([1, 2]).unwrap(), shares.fraction_of([1, 2], 0.5).unwrap());
    assert!((whole.share - 2.0 * half.share).abs() < 1e-9 && half.low < half.share, "{half:?}");
    assert!(Shares::new(&Profile::default()).with_callees(tree).is_none());
}
