//! Chord counters, propagated, against the log of the run.

use wprof_profiler::{
    BlockId, BlockPlan, Cfg, CounterCost, CounterCosts, EdgeCounts, EdgeId, EdgePlan, EdgeWeights,
    PropagateError, propagate,
};

use crate::edge_weights::figure_one;
use crate::random_cfg::{for_random_cfgs, small_cfgs};
use crate::rng::Rng;
use crate::spanning_tree::components;
use crate::walk::{Event, Function, Run, random_program, run};

/// The counts of one function, by counting.
pub fn count_log(function: &Function, index: usize, run: &Run) -> EdgeCounts {
    EdgeCounts {
        edges: function.cfg.edges().map(|edge| run.count(Event::Edge(index, edge))).collect(),
        blocks: function.cfg.blocks().map(|block| run.count(Event::Block(index, block))).collect(),
        entries: run.count(Event::Call(index)),
    }
}

fn propagated(function: &Function, index: usize, run: &Run) -> Result<EdgeCounts, PropagateError> {
    propagate(&function.cfg, &function.plan, &run.counters[index], &run.exits(index))
}

fn check(program: &[Function], run: &Run) {
    for (index, function) in program.iter().enumerate() {
        let found = propagated(function, index, run);
        assert_eq!(found, Ok(count_log(function, index, run)), "{:?}", function.cfg);
    }
}

#[test]
fn chord_counters_tell_what_the_log_tells() {
    arbtest::arbtest(|u| {
        let size = u.int_in_range(1..=30)?;
        let fuel = u.int_in_range(0..=3000)?;
        let mut rng = Rng::new(u.arbitrary()?);
        let program = random_program(&mut rng, size);
        check(&program, &run(&program, &mut rng, fuel));
        Ok(())
    })
    .budget_ms(4000);
}

#[test]
fn chord_counters_tell_what_the_log_tells_on_all_small_graphs() {
    let mut rng = Rng::new(2);
    for cfg in small_cfgs() {
        let program = [Function::new(cfg, 1, &mut rng)];
        for fuel in [3, 40] {
            check(&program, &run(&program, &mut rng, fuel));
        }
    }
}

/// With every edge counted, or with counters chosen by a mad weighting, the counts are the same.
#[test]
fn the_weighting_changes_the_plan_and_never_the_counts() {
    arbtest::arbtest(|u| {
        let size = u.int_in_range(1..=20)?;
        let mut rng = Rng::new(u.arbitrary()?);
        let mut program = random_program(&mut rng, size);
        for function in &mut program {
            let weights = function.cfg.closed_edges().map(|_| rng.below(100) as f64).collect();
            let mad = EdgePlan::new(&function.cfg, &EdgeWeights::from_vec(weights));
            function.plan = if rng.once_in(3) { EdgePlan::every_edge(&function.cfg) } else { mad };
        }
        check(&program, &run(&program, &mut rng, 500));
        Ok(())
    })
    .budget_ms(1000);
}

#[test]
fn without_its_unfinished_frames_a_run_is_misread() {
    let mut rng = Rng::new(3);
    let mut noticed = 0;
    for _ in 0..200 {
        let program = random_program(&mut rng, 10);
        let run = run(&program, &mut rng, 300);
        for (index, function) in program.iter().enumerate() {
            let truth = count_log(function, index, &run);
            let blind = propagate(&function.cfg, &function.plan, &run.counters[index], &[]);
            let has_exits = !run.exits(index).is_empty();
            assert_eq!(blind != Ok(truth), has_exits, "the closing edge alone tells the difference");
            noticed += u32::from(has_exits);
        }
    }
    assert!(noticed > 50);
}

#[test]
fn every_counter_is_needed_and_believed() {
    let mut rng = Rng::new(4);
    for _ in 0..200 {
        let program = random_program(&mut rng, 10);
        let run = run(&program, &mut rng, 300);
        for (index, function) in program.iter().enumerate() {
            let truth = count_log(function, index, &run);
            for counter in 0..function.plan.counted.len() {
                let mut counters = run.counters[index].clone();
                counters[counter] += 1;
                let wrong = propagate(&function.cfg, &function.plan, &counters, &run.exits(index));
                assert_ne!(wrong.as_ref(), Ok(&truth));
                let mut fewer = function.plan.clone();
                fewer.counted.remove(counter);
                counters.remove(counter);
                let wrong = propagate(&function.cfg, &fewer, &counters, &run.exits(index));
                assert_eq!(wrong, Err(PropagateError::Undetermined));
            }
        }
    }
}

