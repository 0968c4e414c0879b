//! Event plans, run, against the events in the log.

use wprof_profiler::{
    BlockId, Cfg, CounterCost, DepthFirst, EdgeId, EdgeWeights, EventPlan, EventTree, longest_acyclic,
};

use crate::event_walk::{Function, Step, amount, run};
use crate::random_cfg::{for_random_cfgs, small_cfgs, structured, unstructured};
use crate::rng::Rng;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    /// Calls find an exact count.
    Exact,
    /// Queries add the corrections of all frames.
    Summed,
    /// Exact at calls, some of them forced, and at other forced blocks.
    Forced,
    PerEdge,
    PerBlock,
}

const MODES: [Mode; 5] = [Mode::Exact, Mode::Summed, Mode::Forced, Mode::PerEdge, Mode::PerBlock];

/// One event anywhere, few, or so many that every sum wraps.
fn random_events(cfg: &Cfg, rng: &mut Rng) -> Vec<u64> {
    let style = rng.below(4);
    let event = |_| match style {
        0 => u64::from(rng.once_in(4)),
        1 => rng.next() % 10,
        2 => rng.next(),
        _ => u64::MAX,
    };
    cfg.closed_edges().map(event).collect()
}

/// Static, or mad; whole numbers, so that costs can be added up exactly.
fn random_weights(cfg: &Cfg, rng: &mut Rng) -> EdgeWeights {
    if rng.once_in(2) {
        return EdgeWeights::estimate(cfg);
    }
    EdgeWeights::from_vec(cfg.closed_edges().map(|_| rng.below(6) as f64).collect())
}

fn random_blocks(cfg: &Cfg, rng: &mut Rng) -> Vec<BlockId> {
    cfg.blocks().filter(|_| rng.once_in(4)).collect()
}

fn function(cfg: Cfg, functions: usize, mode: Mode, rng: &mut Rng) -> Function {
    let calls = cfg.blocks().map(|_| rng.once_in(5).then(|| rng.below(functions))).collect();
    let events = random_events(&cfg, rng);
    let plan = EventPlan::per_edge(&cfg, &[]);
    let mut function = Function { cfg, calls, events, plan, exact_calls: true, exact_blocks: Vec::new() };
    apply(&mut function, mode, rng);
    function
}

fn apply(function: &mut Function, mode: Mode, rng: &mut Rng) {
    let (cfg, events, calls) = (&function.cfg, &function.events, function.call_blocks());
    let weights = random_weights(cfg, rng);
    let all = || cfg.blocks().collect::<Vec<_>>();
    let (plan, exact_blocks) = match mode {
        Mode::Exact => (EventPlan::new(cfg, &weights, events, &calls), Vec::new()),
        Mode::Summed => (EventPlan::new(cfg, &weights, events, &[]), Vec::new()),
        Mode::Forced => {
            let forced = random_blocks(cfg, rng);
            (EventPlan::with_exact(cfg, &weights, events, &calls, &forced), forced)
        }
        Mode::PerEdge => (EventPlan::per_edge(cfg, events), all()),
        Mode::PerBlock => (EventPlan::per_block(cfg, events), all()),
    };
    function.exact_calls = mode != Mode::Summed;
    (function.plan, function.exact_blocks) = (plan, exact_blocks);
}

fn random_program(rng: &mut Rng, size: u32, mode: Mode) -> Vec<Function> {
    let functions = 1 + rng.below(4);
    let mut random = |_| {
        let size = 1 + rng.below(size as usize) as u32;
        let cfg = if rng.once_in(2) { structured(rng, size) } else { unstructured(rng, size) };
        function(cfg, functions, mode, rng)
    };
    (0..functions).map(&mut random).collect()
}

