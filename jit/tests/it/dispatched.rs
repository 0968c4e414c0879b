//! Which switches are copied into their predecessors, and where the copies lead.

use std::sync::Arc;

use expect_test::expect;
use wprof_jit::graph::BlockGraph;
use wprof_jit::module;
use wprof_jit::plan::{Collection, FunctionPlan, Instrumentation};

/// An interpreter of `cases` instructions, each of which runs `body` and goes on with a common end of the round.
fn interpreter(cases: usize, header: &str, body: &str) -> (FunctionPlan, BlockGraph) {
    let labels: String = (0..cases).map(|case| format!("$case{case} ")).collect();
    let switch = format!("{header} (br_table {labels} $done (local.get $n))");
    let all = (0..cases).fold(switch, |inner, case| format!("(block $case{case} {inner}) {body} (br $join)"));
    let wat = format!(
        "(module (func (param $n i32) (loop $again (block $done (block $join {all})
            (local.set $n (i32.sub (local.get $n) (i32.const 1))) (br $again)))))"
    );
    let bytes: Arc<[u8]> = wat::parse_str(wat).expect("valid text").into();
    let info = module::parse(bytes).expect("valid module");
    let collection = Collection { counters: Instrumentation::Edges, ..Collection::default() };
    let plan = FunctionPlan::new(&info, 0, &collection, 0).expect("within limits");
    let graph = BlockGraph::new(&plan).dispatched(&plan.cfg);
    graph.verify(&plan.cfg).expect("a block graph");
    (plan, graph)
}

#[test]
fn each_way_back_gets_its_own_copies_of_the_join_and_the_switch() {
    let (_, graph) = interpreter(4, "", "(local.set $n (i32.const 9))");
    expect![[r#"
        node0 = block0
            edge 0 -> node1 count[0]
        node1 = block1
            edge 0 -> node2 count[1]
            edge 1 -> node3 count[2]
            edge 2 -> node4 count[3]
            edge 3 -> node5 count[4]
            edge 4 -> node7 count[5]
        node2 = block2
            edge 0 -> node6 count[6]
        node3 = block3
            edge 0 -> node9 count[7]
        node4 = block4
            edge 0 -> node11 count[8]
        node5 = block5
            edge 0 -> node13 count[9]
        node6 = block6
            edge 0 -> node1 count[10]
        node7 = block7
            edge 0 -> exit count[11]
        node8 = block1
            edge 0 -> node2 count[1]
            edge 1 -> node3 count[2]
            edge 2 -> node4 count[3]
            edge 3 -> node5 count[4]
            edge 4 -> node7 count[5]
        node9 = block6
            edge 0 -> node8 count[10]
        node10 = block1
            edge 0 -> node2 count[1]
            edge 1 -> node3 count[2]
            edge 2 -> node4 count[3]
            edge 3 -> node5 count[4]
            edge 4 -> node7 count[5]
        node11 = block6
            edge 0 -> node10 count[10]
        node12 = block1
            edge 0 -> node2 count[1]
            edge 1 -> node3 count[2]
            edge 2 -> node4 count[3]
            edge 3 -> node5 count[4]
            edge 4 -> node7 count[5]
        node13 = block6
            edge 0 -> node12 count[10]
    "#]]
    .assert_eq(&graph.to_string());
}

/// How many nodes are copies of a block that another node copies too.
fn copies(cases: usize, header: &str, body: &str) -> usize {
    let (plan, graph) = interpreter(cases, header, body);
    graph.nodes.len() - plan.cfg.blocks.len()
}

#[test]
fn small_switches_in_loops_are_copied() {
    assert_eq!(copies(2, "", "nop"), 0, "few ways");
    assert_eq!(copies(4, "", "nop"), 2 * 3);
    assert_eq!(copies(20, "", "nop"), 2 * 19);
    assert_eq!(copies(24, "", "nop"), 0, "too many wires");
    assert_eq!(copies(8, &"nop ".repeat(30), "nop"), 0, "too long");
}
