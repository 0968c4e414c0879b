//! The static weighting against its rules, restated slowly.

use wprof_profiler::{
    BlockCounts, BlockId, BlockProfile, Cfg, CodeRange, CounterCost, DepthFirst, EdgeCounts, EdgeId,
    EdgeKind, EdgeProfile, EdgeWeights, FigureKind, FunctionCounts, FunctionProfile, Loops, PlacementCosts,
    Profile, UnfinishedExit,
};

use crate::random_cfg::{for_random_cfgs, for_structured_cfgs};

/// The rules of the paper as it states them: visit in topological order; at a loop entry give each of
/// the loop's exit edges its share unless it has a weight; then share out the rest.
fn restated(cfg: &Cfg) -> Vec<Option<f64>> {
    let search = DepthFirst::new(cfg);
    let loops = Loops::new(cfg, &search);
    let mut weights: Vec<Option<f64>> = vec![None; cfg.edge_count() + 1];
    weights[cfg.closing_edge().index()] = Some(1.0);
    for &block in search.reverse_postorder() {
        let forward =
            |edge: &&EdgeId| !search.is_back_edge(cfg, **edge) && search.is_reachable(cfg.edge(**edge).from);
        let into = cfg.in_edges(block).iter().filter(forward).map(|edge| weights[edge.index()].unwrap());
        let mut weight = into.sum::<f64>() + if block == BlockId::ENTRY { 1.0 } else { 0.0 };
        if let Some(id) = loops.headed_by(block) {
            let exits = loops.exit_edges(cfg, id);
            exits.iter().for_each(|edge| {
                weights[edge.index()].get_or_insert(weight / exits.len() as f64);
            });
            weight *= 10.0;
        }
        let out = cfg.out_edges(block);
        let fixed: f64 = out.iter().filter_map(|edge| weights[edge.index()]).sum();
        let others: Vec<_> = out.iter().filter(|edge| weights[edge.index()].is_none()).collect();
        let rest = if fixed < weight * (1.0 - 1.0 / 1024.0) { weight - fixed } else { weight / 1024.0 };
        others.iter().for_each(|edge| weights[edge.index()] = Some(rest / others.len() as f64));
    }
    weights
}

#[test]
fn estimates_follow_the_rules() {
    for_random_cfgs(|cfg, _| {
        for (edge, expected) in restated(cfg).into_iter().enumerate() {
            let (found, expected) = (EdgeWeights::estimate(cfg).as_slice()[edge], expected.unwrap_or(0.0));
            assert!((found - expected).abs() <= expected * 1e-9, "e{edge}: {found} {expected} in {cfg:?}");
        }
    });
}

#[test]
fn hinted_ways_get_most_of_what_is_shared_out() {
    // 0 branches to 1 and 2, which join in 3, a loop of itself with an exit.
    let cfg = Cfg::from_pairs(4, &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 3), (3, 4)]).unwrap();
    let weights = |likely: &[u32]| {
        let likely: Vec<EdgeId> = likely.iter().copied().map(EdgeId).collect();
        EdgeWeights::hinted(&cfg, &likely).as_slice().to_vec()
    };
    let even = EdgeWeights::estimate(&cfg).as_slice().to_vec();
    assert_eq!(weights(&[]), even);
    let hinted = weights(&[1]);
    for (found, expected) in hinted.iter().zip([0.1, 0.9, 0.1, 0.9, 9.0, 1.0, 1.0]) {
        assert!((found - expected).abs() < 1e-9, "{hinted:?}");
    }
    // What is said of both ways, or of the exit of a loop, says nothing.
    assert_eq!(weights(&[0, 1]), even);
    assert_eq!(weights(&[5]), even);
}

#[test]
fn estimates_obey_the_flow_law_but_for_back_edges() {
    for_structured_cfgs(|cfg, _| {
        let (search, weights) = (DepthFirst::new(cfg), EdgeWeights::estimate(cfg));
        let loops = Loops::new(cfg, &search);
        for &block in search.reverse_postorder() {
            let out = cfg.out_edges(block);
            let fixed: f64 = out
                .iter()
                .filter(|&&e| loops.outermost_exited(cfg, e).is_some())
                .map(|&e| weights.get(e))
                .sum();
            let into = cfg.in_edges(block).iter().filter(|&&edge| !search.is_back_edge(cfg, edge));
            let mut arriving: f64 = into.map(|&edge| weights.get(edge)).sum();
            arriving += if block == BlockId::ENTRY { 1.0 } else { 0.0 };
            arriving *= if loops.headed_by(block).is_some() { 10.0 } else { 1.0 };
            let starved = fixed > arriving * 0.999;
            let only_exits = out.iter().all(|&edge| loops.outermost_exited(cfg, edge).is_some());
            if !starved && !only_exits {
                let leaving: f64 = out.iter().map(|&edge| weights.get(edge)).sum();
                assert!((arriving - leaving).abs() <= arriving * 1e-9, "{block} of {cfg:?}");
            }
        }
    });
}

