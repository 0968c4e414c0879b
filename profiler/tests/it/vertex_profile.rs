//! Vertex plans against the log, against every simple cycle, and against linear algebra.

use std::cell::Cell;

use wprof_profiler::{
    BlockCounts, BlockId, BlockPlan, BlockWeights, Cfg, EdgeCounts, EdgeId, EdgePlan, EdgeWeights,
    PropagateError, RootedForest, SpanningTree, VertexPlan, propagate, propagate_block_counters,
    propagate_blocks, propagate_contracted,
};

use crate::edge_profile::count_log;
use crate::linear::{determine_vertices, determine_vertices_but};
use crate::random_cfg::{for_random_cfgs, for_structured_cfgs, small_cfgs};
use crate::rng::Rng;
use crate::walk::{Function, Run, random_program, run};

/// Weights of few values, so that ties are frequent.
pub fn mad_weights(cfg: &Cfg, rng: &mut Rng) -> EdgeWeights {
    EdgeWeights::from_vec(cfg.closed_edges().map(|_| rng.below(5) as f64).collect())
}

/// Every kind of vertex plan, under every kind of weighting.
fn plans(cfg: &Cfg, rng: &mut Rng) -> Vec<VertexPlan> {
    let mut plans = vec![EdgePlan::every_edge(cfg).into()];
    for weights in [EdgeWeights::estimate(cfg), mad_weights(cfg, rng)] {
        let worst = SpanningTree::minimum(cfg, &weights);
        plans.push(EdgePlan::new(cfg, &weights).into());
        plans.push(VertexPlan::new(cfg, &weights));
        plans.push(VertexPlan::of_tree(cfg, &weights, &worst));
        plans.push(VertexPlan::unmarked(cfg, &weights));
        plans.push(VertexPlan::unmarked_of_tree(cfg, &worst));
    }
    plans
}

/// What the counters of a plan show after a run with these counts.
fn counters(plan: &VertexPlan, truth: &EdgeCounts) -> Vec<u64> {
    plan.counted.iter().map(|edge| truth.edges[edge.index()]).collect()
}

/// Checks all plans; the number of those that leave a cycle without a counter.
fn check(program: &[Function], run: &Run, rng: &mut Rng) -> usize {
    let mut cyclic = 0;
    for (index, function) in program.iter().enumerate() {
        let (cfg, truth, exits) = (&function.cfg, count_log(function, index, run), run.exits(index));
        let expected = Ok(BlockCounts { blocks: truth.blocks.clone(), entries: truth.entries });
        for plan in plans(cfg, rng) {
            assert_eq!(
                propagate_blocks(cfg, &plan, &counters(&plan, &truth), &exits),
                expected,
                "{plan:?} {cfg:?}"
            );
            cyclic += usize::from(!is_forest(cfg, &free_edges(cfg, &plan)));
        }
    }
    cyclic
}

fn free_edges(cfg: &Cfg, plan: &VertexPlan) -> Vec<EdgeId> {
    cfg.closed_edges().filter(|&edge| plan.counter_of(edge).is_none()).collect()
}

fn is_forest(cfg: &Cfg, edges: &[EdgeId]) -> bool {
    RootedForest::new(cfg, |edge| edges.contains(&edge)).is_some()
}

#[test]
fn block_counts_are_those_of_the_log() {
    let cyclic = Cell::new(0);
    arbtest::arbtest(|u| {
        let size = u.int_in_range(1..=30)?;
        let fuel = u.int_in_range(0..=2000)?;
        let mut rng = Rng::new(u.arbitrary()?);
        let program = random_program(&mut rng, size);
        let run = run(&program, &mut rng, fuel);
        cyclic.set(cyclic.get() + check(&program, &run, &mut rng));
        Ok(())
    })
    .budget_ms(3000);
    assert!(cyclic.get() > 100, "only {} plans dropped a counter", cyclic.get());
}