fn for_random_programs(mode: Mode) {
    arbtest::arbtest(|u| {
        let size = u.int_in_range(1..=30)?;
        let fuel = u.int_in_range(0..=2000)?;
        let mut rng = Rng::new(u.arbitrary()?);
        let program = random_program(&mut rng, size, mode);
        assert!(run(&program, &mut rng, fuel).check(&program) >= fuel);
        Ok(())
    })
    .budget_ms(1000);
}

#[test]
fn every_look_at_the_counter_is_exact_with_exact_calls() {
    for_random_programs(Mode::Exact);
}

#[test]
fn every_look_at_the_counter_is_exact_with_the_corrections_of_all_frames() {
    for_random_programs(Mode::Summed);
}

#[test]
fn forced_blocks_need_no_correction() {
    for_random_programs(Mode::Forced);
}

#[test]
fn the_plans_to_compare_with_need_no_correction() {
    for_random_programs(Mode::PerEdge);
    for_random_programs(Mode::PerBlock);
}

#[test]
fn functions_of_different_plans_call_each_other() {
    let mut rng = Rng::new(20);
    for _ in 0..300 {
        let mut program = random_program(&mut rng, 15, Mode::Exact);
        for function in &mut program {
            apply(function, MODES[rng.below(MODES.len())], &mut rng);
        }
        run(&program, &mut rng, 300).check(&program);
    }
}

#[test]
fn every_look_is_exact_on_all_small_graphs() {
    let mut rng = Rng::new(21);
    for cfg in small_cfgs() {
        let mode = MODES[rng.below(MODES.len())];
        let program = [function(cfg, 1, mode, &mut rng)];
        run(&program, &mut rng, 40).check(&program);
    }
}

#[test]
fn a_wrong_amount_anywhere_is_noticed() {
    let mut rng = Rng::new(22);
    let mut noticed = [0; 3];
    for _ in 0..1500 {
        let mut program = random_program(&mut rng, 6, Mode::Exact);
        let plan = &mut program[0].plan;
        let lists = [plan.increments.len(), plan.queries.len(), plan.around.len()];
        let list = rng.below(3);
        if lists[list] == 0 {
            continue;
        }
        let place = rng.below(lists[list]);
        match list {
            0 => plan.increments[place].1 ^= 1,
            1 => plan.queries[place] ^= 1,
            _ => plan.around[place].1 ^= 1,
        }
        let run = run(&program, &mut rng, 600);
        noticed[list] += u32::from(run.first_lie(&program).is_some());
    }
    assert!(noticed.iter().all(|&times| times > 5), "{noticed:?}");
}

/// One tree for several kinds of events gives each the plan that it would have had alone.
#[test]
fn one_tree_serves_all_kinds_of_events() {
    for_random_cfgs(|cfg, rng| {
        let weights = random_weights(cfg, rng);
        let (exact_at, forced) = (random_blocks(cfg, rng), random_blocks(cfg, rng));
        let tree = EventTree::with_exact(cfg, &weights, &exact_at, &forced);
        for _ in 0..3 {
            let events = random_events(cfg, rng);
            let alone = EventPlan::with_exact(cfg, &weights, &events, &exact_at, &forced);
            assert_eq!(tree.plan(&events), alone);
        }
        // No events need no updates, and with none forced the plan is the one without forcing.
        let nothing = EventPlan::per_edge(cfg, &[]);
        assert_eq!(tree.plan(&[]), nothing);
        let events = random_events(cfg, rng);
        let plain = EventPlan::with_exact(cfg, &weights, &events, &exact_at, &[]);
        assert_eq!(EventPlan::new(cfg, &weights, &events, &exact_at), plain);
        // Lists are sets: neither order nor repetition matters.
        let twice: Vec<BlockId> = exact_at.iter().rev().chain(&exact_at).copied().collect();
        assert_eq!(EventPlan::new(cfg, &weights, &events, &twice), plain);
    });
}

