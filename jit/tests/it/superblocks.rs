//! What superblocks and inlined calls make of a graph.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use wprof_jit::compile::{Compiler, CompilerOptions, Tier};
use wprof_jit::graph::{BlockGraph, HotPath, InlinedCall, Site};
use wprof_jit::module::ModuleInfo;
use wprof_jit::plan::{Collection, FunctionPlan};
use wprof_jit::reoptimize::{Advice, Estimate, FunctionAdvice, Policy, Reoptimizer, Verdict};

use crate::parsed::Parsed;

fn info(wat: &str) -> ModuleInfo {
    Parsed::new(wat).info
}

fn plan(info: &ModuleInfo, func: u32) -> FunctionPlan {
    FunctionPlan::new(info, func, &Collection::default(), 0).expect("within limits")
}

/// A loop whose round is two branches, one behind the other: block 1 to 3, then block 4 to the back edge.
const TWO_BRANCHES: &str = "(module (func (param $n i32) (loop $again
    (if (i32.and (local.get $n) (i32.const 1)) (then (nop)) (else (local.set $n (i32.const 8))))
    (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))";

/// The branches of [`TWO_BRANCHES`] if its blocks ran so often, by the blocks that they lead to.
fn branches(counts: &[u64]) -> Vec<String> {
    let parsed = Parsed::new(TWO_BRANCHES);
    let (plan, env) = (plan(&parsed.info, 0), parsed.env(0x1000));
    let compiler = Compiler::new(CompilerOptions::default()).expect("this machine");
    let graph = BlockGraph::new(&plan).superblocks(&plan.cfg, counts, 0).finish();
    let clif = compiler.clif(&env, &plan.cfg, &graph, Tier::Optimized).expect("within limits");
    let branches = clif.lines().filter_map(|line| line.split_once("brif ")?.1.split_once(", "));
    branches.map(|(_, targets)| targets.to_owned()).collect()
}

#[test]
fn the_usual_way_of_a_branch_falls_through_which_is_the_second() {
    let usual = branches(&[1, 100, 70, 30, 100, 1]);
    assert_eq!((usual.len(), usual[0].as_str()), (2, "block3, block2"));
    assert!(usual[1].starts_with("block1"), "back edges stay as they are: {usual:?}");
    assert_eq!(branches(&[1, 100, 30, 70, 100, 1])[0], "block2, block3");
    assert_eq!(branches(&[1, 100, 0, 100, 100, 1])[0], "block2, block3");
}

fn formed(paths: &[HotPath], room: u32) -> BlockGraph {
    let plan = plan(&info(TWO_BRANCHES), 0);
    let mut superblocks = BlockGraph::new(&plan).superblocks(&plan.cfg, &[1, 100, 70, 30, 100, 1], room);
    for path in paths {
        superblocks.add(path);
    }
    let graph = superblocks.finish();
    graph.verify(&plan.cfg).expect("a block graph");
    graph
}

fn check(graph: &BlockGraph, expected: &Expect) {
    expected.assert_eq(&graph.to_string());
}