#[test]
fn block_counts_are_those_of_the_log_on_all_small_graphs() {
    let mut rng = Rng::new(11);
    let mut cyclic = 0;
    for cfg in small_cfgs() {
        let program = [Function::new(cfg, 1, &mut rng)];
        let run = run(&program, &mut rng, 60);
        cyclic += check(&program, &run, &mut rng);
    }
    assert!(cyclic > 1000);
}

/// Whether the edges are one simple cycle in the undirected graph.
fn is_simple_cycle(cfg: &Cfg, edges: &[EdgeId]) -> bool {
    let vertices = || cfg.blocks().chain([cfg.exit()]);
    let degree = |vertex| {
        let ends = edges.iter().map(|&edge| cfg.edge(edge));
        ends.map(|ends| usize::from(ends.from == vertex) + usize::from(ends.to == vertex)).sum::<usize>()
    };
    // Every vertex twice or not at all, and no part of it is a cycle: without any edge it is a forest.
    !edges.is_empty()
        && vertices().all(|vertex| matches!(degree(vertex), 0 | 2))
        && edges.iter().all(|&left_out| {
            let rest: Vec<_> = edges.iter().copied().filter(|&edge| edge != left_out).collect();
            is_forest(cfg, &rest)
        })
}

/// Whether some vertex is entered by one edge of the cycle and left by the other.
fn has_pipe(cfg: &Cfg, cycle: &[EdgeId]) -> bool {
    cycle.iter().any(|&a| cycle.iter().any(|&b| cfg.edge(a).to == cfg.edge(b).from))
}

fn subsets(edges: &[EdgeId]) -> impl Iterator<Item = Vec<EdgeId>> {
    (0..1_u32 << edges.len()).map(|set| {
        edges.iter().enumerate().filter(|(bit, _)| set >> bit & 1 == 1).map(|(_, &edge)| edge).collect()
    })
}

/// The paper's theorem, word by word: whether no simple cycle of these edges has a pipe.
fn solves(cfg: &Cfg, free: &[EdgeId]) -> bool {
    !subsets(free).any(|set| has_pipe(cfg, &set) && is_simple_cycle(cfg, &set))
}

#[test]
fn no_counter_free_simple_cycle_of_a_small_graph_has_a_pipe() {
    let mut rng = Rng::new(12);
    for cfg in small_cfgs().step_by(5) {
        for plan in plans(&cfg, &mut rng) {
            assert!(solves(&cfg, &free_edges(&cfg, &plan)), "{plan:?} {cfg:?}");
        }
    }
}

/// The theorem itself: three ways to tell whether counters are enough agree on arbitrary counters.
#[test]
fn counters_are_enough_if_no_simple_cycle_without_them_has_a_pipe() {
    let mut rng = Rng::new(13);
    let (mut enough, mut cyclic) = (0, 0);
    for cfg in small_cfgs().step_by(3) {
        for _ in 0..4 {
            let plan = VertexPlan { counted: cfg.edges().filter(|_| rng.once_in(2)).collect() };
            let free = free_edges(&cfg, &plan);
            let solved = solves(&cfg, &free);
            assert_eq!(determine_vertices(&cfg, &plan.counted, &[]), solved, "{plan:?} {cfg:?}");
            let zeros = vec![0; plan.counted.len()];
            let found = propagate_blocks(&cfg, &plan, &zeros, &[]);
            let expected = BlockCounts { blocks: vec![0; cfg.block_count()], entries: 0 };
            assert_eq!(found, if solved { Ok(expected) } else { Err(PropagateError::Undetermined) });
            enough += usize::from(solved);
            cyclic += usize::from(solved && !is_forest(&cfg, &free));
        }
    }
    assert!(enough > 1000 && cyclic > 100);
}

