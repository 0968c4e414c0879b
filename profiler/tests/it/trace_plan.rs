//! Plans of traces: witness sets by enumeration, blocking, and what the plans cost.

use std::collections::BTreeSet;

use wprof_profiler::{
    BlockId, Call, Cfg, EdgeId, EdgeWeights, Emit, TraceError, TraceMethod, TracePlan, TracedFunction,
};

use crate::edge_weights::figure_one;
use crate::random_cfg::{for_random_cfgs, small_cfgs};
use crate::rng::Rng;
use crate::trace_machine::{METHODS, random_calls};

/// A block that can only be entered from one block, and never left.
fn is_dead_end(cfg: &Cfg, calls: &[Option<Call>], block: BlockId) -> bool {
    let inner = block != BlockId::ENTRY && block != cfg.exit();
    let sources: BTreeSet<_> = cfg.predecessors(block).collect();
    inner && sources.len() == 1 && cfg.out_edges(block).is_empty() && call(calls, block).is_none()
}

fn call(calls: &[Option<Call>], block: BlockId) -> Option<Call> {
    calls.get(block.index()).copied().flatten()
}

/// Everything that can be written next from a block on, or `None` for another function's tokens.
fn next_tokens(plan: &TracePlan, cfg: &Cfg, calls: &[Option<Call>], edge: EdgeId) -> BTreeSet<Option<Token>> {
    if let Some(emit) = plan.emit_of(edge) {
        return BTreeSet::from([Some((edge, emit.value, emit.bits))]);
    }
    let to = cfg.edge(edge).to;
    let foreign = (to == cfg.exit() || call(calls, to).is_some()).then_some(None);
    let inside = cfg.out_edges(to).iter().flat_map(|&next| next_tokens(plan, cfg, calls, next));
    foreign.into_iter().chain(inside).collect()
}

type Token = (EdgeId, u32, u8);

fn tell_apart(a: &Option<Token>, b: &Option<Token>) -> bool {
    let (Some((_, a, a_bits)), Some((_, b, b_bits))) = (a, b) else { return false };
    let low = |value: u32| u64::from(value) & ((1 << a_bits.min(b_bits)) - 1);
    low(*a) != low(*b)
}

/// The definition, by exhaustive search: the sets of two successors have no token in common, none that
/// begins like another one, and none of another function.
fn check_witness_sets(cfg: &Cfg, calls: &[Option<Call>], plan: &TracePlan) {
    for block in cfg.blocks() {
        let live: BTreeSet<_> = cfg.successors(block).filter(|&to| !is_dead_end(cfg, calls, to)).collect();
        if live.len() < 2 {
            continue;
        }
        let set = |edge: &EdgeId| (cfg.edge(*edge).to, next_tokens(plan, cfg, calls, *edge));
        let sets: Vec<_> = cfg.out_edges(block).iter().map(set).collect();
        for (at, (to, a)) in sets.iter().enumerate() {
            assert!(!a.contains(&None), "blocking: {block} to {to} in {cfg:?} {plan:?}");
            for (_, b) in sets[at + 1..].iter().filter(|(other, _)| other != to) {
                let apart = a.iter().all(|a| b.iter().all(|b| tell_apart(a, b)));
                assert!(apart, "{block} in {cfg:?} {plan:?}");
            }
        }
    }
}

#[test]
fn witness_sets_are_disjoint() {
    let mut rng = Rng::new(31);
    for cfg in small_cfgs() {
        for calls in [vec![], random_calls(&cfg, 1, &mut rng)] {
            for method in METHODS {
                let plan = TracePlan::new(method, &cfg, &EdgeWeights::estimate(&cfg), &calls);
                check_witness_sets(&cfg, &calls, &plan);
            }
        }
    }
    for_random_cfgs(|cfg, rng| {
        let calls = random_calls(cfg, 1, rng);
        let mad = EdgeWeights::from_vec(cfg.closed_edges().map(|_| rng.below(100) as f64).collect());
        for weights in [EdgeWeights::estimate(cfg), mad] {
            let plan = TracePlan::new(TraceMethod::Witnesses, cfg, &weights, &calls);
            check_witness_sets(cfg, &calls, &plan);
        }
    });
}

fn plan_of(method: TraceMethod, cfg: &Cfg, calls: &[Option<Call>]) -> TracePlan {
    TracePlan::new(method, cfg, &EdgeWeights::estimate(cfg), calls)
}

fn edges(plan: &TracePlan) -> Vec<u32> {
    plan.emits.iter().map(|emit| emit.edge.0).collect()
}

