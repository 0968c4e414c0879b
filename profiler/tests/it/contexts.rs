//! Calling context trees against chains of callers that are written out and counted.

use std::collections::BTreeMap;

use arbtest::arbitrary::{Result, Unstructured};
use wprof_profiler::{
    BackEdge, CallEdge, CallRecord, Callee, CallerRow, ContextLink, ContextLog, ContextRow, ContextStats,
    ContextTree, FigureKind, FileError, InvalidContexts, InvalidProfile, Metric, Profile, Rate, Routine,
    Stacks, Total,
};

/// Functions of the programs that are made up here.
const FUNCTIONS: u32 = 5;

/// A frame: its function and the call site in its caller.
pub type Frame = (u32, u32);

/// Calls by context, and recursive calls: the caller's context, and who was called where.
type Found = (BTreeMap<Vec<Frame>, u64>, Vec<(Vec<Frame>, Frame)>);

fn function(index: u32) -> Routine {
    let callee = Callee::Function { index, name: Some(format!("f{index}")) };
    Routine { callee, sites: vec![10 * index + 1, 10 * index + 2, 10 * index + 3] }
}

fn record(routine: u32, parent: u32, site: u32, calls: u64) -> CallRecord {
    CallRecord {
        routine,
        parent,
        site,
        calls,
        back_edges: Vec::new(),
        metrics: Vec::new(),
        paths: Vec::new(),
        unfinished: Vec::new(),
    }
}

/// The stacks of a made-up run, one for each call, outermost frame first.
pub fn stacks(u: &mut Unstructured<'_>) -> Result<Vec<Vec<Frame>>> {
    let (mut stack, mut all): (Vec<Frame>, Vec<Vec<Frame>>) = Default::default();
    for _ in 0..u.int_in_range(0..=60)? {
        stack.truncate(u.int_in_range(0..=stack.len())?);
        for _ in 0..u.int_in_range(0..=4)? {
            let site = match stack.last() {
                Some((caller, _)) => 10 * caller + u.int_in_range(1..=3)?,
                None => 0,
            };
            stack.push((u.int_in_range(0..=FUNCTIONS - 1)?, site));
            all.push(stack.clone());
        }
    }
    Ok(all)
}

/// The context of a stack by definition: what lies between two calls of one function is left out.
fn folded(stack: &[Frame]) -> Vec<Frame> {
    let mut context: Vec<Frame> = Vec::new();
    for &frame in stack {
        match context.iter().position(|known| known.0 == frame.0) {
            Some(at) => context.truncate(at + 1),
            None => context.push(frame),
        }
    }
    context
}

/// Contexts with their calls, and recursive calls, from stacks.
fn counted(stacks: &[Vec<Frame>]) -> Found {
    let (mut calls, mut back) = (BTreeMap::new(), Vec::new());
    for stack in stacks {
        *calls.entry(folded(stack)).or_default() += 1;
        let (&last, above) = stack.split_last().expect("somebody was called");
        let above = folded(above);
        if above.iter().any(|frame| frame.0 == last.0) {
            back.push((above, last));
        }
    }
    back.sort();
    back.dedup();
    (calls, back)
}

/// The same from a tree.
fn read(tree: &ContextTree) -> Found {
    let of = |record: u32| match *tree.callee(record) {
        Callee::Function { index, .. } => index,
        _ => panic!("functions only"),
    };
    let context = |mut record: u32| {
        let mut chain = Vec::new();
        while record != ContextTree::ROOT {
            let CallRecord { parent, site, .. } = tree.records[record as usize];
            chain.push((of(record), site));
            record = parent;
        }
        chain.reverse();
        chain
    };
    let records = || (0..).zip(&tree.records).skip(1);
    let calls = records().map(|(index, record)| (context(index), record.calls)).collect();
    let back = records().flat_map(|(index, record)| {
        record.back_edges.iter().map(move |edge| (context(index), (of(edge.to), edge.site)))
    });
    let mut back: Vec<_> = back.collect();
    back.sort();
    (calls, back)
}

