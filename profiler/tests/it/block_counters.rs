//! Knuth and Stevenson's block counters against the log, and against every set of blocks.

use std::cell::Cell;

use wprof_profiler::{
    BlockCounts, BlockId, BlockPlan, BlockWeights, Cfg, EdgeCounts, EdgePlan, EdgeWeights, PropagateError,
    propagate_block_counters,
};

use crate::edge_profile::count_log;
use crate::edge_weights::figure_one;
use crate::linear::determine_vertices;
use crate::random_cfg::{for_random_cfgs, small_cfgs, unstructured};
use crate::rng::Rng;
use crate::walk::{Function, Run, random_program, run};

fn mad_weights(cfg: &Cfg, rng: &mut Rng) -> BlockWeights {
    BlockWeights::from_vec((0..cfg.vertex_count()).map(|_| rng.below(5) as f64).collect())
}

fn plans(cfg: &Cfg, rng: &mut Rng) -> Vec<BlockPlan> {
    let all = BlockPlan { counted: cfg.blocks().chain([cfg.exit()]).collect() };
    let weightings = [BlockWeights::estimate(cfg), mad_weights(cfg, rng)];
    let placed = weightings
        .iter()
        .flat_map(|weights| [BlockPlan::cheapest(cfg, weights), BlockPlan::dearest(cfg, weights)]);
    [all].into_iter().chain(placed).collect()
}

fn counters(cfg: &Cfg, plan: &BlockPlan, truth: &EdgeCounts) -> Vec<u64> {
    let value =
        |&block: &BlockId| if block == cfg.exit() { truth.entries } else { truth.blocks[block.index()] };
    plan.counted.iter().map(value).collect()
}

fn check(program: &[Function], run: &Run, rng: &mut Rng) {
    for (index, function) in program.iter().enumerate() {
        let (cfg, truth) = (&function.cfg, count_log(function, index, run));
        let expected = Ok(BlockCounts { blocks: truth.blocks.clone(), entries: truth.entries });
        for plan in plans(cfg, rng) {
            let counters = counters(cfg, &plan, &truth);
            let found = propagate_block_counters(cfg, &plan, &counters, &run.exits(index));
            assert_eq!(found, expected, "{plan:?} {cfg:?}");
        }
    }
}

#[test]
fn block_counters_tell_what_the_log_tells() {
    arbtest::arbtest(|u| {
        let size = u.int_in_range(1..=30)?;
        let fuel = u.int_in_range(0..=2000)?;
        let mut rng = Rng::new(u.arbitrary()?);
        let program = random_program(&mut rng, size);
        check(&program, &run(&program, &mut rng, fuel), &mut rng);
        Ok(())
    })
    .budget_ms(2000);
}

#[test]
fn block_counters_tell_what_the_log_tells_on_all_small_graphs() {
    let mut rng = Rng::new(21);
    for cfg in small_cfgs() {
        let program = [Function::new(cfg, 1, &mut rng)];
        let run = run(&program, &mut rng, 60);
        check(&program, &run, &mut rng);
    }
}

fn cost(blocks: &[BlockId], weights: &BlockWeights) -> f64 {
    blocks.iter().map(|&block| weights.get(block)).sum()
}

/// Tries every set of blocks and EXIT.
fn check_against_all_sets(cfg: &Cfg, weights: &BlockWeights) {
    let sets = (0..1_u32 << cfg.vertex_count()).map(|set| {
        let vertices = cfg.blocks().chain([cfg.exit()]);
        vertices.filter(|vertex| set >> vertex.0 & 1 == 1).collect::<Vec<_>>()
    });
    let enough: Vec<_> = sets.filter(|set| determine_vertices(cfg, &[], set)).collect();
    let (cheapest, dearest) =
        (BlockPlan::cheapest(cfg, weights).counted, BlockPlan::dearest(cfg, weights).counted);
    assert!(enough.contains(&cheapest) && enough.contains(&dearest), "{cheapest:?} {dearest:?} {cfg:?}");
    let fewest = enough.iter().map(Vec::len).min().unwrap();
    assert_eq!((cheapest.len(), dearest.len()), (fewest, fewest), "{cfg:?}");
    let costs = |len: usize| enough.iter().filter(move |set| set.len() <= len).map(|set| cost(set, weights));
    assert_eq!(cost(&cheapest, weights), costs(usize::MAX).fold(f64::INFINITY, f64::min), "{cfg:?}");
    assert_eq!(cost(&dearest, weights), costs(fewest).fold(0.0, f64::max), "{cfg:?}");
}