/// The paper's first program: one witness for each way round and each way out, instead of three decisions.
#[test]
fn the_paper_s_program_writes_one_witness_a_round() {
    let cfg = figure_one();
    let plan = plan_of(TraceMethod::Witnesses, &cfg, &[]);
    // Both ways to EXIT (blocking); an arm (the diamond); the way back, or the other arm (the cycle).
    assert!([1, 6].iter().all(|edge| edges(&plan).contains(edge)));
    assert_eq!(plan.emits.len(), 4);
    let bits = plan_of(TraceMethod::BitTracing, &cfg, &[]);
    assert_eq!(edges(&bits), [0, 1, 2, 3, 6, 7]);
    assert!(bits.emits.iter().all(|emit| emit.bits == 1));
    assert!(plan.bits_per_entry < bits.bits_per_entry);
    let (best, other) = TracePlan::choose(&cfg, &EdgeWeights::estimate(&cfg), &[]);
    assert_eq!((best, other), (plan, bits));
}

/// Blocking witnesses lie as far from the call as possible: one serves two calls, and the join needs none.
#[test]
fn blocking_witnesses_lie_behind_the_predicate() {
    let cfg = Cfg::from_pairs(5, &[(0, 1), (0, 3), (1, 2), (2, 3), (3, 4), (4, 5)]).unwrap();
    let mut calls = vec![None; 5];
    calls[1] = Some(Call::Direct(0));
    calls[2] = Some(Call::Host);
    let plan = plan_of(TraceMethod::Witnesses, &cfg, &calls);
    assert_eq!(edges(&plan), [0, 1]);
    calls[4] = Some(Call::Indirect);
    assert_eq!(plan_of(TraceMethod::Witnesses, &cfg, &calls), plan);
}

/// A loop that ends in a trap or an interrupt needs no witness but for its way back.
#[test]
fn without_blocking_only_cycles_and_diamonds_cost() {
    let cfg = Cfg::from_pairs(4, &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 0)]).unwrap();
    let plan = plan_of(TraceMethod::Witnesses, &cfg, &[]);
    assert_eq!(plan.emits.len(), 2, "one for the cycle and one for the diamond");
    assert!(plan.emits.iter().all(|emit| emit.bits == 1));
}

/// In a row of diamonds without a call, each predicate would have to look far ahead.
#[test]
fn bit_tracing_wins_in_a_row_of_diamonds() {
    let arms = (0..12).flat_map(|i| {
        let at = 3 * i;
        [(at, at + 1), (at, at + 2), (at + 1, at + 3), (at + 2, at + 3)]
    });
    let cfg = Cfg::from_pairs(37, &arms.chain([(36, 37)]).collect::<Vec<_>>()).unwrap();
    let (best, other) = TracePlan::choose(&cfg, &EdgeWeights::estimate(&cfg), &[]);
    assert_eq!((best.method, other.method), (TraceMethod::BitTracing, TraceMethod::Witnesses));
    assert_eq!(best.bits_per_entry, 12.0);
    assert!(other.bits_per_entry > 12.0);
}

#[test]
fn assertions_and_parallel_edges_cost_nothing() {
    // Two assertions, a switch with two equal arms, and a loop of itself.
    let pairs = [(0, 1), (0, 2), (2, 3), (2, 4), (4, 5), (4, 5), (5, 6)];
    let cfg = Cfg::from_pairs(6, &pairs).unwrap();
    for method in [TraceMethod::Witnesses, TraceMethod::BitTracing] {
        assert_eq!(plan_of(method, &cfg, &[]).emits, []);
    }
    // A trap that calls somebody first is seen by that somebody.
    let mut calls = vec![None; 6];
    calls[1] = Some(Call::Host);
    assert_eq!(edges(&plan_of(TraceMethod::BitTracing, &cfg, &calls)), [0, 1]);
}

