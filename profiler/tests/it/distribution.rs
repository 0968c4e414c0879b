//! How instructions are distributed over paths, against logged walks.

use std::collections::HashMap;

use wprof_profiler::{Path, PathDistribution, PathNumbering};

use crate::path_plan::split;
use crate::path_profile::{for_random_profiles, measured_profile};

#[test]
fn the_hottest_paths_and_all_lengths_are_those_of_the_log() {
    for_random_profiles(|cfg, [walks, _], [profile, _]| {
        let numbering = PathNumbering::new(cfg);
        let mut ops: HashMap<Path, u64> = HashMap::new();
        for walk in walks {
            for path in split(cfg, walk, |edge| numbering.ends_path(edge)).0 {
                let blocks = path.blocks(cfg);
                let cost: u64 = blocks.iter().map(|block| u64::from(1 + block.0 % 5)).sum();
                *ops.entry(path).or_default() += cost;
            }
        }
        let found = profile.path_distribution().unwrap();
        let mut costs: Vec<u64> = ops.values().copied().collect();
        costs.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!((found.paths, found.ops), (costs.len() as u64, costs.iter().sum()));
        for &(size, sum) in &found.of_hottest {
            assert_eq!(costs[..size as usize].iter().sum::<u64>(), sum);
        }
        let sizes: Vec<u64> = found.of_hottest.iter().map(|&(size, _)| size).collect();
        assert!(
            sizes
                .iter()
                .rev()
                .skip(1)
                .rev()
                .eq([1, 10, 100, 1000].iter().take(sizes.len().saturating_sub(1)))
        );
        for most in 0..8 {
            let branches = |path: &Path| {
                let is_branch =
                    |edge: &&wprof_profiler::EdgeId| cfg.successors(cfg.edge(**edge).from).count() > 1;
                path.edges.iter().filter(is_branch).count()
            };
            let expected: u64 =
                ops.iter().filter(|(path, _)| branches(path) <= most).map(|(_, cost)| cost).sum();
            assert_eq!(found.up_to(most), expected);
        }
        assert_eq!(found.up_to(PathDistribution::LONGEST), found.ops);
    });
}

#[test]
fn two_branches_in_a_row_are_two() {
    let calls: [&[u32]; 3] = [&[0, 2, 4, 6], &[0, 2, 4, 6], &[1, 3, 5, 7]];
    let found = measured_profile(&calls, [0; 4]).path_distribution().unwrap();
    // Five blocks of three instructions each: 0, 1 or 2, 3, 4 or 5, 6.
    assert_eq!((found.paths, found.ops, found.of_hottest), (2, 45, vec![(1, 30), (2, 45)]));
    assert_eq!(found.by_branches.iter().position(|&ops| ops == 45), Some(2));
}