#[test]
fn no_set_of_blocks_is_smaller_or_cheaper_on_small_graphs() {
    let mut rng = Rng::new(22);
    small_cfgs().step_by(3).for_each(|cfg| check_against_all_sets(&cfg, &mad_weights(&cfg, &mut rng)));
    for _ in 0..300 {
        let size = 4 + rng.below(4) as u32;
        let cfg = unstructured(&mut rng, size);
        check_against_all_sets(&cfg, &mad_weights(&cfg, &mut rng));
    }
}

#[test]
fn counters_are_enough_and_each_is_needed() {
    for_random_cfgs(|cfg, rng| {
        let plan = BlockPlan::cheapest(cfg, &mad_weights(cfg, rng));
        assert!(plan.counted.is_sorted() && determine_vertices(cfg, &[], &plan.counted), "{cfg:?}");
        for position in 0..plan.counted.len().min(5) {
            let mut fewer = plan.clone();
            fewer.counted.remove(position);
            assert!(!determine_vertices(cfg, &[], &fewer.counted), "{cfg:?}");
            let found = propagate_block_counters(cfg, &fewer, &vec![0; fewer.counted.len()], &[]);
            assert_eq!(found, Err(PropagateError::Undetermined));
        }
    });
}

/// `while P { if Q { A } else { B }; if R { break }; C }`: as many counters as by edges, but none of them can
/// sit at the exits, which run least.
#[test]
fn the_paper_s_program_has_dearer_block_counters_than_edge_counters() {
    let cfg = figure_one();
    let weights = BlockWeights::estimate(&cfg);
    assert_eq!(weights.as_slice(), [10.0, 9.5, 4.75, 4.75, 9.5, 9.0, 1.0]);
    let plan = BlockPlan::cheapest(&cfg, &weights);
    // Both arms, C, and the calls instead of P.
    assert_eq!(plan.counted, [2, 3, 5, 6].map(BlockId));
    let edge_weights = EdgeWeights::estimate(&cfg);
    let edges = EdgePlan::new(&cfg, &edge_weights).counted;
    let edge_cost = edges.iter().map(|&edge| edge_weights.get(edge)).sum::<f64>();
    assert_eq!((cost(&plan.counted, &weights), edge_cost), (19.5, 10.5));
    // Four calls: one leaves at P at once, two break in their first round by A, one runs A, B and leaves at P.
    let truth = EdgeCounts { edges: vec![], blocks: vec![6, 4, 3, 1, 4, 2], entries: 4 };
    let counts = propagate_block_counters(&cfg, &plan, &counters(&cfg, &plan, &truth), &[]).unwrap();
    assert_eq!(counts, BlockCounts { blocks: truth.blocks, entries: 4 });
}

#[test]
fn weights_choose_the_block() {
    // An arm of a branch, or the branch and the other arm.
    let cfg = Cfg::from_pairs(4, &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]).unwrap();
    let counted =
        |weights: [f64; 5]| BlockPlan::cheapest(&cfg, &BlockWeights::from_vec(weights.to_vec())).counted;
    assert_eq!(counted([9.0, 1.0, 8.0, 6.0, 9.0]), [1, 3].map(BlockId));
    // Calls are the last choice among equals, but a choice.
    assert_eq!(counted([9.0, 1.0, 8.0, 9.0, 7.0]), [BlockId(1), cfg.exit()]);
    assert_eq!(counted([9.0, 5.0, 4.0, 9.0, 9.0]), [1, 2].map(BlockId));
}

