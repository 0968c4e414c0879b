//! Dominators against petgraph, and against the definition.

use petgraph::algo::dominators::simple_fast;
use petgraph::graph::{DiGraph, NodeIndex};
use wprof_profiler::{BlockId, Cfg, DepthFirst, Dominators};

use crate::depth_first::reached;
use crate::random_cfg::{for_random_cfgs, small_cfgs};

fn check(cfg: &Cfg) {
    let ours = Dominators::new(cfg, &DepthFirst::new(cfg));
    let vertices: Vec<BlockId> = cfg.blocks().chain([cfg.exit()]).collect();
    let mut graph = DiGraph::<(), ()>::new();
    for _ in &vertices {
        graph.add_node(());
    }
    graph.extend_with_edges(cfg.edges().map(|edge| (cfg.edge(edge).from.0, cfg.edge(edge).to.0)));
    let theirs = simple_fast(&graph, NodeIndex::new(0));
    let all = reached(cfg, None);
    for &below in &vertices {
        let expected = theirs.immediate_dominator(NodeIndex::new(below.index()));
        assert_eq!(
            ours.immediate(below).map(BlockId::index),
            expected.map(NodeIndex::index),
            "{below} of {cfg:?}"
        );
    }
    for &above in &vertices {
        let without = reached(cfg, Some(above));
        for &below in &vertices {
            let expected = all[above.index()] && all[below.index()] && !without[below.index()];
            assert_eq!(ours.dominates(above, below), expected, "{above} over {below} of {cfg:?}");
        }
    }
}

#[test]
fn dominators_are_those_of_petgraph_and_of_the_definition() {
    small_cfgs().for_each(|cfg| check(&cfg));
    for_random_cfgs(|cfg, _| check(cfg));
}

/// Iteration to a fixed point takes quadratic time here.
#[test]
fn a_long_ladder_is_fast() {
    let rungs = 100_000;
    let up = (0..rungs - 1).map(|block| (block, block + 1));
    let down = (1..rungs).map(|block| (block, block - 1));
    let out = (0..rungs).map(|block| (block, rungs));
    let edges: Vec<_> = up.chain(down).chain(out).collect();
    let cfg = Cfg::from_pairs(rungs, &edges).unwrap();
    let dominators = Dominators::new(&cfg, &DepthFirst::new(&cfg));
    assert_eq!(dominators.immediate(BlockId(rungs - 1)), Some(BlockId(rungs - 2)));
    assert_eq!(dominators.immediate(cfg.exit()), Some(BlockId::ENTRY));
}
