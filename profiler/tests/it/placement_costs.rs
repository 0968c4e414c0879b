//! The costs of placements against running each of them.

use std::cell::Cell;

use wprof_profiler::{
    BlockId, BlockPlan, BlockWeights, Cfg, CounterCost, EdgeId, EdgePlan, EdgeWeights, OtherWeightings,
    PlacementCosts, SpanningTree, VertexPlan, WeightedCosts,
};

use crate::edge_profile::count_log;
use crate::rng::Rng;
use crate::walk::{Event, Function, Run, random_program, run};

/// Runs plans on the log of one function.
struct Rerun<'a> {
    function: &'a Function,
    index: usize,
    run: &'a Run,
}

impl Rerun<'_> {
    fn edges(&self, counted: &[EdgeId]) -> CounterCost {
        let bumps = |event: &&Event| matches!(event, Event::Edge(f, edge) if *f == self.index && counted.contains(edge));
        CounterCost {
            counters: counted.len() as u64,
            increments: self.run.log.iter().filter(bumps).count() as u64,
        }
    }

    fn blocks(&self, counted: &[BlockId]) -> CounterCost {
        let bumps = |event: &&Event| match event {
            Event::Block(f, block) => *f == self.index && counted.contains(block),
            Event::Call(f) => *f == self.index && counted.contains(&self.function.cfg.exit()),
            _ => false,
        };
        CounterCost {
            counters: counted.len() as u64,
            increments: self.run.log.iter().filter(bumps).count() as u64,
        }
    }

    /// Counted edges whose source has other ways out and whose target has other ways in.
    fn jumps(&self, tree: &SpanningTree) -> Vec<EdgeId> {
        let cfg = &self.function.cfg;
        let needs_block = |edge: &EdgeId| {
            let ends = cfg.edge(*edge);
            let others = |e: EdgeId| e != *edge;
            let from_elsewhere = ends.to == BlockId::ENTRY
                || cfg.edges().filter(|&e| others(e)).any(|e| cfg.edge(e).to == ends.to);
            from_elsewhere && cfg.edges().filter(|&e| others(e)).any(|e| cfg.edge(e).from == ends.from)
        };
        EdgePlan::of_tree(tree).counted.into_iter().filter(needs_block).collect()
    }

    fn weighted(&self, blocks: &BlockPlan, weights: &EdgeWeights, tree: &SpanningTree) -> WeightedCosts {
        let cfg = &self.function.cfg;
        WeightedCosts {
            vertex_by_blocks: self.blocks(&blocks.counted),
            vertex_by_edges: self.edges(&VertexPlan::of_tree(cfg, weights, tree).counted),
            vertex_by_edges_unmarked: self.edges(&VertexPlan::unmarked_of_tree(cfg, tree).counted),
            vertex_by_edges_contracted: self
                .edges(&VertexPlan::contracted_of_tree(cfg, tree, &silent(cfg)).counted),
            edges: self.edges(&EdgePlan::of_tree(tree).counted),
            jumps: self.edges(&self.jumps(tree)),
            mixed: CounterCost::default(),
        }
    }
}

/// Returns the costs of plans that are run; `mixed_counters_save_jumps` has the others.
fn run_ones(costs: WeightedCosts) -> WeightedCosts {
    WeightedCosts { mixed: CounterCost::default(), ..costs }
}

/// Every other block with a single successor.
fn silent(cfg: &Cfg) -> Vec<BlockId> {
    cfg.blocks().skip(1).filter(|&block| cfg.out_edges(block).len() == 1).step_by(2).collect()
}

fn for_random_runs(property: impl Fn(&Rerun, PlacementCosts)) {
    let mut rng = Rng::new(31);
    for _ in 0..150 {
        let program = random_program(&mut rng, 14);
        let run = run(&program, &mut rng, 300);
        for (index, function) in program.iter().enumerate() {
            let costs =
                PlacementCosts::new(&function.cfg, &count_log(function, index, &run), &silent(&function.cfg));
            property(&Rerun { function, index, run: &run }, costs);
        }
    }
}

#[test]
fn costs_are_those_of_running_each_plan() {
    for_random_runs(|rerun, costs| {
        let cfg = &rerun.function.cfg;
        assert_eq!(costs.per_block, rerun.blocks(&BlockPlan::new(cfg).counted));
        assert_eq!(costs.per_edge, rerun.edges(&EdgePlan::every_edge(cfg).counted));
        let (estimate, by_block) = (EdgeWeights::estimate(cfg), BlockWeights::estimate(cfg));
        let tree = SpanningTree::maximum(cfg, &estimate);
        assert_eq!(
            run_ones(costs.estimated),
            rerun.weighted(&BlockPlan::cheapest(cfg, &by_block), &estimate, &tree)
        );
        let counts = count_log(rerun.function, rerun.index, rerun.run);
        let (measured, by_block) =
            (EdgeWeights::measured(cfg, &counts), BlockWeights::measured(cfg, &counts));
        let tree = SpanningTree::maximum(cfg, &measured);
        assert_eq!(
            run_ones(costs.measured),
            rerun.weighted(&BlockPlan::cheapest(cfg, &by_block), &measured, &tree)
        );
        let tree = SpanningTree::minimum(cfg, &measured);
        assert_eq!(
            run_ones(costs.worst),
            rerun.weighted(&BlockPlan::dearest(cfg, &by_block), &measured, &tree)
        );
        let of = |tree: &SpanningTree| rerun.edges(&EdgePlan::of_tree(tree).counted);
        let by = |weights: EdgeWeights| of(&SpanningTree::maximum(cfg, &weights));
        let others = OtherWeightings {
            estimated_worst: of(&SpanningTree::minimum(cfg, &estimate)),
            goldberg: by(EdgeWeights::goldberg(cfg)),
            wall: by(EdgeWeights::wall(cfg)),
            forman: by(EdgeWeights::forman(cfg)),
        };
        assert_eq!(costs.others, others);
    });
}