/// Without marks, as with them, the counters are enough; and with this tree no counter could be spared.
#[test]
fn marks_are_not_needed_and_no_further_counter_can_be_dropped() {
    for_random_cfgs(|cfg, rng| {
        let weights = mad_weights(cfg, rng);
        let plan = VertexPlan::unmarked(cfg, &weights);
        assert!(determine_vertices(cfg, &plan.counted, &[]), "{cfg:?}");
        for &edge in plan.counted.iter().take(6) {
            let fewer: Vec<_> = plan.counted.iter().copied().filter(|&other| other != edge).collect();
            assert!(!determine_vertices(cfg, &fewer, &[]), "{edge} of {cfg:?}");
            let zeros = vec![0; fewer.len()];
            let found = propagate_blocks(cfg, &VertexPlan { counted: fewer }, &zeros, &[]);
            assert_eq!(found, Err(PropagateError::Undetermined));
        }
    });
}

/// Some blocks, perhaps none: those whose counts are not wanted.
fn some_blocks(cfg: &Cfg, rng: &mut Rng) -> Vec<BlockId> {
    let one_in = 1 + rng.below(4);
    cfg.blocks().skip(1).filter(|_| rng.once_in(one_in)).collect()
}

/// The theory of silent blocks by linear algebra: their plan determines all other blocks, and none of its counters
/// could be spared.
#[test]
fn plans_without_silent_blocks_determine_all_others_by_as_few_counters_as_can_be() {
    let dropped = Cell::new(0);
    for_random_cfgs(|cfg, rng| {
        let (weights, silent) = (mad_weights(cfg, rng), some_blocks(cfg, rng));
        let plan = VertexPlan::contracted(cfg, &weights, &silent);
        assert!(determine_vertices_but(cfg, &silent, &plan.counted, &[]), "{silent:?} {cfg:?}");
        for &edge in plan.counted.iter().take(6) {
            let fewer: Vec<_> = plan.counted.iter().copied().filter(|&other| other != edge).collect();
            assert!(!determine_vertices_but(cfg, &silent, &fewer, &[]), "{edge}, {silent:?} of {cfg:?}");
            let (zeros, fewer) = (vec![0; fewer.len()], VertexPlan { counted: fewer });
            let found = propagate_contracted(cfg, &fewer, &silent, &zeros, &[]);
            assert_eq!(found, Err(PropagateError::Undetermined));
        }
        let with_all = VertexPlan::unmarked(cfg, &weights).counted.len();
        dropped.set(dropped.get() + with_all - plan.counted.len());
    });
    assert!(dropped.get() > 100, "{}", dropped.get());
}

/// Whatever runs and wherever frames end, silent blocks included, all other blocks have the counts of the log.
#[test]
fn without_silent_blocks_the_counts_of_all_others_are_those_of_the_log() {
    let (dropped, negative) = (Cell::new(0), Cell::new(0));
    arbtest::arbtest(|u| {
        let (size, fuel) = (u.int_in_range(1..=30)?, u.int_in_range(0..=2000)?);
        let mut rng = Rng::new(u.arbitrary()?);
        let program = random_program(&mut rng, size);
        let run = run(&program, &mut rng, fuel);
        for (index, function) in program.iter().enumerate() {
            let (cfg, truth, exits) = (&function.cfg, count_log(function, index, &run), run.exits(index));
            let silent = some_blocks(cfg, &mut rng);
            let plan = VertexPlan::contracted(cfg, &mad_weights(cfg, &mut rng), &silent);
            let mut blocks = truth.blocks.clone();
            silent.iter().for_each(|block| blocks[block.index()] = 0);
            let found = propagate_contracted(cfg, &plan, &silent, &counters(&plan, &truth), &exits);
            assert_eq!(found, Ok(BlockCounts { blocks, entries: truth.entries }), "{silent:?} {cfg:?}");
            let full = propagate_blocks(cfg, &plan, &counters(&plan, &truth), &exits);
            negative.set(negative.get() + usize::from(full.is_err()));
            dropped.set(dropped.get() + usize::from(!is_forest(cfg, &free_edges(cfg, &plan))));
        }
        Ok(())
    })
    .budget_ms(3000);
    assert!(dropped.get() > 100 && negative.get() > 100, "{} {}", dropped.get(), negative.get());
}