#[test]
fn plans_are_sorted_sparse_and_silent_about_code_that_cannot_run() {
    for_random_cfgs(|cfg, rng| {
        let (events, weights) = (random_events(cfg, rng), random_weights(cfg, rng));
        let (exact_at, forced) = (random_blocks(cfg, rng), random_blocks(cfg, rng));
        let plan = EventPlan::with_exact(cfg, &weights, &events, &exact_at, &forced);
        let search = DepthFirst::new(cfg);
        assert_eq!(plan.queries.len(), cfg.block_count());
        assert!(plan.increments.is_sorted_by(|a, b| a.0 < b.0) && plan.around.is_sorted_by(|a, b| a.0 < b.0));
        let amounts = plan.increments.iter().map(|entry| entry.1);
        assert!(amounts.chain(plan.around.iter().map(|entry| entry.1)).all(|amount| amount != 0));
        let runs = |edge| edge == cfg.closing_edge() || search.is_reachable(cfg.edge(edge).from);
        assert!(plan.increments.iter().all(|entry| runs(entry.0)));
        for block in cfg.blocks() {
            let query = plan.queries[block.index()];
            assert!(query == 0 || search.is_reachable(block) && !forced.contains(&block));
            // What had to be exact is so, or is corrected around its call.
            if exact_at.contains(&block) {
                assert_eq!(amount(&plan.around, block).unwrap_or(0), query);
            }
        }
        assert!(plan.around.iter().all(|entry| exact_at.contains(&entry.0)));
    });
}

/// Whether updates at the places that `updated` accepts can make a plan: each other edge, and each other
/// block that must be exact, fixes the difference of two queries, and all must agree.
fn suffices(cfg: &Cfg, events: &[u64], exact_at: &[BlockId], updated: u32) -> bool {
    let is_updated = |place: usize| updated >> place & 1 == 1;
    let search = DepthFirst::new(cfg);
    let mut query = vec![None; cfg.vertex_count()];
    query[cfg.exit().index()] = Some(0_u64);
    for (place, block) in exact_at.iter().enumerate() {
        if !is_updated(cfg.edge_count() + 1 + place) {
            query[block.index()] = Some(0);
        }
    }
    let live = cfg.closed_edges().filter(|&edge| {
        let from = cfg.edge(edge).from;
        (from == cfg.exit() || search.is_reachable(from)) && !is_updated(edge.index())
    });
    let live: Vec<EdgeId> = live.collect();
    // Blocks of unknown query can be given any, one after the other.
    for start in [cfg.exit()].into_iter().chain(cfg.blocks()) {
        query[start.index()].get_or_insert(0x1234_5678_9abc << start.0);
        for _ in 0..cfg.vertex_count() {
            for &edge in &live {
                let (ends, events) = (cfg.edge(edge), events[edge.index()]);
                if let Some(from) = query[ends.from.index()] {
                    query[ends.to.index()].get_or_insert(from.wrapping_add(events));
                }
                if let Some(to) = query[ends.to.index()] {
                    query[ends.from.index()].get_or_insert(to.wrapping_sub(events));
                }
            }
        }
    }
    live.iter().all(|&edge| {
        let ends = cfg.edge(edge);
        let expected = query[ends.from.index()].map(|from| from.wrapping_add(events[edge.index()]));
        expected == query[ends.to.index()]
    })
}

/// What updating at each place costs: by edge, then by block that must be exact.
fn place_costs(cfg: &Cfg, weights: &EdgeWeights, exact_at: &[BlockId]) -> Vec<f64> {
    let began = |block: BlockId| {
        let called = if block == BlockId::ENTRY { weights.get(cfg.closing_edge()) } else { 0.0 };
        called + cfg.in_edges(block).iter().map(|&edge| weights.get(edge)).sum::<f64>()
    };
    let edges = cfg.closed_edges().map(|edge| weights.get(edge));
    edges.chain(exact_at.iter().map(|&block| 2.0 * began(block))).collect()
}

