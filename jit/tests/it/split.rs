//! Which loops are split by their path register, and what their nodes do.

use std::sync::Arc;

use expect_test::expect;
use wprof_jit::graph::BlockGraph;
use wprof_jit::module;
use wprof_jit::plan::{Collection, FunctionPlan, Instrumentation, PrefixCounts};
use wprof_profiler::{Cfg, DepthFirst, Loops, PathCount, PathProfile};

fn plan(body: &str) -> FunctionPlan {
    let wat = format!("(module (memory 1) (func $f (param $n i32) {body}))");
    let bytes: Arc<[u8]> = wat::parse_str(wat).expect("valid text").into();
    let info = module::parse(bytes).expect("valid module");
    let collection = Collection { counters: Instrumentation::Paths, ..Collection::default() };
    FunctionPlan::new(&info, 0, &collection, 7).expect("within limits")
}

/// Each block once, with polls.
fn polled(plan: &FunctionPlan) -> BlockGraph {
    let mut placement = plan.placement();
    placement.add_polls(&plan.cfg);
    BlockGraph::placed(&plan.cfg, placement)
}

fn split(plan: &FunctionPlan, prepare: impl Fn(BlockGraph) -> BlockGraph) -> BlockGraph {
    let graph = prepare(polled(plan)).split_loops(&plan.cfg, plan.prefixes.as_ref());
    graph.verify(&plan.cfg).expect("a block graph");
    graph
}

const STEP: &str = "(br_if 0 (local.tee $n (i32.sub (local.get $n) (i32.const 1))))";
/// A loop that goes two ways.
const TWO_WAYS: &str = "(loop (if (i32.and (local.get $n) (i32.const 1)) (then nop))";

/// How many nodes there are for a loop of two ways with so many more instructions: at first its three blocks.
fn nodes(ops: usize) -> usize {
    let plan = plan(&format!("{TWO_WAYS} {} {STEP})", "nop ".repeat(ops)));
    split(&plan, |graph| graph).nodes.len() - 2
}