/// The paper's fork and join as a compiler for wasm writes it: the jump to the second join has a block of its own.
#[test]
fn a_fork_and_join_with_an_empty_block_on_its_cycle_needs_no_counter_either() {
    // 1 and 2 branch to 3 and to 5 and 6, which hold nothing and go on to 4.
    let edges = [(0, 1), (0, 2), (1, 3), (1, 5), (2, 3), (2, 6), (5, 4), (6, 4), (3, 7), (4, 7)];
    let cfg = Cfg::from_pairs(7, &edges).unwrap();
    let weights = EdgeWeights::from_vec(vec![3.0, 1.0, 4.0, 4.0, 4.0, 2.0, 4.0, 3.0, 1.0, 1.0, 9.0]);
    let chords = EdgePlan::new(&cfg, &weights).counted;
    assert_eq!(chords, [1, 5, 8, 9].map(EdgeId));
    assert_eq!(VertexPlan::unmarked(&cfg, &weights).counted, chords, "5 and 6 are pipes");
    let silent = [BlockId(5), BlockId(6)];
    let plan = VertexPlan::contracted(&cfg, &weights, &silent);
    assert_eq!(plan.counted, [1, 8, 9].map(EdgeId));
    // Three to 1, of which one goes to 4, and two to 2, which both do.
    let counts = propagate_contracted(&cfg, &plan, &silent, &[2, 2, 3], &[]).unwrap();
    assert_eq!(counts, BlockCounts { blocks: vec![5, 3, 2, 2, 3, 0, 0], entries: 5 });
}

/// The edges of the fundamental cycle of a chord, by taking away tree edges that are on no cycle.
fn fundamental_cycle(cfg: &Cfg, tree: &SpanningTree, chord: EdgeId) -> Vec<EdgeId> {
    let mut cycle: Vec<_> = cfg.closed_edges().filter(|&edge| tree.contains(edge) || edge == chord).collect();
    let touches = |edge: EdgeId, vertex| cfg.edge(edge).from == vertex || cfg.edge(edge).to == vertex;
    let loop_edge = |edge: EdgeId| cfg.edge(edge).from == cfg.edge(edge).to;
    let degree = |edges: &[EdgeId], vertex| {
        edges
            .iter()
            .map(|&edge| {
                usize::from(touches(edge, vertex)) + usize::from(touches(edge, vertex) && loop_edge(edge))
            })
            .sum::<usize>()
    };
    loop {
        let before = cycle.clone();
        cycle.retain(|&edge| {
            degree(&before, cfg.edge(edge).from) > 1 && degree(&before, cfg.edge(edge).to) > 1
        });
        if cycle.len() == before.len() {
            return cycle;
        }
    }
}

/// The heuristic as the paper states it.
fn restated(cfg: &Cfg, weights: &EdgeWeights) -> Vec<EdgeId> {
    let tree = SpanningTree::maximum(cfg, weights);
    let (mut counted, mut marked) = (Vec::new(), Vec::new());
    let mut chords: Vec<EdgeId> = tree.chords().collect();
    chords.sort_by(|&a, &b| {
        let critical = cfg.is_critical(b).cmp(&cfg.is_critical(a));
        weights.get(b).total_cmp(&weights.get(a)).then(critical).then(a.cmp(&b))
    });
    for chord in chords {
        let cycle = fundamental_cycle(cfg, &tree, chord);
        let ends = cycle.iter().map(|&edge| cfg.edge(edge));
        let vertices: Vec<BlockId> = ends.flat_map(|ends| [ends.from, ends.to]).collect();
        if has_pipe(cfg, &cycle) || vertices.iter().any(|vertex| marked.contains(vertex)) {
            counted.push(chord);
        } else {
            marked.extend(vertices);
        }
    }
    counted.sort();
    counted
}

