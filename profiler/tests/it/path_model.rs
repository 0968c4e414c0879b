//! The arithmetic code of a path is its number.

use wprof_profiler::{BlockId, Cfg, Path, PathModel, PathNumbering, entropy};

use crate::random_cfg;
use crate::rng::Rng;

/// The thesis's example: s, a, b, c, d and t, which is EXIT; figure 4.2.
fn figure() -> Cfg {
    Cfg::from_pairs(5, &[(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (3, 4), (3, 5), (4, 5)]).unwrap()
}

#[test]
fn the_model_is_that_of_table_4_2() {
    // s -> a, s -> b; a -> b, a -> c; b -> c; c -> d, c -> t; d -> t.
    let cfg = figure();
    let numbering = PathNumbering::new(&cfg);
    let model = PathModel::new(&numbering);
    let ranges: Vec<_> = cfg.edges().map(|edge| model.range(edge)).collect();
    let expected = [(0, 4, 6), (4, 6, 6), (0, 2, 4), (2, 4, 4), (0, 2, 2), (0, 1, 2), (1, 2, 2), (0, 1, 1)];
    assert_eq!(ranges, expected, "2/3 and 1/3, 1/2 and 1/2, 1, 1/2 and 1/2, 1");
    assert!((model.entropy() - 6_f64.log2()).abs() < 1e-12);
    // Example 4.2.2: sbcdt is 4.
    let sbcdt = Path { start: BlockId::ENTRY, edges: [1, 4, 5, 7].map(wprof_profiler::EdgeId).to_vec() };
    assert_eq!(model.code(&sbcdt), Some(4));
    let half = Path { edges: sbcdt.edges[..2].to_vec(), ..sbcdt };
    assert_eq!(model.code(&half), None);
}

#[test]
fn the_code_of_every_path_is_its_number() {
    let mut coded = 0;
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let cfg = match seed % 2 {
            0 => random_cfg::structured(&mut rng, 14),
            _ => random_cfg::unstructured(&mut rng, 9),
        };
        let numbering = PathNumbering::new(&cfg);
        let model = PathModel::new(&numbering);
        for id in 0..numbering.paths().min(3000) {
            let Some(path) = numbering.path(id) else { continue };
            assert_eq!(model.code(&path), Some(id), "seed {seed}");
            coded += 1;
        }
    }
    assert!(coded > 5000, "{coded}");
}

#[test]
fn entropy_is_of_shares() {
    assert_eq!(entropy([1, 1, 1, 1].into_iter()), 2.0);
    assert_eq!(entropy([7, 0].into_iter()), 0.0);
    assert!((entropy([2, 4, 1, 2, 1, 1].into_iter()) - 2.368_522_527_7).abs() < 1e-9);
}