#[test]
fn after_the_first_round_each_way_has_its_own_nodes_and_one_round_in_several_polls() {
    let plan = plan(&format!("{TWO_WAYS} {} {STEP})", "nop ".repeat(20)));
    expect![[r#"
        path=0
        node0 = block0
            edge 0 -> node1
        node1 = block1 poll
            edge 0 -> node2
            edge 1 -> node3
        node2 = block2
            edge 0 -> node3 path-2
        node3 = block3
            edge 0 -> node4 count[7+path+2] path=4
            edge 1 -> node12
        node4 = block1 poll
            edge 0 -> node5
            edge 1 -> node7
        node5 = block2
            edge 0 -> node6 path-2
        node6 = block3
            edge 0 -> node8 count[7+path+2] path=4
            edge 1 -> node12
        node7 = block3
            edge 0 -> node8 count[7+path+2] path=4
            edge 1 -> node12
        node8 = block1
            edge 0 -> node9
            edge 1 -> node11
        node9 = block2
            edge 0 -> node10 path-2
        node10 = block3
            edge 0 -> node4 count[7+path+2] path=4
            edge 1 -> node12
        node11 = block3
            edge 0 -> node4 count[7+path+2] path=4
            edge 1 -> node12
        node12 = block4
            edge 0 -> exit count[7+path+3]
    "#]]
    .assert_eq(&split(&plan, |graph| graph).to_string());
}

/// The same plan after a run in which the paths along these blocks ran so often, that end at the loop's header.
fn after_run(mut plan: FunctionPlan, ways: &[(&[u32], u64)]) -> FunctionPlan {
    let (shape, paths) = (plan.cfg.shape(), plan.plan.paths().expect("paths"));
    let id = |way: &[u32]| {
        let is_way = |id: &u64| {
            let path = paths.numbering.path(*id).expect("a path");
            let blocks = path.blocks(shape).iter().map(|block| block.0).collect::<Vec<_>>();
            blocks == way && path.edges.last().is_some_and(|&last| shape.edge(last).to.0 == way[0])
        };
        (0..paths.numbering.paths()).find(is_way).expect("it is a path")
    };
    let count = |&(way, count): &(&[u32], u64)| PathCount { id: id(way), count, metrics: Vec::new() };
    let earlier = PathProfile { finished: ways.iter().map(count).collect(), ..PathProfile::default() };
    plan.prefixes = Some(PrefixCounts::new(shape, paths, &earlier));
    plan
}

#[test]
fn ways_that_did_not_run_share_nodes() {
    let plan = plan(&format!("{TWO_WAYS} {} {STEP})", "nop ".repeat(60)));
    expect![[r#"
        path=0
        node0 = block0
            edge 0 -> node1
        node1 = block1 poll
            edge 0 -> node2
            edge 1 -> node3
        node2 = block2
            edge 0 -> node3 path-2
        node3 = block3
            edge 0 -> node4 count[7+path+2] path=4
            edge 1 -> node8
        node4 = block1 poll
            edge 0 -> node5
            edge 1 -> node6
        node5 = block2
            edge 0 -> node7 path-2
        node6 = block3
            edge 0 -> node4 count[7+path+2] path=4
            edge 1 -> node8
        node7 = block3
            edge 0 -> node4 count[7+path+2] path=4
            edge 1 -> node8
        node8 = block4
            edge 0 -> exit count[7+path+3]
    "#]]
    .assert_eq(&split(&after_run(plan, &[(&[1, 2, 3], 5)]), |graph| graph).to_string());
}

#[test]
fn a_loop_that_is_too_large_is_split_along_its_most_frequent_way_and_one_that_did_not_run_is_not() {
    let body = format!("{TWO_WAYS} {} {STEP})", "nop ".repeat(200));
    let nodes = |ways: &[(&[u32], u64)]| split(&after_run(plan(&body), ways), |graph| graph).nodes.len();
    // Of the two ways through the last block, which has most instructions, one has a copy; the other shares.
    assert_eq!([nodes(&[]), nodes(&[(&[1, 3], 7), (&[1, 2, 3], 5)])], [5, 5 + 4]);
}

#[test]
fn code_does_not_grow_without_bound() {
    assert_eq!([0, 30, 100, 240, 260].map(nodes), [19, 11, 7, 7, 3]);
}

#[test]
fn rounds_behind_copies_of_a_switch_are_entered_in_one_place() {
    let labels = "$a $b $c $d $out";
    let cases = "(block $d (block $c (block $b (block $a (br_table LABELS (local.get $n))) nop (br $join)) nop (br $join)) nop (br $join))"
        .replace("LABELS", labels);
    let plan = plan(&format!(
        "(block $out (loop $again (block $join {cases} nop) (local.set $n (i32.sub (local.get $n) (i32.const 1))) (br $again)))"
    ));
    let graph = split(&plan, |graph| graph.dispatched(&plan.cfg));
    assert!(graph.nodes.len() > BlockGraph::new(&plan).dispatched(&plan.cfg).nodes.len() + 6, "{graph}");
    let exit = graph.nodes.len() as u32;
    let wires =
        (0..).zip(&graph.nodes).flat_map(|(from, node)| node.wires.iter().map(move |wire| (from, wire.to)));
    let wires: Vec<(u32, u32)> = wires.map(|(from, to)| (from, to.unwrap_or(exit))).collect();
    let shape = Cfg::from_pairs(exit, &wires).expect("a graph");
    let loops = Loops::new(&shape, &DepthFirst::new(&shape));
    // Copies of a switch lead to each other's cases, but the loop around them all is entered at one of them.
    let outermost = loops.iter().filter(|(_, found)| found.depth == 1);
    assert_eq!(outermost.map(|(_, found)| found.irreducible).collect::<Vec<_>>(), [false], "{graph}");
}

#[test]
fn loops_that_are_one_path_are_left_to_unrolling() {
    let plan = plan(&format!("(loop {STEP})"));
    let unrolled = |graph: BlockGraph| graph.unrolled(&plan.cfg, &plan.loops, plan.first_counter);
    assert_eq!(split(&plan, unrolled).nodes, unrolled(polled(&plan)).nodes);
}