/// The records that a run leaves behind, in the order of the first call in each context.
pub fn log(stacks: &[Vec<Frame>]) -> ContextLog {
    let mut log = ContextLog { routines: (0..FUNCTIONS).map(function).collect(), ..ContextLog::default() };
    log.records.push(record(0, 0, 0, 0));
    let mut known: BTreeMap<Vec<Frame>, u32> = BTreeMap::from([(Vec::new(), 0)]);
    for stack in stacks {
        let ((&(routine, site), above), context) = (stack.split_last().expect("a call"), folded(stack));
        let from = known[&folded(above)];
        let to = *known.entry(context).or_insert_with(|| {
            log.records.push(record(routine, from, site, 0));
            log.records.len() as u32 - 1
        });
        log.records[to as usize].calls += 1;
        if folded(above).iter().any(|frame| frame.0 == routine) {
            log.links.push(ContextLink { from, site, to });
        }
    }
    log.records.iter_mut().for_each(|record| record.metrics = vec![5 * record.calls]);
    log.metrics.push(Metric { name: "m".into(), taken_off: 0 });
    log
}

#[test]
fn trees_say_what_the_stacks_of_all_calls_say() {
    arbtest::arbtest(|u| {
        let stacks = stacks(u)?;
        let tree = log(&stacks).tree();
        assert_eq!(tree.verify(), Ok(()));
        assert_eq!(read(&tree), counted(&stacks));
        let sampled = FigureKind::Sampled { rate: Rate { counted: 1, of: 9 } };
        for kind in [FigureKind::Exact, sampled] {
            let profile =
                Profile { contexts: Some(ContextTree { kind, ..tree.clone() }), ..Profile::default() };
            assert_eq!(Profile::from_bytes(&profile.to_bytes().unwrap()).unwrap(), profile);
            assert_eq!(profile.sampled(), kind.rate());
        }
        Ok(())
    });
}

/// Calls by caller's function (none for the host), call site and callee.
type Edges = BTreeMap<(Option<u32>, u32, u32), u64>;

fn edges_of_stacks(stacks: &[Vec<Frame>]) -> Edges {
    let mut edges = Edges::new();
    for stack in stacks {
        let (&(callee, site), above) = stack.split_last().expect("a call");
        *edges.entry((above.last().map(|frame| frame.0), site, callee)).or_default() += 1;
    }
    edges
}

fn edges_of_tree(tree: &ContextTree, executed: impl Fn(u32, u32) -> Option<u64>) -> Edges {
    let function = |routine: u32| match tree.routines[routine as usize].callee {
        Callee::Function { index, .. } => Some(index),
        _ => None,
    };
    let edges = tree.call_edges(|caller, site| executed(function(caller)?, site));
    let place =
        |edge: &CallEdge| (function(edge.caller), edge.site, function(edge.callee).expect("a function"));
    edges.iter().filter(|edge| edge.calls > 0).map(|edge| (place(edge), edge.calls)).collect()
}

/// The same stack in a program whose sites call one function each.
fn with_direct_calls(stack: &[Frame]) -> Vec<Frame> {
    let mut direct: Vec<Frame> = Vec::new();
    for &(function, site) in stack {
        direct.push(match direct.last() {
            Some((caller, _)) => ((caller + site % 10) % FUNCTIONS, 10 * caller + site % 10),
            None => (function, site),
        });
    }
    direct
}

fn calls_of(callee: u32, edges: &Edges) -> u64 {
    edges.iter().filter(|((.., to), _)| *to == callee).map(|(_, calls)| calls).sum()
}

