//! Graphs that resume in the middle of a function: every loop is entered at its header only.

use expect_test::expect;
use wprof_jit::graph::{BlockGraph, Elsewhere};
use wprof_jit::module;
use wprof_jit::plan::{Collection, FunctionPlan};

fn graph(body: &str) -> (FunctionPlan, BlockGraph) {
    let bytes = wat::parse_str(format!("(module (func (param $n i32) {body}))")).expect("good text");
    let info = module::parse(bytes).expect("a module");
    let plan = FunctionPlan::new(&info, 0, &Collection::default(), 0).expect("a function");
    let graph = BlockGraph::new(&plan);
    (plan, graph)
}

const NEST: &str = "(loop $b (loop $c (br_if $c (local.get $n))) (br_if $b (local.get $n)))";

#[test]
fn the_loop_around_has_a_copy_of_its_own() {
    let (plan, graph) = graph(NEST);
    expect![[r#"
        resumes at node0
        node0 = block2
            edge 0 -> node0
            edge 1 -> node1
        node1 = block3
            edge 0 -> node2
            edge 1 -> node5
        node2 = block1
            edge 0 -> node3
        node3 = block2
            edge 0 -> node3
            edge 1 -> node4
        node4 = block3
            edge 0 -> node2
            edge 1 -> node5
        node5 = block4
            edge 0 -> exit
    "#]]
    .assert_eq(&graph.resumed_at(&plan.cfg, 2).to_string());
    expect![[r#"
        resumes at node0
        node0 = block1
            edge 0 -> node1
        node1 = block2
            edge 0 -> node1
            edge 1 -> node2
        node2 = block3
            edge 0 -> node0
            edge 1 -> node3
        node3 = block4
            edge 0 -> exit
    "#]]
    .assert_eq(&graph.resumed_at(&plan.cfg, 1).to_string());
}

#[test]
fn where_code_is_elsewhere_nothing_follows() {
    let (plan, graph) = graph(NEST);
    let resumed = graph.version_at(&plan.cfg, 2, Some((1, 0x1000)));
    assert_eq!(resumed.verify(&plan.cfg), Ok(()));
    let places: Vec<_> = resumed.nodes.iter().map(|node| (node.block, node.elsewhere)).collect();
    assert_eq!(places, [(2, None), (3, None), (1, Some(Elsewhere::Version(0x1000))), (4, None)]);
}

#[test]
fn deep_nests_do_not_grow_without_bound() {
    let depth = 300;
    let (plan, graph) =
        graph(&format!("{}{}", "loop ".repeat(depth), "local.get $n br_if 0 end ".repeat(depth)));
    let size = graph.nodes.len();
    for block in [1, depth as u32 / 2, depth as u32] {
        let resumed = graph.resumed_at(&plan.cfg, block);
        assert_eq!(resumed.verify(&plan.cfg), Ok(()));
        assert!(resumed.nodes.len() <= 5 * size, "{} of {size}", resumed.nodes.len());
    }
}

/// How many instructions the graph has that is resumed in the innermost of three loops, of which the outermost has so
/// many.
fn resumed_ops(outer: usize) -> u32 {
    let inner = "(loop $b (loop $c (br_if $c (local.get $n))) (br_if $b (local.get $n)))";
    let rest = "(local.set $n (i32.add (local.get $n) (i32.const 1)))".repeat(outer / 4);
    let (plan, graph) = graph(&format!("(loop $a {rest} {inner} (br_if $a (local.get $n)))"));
    let header = plan.cfg.blocks.iter().rposition(|block| block.is_loop_header).expect("a loop");
    let resumed = graph.resumed_at(&plan.cfg, header as u32);
    assert_eq!(resumed.verify(&plan.cfg), Ok(()));
    assert_eq!(resumed.nodes[0].block, header as u32);
    resumed.nodes.iter().map(|node| plan.cfg.blocks[node.block as usize].ops).sum()
}

#[test]
fn a_quarter_of_a_large_function_is_copied_at_most() {
    let all = |outer: u32| outer + 6;
    // Twice the rounds of the inner loops, and what is left of one of the outermost.
    for outer in [4, 100, 400] {
        assert_eq!(resumed_ops(outer), all(outer as u32) + 12, "{outer}");
    }
    for outer in [4000, 40_000] {
        assert!(resumed_ops(outer) <= all(outer as u32) * 5 / 4, "{outer}");
    }
}