#[test]
fn there_are_as_many_counters_as_independent_cycles() {
    let check = |cfg: &Cfg| {
        let plan = EdgePlan::new(cfg, &EdgeWeights::estimate(cfg));
        let closed_edges = cfg.edge_count() + 1;
        assert_eq!(plan.counted.len(), closed_edges + components(cfg) - cfg.vertex_count());
        assert!(plan.counted.is_sorted() && !plan.counted.contains(&cfg.closing_edge()));
        let found: Vec<_> = plan.counted.iter().map(|&edge| plan.counter_of(edge).unwrap()).collect();
        assert!(found.into_iter().eq(0..plan.counted.len()));
        let chords = cfg.edges().filter(|&edge| plan.counter_of(edge).is_some());
        assert_eq!(chords.count(), plan.counted.len());
    };
    small_cfgs().for_each(|cfg| check(&cfg));
    for_random_cfgs(|cfg, _| check(cfg));
}

/// The paper's first program needs four counters, and no other four are cheaper under its weighting.
#[test]
fn the_paper_s_program_has_its_cheapest_counters() {
    let cfg = figure_one();
    let weights = EdgeWeights::estimate(&cfg);
    let plan = EdgePlan::new(&cfg, &weights);
    // Both exits, and both arms before they join: counting an arm and the way on would cost more.
    assert_eq!(plan.counted, [1, 4, 5, 6].map(EdgeId));
    let cost = |set: &[EdgeId]| set.iter().map(|&edge| weights.get(edge)).sum::<f64>();
    let sets =
        (0..1_u32 << 9).map(|set| cfg.edges().filter(|edge| set >> edge.0 & 1 == 1).collect::<Vec<_>>());
    let enough = sets.filter(|set| {
        let plan = EdgePlan { counted: set.clone() };
        propagate(&cfg, &plan, &vec![0; set.len()], &[]).is_ok()
    });
    let cheapest = enough.map(|set| cost(&set)).fold(f64::INFINITY, f64::min);
    assert_eq!(cost(&plan.counted), cheapest);
}

#[test]
fn an_endless_loop_counts_when_it_is_interrupted() {
    let cfg = Cfg::from_pairs(2, &[(0, 1), (1, 1)]).unwrap();
    let plan = EdgePlan::new(&cfg, &EdgeWeights::estimate(&cfg));
    assert_eq!(plan.counted, [EdgeId(1)]);
    let counts = propagate(&cfg, &plan, &[41], &[(BlockId(1), 1)]).unwrap();
    assert_eq!(counts, EdgeCounts { edges: vec![1, 41], blocks: vec![1, 42], entries: 1 });
}

#[test]
fn a_function_that_only_traps_counts_its_traps() {
    let cfg = Cfg::from_pairs(1, &[]).unwrap();
    let plan = EdgePlan::new(&cfg, &EdgeWeights::estimate(&cfg));
    let counts = propagate(&cfg, &plan, &[], &[(BlockId(0), 2), (BlockId(0), 3)]).unwrap();
    assert_eq!(counts, EdgeCounts { edges: vec![], blocks: vec![5], entries: 5 });
}

#[test]
fn counts_up_to_64_bits_are_exact() {
    let cfg = Cfg::from_pairs(2, &[(0, 1), (1, 2)]).unwrap();
    let plan = EdgePlan { counted: vec![EdgeId(1)] };
    let counts = propagate(&cfg, &plan, &[u64::MAX - 1], &[(BlockId(0), 1)]).unwrap();
    assert_eq!(counts.blocks, [u64::MAX, u64::MAX - 1]);
    let beyond = propagate(&cfg, &plan, &[u64::MAX], &[(BlockId(0), 1)]);
    assert_eq!(beyond, Err(PropagateError::Contradiction { edge: EdgeId(2), count: 1 << 64 }));
    // Two self loops of one block, each of 2^64 - 1 rounds.
    let cfg = Cfg::from_pairs(2, &[(0, 1), (1, 1), (1, 1), (1, 2)]).unwrap();
    let plan = EdgePlan::new(&cfg, &EdgeWeights::estimate(&cfg));
    assert_eq!(plan.counted, [1, 2, 3].map(EdgeId));
    let far = propagate(&cfg, &plan, &[u64::MAX, u64::MAX, 1], &[]);
    assert_eq!(far, Err(PropagateError::Overflow(BlockId(1))));
}