#[test]
fn the_heuristic_is_that_of_the_paper() {
    let dropped = Cell::new(0);
    for_random_cfgs(|cfg, rng| {
        for weights in [EdgeWeights::estimate(cfg), mad_weights(cfg, rng)] {
            let plan = VertexPlan::new(cfg, &weights);
            assert_eq!(plan.counted, restated(cfg, &weights), "{cfg:?}");
            assert!(determine_vertices(cfg, &plan.counted, &[]), "{cfg:?}");
            dropped.set(dropped.get() + EdgePlan::new(cfg, &weights).counted.len() - plan.counted.len());
        }
    });
    assert!(dropped.get() > 100);
}

#[test]
fn a_vertex_plan_is_never_dearer_than_the_edge_plan_nor_the_unmarked_one_than_that_with_marks() {
    let part_of = |part: &[EdgeId], whole: &[EdgeId]| part.iter().all(|edge| whole.contains(edge));
    for_random_cfgs(|cfg, rng| {
        for weights in [EdgeWeights::estimate(cfg), mad_weights(cfg, rng)] {
            let chords = EdgePlan::new(cfg, &weights).counted;
            let with_marks = VertexPlan::new(cfg, &weights).counted;
            let without = VertexPlan::unmarked(cfg, &weights);
            assert!(part_of(&with_marks, &chords) && part_of(&without.counted, &with_marks));
            let cost = |edges: &[EdgeId]| edges.iter().map(|&edge| weights.get(edge)).sum::<f64>();
            assert!(cost(&without.counted) <= cost(&with_marks) && cost(&with_marks) <= cost(&chords));
            let found: Vec<_> =
                without.counted.iter().map(|&edge| without.counter_of(edge).unwrap()).collect();
            assert!(found.into_iter().eq(0..without.counted.len()));
        }
    });
}

/// The easy class of the paper: where each cycle has a pipe, as in programs of loops with one exit and of
/// conditionals, the edge plan is the best vertex plan.
#[test]
fn programs_of_simple_loops_and_conditionals_keep_all_counters() {
    // while P { if Q { A } else { B } }; if R { C } D
    let [p, q, a, b, r, c, d, exit] = [0, 1, 2, 3, 4, 5, 6, 7];
    let edges = [(p, q), (p, r), (q, a), (q, b), (a, p), (b, p), (r, c), (r, d), (c, d), (d, exit)];
    let cfg = Cfg::from_pairs(7, &edges).unwrap();
    let weights = EdgeWeights::estimate(&cfg);
    let closed: Vec<_> = cfg.closed_edges().collect();
    assert!(subsets(&closed).filter(|set| is_simple_cycle(&cfg, set)).all(|cycle| has_pipe(&cfg, &cycle)));
    let chords = EdgePlan::new(&cfg, &weights).counted;
    assert_eq!(VertexPlan::new(&cfg, &weights).counted, chords);
    assert_eq!(VertexPlan::unmarked(&cfg, &weights).counted, chords);
}

/// 0 branches to 1 and 2, both of them to 3 and 4. The cycle 1, 3, 2, 4 alternates.
fn crossing() -> Cfg {
    Cfg::from_pairs(5, &[(0, 1), (0, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 5), (4, 5)]).unwrap()
}