fn plan_cost(cfg: &Cfg, plan: &EventPlan, exact_at: &[BlockId], costs: &[f64]) -> f64 {
    let edges = plan.increments.iter().map(|entry| costs[entry.0.index()]);
    let position = |block| exact_at.iter().position(|&other| other == block).unwrap();
    let around = plan.around.iter().map(|entry| costs[cfg.edge_count() + 1 + position(entry.0)]);
    edges.chain(around).sum()
}

/// Among all sets of places, not only those that a tree leaves; events without accidental zeros.
#[test]
fn no_plan_updates_less() {
    let mut rng = Rng::new(23);
    let (mut at_entry, mut in_tree, mut around) = (0, 0, 0);
    for cfg in small_cfgs().step_by(5) {
        let weights: Vec<f64> = cfg.closed_edges().map(|_| (1 + rng.below(6)) as f64).collect();
        let weights = EdgeWeights::from_vec(weights);
        let events: Vec<u64> = cfg.closed_edges().map(|_| rng.next()).collect();
        let search = DepthFirst::new(&cfg);
        let wanted = cfg.blocks().filter(|&block| search.is_reachable(block) && rng.once_in(2));
        let exact_at: Vec<BlockId> = wanted.collect();
        let plan = EventPlan::new(&cfg, &weights, &events, &exact_at);
        let costs = place_costs(&cfg, &weights, &exact_at);
        let cost = |set: u32| -> f64 {
            costs.iter().enumerate().filter(|place| set >> place.0 & 1 == 1).map(|place| place.1).sum()
        };
        let found = plan_cost(&cfg, &plan, &exact_at, &costs);
        let cheaper = (0..1_u32 << costs.len()).filter(|&set| cost(set) < found);
        let counterexample = { cheaper }.find(|&set| suffices(&cfg, &events, &exact_at, set));
        assert_eq!(counterexample, None, "{cfg:?} {weights:?} {exact_at:?} {plan:?}");
        at_entry += u32::from(plan.increments.iter().any(|entry| entry.0 == cfg.closing_edge()));
        in_tree += exact_at.len() - plan.around.len();
        around += plan.around.len();
    }
    assert!(at_entry > 50 && in_tree > 50 && around > 50, "{at_entry} {in_tree} {around}");
}

/// The oracle of the last test accepts what the machine accepts.
#[test]
fn the_places_of_a_plan_suffice() {
    let mut rng = Rng::new(24);
    for cfg in small_cfgs().step_by(5) {
        let events: Vec<u64> = cfg.closed_edges().map(|_| rng.next()).collect();
        let exact_at = random_blocks(&cfg, &mut rng);
        let search = DepthFirst::new(&cfg);
        let exact_at: Vec<_> = exact_at.into_iter().filter(|&block| search.is_reachable(block)).collect();
        let plan = EventPlan::new(&cfg, &random_weights(&cfg, &mut rng), &events, &exact_at);
        let edges = plan.increments.iter().map(|entry| entry.0.index());
        let position = |block| exact_at.iter().position(|&other| other == block).unwrap();
        let around = plan.around.iter().map(|entry| cfg.edge_count() + 1 + position(entry.0));
        let places: Vec<usize> = edges.chain(around).collect();
        let set = places.iter().fold(0, |set, place| set | 1 << place);
        assert!(suffices(&cfg, &events, &exact_at, set));
        // And none of them can be done without.
        assert!(places.iter().all(|place| !suffices(&cfg, &events, &exact_at, set & !(1 << place))));
    }
}

