//! Entry checks against their definition, by exhaustive search.

use wprof_profiler::{Broken, CallGraph, DirectCallee};

use crate::rng::Rng;

/// By function, the functions that it calls, and whether in loops only.
type Calls = Vec<Vec<DirectCallee>>;

/// Random calls among `count` functions.
fn random(rng: &mut Rng, count: usize) -> Calls {
    let callee = |rng: &mut Rng| DirectCallee { func: rng.below(count) as u32, in_loops: rng.below(3) == 0 };
    (0..count).map(|_| (0..rng.below(4)).map(|_| callee(rng)).collect()).collect()
}

fn graph(calls: &Calls) -> CallGraph {
    let mut graph = CallGraph::new();
    calls.iter().for_each(|callees| graph.add(callees.iter().copied()));
    graph
}

/// The callees of each function by calls that are so.
fn funcs(calls: &Calls, is_wanted: impl Fn(&DirectCallee) -> bool) -> Vec<Vec<u32>> {
    let of = |callees: &Vec<DirectCallee>| {
        callees.iter().filter(|callee| is_wanted(callee)).map(|callee| callee.func).collect()
    };
    calls.iter().map(of).collect()
}

/// By function, the least number of calls from one of `from`.
fn distances(calls: &[Vec<u32>], from: &[u32]) -> Vec<Option<usize>> {
    let mut distances = vec![None; calls.len()];
    from.iter().for_each(|&f| distances[f as usize] = Some(0));
    for _ in calls {
        for (caller, callees) in calls.iter().enumerate() {
            let Some(distance) = distances[caller] else { continue };
            for &callee in callees {
                let known = &mut distances[callee as usize];
                *known = Some(known.map_or(distance + 1, |known: usize| known.min(distance + 1)));
            }
        }
    }
    distances
}

/// What reaches what.
fn reach(calls: &[Vec<u32>]) -> Vec<Vec<bool>> {
    let from = |f: u32| distances(calls, &[f]).iter().map(Option::is_some).collect();
    (0..calls.len() as u32).map(from).collect()
}

fn expected(all: &[Vec<u32>], unbroken: &[Vec<u32>], roots: &[u32]) -> Vec<bool> {
    let reach = reach(unbroken);
    let far = |distance: Option<usize>| distance.unwrap_or(usize::MAX);
    let from_roots = distances(all, roots);
    let is_called_from_below = |f: usize| {
        (0..all.len()).any(|g| {
            let together = reach[f][g] && reach[g][f];
            unbroken[g].contains(&(f as u32)) && together && far(from_roots[g]) >= far(from_roots[f])
        })
    };
    let is_checked = |f: usize| roots.contains(&(f as u32)) || is_called_from_below(f);
    (0..all.len()).map(|f| !all[f].is_empty() && is_checked(f)).collect()
}

/// The calls that are left if nothing goes through a checked entry.
fn between_checks(calls: &[Vec<u32>], checks: &[bool]) -> Vec<Vec<u32>> {
    let of = |(callees, &checked): (&Vec<u32>, &bool)| {
        let free = callees.iter().copied().filter(|&callee| !checks[callee as usize]);
        if checked { Vec::new() } else { free.collect() }
    };
    calls.iter().zip(checks).map(of).collect()
}

#[test]
fn entry_checks_are_those_of_the_definition_and_break_all_cycles() {
    let mut rng = Rng::new(7);
    let (mut checked_some, mut broken_by_loops) = (0, 0);
    for round in 0..2_000 {
        let count = 1 + rng.below(7);
        let calls = random(&mut rng, count);
        let roots: Vec<u32> = (0..rng.below(3)).map(|_| rng.below(count) as u32).collect();
        let (all, outside) = (funcs(&calls, |_| true), funcs(&calls, |callee| !callee.in_loops));
        let graph = graph(&calls);
        let found = |broken| graph.entry_checks(broken, &roots, |f| calls[f as usize].is_empty());
        for (broken, unbroken) in [(Broken::ByEntries, &all), (Broken::ByLoops, &outside)] {
            let checks = found(broken);
            assert_eq!(checks, expected(&all, unbroken, &roots), "{round} {broken:?}: {calls:?} {roots:?}");
            let left = between_checks(unbroken, &checks);
            for (f, callees) in left.iter().enumerate() {
                assert!(distances(&left, callees)[f].is_none(), "{round}: a cycle at {f}: {calls:?}");
            }
            checked_some += usize::from(checks.contains(&true));
        }
        broken_by_loops += check_broken_by_loops(&calls, &found(Broken::ByLoops));
    }
    assert!(checked_some > 1_000 && broken_by_loops > 300, "{checked_some} {broken_by_loops}");
}

/// Calls that are said to need the check of a loop are in loops, and without them nothing recurs but through checks.
/// Gives how many there are.
fn check_broken_by_loops(calls: &Calls, checks: &[bool]) -> usize {
    let broken = graph(calls).broken_by_loops(checks);
    let rest = |(callees, broken): (&Vec<DirectCallee>, &Vec<u32>)| {
        assert!(broken.iter().all(|&func| callees.contains(&DirectCallee { func, in_loops: true })));
        let is_left = |callee: &&DirectCallee| !callee.in_loops || !broken.contains(&callee.func);
        callees.iter().filter(is_left).map(|callee| callee.func).collect()
    };
    let rest: Vec<Vec<u32>> = calls.iter().zip(&broken).map(rest).collect();
    let left = between_checks(&rest, checks);
    for (f, callees) in left.iter().enumerate() {
        assert!(distances(&left, callees)[f].is_none(), "a cycle at {f}: {calls:?}");
    }
    broken.iter().map(Vec::len).sum()
}

#[test]
fn long_chains_of_calls_need_no_stack() {
    let count = 200_000;
    let callee = |func| DirectCallee { func, in_loops: false };
    let calls: Calls = (0..count).map(|f| vec![callee((f + 1) % count)]).collect();
    let checks = graph(&calls).entry_checks(Broken::ByLoops, &[5], |_| false);
    assert_eq!(checks.iter().filter(|&&checked| checked).count(), 1);
}
