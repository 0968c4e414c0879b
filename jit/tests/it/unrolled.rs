//! Which loops are unrolled, and what their copies do.

use std::sync::Arc;

use expect_test::{Expect, expect};
use wprof_jit::graph::BlockGraph;
use wprof_jit::module;
use wprof_jit::plan::{Checks, Collection, FunctionPlan, Instrumentation, SmallLoop};

fn plan(body: &str) -> FunctionPlan {
    plan_of(body, Instrumentation::Chords)
}

fn plan_of(body: &str, counters: Instrumentation) -> FunctionPlan {
    let wat = format!("(module (memory 1) (func $f (param $n i32) {body}))");
    let bytes: Arc<[u8]> = wat::parse_str(wat).expect("valid text").into();
    let info = module::parse(bytes).expect("valid module");
    let collection = Collection { counters, ..Collection::default() };
    FunctionPlan::new(&info, 0, &collection, 7).expect("within limits")
}

fn check(body: &str, expected: Expect) {
    let plan = plan(body);
    let mut placement = plan.placement();
    placement.add_polls(&plan.cfg);
    let graph = BlockGraph::placed(&plan.cfg, placement);
    let unrolled = graph.unrolled(&plan.cfg, &plan.loops, plan.first_counter);
    unrolled.verify(&plan.cfg).expect("a block graph");
    expected.assert_eq(&unrolled.to_string());
}

/// Header and number of copies of each small loop.
fn small(body: &str) -> Vec<(u32, u32)> {
    let header_and_copies = |found: &SmallLoop| (found.blocks[0], found.copies);
    plan(body).loops.iter().map(header_and_copies).collect()
}

const STEP: &str = "(br_if 0 (local.tee $n (i32.sub (local.get $n) (i32.const 1))))";