#[test]
fn behind_a_join_a_hot_path_has_copies_of_its_blocks() {
    let hot = HotPath { start: 1, edges: vec![0, 0, 0], count: 70 };
    check(
        &formed(&[hot], 100),
        &expect![[r#"
        node0 = block0 ran 1
            edge 0 -> node1
        node1 = block1 ran 100
            edge 0 -> node2
            edge 1 -> node3
        node2 = block2 ran 70
            edge 0 -> node5
        node3 = block3 ran 30
            edge 0 -> node4
        node4 = block4 ran 30
            edge 0 -> node1
            edge 1 -> node6
        node5 = block4 ran 70
            edge 0 -> node1
            edge 1 -> node6
        node6 = block5 ran 1
            edge 0 -> exit
    "#]],
    );
}

#[test]
fn without_room_there_are_no_copies_and_nonsense_leads_nowhere() {
    let hot = HotPath { start: 1, edges: vec![0, 0, 0], count: 70 };
    let nonsense = HotPath { start: 1, edges: vec![7, 7], count: 70 };
    let plain = formed(&[], 0).nodes;
    assert_eq!(formed(&[hot], 0).nodes, plain);
    assert_eq!(formed(&[nonsense], 100).nodes, plain);
}

#[test]
fn an_inlined_callee_lies_between_the_parts_of_its_callers_block() {
    let info = info(
        "(module (table 1 funcref) (elem (i32.const 0) $f) (type $t (func (param i32) (result i32)))
            (func $f (type $t) (if (result i32) (local.get 0) (then (i32.const 1)) (else (i32.const 2))))
            (func (param i32) (result i32)
                (i32.add (call_indirect (type $t) (local.get 0) (i32.const 0)) (i32.const 5))))",
    );
    let (caller, callee) = (plan(&info, 1), plan(&info, 0));
    let offsets = wprof_jit::cfg::instruction_offsets(&info, &caller.cfg).expect("it was validated");
    // local.get, i32.const, call_indirect
    let call = InlinedCall { at: offsets[2], guess: Some(0) };
    let mut graph = BlockGraph::new(&caller);
    graph.inline(
        &Site { node: 0, call, next: offsets[3], is_caught: false, wrong: 0 },
        &callee.cfg,
        BlockGraph::new(&callee),
    );
    graph.verify(&caller.cfg).expect("a block graph");
    check(
        &graph,
        &expect![[r#"
        call0 = function 0 inlined at 0x3a
        node0 = block0 until the call at 0x3a
            edge 0 -> node1
            edge 1 -> node6
        node1 = block0 of call0
            edge 0 -> node2
            edge 1 -> node3
        node2 = block1 of call0
            edge 0 -> node4
        node3 = block2 of call0
            edge 0 -> node4
        node4 = block3 of call0
            edge 0 -> node5
        node5 = block0
            edge 0 -> exit
        node6 = block0
            edge 0 -> exit
    "#]],
    );
}

#[test]
fn joins_that_a_superblock_avoids_are_predicted() {
    let cfg = plan(&info(TWO_BRANCHES), 0).cfg;
    let ops: f64 =
        cfg.blocks.iter().zip([1, 100, 70, 30, 100, 1]).map(|(b, ran)| f64::from(b.ops * ran)).sum();
    let hot = HotPath { start: 1, edges: vec![0, 0, 0], count: 70 };
    let nothing = Estimate::new(&cfg, &formed(&[], 0)).expect("it ran");
    assert_eq!(nothing, Estimate { work: ops + 200.0, ..Estimate::default() });
    let better = Estimate::new(&cfg, &formed(&[hot], 100)).expect("it ran");
    // The header and block 4 are joins, 100 times each; in the better graph the header, and block 5, which ran once.
    let fewer = 200.0 - 101.0;
    let work = ops + 200.0;
    assert_eq!(better, Estimate { saved: fewer / work, calls: 0.0, joins: 1000.0 * fewer / ops, work });
    let plain = BlockGraph::new(&plan(&info(TWO_BRANCHES), 0));
    assert_eq!(Estimate::new(&cfg, &plain), None, "nobody knows how often it ran");
}

/// A loop whose round has four paths, all of them hot.
const FOUR_PATHS: &str = "(module (func (param $n i32) (local $x i32) (loop $again
    (if (i32.and (local.get $n) (i32.const 1)) (then (nop)) (else (local.set $x (i32.const 8))))
    (if (i32.and (local.get $n) (i32.const 2)) (then (nop)) (else (local.set $x (i32.const 9))))
    (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))";

#[test]
fn what_superblocks_are_to_save_adds_up_to_what_the_version_does() {
    let info = info(FOUR_PATHS);
    let plan = plan(&info, 0);
    // Which way the two branches go, and how often.
    let paths = [(0, 0, 60), (0, 1, 30), (1, 0, 20), (1, 1, 10)].map(|(first, second, count)| {
        (HotPath { start: 1, edges: vec![first, 0, second, 0, 0], count }, 10 * count)
    });
    let known = FunctionAdvice {
        fingerprint: plan.cfg.shape().fingerprint(),
        calls: 1,
        counts: vec![1, 120, 90, 30, 120, 80, 40, 120, 1],
        ops: 1200,
        paths: paths.to_vec(),
        targets: BTreeMap::new(),
    };
    let advice: Advice = [(0, known)].into_iter().collect();
    let (collection, policy) = (Collection::default(), Policy { path_growth: 9, ..Policy::default() });
    let by = Reoptimizer { info: &info, advice: &advice, policy: &policy, collection: &collection };
    let compiler = Compiler::new(CompilerOptions::default()).expect("this machine");
    let better = by.graph(&plan, &compiler).expect("within limits").expect("it is known");
    let parts = better.decisions.iter().filter_map(|decision| match decision.verdict {
        Verdict::Superblock { saved, .. } => Some(saved),
        _ => None,
    });
    let parts: Vec<f64> = parts.collect();
    let whole = Estimate::new(&plan.cfg, &better.graph).expect("it ran").saved;
    assert!(parts.len() > 1 && parts[0] > 0.0 && whole > 0.0, "{parts:?} {whole}");
    assert!((parts.iter().sum::<f64>() - whole).abs() < 1e-9, "{parts:?} {whole}");

    // Who wants more has none.
    let policy = Policy { least_superblocks: whole + 1e-9, ..policy };
    let by = Reoptimizer { policy: &policy, ..by };
    let plain = by.graph(&plan, &compiler).expect("within limits").expect("it is known");
    assert_eq!(plain.graph.nodes.len(), BlockGraph::new(&plan).nodes.len());
    let refused = plain.decisions.iter().filter_map(|decision| match decision.verdict {
        Verdict::NoSuperblock { saved, .. } => Some(saved),
        _ => None,
    });
    assert_eq!(refused.collect::<Vec<_>>(), parts);
    assert!(!plain.decisions.iter().any(|decision| matches!(decision.verdict, Verdict::Superblock { .. })));
}

#[test]
fn calls_that_are_inlined_are_predicted_but_for_wrong_guesses() {
    let info = info(
        "(module (table 1 funcref) (elem (i32.const 0) $f) (type $t (func (param i32) (result i32)))
            (func $f (type $t) (i32.add (local.get 0) (i32.const 1)))
            (func (param i32) (result i32)
                (i32.add (call_indirect (type $t) (local.get 0) (i32.const 0)) (i32.const 5))))",
    );
    let (caller, callee) = (plan(&info, 1), plan(&info, 0));
    let counted = |plan: &FunctionPlan, ran| BlockGraph::new(plan).superblocks(&plan.cfg, &[ran], 0).finish();
    let offsets = wprof_jit::cfg::instruction_offsets(&info, &caller.cfg).expect("it was validated");
    let call = InlinedCall { at: offsets[2], guess: Some(0) };
    let mut graph = counted(&caller, 10);
    graph.inline(
        &Site { node: 0, call, next: offsets[3], is_caught: false, wrong: 2 },
        &callee.cfg,
        counted(&callee, 8),
    );
    // Five instructions ten times and three eight times; eight calls, which are taken for ten instructions each.
    let ops = 74.0;
    let work = ops + 80.0;
    let expected = Estimate { saved: 80.0 / work, calls: 8000.0 / ops, joins: 0.0, work };
    assert_eq!(Estimate::new(&caller.cfg, &graph), Some(expected));
}