/// The figures of the paper survive without their drawings; these graphs have the properties for which the
/// text gives them.
#[test]
fn a_cycle_without_a_pipe_needs_no_counter_and_one_with_a_pipe_does() {
    let cfg = crossing();
    let weights = EdgeWeights::from_vec(vec![3.0, 3.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 9.0]);
    let chords = EdgePlan::new(&cfg, &weights).counted;
    assert_eq!(chords, [4, 5, 6, 7].map(EdgeId), "the tree is 0 -> 1, 0 -> 2, 1 -> 3, 1 -> 4");
    // The cycles of 2 -> 3 and 2 -> 4 go by way of 0 and have pipes at 1 and 2.
    let plan = VertexPlan::new(&cfg, &weights);
    assert_eq!(plan.counted, chords);
    // With three edges of the alternating cycle in the tree, the fourth needs no counter.
    let weights = EdgeWeights::from_vec(vec![3.0, 1.0, 4.0, 4.0, 4.0, 2.0, 1.0, 1.0, 9.0]);
    assert_eq!(EdgePlan::new(&cfg, &weights).counted, [1, 5, 6, 7].map(EdgeId));
    let plan = VertexPlan::new(&cfg, &weights);
    assert_eq!(plan.counted, [1, 6, 7].map(EdgeId));
    // The broken edge is 2 -> 4. Where 3 went 1 -> 4 and 2 went 2 -> 3, no count is changed by that. Where
    // all 5 went 2 -> 4, they are put down to 2 -> 3, and 1 -> 3 makes up for them with -5.
    let blocks = |counters: &[u64]| propagate_blocks(&cfg, &plan, counters, &[]).map(|counts| counts.blocks);
    assert_eq!(blocks(&[2, 2, 3]), Ok(vec![5, 3, 2, 2, 3]));
    assert_eq!(blocks(&[5, 0, 5]), Ok(vec![5, 0, 5, 0, 5]));
}

/// Two alternating cycles that share a vertex combine into one that is not simple and has a pipe there.
/// The theorem allows that, the marks of the heuristic do not.
#[test]
fn cycles_that_share_a_vertex_may_both_be_free_but_for_the_marks() {
    // 1 and 2 branch to 3 and 4; 3 and 5 branch to 6 and 7.
    let edges = [(0, 1), (0, 2), (0, 5), (1, 3), (1, 4), (2, 3), (2, 4), (3, 6), (3, 7), (5, 6), (5, 7)];
    let cfg = Cfg::from_pairs(8, &[&edges[..], &[(4, 8), (6, 8), (7, 8)]].concat()).unwrap();
    let heavy = |edge: EdgeId| if (3..11).contains(&edge.0) { 10.0 + f64::from(edge.0) } else { 1.0 };
    let weights = EdgeWeights::from_vec(cfg.closed_edges().map(heavy).collect());
    let chords = EdgePlan::new(&cfg, &weights).counted;
    let (with_marks, without) = (VertexPlan::new(&cfg, &weights), VertexPlan::unmarked(&cfg, &weights));
    let dropped = |plan: &VertexPlan| {
        chords.iter().copied().filter(|&e| plan.counter_of(e).is_none()).collect::<Vec<_>>()
    };
    assert_eq!(dropped(&with_marks), [EdgeId(7)], "the heavier of the two");
    assert_eq!(dropped(&without), [3, 7].map(EdgeId));
    assert!(solves(&cfg, &free_edges(&cfg, &without)));
    let both = (3..11).map(EdgeId).collect::<Vec<_>>();
    assert!(has_pipe(&cfg, &both) && !is_simple_cycle(&cfg, &both));
}

#[test]
fn frames_that_end_on_a_free_cycle_are_counted() {
    let cfg = crossing();
    let weights = EdgeWeights::from_vec(vec![3.0, 1.0, 4.0, 4.0, 4.0, 2.0, 1.0, 1.0, 9.0]);
    let plan = VertexPlan::new(&cfg, &weights);
    assert_eq!(plan.counted, [1, 6, 7].map(EdgeId));
    // Ten calls: four to 1, six to 2; one trap in 1, two in 2, one in 3, three in 4, and one before.
    let exits = [1, 2, 3, 4, 0].map(BlockId).into_iter().zip([1, 2, 1, 3, 1]).collect::<Vec<_>>();
    // 3 + 4 reach 3 and 4: two of them return from 3, one from 4.
    let counts = propagate_blocks(&cfg, &plan, &[6, 2, 1], &exits).unwrap();
    assert_eq!(counts, BlockCounts { blocks: vec![11, 4, 6, 3, 4], entries: 11 });
}

#[test]
fn wild_counters_give_a_flow_or_an_error() {
    let accepted = Cell::new(0);
    for_structured_cfgs(|cfg, rng| wild(cfg, rng, &accepted));
    for_random_cfgs(|cfg, rng| wild(cfg, rng, &accepted));
    assert!(accepted.get() > 100);
}