#[test]
fn calls_are_told_by_the_sites_where_they_were_made() {
    let (mut differing, mut found_recursive) = (0, 0);
    arbtest::arbtest(|u| {
        let (mut stacks, is_direct) = (stacks(u)?, u.arbitrary()?);
        if is_direct {
            stacks = stacks.iter().map(|stack| with_direct_calls(stack)).collect();
        }
        let (made, tree) = (edges_of_stacks(&stacks), log(&stacks).tree());
        let executed = |caller: u32, site: u32| -> Option<u64> {
            let here = made.iter().filter(|((by, at, _), _)| (*by, *at) == (Some(caller), site));
            Some(here.map(|(_, calls)| calls).sum())
        };
        let found = edges_of_tree(&tree, executed);
        let in_records = edges_of_tree(&tree, |_, _| None);
        let wrong = edges_of_tree(&tree, |caller, site| executed(caller, site).map(|calls| calls / 2));
        for (callee, edges) in (0..FUNCTIONS).flat_map(|f| [&found, &in_records, &wrong].map(|e| (f, e))) {
            assert_eq!(calls_of(callee, edges), calls_of(callee, &made));
        }
        match is_direct {
            true => {
                assert_eq!(found, made);
                let are_whole = tree.call_edges(|_, _| None).iter().all(|edge| edge.is_whole);
                assert!(!are_whole || found == in_records, "who lacks calls says so");
                differing += usize::from(found != in_records);
            }
            false => found_recursive += usize::from(found != in_records),
        }
        Ok(())
    });
    assert!(differing > 10 && found_recursive > 10, "{differing} {found_recursive}");
}

#[test]
fn the_sum_of_two_trees_is_the_tree_of_both_runs() {
    arbtest::arbtest(|u| {
        let [a, b] = [stacks(u)?, stacks(u)?];
        let both = log(&[a.clone(), b.clone()].concat()).tree();
        let [a, b] = [a, b].map(|stacks| log(&stacks).tree());
        assert_eq!(a.merged(&b), both);
        assert_eq!(b.merged(&a), both);
        Ok(())
    });
}

/// `f0` calls `f1` and `f2`, and both call `f3`, which calls `f0`.
pub fn example() -> ContextTree {
    let call = |functions: &[u32]| {
        let callers = [None].into_iter().chain(functions.iter().copied().map(Some));
        functions.iter().zip(callers).map(|(&f, by)| (f, by.map_or(0, |by| 10 * by + 1))).collect::<Vec<_>>()
    };
    let mut stacks = vec![call(&[0]), call(&[0, 1]), call(&[0, 1, 3]), call(&[0, 1, 3, 0])];
    stacks.extend([call(&[0, 2]), call(&[0, 2, 3]), call(&[0, 2, 3]), call(&[0, 2, 3])]);
    log(&stacks).tree()
}

#[test]
fn stacks_are_contexts_without_their_call_sites() {
    arbtest::arbtest(|u| {
        let all = stacks(u)?;
        // By the functions on the stack.
        let mut calls: BTreeMap<Vec<u32>, u64> = BTreeMap::new();
        for stack in &all {
            let functions = folded(stack).iter().map(|(function, _)| *function).collect();
            *calls.entry(functions).or_default() += 1;
        }
        let tree = log(&all).tree();
        let mut found = Stacks::default();
        let stack_of = found.add(&tree, Callee::clone);
        let own = found.sums(&stack_of, &tree.calls());
        let index = |callee: &Callee| match callee {
            Callee::Function { index, .. } => *index,
            other => panic!("{other}"),
        };
        let functions = |stack| found.frames(stack).into_iter().map(index).collect::<Vec<_>>();
        assert_eq!(
            own.iter()
                .enumerate()
                .map(|(stack, calls)| (functions(stack), *calls))
                .collect::<BTreeMap<_, _>>(),
            calls
        );
        for (stack, inclusive) in found.inclusive(&own).into_iter().enumerate() {
            let prefix = functions(stack);
            let below = calls.iter().filter(|(functions, _)| functions.starts_with(&prefix));
            assert_eq!(inclusive, below.map(|(_, calls)| calls).sum::<u64>());
        }
        Ok(())
    });
}

/// In how many stacks something is.
fn counted_once<T: Ord>(stacks: &[Vec<Frame>], found: impl Fn(&[Frame]) -> Vec<T>) -> BTreeMap<T, u64> {
    let mut all = BTreeMap::new();
    for stack in stacks {
        let mut once = found(stack);
        once.sort();
        once.dedup();
        once.into_iter().for_each(|what| *all.entry(what).or_default() += 1);
    }
    all
}