#[test]
fn calls_that_no_block_tells_have_a_counter_of_their_own() {
    // 0 -> 0 and 0 -> EXIT: a second round looks like a second call.
    let cfg = Cfg::from_pairs(1, &[(0, 0), (0, 1)]).unwrap();
    let plan = BlockPlan::cheapest(&cfg, &BlockWeights::estimate(&cfg));
    assert_eq!(plan.counted, [BlockId(0), cfg.exit()]);
    let found =
        |counters: &[u64], exits: &[(BlockId, u64)]| propagate_block_counters(&cfg, &plan, counters, exits);
    assert_eq!(found(&[7, 3], &[(BlockId(0), 1)]), Ok(BlockCounts { blocks: vec![7], entries: 3 }));
    let more_ended_than_began = PropagateError::ImpossibleBlock { block: BlockId(1), count: -1 };
    assert_eq!(found(&[7, 3], &[(BlockId(0), 4)]), Err(more_ended_than_began));
    let blocks = BlockPlan::new(&cfg);
    assert_eq!(propagate_block_counters(&cfg, &blocks, &[7], &[]), Err(PropagateError::Undetermined));
}

#[test]
fn frames_that_end_in_a_block_do_not_leave_it() {
    // 0 -> 1 -> 2 -> EXIT, five calls, of which one traps in 1: no counter but that of a block is needed.
    let cfg = Cfg::from_pairs(3, &[(0, 1), (1, 2), (2, 3)]).unwrap();
    let plan = BlockPlan { counted: vec![BlockId(2)] };
    let counts = propagate_block_counters(&cfg, &plan, &[4], &[(BlockId(1), 1)]).unwrap();
    assert_eq!(counts, BlockCounts { blocks: vec![5, 5, 4], entries: 5 });
    // A block that can only trap runs as often as frames ended there.
    let cfg = Cfg::from_pairs(3, &[(0, 1), (0, 2), (1, 3)]).unwrap();
    let plan = BlockPlan::cheapest(&cfg, &BlockWeights::estimate(&cfg));
    assert_eq!(plan.counted.len(), 1);
    let truth = EdgeCounts { edges: vec![], blocks: vec![9, 7, 2], entries: 9 };
    let counters = counters(&cfg, &plan, &truth);
    let counts = propagate_block_counters(&cfg, &plan, &counters, &[(BlockId(2), 2)]).unwrap();
    assert_eq!(counts, BlockCounts { blocks: truth.blocks, entries: 9 });
}

#[test]
fn counts_up_to_64_bits_are_exact_though_their_sums_are_larger() {
    // A loop of two arms: 2^64 - 3 rounds by one and 1 by the other.
    let cfg = Cfg::from_pairs(3, &[(0, 1), (0, 2), (1, 0), (2, 0)]).unwrap();
    let plan = BlockPlan { counted: [1, 2].map(BlockId).to_vec() };
    let exits = [(BlockId(0), 1)];
    let counts = propagate_block_counters(&cfg, &plan, &[u64::MAX - 2, 1], &exits).unwrap();
    assert_eq!(counts, BlockCounts { blocks: vec![u64::MAX, u64::MAX - 2, 1], entries: 1 });
    let beyond = propagate_block_counters(&cfg, &plan, &[u64::MAX - 1, 1], &exits);
    assert_eq!(beyond, Err(PropagateError::Overflow(BlockId(0))));
}