#[test]
fn the_greatest_correction_is_the_greatest_error_at_any_block() {
    for_random_cfgs(|cfg, rng| {
        let events: Vec<u64> = cfg.closed_edges().map(|_| rng.next() % 10).collect();
        let plan = EventPlan::new(cfg, &random_weights(cfg, rng), &events, &[]);
        // (truth, counter) at each block, by any one walk to it.
        let mut seen = vec![None; cfg.vertex_count()];
        let step = |edge: EdgeId, (truth, counter): (i64, i64)| {
            let counted = amount(&plan.increments, edge).unwrap_or(0);
            Some((truth + events[edge.index()] as i64, counter + counted))
        };
        seen[0] = step(cfg.closing_edge(), (0, 0));
        for _ in cfg.blocks() {
            for edge in cfg.edges() {
                let ends = cfg.edge(edge);
                if let (Some(here), None) = (seen[ends.from.index()], seen[ends.to.index()]) {
                    seen[ends.to.index()] = step(edge, here);
                }
            }
        }
        let blocks = seen[..cfg.block_count()].iter().flatten();
        let worst = blocks.map(|(truth, counter)| truth.abs_diff(*counter)).max();
        assert_eq!(Some(plan.max_correction()), worst);
    });
}

/// Every walk from `block` to and including its first back edge.
fn longest_from(cfg: &Cfg, search: &DepthFirst, events: &[u64], block: BlockId) -> u64 {
    let beyond = |&edge: &EdgeId| {
        let on = !search.is_back_edge(cfg, edge);
        let rest = if on { longest_from(cfg, search, events, cfg.edge(edge).to) } else { 0 };
        events[edge.index()].saturating_add(rest)
    };
    cfg.out_edges(block).iter().map(beyond).max().unwrap_or(0)
}

fn check_longest(cfg: &Cfg, rng: &mut Rng) {
    let events = random_events(cfg, rng);
    let search = DepthFirst::new(cfg);
    let longest = |block| longest_from(cfg, &search, &events, block);
    let called = events[cfg.edge_count()].saturating_add(longest(BlockId::ENTRY));
    let starts = cfg.blocks().filter(|&block| search.is_reachable(block));
    assert_eq!(longest_acyclic(cfg, &events), starts.map(longest).fold(called, u64::max), "{cfg:?}");
}

#[test]
fn the_longest_walk_between_checks_is_found() {
    let mut rng = Rng::new(25);
    small_cfgs().for_each(|cfg| check_longest(&cfg, &mut rng));
    for _ in 0..500 {
        let size = 1 + rng.below(10) as u32;
        check_longest(&unstructured(&mut rng, size), &mut rng);
        check_longest(&structured(&mut rng, size), &mut rng);
    }
}

/// What metering promises: checks at entry and loop headers see an exact count, and not too late.
#[test]
fn no_run_outruns_its_budget_by_more_than_the_longest_walk() {
    for_random_cfgs(|cfg, rng| {
        let events: Vec<u64> = cfg.closed_edges().map(|_| rng.next() % 10).collect();
        let search = DepthFirst::new(cfg);
        let mut checks: Vec<BlockId> = search.back_edges(cfg).iter().map(|&edge| cfg.edge(edge).to).collect();
        checks.push(BlockId::ENTRY);
        let plan = EventPlan::with_exact(cfg, &EdgeWeights::estimate(cfg), &events, &[], &checks);
        let bound = longest_acyclic(cfg, &events);
        let calls = vec![None; cfg.block_count()];
        let program =
            [Function { cfg: cfg.clone(), calls, events, plan, exact_calls: true, exact_blocks: checks }];
        let run = run(&program, rng, 500);
        run.check(&program);
        let mut since = 0;
        for step in &run.log {
            match *step {
                // A call from outside: whatever ran before is over.
                Step::Edge(_, edge) if edge == cfg.closing_edge() => since = program[0].events[edge.index()],
                Step::Edge(_, edge) => since += program[0].events[edge.index()],
                Step::Block(_, block) if program[0].exact_blocks.contains(&block) => {
                    assert!(since <= bound);
                    since = 0;
                }
                _ => assert!(since <= bound),
            }
        }
    });
}

