//! Entry checks against their definition, by exhaustive search.

use wprof_profiler::CallGraph;

use crate::rng::Rng;

/// Random calls among `count` functions.
fn random(rng: &mut Rng, count: usize) -> Vec<Vec<u32>> {
    (0..count).map(|_| (0..rng.below(4)).map(|_| rng.below(count) as u32).collect()).collect()
}

fn graph(calls: &[Vec<u32>]) -> CallGraph {
    let mut graph = CallGraph::new();
    calls.iter().for_each(|callees| graph.add(callees.iter().copied()));
    graph
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

fn expected(calls: &[Vec<u32>], roots: &[u32]) -> Vec<bool> {
    let reach: Vec<_> = (0..calls.len() as u32).map(|f| distances(calls, &[f])).collect();
    let far = |distance: Option<usize>| distance.unwrap_or(usize::MAX);
    let from_roots = distances(calls, roots);
    let is_called_from_below = |f: usize| {
        (0..calls.len()).any(|g| {
            let together = reach[f][g].is_some() && reach[g][f].is_some();
            calls[g].contains(&(f as u32)) && together && far(from_roots[g]) >= far(from_roots[f])
        })
    };
    let is_checked = |f: usize| roots.contains(&(f as u32)) || is_called_from_below(f);
    (0..calls.len()).map(|f| !calls[f].is_empty() && is_checked(f)).collect()
}

#[test]
fn entry_checks_are_those_of_the_definition_and_break_all_cycles() {
    let mut rng = Rng::new(7);
    let mut checked_some = 0;
    for round in 0..2_000 {
        let count = 1 + rng.below(7);
        let calls = random(&mut rng, count);
        let roots: Vec<u32> = (0..rng.below(3)).map(|_| rng.below(count) as u32).collect();
        let checks = graph(&calls).entry_checks(&roots, |f| calls[f as usize].is_empty());
        assert_eq!(checks, expected(&calls, &roots), "{round}: {calls:?} {roots:?}");
        let unchecked: Vec<Vec<u32>> = calls
            .iter()
            .zip(&checks)
            .map(|(callees, &checked)| {
                let free = callees.iter().copied().filter(|&callee| !checks[callee as usize]);
                if checked { Vec::new() } else { free.collect() }
            })
            .collect();
        for (f, callees) in unchecked.iter().enumerate() {
            assert!(distances(&unchecked, callees)[f].is_none(), "{round}: a cycle at {f}: {calls:?}");
        }
        checked_some += usize::from(checks.contains(&true));
    }
    assert!(checked_some > 500);
}

#[test]
fn long_chains_of_calls_need_no_stack() {
    let count = 200_000;
    let calls: Vec<Vec<u32>> = (0..count).map(|f| vec![(f + 1) % count]).collect();
    let checks = graph(&calls).entry_checks(&[5], |_| false);
    assert_eq!(checks.iter().filter(|&&checked| checked).count(), 1);
}