fn wild(cfg: &Cfg, rng: &mut Rng, accepted: &Cell<usize>) {
    let numbers = [4, u64::MAX, 1 << 62][rng.below(3)];
    let number = |rng: &mut Rng| rng.next() % numbers;
    for plan in plans(cfg, rng) {
        let counters: Vec<u64> = plan.counted.iter().map(|_| number(rng)).collect();
        let ended = |rng: &mut Rng| (BlockId(rng.below(cfg.block_count()) as u32), number(rng));
        let exits: Vec<_> = (0..rng.below(3)).map(|_| ended(rng)).collect();
        let found = propagate_blocks(cfg, &plan, &counters, &exits);
        if let Ok(counts) = &found {
            // Block counters with these values tell the same.
            let blocks = BlockPlan::cheapest(cfg, &BlockWeights::estimate(cfg));
            let value = |block: &BlockId| counts.blocks.get(block.index()).copied().unwrap_or(counts.entries);
            let values: Vec<u64> = blocks.counted.iter().map(value).collect();
            assert_eq!(propagate_block_counters(cfg, &blocks, &values, &exits), found, "{cfg:?}");
            accepted.set(accepted.get() + usize::from(!exits.is_empty()));
        }
        if is_forest(cfg, &free_edges(cfg, &plan)) {
            let by_edges = propagate(cfg, &EdgePlan { counted: plan.counted }, &counters, &exits);
            let sums = |counts: EdgeCounts| BlockCounts { blocks: counts.blocks, entries: counts.entries };
            assert_eq!(by_edges.map(sums), found, "they agree where there is no free cycle");
        }
    }
}

#[test]
fn arbitrary_plans_never_panic() {
    for_random_cfgs(|cfg, rng| {
        let edge = |rng: &mut Rng| EdgeId(rng.below(cfg.edge_count() + 3) as u32);
        let counted: Vec<_> = (0..rng.below(cfg.edge_count() + 3)).map(|_| edge(rng)).collect();
        let counters: Vec<u64> = (0..counted.len()).map(|_| rng.next()).collect();
        let exits = [(BlockId(rng.below(cfg.block_count() + 2) as u32), rng.next())];
        let _ = propagate_blocks(cfg, &VertexPlan { counted }, &counters, &exits);
    });
}

#[test]
fn input_that_contradicts_itself_is_refused() {
    let cfg = crossing();
    let plan = VertexPlan { counted: [1, 6, 7].map(EdgeId).to_vec() };
    let found = |counters: &[u64], exits: &[(BlockId, u64)]| propagate_blocks(&cfg, &plan, counters, exits);
    assert_eq!(found(&[0, 0], &[]), Err(PropagateError::WrongCounters { expected: 3, found: 2 }));
    assert_eq!(found(&[0, 0, 0], &[(BlockId(5), 1)]), Err(PropagateError::BadExit(BlockId(5))));
    let foreign = VertexPlan { counted: vec![EdgeId(9)] };
    assert_eq!(propagate_blocks(&cfg, &foreign, &[0], &[]), Err(PropagateError::BadPlan(EdgeId(9))));
    // More went from 0 to 2 than were called.
    let beyond = PropagateError::Contradiction { edge: EdgeId(0), count: -1 };
    assert_eq!(found(&[2, 1, 0], &[]), Err(beyond));
    assert_eq!(
        found(&[0, u64::MAX, 1], &[]).unwrap_err(),
        PropagateError::Contradiction { edge: EdgeId(0), count: 1 << 64 }
    );
    // Two edges between the same blocks are a cycle without a pipe.
    let twins = Cfg::from_pairs(2, &[(0, 1), (0, 1), (0, 2), (1, 2)]).unwrap();
    let plan = VertexPlan { counted: vec![EdgeId(2), EdgeId(3)] };
    let closing = VertexPlan { counted: vec![EdgeId(2), twins.closing_edge()] };
    let counts = propagate_blocks(&twins, &plan, &[1, 2], &[]).unwrap();
    assert_eq!(counts, BlockCounts { blocks: vec![3, 2], entries: 3 });
    let negative = propagate_blocks(&twins, &closing, &[2, 1], &[(BlockId(0), 0)]);
    assert_eq!(negative, Err(PropagateError::Contradiction { edge: EdgeId(3), count: -1 }));
    let traps = Cfg::from_pairs(2, &[(0, 1), (0, 1), (0, 2)]).unwrap();
    let plan = VertexPlan { counted: vec![EdgeId(2), traps.closing_edge()] };
    let negative = propagate_blocks(&traps, &plan, &[2, 1], &[]);
    assert!(matches!(negative, Err(PropagateError::Imbalance { .. })));
}