/// `while P { if Q { A } else { B }; if R { break }; C }`, the program of the paper's first figure.
pub fn figure_one() -> Cfg {
    let [p, q, a, b, r, c, exit] = [0, 1, 2, 3, 4, 5, 6];
    Cfg::from_pairs(6, &[(p, q), (p, exit), (q, a), (q, b), (a, r), (b, r), (r, exit), (r, c), (c, p)])
        .unwrap()
}

#[test]
fn the_paper_s_program_by_hand() {
    let weights = EdgeWeights::estimate(&figure_one());
    // Entered once, it runs ten times; each of the two exits has a half, the rest goes on.
    let expected = [9.5, 0.5, 4.75, 4.75, 4.75, 4.75, 0.5, 9.0, 9.0, 1.0];
    assert_eq!(weights.as_slice(), expected);
}

#[test]
fn nests_of_any_depth_have_finite_weights_that_still_differ() {
    let depth = 2_000;
    let enter = (0..depth).map(|block| (block, block + 1));
    let again = (1..=depth).map(|block| (block, block));
    let edges: Vec<_> = enter.chain([(depth, depth + 1)]).chain(again).collect();
    let weights = EdgeWeights::estimate(&Cfg::from_pairs(depth + 1, &edges).unwrap());
    assert!(weights.as_slice().iter().all(|weight| weight.is_finite() && *weight > 0.0));
    // The same nested: each loop's back edge leaves from the innermost block.
    let again = (1..=depth).map(|block| (depth, block));
    let edges: Vec<_> = (0..=depth).map(|block| (block, block + 1)).chain(again).collect();
    let weights = EdgeWeights::estimate(&Cfg::from_pairs(depth + 1, &edges).unwrap());
    assert!(weights.as_slice().iter().all(|weight| weight.is_finite() && *weight > 0.0));
}

#[test]
fn measured_weights_order_by_count_and_then_by_estimate() {
    let cfg = figure_one();
    let counts = EdgeCounts { edges: vec![0, 7, 0, 0, 0, 0, 0, 0, 3], blocks: vec![0; 6], entries: 7 };
    let weights = EdgeWeights::measured(&cfg, &counts);
    let mut order: Vec<EdgeId> = cfg.edges().collect();
    order.sort_by(|&a, &b| weights.get(b).total_cmp(&weights.get(a)));
    assert_eq!(order, [1, 8, 0, 7, 2, 3, 4, 5, 6].map(EdgeId));
    assert!(cfg.edges().zip(&counts.edges).all(|(edge, &count)| weights.get(edge).floor() == count as f64));
}

#[test]
fn given_weights_are_brought_into_range() {
    let weights = EdgeWeights::from_vec(vec![f64::NAN, -1.0, f64::INFINITY, 2.0]);
    assert_eq!(weights.as_slice(), [0.0, 0.0, 1e100, 2.0]);
}

#[test]
fn a_profile_gives_the_weights_of_its_counts_to_its_own_graph_only() {
    let cfg = Cfg::from_pairs(2, &[(0, 1), (0, 2), (1, 2)]).unwrap();
    let code = CodeRange::default();
    let edge = |e: EdgeId| EdgeProfile { from: cfg.edge(e).from, to: cfg.edge(e).to, kind: EdgeKind::Jump };
    let exit = UnfinishedExit { block: BlockId(1), offset: 0, ops_executed: 0, count: 2 };
    let profile = FunctionProfile {
        index: 0,
        name: None,
        code,
        fingerprint: cfg.fingerprint(),
        kind: FigureKind::Exact,
        blocks: vec![BlockProfile { code, ops: 0 }; 2],
        edges: cfg.edges().map(edge).collect(),
        exits: vec![exit],
        cost: CounterCost::default(),
        counts: FunctionCounts::Edges(vec![5, 1, 3]),
    };
    let counts = EdgeCounts { edges: vec![5, 1, 3], blocks: vec![6, 5], entries: 6 };
    assert_eq!(profile.edge_counts().as_ref(), Some(&counts));
    assert_eq!(EdgeWeights::of_profile(&cfg, &profile), Some(EdgeWeights::measured(&cfg, &counts)));
    let silent = [BlockId(1)];
    assert_eq!(profile.silent_blocks(), silent);
    assert_eq!(profile.placement_costs(), Ok(PlacementCosts::new(&cfg, &counts, &silent)));
    let other = Cfg::from_pairs(2, &[(0, 1), (0, 1), (1, 2)]).unwrap();
    assert_eq!(EdgeWeights::of_profile(&other, &profile), None);
    let blocks = BlockCounts { blocks: vec![6, 5], entries: 6 };
    let unknown = FunctionProfile { counts: FunctionCounts::Blocks(blocks), ..profile.clone() };
    assert_eq!(EdgeWeights::of_profile(&cfg, &unknown), None);
    assert_eq!(unknown.placement_costs(), Ok(PlacementCosts::default()));
    let lying = FunctionProfile { edges: vec![], ..profile.clone() };
    assert_eq!(EdgeWeights::of_profile(&cfg, &lying), None);
    let program = Profile { functions: vec![profile.clone(), profile], ..Profile::default() };
    let one = PlacementCosts::new(&cfg, &counts, &silent);
    assert_eq!(program.placement_costs(), Ok(one.plus(one)));
}
