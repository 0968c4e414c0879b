//! Preferential numbers: different for all interesting paths, and few.

use std::collections::BTreeMap;

use wprof_profiler::{Cfg, PathNumbering, PreferentialNumbering, optimal_range};

use crate::random_cfg::{for_random_cfgs, small_cfgs};

/// The sum of the weights along a path, the start's pseudo edge included.
fn sum(numbering: &PathNumbering, weights: &[i64], id: u64) -> i64 {
    let path = numbering.path(id).unwrap();
    let start = numbering.starts().find(|&(_, block)| block == path.start).map(|(edge, _)| edge);
    start.iter().chain(&path.edges).map(|edge| weights[edge.index()]).sum()
}

/// Demands all that is promised of the numbers of these paths.
fn check(numbering: &PathNumbering, interesting: &[u64]) -> Option<PreferentialNumbering> {
    let real: Vec<u64> = interesting.iter().copied().filter(|&id| numbering.path(id).is_some()).collect();
    let found = PreferentialNumbering::new(numbering, interesting);
    assert_eq!(found.is_some(), !real.is_empty());
    let found = found?;
    let numbers: BTreeMap<u64, u64> = found.paths().iter().map(|path| (path.preferential, path.id)).collect();
    assert_eq!(numbers.len(), real.len(), "each path has a number of its own");
    for (&preferential, &id) in &numbers {
        assert_eq!(sum(numbering, found.weights(), id), preferential as i64);
    }
    assert!(numbers.contains_key(&0) && found.range() <= numbering.paths(), "{found:?}");
    assert!(found.delta() >= 1.0 && found.ball_larus_delta() >= 1.0);
    Some(found)
}

#[test]
fn all_sets_of_paths_of_small_graphs_have_different_numbers() {
    for cfg in small_cfgs() {
        let numbering = PathNumbering::new(&cfg);
        let paths = numbering.paths();
        for set in 0..1_u64 << paths.min(6) {
            let ids: Vec<u64> = (0..paths).filter(|id| set >> (id % 6) & 1 == 1).collect();
            check(&numbering, &ids);
        }
    }
}

#[test]
fn random_sets_of_paths_have_different_numbers() {
    for_random_cfgs(|cfg, rng| {
        let numbering = PathNumbering::new(cfg);
        let most = 1 + rng.below(40);
        let mut ids: Vec<u64> = (0..most).map(|_| rng.next() % numbering.paths()).collect();
        ids.push(numbering.paths());
        let whole: Vec<u64> = (0..numbering.paths().min(500)).collect();
        ids.sort_unstable();
        ids.dedup();
        check(&numbering, &ids);
        if whole.len() as u64 == numbering.paths()
            && whole.iter().all(|&id| numbering.path(id).is_some())
            && let Some(all) = check(&numbering, &whole)
        {
            assert_eq!(all.delta(), 1.0, "of all paths there are no holes");
        }
    });
}

/// By name of a path, one letter a block, its number; `blocks` are named in order, EXIT last.
fn named(blocks: &str, edges: &[&str], interesting: &[&str]) -> (PreferentialNumbering, Vec<i64>) {
    let index = |name: u8| blocks.bytes().position(|b| b == name).unwrap() as u32;
    let pairs: Vec<(u32, u32)> =
        edges.iter().map(|e| (index(e.as_bytes()[0]), index(e.as_bytes()[1]))).collect();
    let exit = blocks.len() as u32 - 1;
    let cfg = Cfg::from_pairs(exit, &pairs).unwrap();
    let numbering = PathNumbering::new(&cfg);
    let name = |id: &u64| -> String {
        let path = numbering.path(*id).unwrap();
        let named = path
            .blocks(&cfg)
            .iter()
            .map(|block| blocks.as_bytes()[block.index()] as char)
            .collect::<String>();
        named + &blocks[exit as usize..]
    };
    let id = |way: &&str| (0..numbering.paths()).find(|id| name(id) == *way).unwrap();
    let ids: Vec<u64> = interesting.iter().map(id).collect();
    let found = check(&numbering, &ids).unwrap();
    let numbers = ids.iter().map(|&id| sum(&numbering, found.weights(), id)).collect();
    (found, numbers)
}

/// Figure 3.4 and section 3.3.2: the Ball-Larus numbers are 0, 1 and 5.
#[test]
fn the_thesis_s_example_is_numbered_without_holes() {
    let edges = ["sa", "sb", "ac", "ab", "bc", "cd", "ct", "dt"];
    let (found, numbers) = named("sabcdt", &edges, &["sacdt", "sact", "sbct"]);
    assert_eq!(numbers, [0, 1, 2]);
    assert_eq!((found.delta(), found.ball_larus_delta()), (1.0, 2.0));
    let weights = [0, 2, 0, 0, -1, 0, 1, 0];
    assert_eq!(found.weights(), weights, "as in figure 3.4 (b)");
}