/// One frame enters block 1, and two end there: the sum of its free edges would be -1.
#[test]
fn edges_of_a_broken_cycle_cannot_be_negative_together() {
    let cfg = Cfg::from_pairs(2, &[(0, 1), (1, 2), (1, 2)]).unwrap();
    let plan = VertexPlan { counted: vec![EdgeId(0)] };
    let found = |ended| propagate_blocks(&cfg, &plan, &[1], &[(BlockId(1), ended)]);
    assert_eq!(found(1), Ok(BlockCounts { blocks: vec![1, 1], entries: 1 }));
    assert_eq!(found(2), Err(PropagateError::Contradiction { edge: EdgeId(1), count: -1 }));
}

#[test]
fn plans_of_two_hundred_thousand_blocks_take_a_moment() {
    let blocks = 200_000;
    let on = (0..blocks).map(|block| (block, block + 1));
    let twice = (0..blocks - 1).map(|block| (block, block + 2));
    let back = (1..blocks).filter(|block| block % 3 == 0).map(|block| (block, block / 2));
    let edges: Vec<_> = on.clone().chain(twice).chain(back).chain(on).collect();
    let cfg = Cfg::from_pairs(blocks, &edges).unwrap();
    let weights = EdgeWeights::estimate(&cfg);
    for plan in [VertexPlan::new(&cfg, &weights), VertexPlan::unmarked(&cfg, &weights)] {
        assert!(plan.counted.len() < edges.len() + 1 - blocks as usize);
        let counts = propagate_blocks(&cfg, &plan, &vec![0; plan.counted.len()], &[(BlockId(0), 7)]).unwrap();
        assert_eq!((counts.entries, counts.blocks[1]), (7, 0));
    }
}

/// A path that alternates, and chords from its first half to its second, all of them without pipes: with a
/// mark in the middle, only a long walk tells that a chord has to stay.
#[test]
fn the_work_on_cycles_is_bounded() {
    let half = 50_000;
    let path = (0..2 * half).flat_map(|i| [(2 * i, 2 * i + 1), (2 * i + 2, 2 * i + 1)]);
    let mut edges: Vec<_> = path.collect();
    let tree = edges.len();
    edges.push((half * 2, half * 2 + 1));
    edges.extend((0..half).map(|i| (2 * i, 2 * (i + half) + 1)));
    edges.push((6, 7));
    let cfg = Cfg::from_pairs(4 * half + 1, &edges).unwrap();
    let weight = |edge: usize| if edge < tree { 1e9 } else { (edges.len() - edge) as f64 };
    let weights = EdgeWeights::from_vec((0..=edges.len()).map(weight).collect());
    let (bounded, unmarked) = (VertexPlan::new(&cfg, &weights), VertexPlan::unmarked(&cfg, &weights));
    assert_eq!((bounded.counted.len(), unmarked.counted.len()), (edges.len() - tree - 1, 0));
    let last = EdgeId::new(edges.len() - 1);
    assert!(bounded.counter_of(last).is_some(), "the limit came before it");
    assert!(propagate_blocks(&cfg, &bounded, &vec![0; bounded.counted.len()], &[]).is_ok());
}