#[test]
fn totals_count_what_happened_below_once() {
    let (mut whole, mut lacking) = (0, 0);
    arbtest::arbtest(|u| {
        let stacks = stacks(u)?;
        let tree = log(&stacks).tree();
        let functions = counted_once(&stacks, |stack| stack.iter().map(|frame| frame.0).collect());
        let index = |routine: u32| match tree.routines[routine as usize].callee {
            Callee::Function { index, .. } => index,
            _ => u32::MAX,
        };
        let mut check = |total: Total, expected: u64| {
            assert!(if total.is_whole { total.inclusive == expected } else { total.inclusive <= expected });
            *if total.is_whole { &mut whole } else { &mut lacking } += 1;
        };
        for (total, routine) in tree.totals(&tree.calls()).into_iter().zip(0..).skip(1) {
            check(total, functions[&index(routine)]);
        }
        let sites = counted_once(&stacks, |stack| stack.iter().map(|frame| (frame.1, frame.0)).collect());
        for ((_, site, callee), total) in tree.site_totals(&tree.calls()) {
            check(total, sites[&(site, index(callee))]);
        }
        Ok(())
    });
    assert!(whole > 0 && lacking > 0, "{whole} whole, {lacking} not");
}

#[test]
fn a_function_that_calls_only_itself_has_all_of_its_total() {
    // main calls f, f calls itself and g.
    let stacks = [
        vec![(0, 0)],
        vec![(0, 0), (1, 1)],
        vec![(0, 0), (1, 1), (1, 11)],
        vec![(0, 0), (1, 1), (1, 11), (2, 12)],
    ];
    let tree = log(&stacks).tree();
    let totals: Vec<Total> = tree.totals(&tree.calls());
    let total = |own, inclusive| Total { own, inclusive, is_whole: true };
    assert_eq!(totals[1..], [total(1, 4), total(2, 3), total(1, 1)]);
    let sites = tree.site_totals(&tree.calls());
    let lacking = Total { own: 0, inclusive: 0, is_whole: false };
    let expected = [
        ((0, 0, 1), total(1, 4)),
        ((1, 1, 2), total(2, 3)),
        ((2, 11, 2), lacking),
        ((2, 12, 3), total(1, 1)),
    ];
    assert_eq!(sites.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn a_tree_is_measured() {
    let expected = ContextStats {
        records: 5,
        bytes: 5 * (16 + 3 * 8),
        out_degree: 5.0 / 4.0,
        average_height: 3.0,
        height: 3,
        most_replicated: 2,
        replicated_routine: 4,
        sites: 15,
        used_sites: 4,
        back_edges: 1,
    };
    assert_eq!(example().stats(), expected);
    assert_eq!(log(&[]).tree().stats(), ContextStats::default());
}

#[test]
fn the_heaviest_calls_come_first_and_light_ones_not_at_all() {
    let tree = example();
    let row = |record, depth, inclusive| ContextRow { record, depth, inclusive };
    let all = [row(1, 0, 8), row(4, 1, 4), row(5, 2, 3), row(2, 1, 2), row(3, 2, 1)];
    assert_eq!(tree.heaviest_first(&tree.calls(), 0), all);
    assert_eq!(tree.heaviest_first(&tree.calls(), 3), all[..3]);
}

#[test]
fn callers_share_the_weight_of_their_callee() {
    let tree = example();
    let row = |routine, site, depth, weight| CallerRow { routine, site, depth, weight };
    let all = [row(4, 0, 0, 4), row(3, 21, 1, 3), row(1, 1, 2, 3), row(2, 11, 1, 1), row(1, 1, 2, 1)];
    assert_eq!(tree.callers(&[4], &tree.calls(), 0), all);
    assert_eq!(tree.callers(&[4], &tree.calls(), 2), all[..3]);
}

#[test]
fn callers_share_what_their_callee_weighs_with_its_callees() {
    let tree = example();
    let own: Vec<u64> = (0..tree.records.len()).map(|number| 10_u64.pow(number as u32)).collect();
    for routine in 1..tree.routines.len() as u32 {
        let weights = tree.outermost(&[routine], &own);
        let rows = tree.callers(&[routine], &weights, 0);
        assert_eq!(rows[0].weight, tree.totals(&own)[routine as usize].inclusive, "{routine}");
    }
    // The first record is above all others: they are in its weight already.
    let all: Vec<u32> = (1..tree.routines.len() as u32).collect();
    let weights = tree.outermost(&all, &own);
    assert_eq!(weights.iter().sum::<u64>(), own[1..].iter().sum::<u64>());
    assert_eq!(tree.callers(&all, &weights, 0).len(), 1);
}

#[test]
fn broken_trees_are_refused() {
    type Break = fn(&mut ContextTree);
    let breaks: [(Break, InvalidContexts); 13] = [
        (|tree| tree.routines.swap(1, 2), InvalidContexts::Routines),
        (|tree| tree.routines[1].sites.reverse(), InvalidContexts::Routines),
        (|tree| tree.records.clear(), InvalidContexts::Root),
        (|tree| tree.records[0].calls = 1, InvalidContexts::Root),
        (|tree| tree.records.swap(4, 5), InvalidContexts::Order(4)),
        (|tree| tree.records[4].routine = 2, InvalidContexts::Order(4)),
        (|tree| tree.records[3].parent = 7, InvalidContexts::Order(3)),
        (|tree| tree.records[2].parent = 2, InvalidContexts::Order(2)),
        (|tree| tree.records[3].routine = 9, InvalidContexts::Routine(3)),
        (|tree| tree.records[3].routine = 1, InvalidContexts::Routine(3)),
        (|tree| tree.records[3].site = 12_345, InvalidContexts::Site(3)),
        (
            |tree| tree.records[3].back_edges = vec![BackEdge { site: 31, to: 4 }],
            InvalidContexts::BackEdge(3),
        ),
        (|tree| tree.records[3].back_edges = vec![BackEdge { site: 30, to: 1 }], InvalidContexts::Site(3)),
    ];
    for (number, (damage, error)) in breaks.into_iter().enumerate() {
        let mut tree = example();
        damage(&mut tree);
        assert_eq!(tree.verify(), Err(error), "{number}");
        let profile = Profile { contexts: Some(tree), ..Profile::default() };
        let written = profile.to_bytes();
        let refused = matches!(written, Err(FileError::Invalid(InvalidProfile::Contexts(e))) if e == error);
        assert!(refused, "{number}");
    }
}

#[test]
fn profiles_keep_contexts_that_both_have() {
    let with = Profile { contexts: Some(example()), ..Profile::default() };
    let (mut both, mut one) = (with.clone(), with.clone());
    both.merge(&with).unwrap();
    one.merge(&Profile::default()).unwrap();
    assert_eq!(both.contexts, Some(example().merged(&example())));
    assert_eq!(both.contexts.as_ref().map(|tree| tree.records[5].calls), Some(6));
    assert_eq!(one.contexts, None);
    assert!(both.to_json().contains("\"inclusive_calls\": 16"));
}

#[test]
fn pruning_leaves_out_what_only_leads_to_nothing() {
    arbtest::arbtest(|u| {
        let mut tree = log(&stacks(u)?).tree();
        for record in &mut tree.records {
            record.calls = if u.ratio(2, 3)? { 0 } else { record.calls };
            record.metrics = vec![5 * record.calls];
        }
        let pruned = tree.pruned();
        pruned.verify().unwrap();
        let called =
            |tree: &ContextTree| tree.calls().into_iter().filter(|&calls| calls > 0).collect::<Vec<_>>();
        assert_eq!(called(&pruned), called(&tree));
        assert!(pruned.inclusive(&pruned.calls()).iter().skip(1).all(|&calls| calls > 0));
        assert_eq!(pruned.pruned(), pruned);
        Ok(())
    })
    .budget_ms(300);
}