#[test]
fn costs_are_those_of_running_each_event_plan() {
    let mut rng = Rng::new(26);
    for round in 0..300 {
        let program = random_program(&mut rng, 10, MODES[round % MODES.len()]);
        let run = run(&program, &mut rng, 300);
        for (index, function) in program.iter().enumerate() {
            let plan = &function.plan;
            let counters = plan.increments.len() + 2 * plan.around.len() + plan.ends.len();
            let expected = CounterCost { counters: counters as u64, increments: run.updates[index] };
            assert_eq!(plan.cost(&run.counts(index, &function.cfg)), expected);
        }
    }
}

/// The example of the module's documentation.
#[test]
fn a_branch_with_different_events_on_its_ways() {
    let cfg = Cfg::from_pairs(3, &[(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
    let weights = EdgeWeights::from_vec(vec![1.0, 5.0, 6.0, 4.0, 9.0]);
    let plan = EventPlan::new(&cfg, &weights, &[1, 0, 5, 2, 0], &[]);
    assert_eq!(plan.increments, [(EdgeId(0), 6), (EdgeId(3), 2)]);
    assert_eq!(plan.queries, [0, -5, 0]);
    assert_eq!(plan.max_correction(), 5);
    // A call in b1 is cheaper corrected twice than b1 -> EXIT counted.
    let plan = EventPlan::new(&cfg, &weights, &[1, 0, 5, 2, 0], &[BlockId(1)]);
    assert_eq!(plan.queries, [0, -5, 0]);
    assert_eq!(plan.around, [(BlockId(1), -5)]);
    let forced = EventPlan::with_exact(&cfg, &weights, &[1, 0, 5, 2, 0], &[], &[BlockId(1)]);
    assert_eq!(forced.increments, [(EdgeId(0), 1), (EdgeId(2), 5), (EdgeId(3), 2)]);
    assert_eq!(forced.queries, [0, 0, 0]);
}

/// A call in a loop: one addition per round on the back edge, and none around the call.
#[test]
fn a_call_in_a_loop_is_exact_for_nothing() {
    let cfg = Cfg::from_pairs(3, &[(0, 1), (1, 2), (2, 1), (2, 3)]).unwrap();
    let plan = EventPlan::new(&cfg, &EdgeWeights::estimate(&cfg), &[3, 4, 5, 6, 0], &[BlockId(2)]);
    assert!(plan.around.is_empty() && plan.queries[2] == 0);
    // 3 + 4 on the first arrival at b2, 5 + 4 on each further one, 6 on the way out.
    assert_eq!(plan.increments, [(EdgeId(0), 7), (EdgeId(2), 9), (EdgeId(3), 6)]);
}

#[test]
fn an_endless_loop_is_counted_while_it_runs() {
    let cfg = Cfg::from_pairs(2, &[(0, 1), (1, 1)]).unwrap();
    let plan = EventPlan::new(&cfg, &EdgeWeights::estimate(&cfg), &[2, 7, 1], &[]);
    assert_eq!((plan.increments, plan.queries), (vec![(EdgeId(1), 7)], vec![1, 3]));
}

#[test]
fn sums_beyond_64_bits_wrap() {
    let cfg = Cfg::from_pairs(3, &[(0, 1), (1, 2)]).unwrap();
    let plan = EventPlan::new(&cfg, &EdgeWeights::estimate(&cfg), &[u64::MAX; 3], &[]);
    assert!(plan.increments.is_empty());
    assert_eq!(plan.queries, [-1, -2, -3]);
    assert_eq!(longest_acyclic(&cfg, &[u64::MAX, 1, 0]), u64::MAX);
}

/// Any numbers give a plan, and never a panic.
#[test]
fn foreign_input_never_panics() {
    for_random_cfgs(|cfg, rng| {
        let wild = |rng: &mut Rng| (0..rng.below(60)).map(|_| rng.next()).collect::<Vec<u64>>();
        let blocks = |rng: &mut Rng| {
            let far = |_| BlockId(if rng.once_in(9) { u32::MAX } else { rng.below(50) as u32 });
            (0..10).map(far).collect::<Vec<_>>()
        };
        let (events, exact_at, forced) = (wild(rng), blocks(rng), blocks(rng));
        let weights = wild(rng).into_iter().map(f64::from_bits).collect();
        let weights = EdgeWeights::from_vec(weights);
        let plan = EventPlan::with_exact(cfg, &weights, &events, &exact_at, &forced);
        assert!(plan.around.iter().all(|entry| cfg.block_count() > entry.0.index()));
        longest_acyclic(cfg, &events);
        EventPlan::per_block(cfg, &events).cost(&wprof_profiler::EdgeCounts {
            edges: wild(rng),
            blocks: wild(rng),
            entries: u64::MAX,
        });
    });
}

#[test]
fn a_function_of_two_hundred_thousand_blocks_is_planned_for_events_in_a_moment() {
    let blocks = 200_000;
    let on = (0..blocks).map(|block| (block, block + 1));
    let skip = (0..blocks - 1).map(|block| (block, block + 2));
    let back = (1..blocks).filter(|block| block % 3 == 0).map(|block| (block, block / 2));
    let cfg = Cfg::from_pairs(blocks, &on.chain(skip).chain(back).collect::<Vec<_>>()).unwrap();
    let weights = EdgeWeights::estimate(&cfg);
    let exact_at: Vec<BlockId> = cfg.blocks().step_by(7).collect();
    let forced: Vec<BlockId> = cfg.blocks().skip(1).step_by(70).collect();
    let events = vec![1; cfg.edge_count() + 1];
    let plan = EventPlan::with_exact(&cfg, &weights, &events, &exact_at, &forced);
    let along = cfg.edges().take(blocks as usize - 1).map(|edge| amount_at(&plan.increments, edge));
    let at_last = plan.queries[blocks as usize - 1] + along.sum::<i64>();
    assert_eq!(at_last + amount_at(&plan.increments, cfg.closing_edge()), i64::from(blocks));
    assert_eq!(longest_acyclic(&cfg, &events), u64::from(blocks) + 1);
}

/// [`amount`] in logarithmic time.
fn amount_at(amounts: &[(EdgeId, i64)], edge: EdgeId) -> i64 {
    amounts.binary_search_by_key(&edge, |entry| entry.0).map_or(0, |found| amounts[found].1)
}

#[test]
fn of_equal_edges_the_critical_one_needs_no_increment() {
    // 0 branches to 1 and 2, 1 goes on to 2, 2 leaves: any edge could be one of the two chords.
    let cfg = Cfg::from_pairs(3, &[(2, 3), (0, 1), (1, 2), (0, 2)]).unwrap();
    let plan = EventPlan::new(&cfg, &EdgeWeights::from_vec(vec![1.0; 5]), &[1, 2, 4, 8, 0], &[]);
    assert!(cfg.is_critical(EdgeId(3)) && amount(&plan.increments, EdgeId(3)).is_none());
    assert_eq!(plan.increments.len(), 2);
}

#[test]
fn a_tree_is_restored_from_its_chords_and_from_nothing_else() {
    for_random_cfgs(|cfg, rng| {
        let tree = EventTree::new(cfg, &random_weights(cfg, rng), &[]);
        let (chords, events) = (tree.chords(), random_events(cfg, rng));
        let restored = EventTree::of_chords(cfg, &chords).expect("it is a tree");
        assert_eq!(restored.chords(), chords);
        let (found, expected) = (restored.plan(&events), tree.plan(&events));
        assert_eq!((found.increments, found.queries), (expected.increments, expected.queries));
        if let [_, fewer @ ..] = &chords[..] {
            assert!(EventTree::of_chords(cfg, fewer).is_none(), "a circle is no tree");
        }
        let all: Vec<EdgeId> = cfg.closed_edges().collect();
        assert!(EventTree::of_chords(cfg, &all).is_none(), "a tree has edges");
    });
}