#[test]
fn input_that_contradicts_itself_is_refused() {
    let cfg = figure_one();
    let plan = EdgePlan::new(&cfg, &EdgeWeights::estimate(&cfg));
    let zeros = vec![0; plan.counted.len()];
    let short = propagate(&cfg, &plan, &zeros[1..], &[]);
    assert_eq!(short, Err(PropagateError::WrongCounters { expected: 4, found: 3 }));
    let exit = propagate(&cfg, &plan, &zeros, &[(cfg.exit(), 1)]);
    assert_eq!(exit, Err(PropagateError::BadExit(cfg.exit())));
    let foreign = EdgePlan { counted: vec![EdgeId(99)] };
    assert_eq!(propagate(&cfg, &foreign, &[0], &[]), Err(PropagateError::BadPlan(EdgeId(99))));
    let twice = EdgePlan { counted: vec![EdgeId(1), EdgeId(1)] };
    assert_eq!(propagate(&cfg, &twice, &[0, 0], &[]), Err(PropagateError::BadPlan(EdgeId(1))));
    // Every edge counted, and one too often: no tree edge could make up for it.
    let every = EdgePlan { counted: cfg.closed_edges().collect() };
    let mut counters = vec![0; 10];
    counters[0] = 1;
    assert!(matches!(
        propagate(&cfg, &every, &counters, &[]),
        Err(PropagateError::Imbalance { excess: -1 | 1, .. })
    ));
    // One frame entered b1, and two ended in it.
    let cfg = Cfg::from_pairs(2, &[(0, 1), (0, 2), (1, 2)]).unwrap();
    let plan = EdgePlan { counted: vec![EdgeId(0), EdgeId(1)] };
    let negative = propagate(&cfg, &plan, &[1, 0], &[(BlockId(1), 2)]);
    assert_eq!(negative, Err(PropagateError::Contradiction { edge: EdgeId(2), count: -1 }));
}

/// Any numbers give counts that obey the flow law, or an error, and never a panic.
#[test]
fn arbitrary_counters_never_panic() {
    for_random_cfgs(|cfg, rng| {
        let plan = EdgePlan::new(cfg, &EdgeWeights::estimate(cfg));
        let wild = |rng: &mut Rng| if rng.once_in(2) { rng.next() } else { rng.next() % 4 };
        let counters: Vec<u64> = plan.counted.iter().map(|_| wild(rng)).collect();
        let exits: Vec<_> =
            (0..rng.below(3)).map(|_| (BlockId(rng.below(cfg.block_count()) as u32), wild(rng))).collect();
        if let Ok(counts) = propagate(cfg, &plan, &counters, &exits) {
            for block in cfg.blocks() {
                let out = cfg.out_edges(block).iter().map(|edge| u128::from(counts.edges[edge.index()]));
                let ended = exits.iter().filter(|exit| exit.0 == block).map(|exit| u128::from(exit.1));
                assert_eq!(out.chain(ended).sum::<u128>(), u128::from(counts.blocks[block.index()]));
            }
        }
    });
}

#[test]
fn costs_are_those_of_running_each_plan() {
    let mut rng = Rng::new(8);
    for _ in 0..100 {
        let program = random_program(&mut rng, 10);
        let run = run(&program, &mut rng, 300);
        for (index, function) in program.iter().enumerate() {
            let costs = CounterCosts::new(&function.plan, &count_log(function, index, &run));
            let bumped = |counters: u64, increments| CounterCost { counters, increments };
            let crossed = run.log.iter().filter(|event| matches!(event, Event::Edge(f, _) if *f == index));
            let began = run.log.iter().filter(|event| matches!(event, Event::Block(f, _) if *f == index));
            let (cfg, chords) = (&function.cfg, &run.counters[index]);
            assert_eq!(costs.chords, bumped(chords.len() as u64, chords.iter().sum()));
            assert_eq!(
                costs.per_block,
                bumped(BlockPlan::new(cfg).counted.len() as u64, began.count() as u64)
            );
            assert_eq!(costs.per_edge, bumped(cfg.edge_count() as u64, crossed.count() as u64));
        }
    }
}

#[test]
fn a_function_of_two_hundred_thousand_blocks_is_planned_in_a_moment() {
    let blocks = 200_000;
    let on = (0..blocks).map(|block| (block, block + 1));
    let skip = (0..blocks - 1).map(|block| (block, block + 2));
    let back = (1..blocks).filter(|block| block % 3 == 0).map(|block| (block, block / 2));
    let edges: Vec<_> = on.chain(skip).chain(back).collect();
    let cfg = Cfg::from_pairs(blocks, &edges).unwrap();
    let plan = EdgePlan::new(&cfg, &EdgeWeights::estimate(&cfg));
    assert_eq!(plan.counted.len(), edges.len() + 1 - blocks as usize);
    let counts = propagate(&cfg, &plan, &vec![0; plan.counted.len()], &[(BlockId(0), 7)]).unwrap();
    assert_eq!((counts.entries, counts.blocks[1]), (7, 0));
}