#[test]
fn bit_tracing_tells_the_successors() {
    let cfg = Cfg::from_pairs(6, &[(0, 1), (0, 2), (0, 3), (0, 2), (0, 4), (0, 5), (1, 6), (2, 6)]).unwrap();
    let mut calls = vec![Some(Call::Host); 6];
    calls[0] = None;
    let tokens = |weights: &EdgeWeights| {
        let plan = TracePlan::new(TraceMethod::BitTracing, &cfg, weights, &calls);
        plan.emits.iter().map(|emit| (emit.edge.0, emit.value, emit.bits)).collect::<Vec<_>>()
    };
    // Of five equal ones two take three bits. Edges 1 and 3 are one, which is twice as heavy.
    let equal = [(0, 3, 3), (1, 0, 2), (2, 7, 3), (3, 0, 2), (4, 2, 2), (5, 1, 2)];
    assert_eq!(tokens(&EdgeWeights::estimate(&cfg)), equal);
    // A default that is hardly ever left takes one.
    let measured = EdgeWeights::from_vec(vec![3.0, 1.0, 4.0, 1.0, 5.0, 1000.0, 0.0, 0.0]);
    let bits: Vec<u8> = tokens(&measured).into_iter().map(|(_, _, bits)| bits).collect();
    assert_eq!(bits, [3, 3, 3, 3, 3, 1]);
}

#[test]
fn a_loop_without_a_predicate_counts_its_rounds() {
    let cfg = Cfg::from_pairs(2, &[(0, 1), (1, 0)]).unwrap();
    for method in [TraceMethod::Witnesses, TraceMethod::BitTracing] {
        let plan = plan_of(method, &cfg, &[]);
        assert_eq!(plan.emits.iter().map(|emit| u32::from(emit.bits)).sum::<u32>(), 1, "{method:?}");
    }
}

/// The estimate is what is written, if the weights are what runs.
#[test]
fn estimates_are_weighted_bits() {
    let cfg = figure_one();
    let weights = EdgeWeights::from_vec((1..=10).map(f64::from).collect());
    let plan = TracePlan::new(TraceMethod::EveryBranch, &cfg, &weights, &[]);
    let sum: u32 = (0..cfg.edge_count() as u32).map(|edge| edge + 1).sum();
    assert_eq!(plan.bits_per_entry, f64::from(sum * 32));
    assert_eq!(plan.emit_of(EdgeId(7)), Some(Emit { edge: EdgeId(7), value: 7, bits: 32 }));
    assert_eq!(plan.emit_of(cfg.closing_edge()), None);
}

#[test]
fn plans_that_do_not_fit_are_refused() {
    let cfg = Cfg::from_pairs(3, &[(0, 1), (0, 2), (1, 3), (2, 3), (2, 3)]).unwrap();
    let refused = |emits: &[(u32, u32, u8)]| {
        let emits: Vec<_> =
            emits.iter().map(|&(edge, value, bits)| Emit { edge: EdgeId(edge), value, bits }).collect();
        TracedFunction::new(&cfg, &[], &emits).err()
    };
    assert_eq!(refused(&[(0, 0, 1), (1, 1, 1)]), None);
    assert_eq!(refused(&[(9, 0, 1)]), Some(TraceError::BadPlan(EdgeId(9))));
    assert_eq!(refused(&[(0, 0, 1), (0, 1, 1)]), Some(TraceError::BadPlan(EdgeId(0))));
    assert_eq!(refused(&[(0, 0, 0)]), Some(TraceError::BadPlan(EdgeId(0))));
    assert_eq!(refused(&[(0, 0, 33)]), Some(TraceError::BadPlan(EdgeId(0))));
    assert_eq!(refused(&[(3, 0, 1)]), Some(TraceError::BadPlan(EdgeId(3))), "its twin writes nothing");
    assert_eq!(refused(&[(0, 0, 1), (1, 2, 2)]), Some(TraceError::Ambiguous(EdgeId(1))));
    assert_eq!(refused(&[(0, 2, 2), (1, 0, 1)]), Some(TraceError::Ambiguous(EdgeId(1))));
    let endless = Cfg::from_pairs(1, &[(0, 0)]).unwrap();
    let silent = TracedFunction::new(&endless, &[], &[]).err();
    assert_eq!(silent, Some(TraceError::SilentCycle(EdgeId(0))));
}

#[test]
fn a_function_of_a_hundred_thousand_blocks_is_planned_in_a_moment() {
    let blocks = 100_000;
    let on = (0..blocks).map(|block| (block, block + 1));
    let skip = (0..blocks - 1).map(|block| (block, block + 2));
    let back = (1..blocks).filter(|block| block % 3 == 0).map(|block| (block, block / 2));
    let cfg = Cfg::from_pairs(blocks, &on.chain(skip).chain(back).collect::<Vec<_>>()).unwrap();
    let weights = EdgeWeights::estimate(&cfg);
    for method in METHODS {
        let plan = TracePlan::new(method, &cfg, &weights, &[]);
        TracedFunction::new(&cfg, &[], &plan.emits).unwrap();
    }
}