#[test]
fn the_last_copy_counts_all_rounds_and_exits_those_before_them() {
    check(
        &format!("(loop {STEP})"),
        expect![[r#"
            node0 = block0
                edge 0 -> node1
            node1 = block1 poll
                edge 0 -> node2
                edge 1 -> node9
            node2 = block1 round 1
                edge 0 -> node3
                edge 1 -> node9 count[7]
            node3 = block1 round 2
                edge 0 -> node4
                edge 1 -> node9 count[7]+2
            node4 = block1 round 3
                edge 0 -> node5 count[7]+4
                edge 1 -> node9 count[7]+3
            node5 = block1 guard tests<15->node1 poll
                edge 0 -> node6 surely
                edge 1 -> node9
            node6 = block1 round 1
                edge 0 -> node7 surely
                edge 1 -> node9 count[7]
            node7 = block1 round 2
                edge 0 -> node8 surely
                edge 1 -> node9 count[7]+2
            node8 = block1 round 3
                edge 0 -> node5 count[7]+4
                edge 1 -> node9 count[7]+3
            node9 = block2
                edge 0 -> exit count[8]
        "#]],
    );
}

#[test]
fn what_a_round_does_by_its_own_choice_is_done_in_each_copy() {
    let body = format!(
        "(loop (if (i32.eqz (local.get $n)) (then (i32.store (local.get $n) (local.get $n)))) {STEP})"
    );
    check(
        &body,
        expect![[r#"
            node0 = block0
                edge 0 -> node1
            node1 = block1 poll
                edge 0 -> node2
                edge 1 -> node3
            node2 = block2
                edge 0 -> node3 count[7]
            node3 = block3
                edge 0 -> node4
                edge 1 -> node25
            node4 = block1 round 1
                edge 0 -> node5
                edge 1 -> node6
            node5 = block2 round 1
                edge 0 -> node6 count[7]
            node6 = block3 round 1
                edge 0 -> node7
                edge 1 -> node25 count[8]
            node7 = block1 round 2
                edge 0 -> node8
                edge 1 -> node9
            node8 = block2 round 2
                edge 0 -> node9 count[7]
            node9 = block3 round 2
                edge 0 -> node10
                edge 1 -> node25 count[8]+2
            node10 = block1 round 3
                edge 0 -> node11
                edge 1 -> node12
            node11 = block2 round 3
                edge 0 -> node12 count[7]
            node12 = block3 round 3
                edge 0 -> node13 count[8]+4
                edge 1 -> node25 count[8]+3
            node13 = block1 guard tests<15->node1 poll
                edge 0 -> node14
                edge 1 -> node15
            node14 = block2
                edge 0 -> node15 count[7]
            node15 = block3
                edge 0 -> node16 surely
                edge 1 -> node25
            node16 = block1 round 1
                edge 0 -> node17
                edge 1 -> node18
            node17 = block2 round 1
                edge 0 -> node18 count[7]
            node18 = block3 round 1
                edge 0 -> node19 surely
                edge 1 -> node25 count[8]
            node19 = block1 round 2
                edge 0 -> node20
                edge 1 -> node21
            node20 = block2 round 2
                edge 0 -> node21 count[7]
            node21 = block3 round 2
                edge 0 -> node22 surely
                edge 1 -> node25 count[8]+2
            node22 = block1 round 3
                edge 0 -> node23
                edge 1 -> node24
            node23 = block2 round 3
                edge 0 -> node24 count[7]
            node24 = block3 round 3
                edge 0 -> node13 count[8]+4
                edge 1 -> node25 count[8]+3
            node25 = block4
                edge 0 -> exit count[9]
        "#]],
    );
}

#[test]
fn a_resumed_graph_is_entered_at_the_first_copy() {
    let plan = plan(&format!("(loop {STEP})"));
    let graph =
        BlockGraph::new(&plan).unrolled(&plan.cfg, &plan.loops, plan.first_counter).resumed_at(&plan.cfg, 1);
    expect![[r#"
        resumes at node0
        node0 = block1
            edge 0 -> node1
            edge 1 -> node8
        node1 = block1 round 1
            edge 0 -> node2
            edge 1 -> node8 count[7]
        node2 = block1 round 2
            edge 0 -> node3
            edge 1 -> node8 count[7]+2
        node3 = block1 round 3
            edge 0 -> node4 count[7]+4
            edge 1 -> node8 count[7]+3
        node4 = block1 guard tests<15->node0
            edge 0 -> node5 surely
            edge 1 -> node8
        node5 = block1 round 1
            edge 0 -> node6 surely
            edge 1 -> node8 count[7]
        node6 = block1 round 2
            edge 0 -> node7 surely
            edge 1 -> node8 count[7]+2
        node7 = block1 round 3
            edge 0 -> node4 count[7]+4
            edge 1 -> node8 count[7]+3
        node8 = block2
            edge 0 -> exit count[8]
    "#]]
    .assert_eq(&graph.to_string());
}

#[test]
fn only_small_innermost_loops_with_one_latch_and_no_calls_are_unrolled() {
    assert_eq!(small(&format!("(loop {STEP})")), [(1, 4)]);
    assert_eq!(small(&format!("(loop (loop {STEP}) {STEP})")), [(2, 4)]);
    assert_eq!(small(&format!("(loop (call $f (i32.const 1)) {STEP})")), []);
    let fill = "(memory.fill (local.get $n) (local.get $n) (local.get $n))";
    assert_eq!(small(&format!("(loop {fill} {STEP})")), []);
    assert_eq!(small(&format!("(loop (br_if 0 (local.get $n)) {STEP})")), []);
    for (ops, copies) in [(25, 4), (40, 3), (70, 2), (100, 0)] {
        let nops = "nop ".repeat(ops);
        let expected: Vec<(u32, u32)> = (copies > 0).then_some((1, copies)).into_iter().collect();
        assert_eq!(small(&format!("(loop {nops} {STEP})")), expected, "{ops}");
    }
}

/// The first round of a frame ends another path than the others, so it has a copy of its own; behind it the path
/// register is what it is at the header, and nothing changes it.
#[test]
fn where_paths_are_counted_rounds_that_are_one_path_count_as_an_edge_does() {
    let plan = plan_of(&format!("(loop (br_if 1 (local.get $n)) {STEP})"), Instrumentation::Paths);
    let graph = BlockGraph::new(&plan).unrolled(&plan.cfg, &plan.loops, plan.first_counter);
    graph.verify(&plan.cfg).expect("a block graph");
    expect![[r#"
        path=0
        node0 = block0
            edge 0 -> node1
        node1 = block1
            edge 0 -> exit count[7+path+0]
            edge 1 -> node2
        node2 = block2
            edge 0 -> node3 count[7+path+1] path=3
            edge 1 -> node11
        node3 = block1
            edge 0 -> exit count[7+path+0]
            edge 1 -> node4
        node4 = block2
            edge 0 -> node5
            edge 1 -> node11
        node5 = block1 round 1
            edge 0 -> exit count[7+path+0] count[11]
            edge 1 -> node6
        node6 = block2 round 1
            edge 0 -> node7
            edge 1 -> node11 count[11]
        node7 = block1 round 2
            edge 0 -> exit count[7+path+0] count[11]+2
            edge 1 -> node8
        node8 = block2 round 2
            edge 0 -> node9
            edge 1 -> node11 count[11]+2
        node9 = block1 round 3
            edge 0 -> exit count[7+path+0] count[11]+3
            edge 1 -> node10
        node10 = block2 round 3
            edge 0 -> node3 count[11]+4
            edge 1 -> node11 count[11]+3
        node11 = block3
            edge 0 -> exit count[7+path+2]
    "#]]
    .assert_eq(&graph.to_string());
    let several = format!("(loop (if (local.get $n) (then (nop))) {STEP})");
    assert_eq!(plan_of(&several, Instrumentation::Paths).loops, []);
}

#[test]
fn baseline_plans_know_loops_only_if_counters_depend_on_them() {
    let wat = format!("(module (func (param $n i32) (loop {STEP})))");
    let info =
        module::parse(Arc::<[u8]>::from(wat::parse_str(wat).expect("valid text"))).expect("valid module");
    let checks = Some(Checks { unroll: true, ..Checks::default() });
    let counting = |counters| Collection { counters, ..Collection::default() };
    for (collection, are_known) in [
        (Collection { checks, ..Collection::default() }, false),
        (Collection { checks, ..counting(Instrumentation::Paths) }, true),
        (counting(Instrumentation::Chords), true),
    ] {
        let all = FunctionPlan::new(&info, 0, &collection, 7).expect("within limits");
        let baseline = FunctionPlan::baseline(&info, 0, &collection, 7).expect("within limits");
        assert_eq!((all.loops.len(), baseline.loops.len()), (1, usize::from(are_known)));
        assert_eq!(all.counters(), baseline.counters());
        assert_eq!(BlockGraph::new(&all).to_string(), BlockGraph::new(&baseline).to_string());
    }
}