/// Figure 3.5: no weights also give all other paths greater numbers; these two need not care.
#[test]
fn paths_that_cannot_be_separated_are_numbered() {
    let edges = ["sa", "sb", "ac", "bc", "cd", "ce", "dt", "et"];
    let (found, mut numbers) = named("sabcdet", &edges, &["sacet", "sbcdt"]);
    numbers.sort_unstable();
    assert_eq!((numbers, found.delta()), (vec![0, 1], 1.0));
}

/// Figure 3.6: the sum of these six numbers is even whatever the weights, and 0 + … + 5 is odd.
#[test]
fn no_weights_are_perfect_for_some_sets() {
    let edges = ["sa", "sb", "sc", "ad", "bd", "cd", "de", "df", "dg", "et", "ft", "gt"];
    let paths = ["sadft", "sadgt", "sbdet", "sbdgt", "scdet", "scdft"];
    let (found, numbers) = named("sabcdefgt", &edges, &paths);
    assert_eq!(numbers.iter().sum::<i64>() % 2, 0);
    assert!(found.delta() > 1.0 && found.range() <= 9, "{numbers:?}");
}

#[test]
fn two_of_a_million_paths_are_two_numbers() {
    let diamonds = 20;
    let edges: Vec<_> = (0..diamonds)
        .flat_map(|d| {
            [(3 * d, 3 * d + 1), (3 * d, 3 * d + 2), (3 * d + 1, 3 * d + 3), (3 * d + 2, 3 * d + 3)]
        })
        .collect();
    let numbering = PathNumbering::new(&Cfg::from_pairs(3 * diamonds, &edges).unwrap());
    let found = check(&numbering, &[0, (1 << diamonds) - 1]).unwrap();
    assert_eq!((found.range(), found.delta()), (2, 1.0));
    assert_eq!(found.ball_larus_delta(), f64::from(1 << (diamonds - 1)));
}

/// The least range of numbers that weights from -2 to 2 give these paths, if they tell them apart.
fn least_range(numbering: &PathNumbering, ids: &[u64]) -> Option<u64> {
    let edges = numbering.view().edge_count();
    let all = (0..5_u32.pow(edges as u32)).filter_map(|code| {
        let weights: Vec<i64> =
            (0..edges as u32).map(|edge| i64::from(code / 5_u32.pow(edge) % 5) - 2).collect();
        let mut sums: Vec<i64> = ids.iter().map(|&id| sum(numbering, &weights, id)).collect();
        sums.sort_unstable();
        let differ = sums.windows(2).all(|pair| pair[0] != pair[1]);
        differ.then(|| (sums[sums.len() - 1] - sums[0] + 1) as u64)
    });
    all.min()
}

#[test]
fn no_weights_are_more_compact_than_the_optimum() {
    let mut searched = 0;
    for cfg in small_cfgs().step_by(29) {
        let numbering = PathNumbering::new(&cfg);
        let paths = numbering.paths();
        if numbering.view().edge_count() > 5 || paths > 6 {
            continue;
        }
        for set in 1..1_u64 << paths {
            let ids: Vec<u64> = (0..paths).filter(|id| set >> id & 1 == 1).collect();
            let Some(found) = PreferentialNumbering::new(&numbering, &ids) else { continue };
            let ids: Vec<u64> = found.paths().iter().map(|path| path.id).collect();
            let optimum = optimal_range(&numbering, &ids).unwrap();
            assert!(optimum >= ids.len() as u64 && optimum <= found.range());
            assert_eq!(least_range(&numbering, &ids), Some(optimum), "{ids:?} of {numbering:?}");
            searched += 1;
        }
    }
    assert!(searched > 50, "{searched}");
}

#[test]
fn numbers_that_edges_share_cannot_be_chosen_one_by_one() {
    // Three branches of two ways, one after the other.
    let cfg = Cfg::from_pairs(3, &[(0, 1), (0, 1), (1, 2), (1, 2), (2, 3), (2, 3)]).unwrap();
    let numbering = PathNumbering::new(&cfg);
    assert_eq!(numbering.paths(), 8);
    assert_eq!(optimal_range(&numbering, &[0, 1, 2, 3]), Some(4));
    assert_eq!(optimal_range(&numbering, &[0, 3, 5, 6]), Some(4));
    assert_eq!(optimal_range(&numbering, &[0, 1, 2, 4]), Some(4));
    assert_eq!(optimal_range(&numbering, &[0, 1, 2, 3, 4, 5, 6]), None, "more than six");
    assert_eq!(optimal_range(&numbering, &[9]), None);
}
