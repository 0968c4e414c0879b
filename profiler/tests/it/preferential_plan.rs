//! The register of two numbers, driven over random walks: it tells interesting paths from others, and which ones.

use wprof_profiler::{Cfg, EdgeWeights, Path, PathNumbering, PreferentialPlan};

use crate::path_plan::{drive, split, walk};
use crate::random_cfg::{for_random_cfgs, small_cfgs};
use crate::rng::Rng;

/// Of some walks a part of the paths is interesting; others go other ways.
fn check(cfg: &Cfg, numbering: PathNumbering, weights: &EdgeWeights, rng: &mut Rng) {
    let number = |path: &Path| (0..numbering.paths()).find(|&id| numbering.path(id).as_ref() == Some(path));
    let ends = |edge| numbering.ends_path(edge);
    let paths: Vec<Path> = (0..5).flat_map(|_| split(cfg, &walk(cfg, rng), ends).0).collect();
    if numbering.paths() > 2000 {
        return;
    }
    let interesting: Vec<u64> = paths.iter().filter(|_| rng.once_in(2)).filter_map(number).collect();
    let Some(plan) = PreferentialPlan::new(cfg, weights, numbering.clone(), &interesting) else {
        assert!(interesting.is_empty());
        return;
    };
    assert!(plan.cells.len().is_power_of_two());
    for _ in 0..10 {
        let walk = walk(cfg, rng);
        let (finished, unfinished) = split(cfg, &walk, ends);
        let (counted, register) = drive(cfg, &plan.paths, &walk);
        assert_eq!(counted.len(), finished.len());
        for (&both, path) in counted.iter().zip(&finished) {
            let (cell, id) = plan.split(both);
            assert_eq!(numbering.path(id).as_ref(), Some(path));
            let is_interesting = u64::from(plan.cells[cell]) == id;
            assert_eq!(is_interesting, interesting.contains(&id), "{cfg:?}");
        }
        if let (Some(block), Some(prefix)) = (walk.stopped, unfinished) {
            let sum = plan.prefix_sum(block, Some(register));
            assert_eq!(numbering.prefix(block, sum), Some(prefix));
        }
    }
}

#[test]
fn the_register_tells_interesting_paths_from_others() {
    for_random_cfgs(|cfg, rng| {
        check(cfg, PathNumbering::new(cfg), &EdgeWeights::estimate(cfg), rng);
        let wild = cfg.closed_edges().map(|_| (rng.next() % 100) as f64).collect();
        let numbering = PathNumbering::with_limit(cfg, 1 + rng.next() % 100);
        check(cfg, numbering, &EdgeWeights::from_vec(wild), rng);
    });
}

#[test]
fn the_register_tells_interesting_paths_from_others_on_all_small_graphs() {
    let mut rng = Rng::new(3);
    for cfg in small_cfgs() {
        check(&cfg, PathNumbering::new(&cfg), &EdgeWeights::estimate(&cfg), &mut rng);
    }
}

#[test]
fn more_interesting_paths_than_have_cells_are_as_others() {
    let diamonds = 18;
    let edges: Vec<_> = (0..diamonds)
        .flat_map(|d| {
            [(3 * d, 3 * d + 1), (3 * d, 3 * d + 2), (3 * d + 1, 3 * d + 3), (3 * d + 2, 3 * d + 3)]
        })
        .collect();
    let cfg = Cfg::from_pairs(3 * diamonds, &edges).unwrap();
    let all: Vec<u64> = (0..1 << diamonds).collect();
    let plan =
        PreferentialPlan::new(&cfg, &EdgeWeights::estimate(&cfg), PathNumbering::new(&cfg), &all).unwrap();
    assert_eq!(plan.numbering.paths().len(), 1 << 14, "the first ones");
    assert!(plan.numbering.paths().iter().all(|path| path.id < 1 << 14));
    assert_eq!(
        PreferentialPlan::new(&cfg, &EdgeWeights::estimate(&cfg), PathNumbering::new(&cfg), &[]),
        None
    );
}