#[test]
fn input_that_contradicts_itself_is_refused() {
    let cfg = Cfg::from_pairs(3, &[(0, 1), (1, 2), (2, 3)]).unwrap();
    let found = |counted: &[u32], counters: &[u64], exits: &[(BlockId, u64)]| {
        let counted = counted.iter().copied().map(BlockId).collect();
        propagate_block_counters(&cfg, &BlockPlan { counted }, counters, exits)
    };
    assert_eq!(found(&[1], &[], &[]), Err(PropagateError::WrongCounters { expected: 1, found: 0 }));
    assert_eq!(found(&[4], &[0], &[]), Err(PropagateError::BadBlockPlan(BlockId(4))));
    assert_eq!(found(&[1, 1], &[0, 0], &[]), Err(PropagateError::BadBlockPlan(BlockId(1))));
    assert_eq!(found(&[3, 3], &[0, 0], &[]), Err(PropagateError::BadBlockPlan(BlockId(3))));
    assert_eq!(found(&[1], &[0], &[(BlockId(3), 1)]), Err(PropagateError::BadExit(BlockId(3))));
    let fewer = PropagateError::ImpossibleBlock { block: BlockId(2), count: -1 };
    assert_eq!(found(&[1], &[1], &[(BlockId(1), 2)]), Err(fewer));
    // Two frames ended in 1, which only one began; the class behind it cannot tell, because 2 leads there too.
    let twofold = Cfg::from_pairs(3, &[(0, 1), (0, 2), (1, 0), (2, 0)]).unwrap();
    let more_ended = PropagateError::Imbalance { block: BlockId(1), excess: -1 };
    assert_eq!(
        propagate_block_counters(
            &twofold,
            &BlockPlan { counted: [1, 2].map(BlockId).to_vec() },
            &[1, 3],
            &[(BlockId(1), 2)]
        ),
        Err(more_ended)
    );
    let unequal = found(&[0, 1, 2, 3], &[1, 1, 2, 1], &[]);
    assert!(matches!(unequal, Err(PropagateError::Imbalance { excess: -1 | 1, .. })), "{unequal:?}");
}

#[test]
fn arbitrary_plans_and_counters_never_panic() {
    let accepted = Cell::new(0);
    for_random_cfgs(|cfg, rng| {
        let mut plans = plans(cfg, rng);
        let block = |rng: &mut Rng| BlockId(rng.below(cfg.block_count() + 3) as u32);
        plans
            .push(BlockPlan { counted: (0..rng.below(cfg.block_count() + 3)).map(|_| block(rng)).collect() });
        for plan in plans {
            let numbers = [4, u64::MAX][rng.below(2)];
            let counters: Vec<u64> = plan.counted.iter().map(|_| rng.next() % numbers).collect();
            let exits: Vec<_> = (0..rng.below(3)).map(|_| (block(rng), rng.next() % numbers)).collect();
            accepted.set(
                accepted.get() + usize::from(propagate_block_counters(cfg, &plan, &counters, &exits).is_ok()),
            );
        }
    });
    assert!(accepted.get() > 10);
}

#[test]
fn measured_weights_order_by_count_and_then_by_estimate() {
    let cfg = figure_one();
    let counts = EdgeCounts { edges: vec![0; 9], blocks: vec![3, 3, 0, 0, 4, 0], entries: 1 };
    let weights = BlockWeights::measured(&cfg, &counts);
    let mut order: Vec<BlockId> = cfg.blocks().collect();
    order.sort_by(|&a, &b| weights.get(b).total_cmp(&weights.get(a)));
    assert_eq!(order, [4, 0, 1, 5, 2, 3].map(BlockId));
    assert!(
        cfg.blocks().zip(&counts.blocks).all(|(block, &count)| weights.get(block).floor() == count as f64)
    );
    assert_eq!(
        BlockWeights::from_vec(vec![f64::NAN, -1.0, f64::INFINITY, 2.0]).as_slice(),
        [0.0, 0.0, f64::MAX, 2.0]
    );
}

#[test]
fn a_function_of_two_hundred_thousand_blocks_is_planned_in_a_moment() {
    let blocks = 200_000;
    let on = (0..blocks).map(|block| (block, block + 1));
    let skip = (0..blocks - 1).filter(|block| block % 2 == 0).map(|block| (block, block + 2));
    let cfg = Cfg::from_pairs(blocks, &on.chain(skip).collect::<Vec<_>>()).unwrap();
    let plan = BlockPlan::cheapest(&cfg, &BlockWeights::estimate(&cfg));
    assert_eq!(plan.counted.len(), blocks as usize / 2 + 1);
    let counters = vec![0; plan.counted.len()];
    let counts = propagate_block_counters(&cfg, &plan, &counters, &[(BlockId(0), 7)]).unwrap();
    assert_eq!((counts.entries, counts.blocks[1]), (7, 0));
}