/// The chain of one loop: 0 to 1, 1 back to 1 or on to 2, or from 0 to 2 at once.
#[test]
fn the_other_weightings_are_as_their_authors_have_them() {
    let cfg = Cfg::from_pairs(3, &[(0, 1), (1, 1), (1, 2), (0, 2), (2, 3)]).unwrap();
    // Postorder: EXIT 1, b2 2, b1 3, b0 4.
    assert_eq!(EdgeWeights::goldberg(&cfg).as_slice(), [4.0, 7.0, 3.0, 4.0, 2.0, 1.0]);
    assert_eq!(EdgeWeights::wall(&cfg).as_slice(), [1.0, 10.0, 1.0, 1.0, 1.0, 1.0]);
    // b1 runs half the time, and each time again with one half: once on the average; 1/1000 is lost in each block.
    let forman = EdgeWeights::forman(&cfg);
    let expected = [0.5, 0.5, 0.5, 0.5, 1.0, 1.0];
    assert!(
        forman.as_slice().iter().zip(expected).all(|(weight, about)| (weight - about).abs() < 0.005),
        "{forman:?}"
    );
}

#[test]
fn the_run_itself_is_the_best_weighting_and_its_opposite_the_worst() {
    for_random_runs(|_, costs| {
        let in_order = |of: fn(&WeightedCosts) -> CounterCost| {
            let [best, some, worst] = [&costs.measured, &costs.estimated, &costs.worst].map(of);
            assert!(best.increments <= some.increments && some.increments <= worst.increments, "{costs:?}");
            assert!(best.counters == some.counters && some.counters == worst.counters);
        };
        in_order(|costs| costs.edges);
        in_order(|costs| costs.vertex_by_blocks);
        for costs in [costs.estimated, costs.measured, costs.worst] {
            let (edges, marked) = (costs.edges, costs.vertex_by_edges);
            let unmarked = costs.vertex_by_edges_unmarked;
            assert!(marked.counters <= edges.counters && marked.increments <= edges.increments);
            assert!(unmarked.counters <= marked.counters && unmarked.increments <= marked.increments);
            let contracted = costs.vertex_by_edges_contracted;
            assert!(contracted.counters <= unmarked.counters && contracted.increments <= unmarked.increments);
        }
        assert!(costs.worst.edges.increments <= costs.per_edge.increments);
    });
}

/// The relations of the placements in the paper: block counters or edge counters may be the cheaper ones, and those
/// that tell only the blocks may be cheaper than both.
#[test]
fn each_placement_wins_somewhere() {
    let [blocks_win, edges_win, both_lose] = [(); 3].map(|()| Cell::new(0));
    for_random_runs(|_, costs| {
        let blocks = costs.measured.vertex_by_blocks.increments;
        let (vertices, edges) = (costs.measured.vertex_by_edges.increments, costs.measured.edges.increments);
        let bump = |wins: &Cell<u32>, wins_here| wins.set(wins.get() + u32::from(wins_here));
        bump(&blocks_win, blocks < edges);
        bump(&edges_win, edges < blocks);
        bump(&both_lose, vertices < edges && vertices < blocks);
    });
    let wins = [&blocks_win, &edges_win, &both_lose].map(Cell::get);
    assert!(wins.iter().all(|&wins| wins > 0), "{wins:?}");
}

#[test]
fn costs_of_functions_add_up() {
    let cost = |counters, increments| CounterCost { counters, increments };
    let weighted = |n: u64| WeightedCosts {
        vertex_by_blocks: cost(n, 2 * n),
        vertex_by_edges: cost(3 * n, 4 * n),
        vertex_by_edges_unmarked: cost(5 * n, 6 * n),
        vertex_by_edges_contracted: cost(5 * n, 3 * n),
        edges: cost(7 * n, 8 * n),
        jumps: cost(9 * n, 10 * n),
        mixed: cost(7 * n, 11 * n),
    };
    let others = |n: u64| OtherWeightings {
        estimated_worst: cost(n, 3 * n),
        goldberg: cost(n, 5 * n),
        wall: cost(n, 7 * n),
        forman: cost(n, 9 * n),
    };
    let costs = |n: u64| PlacementCosts {
        per_block: cost(n, n),
        per_edge: cost(2 * n, 2 * n),
        estimated: weighted(n),
        measured: weighted(10 * n),
        worst: weighted(100 * n),
        others: others(n),
    };
    assert_eq!(costs(1).plus(costs(2)), costs(3));
}

/// Counters in blocks need no jumps: with the weights of the run none does better, in blocks or on edges.
#[test]
fn mixed_counters_save_jumps() {
    let saves = Cell::new(0);
    for_random_runs(|_, costs| {
        let WeightedCosts { edges, jumps, mixed, .. } = costs.measured;
        let apart = edges.increments + jumps.increments;
        assert!(mixed.increments <= apart && mixed.counters == edges.counters, "{costs:?}");
        saves.set(saves.get() + u32::from(mixed.increments < apart));
    });
    assert!(saves.get() > 0);
}
