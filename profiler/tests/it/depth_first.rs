//! Orders and back edges of the search.

use wprof_profiler::{BlockId, Cfg, DepthFirst, Dominators};

use crate::random_cfg::{for_random_cfgs, for_structured_cfgs, small_cfgs};

/// What ENTRY reaches without passing `without`, found by trying all edges until nothing changes.
pub fn reached(cfg: &Cfg, without: Option<BlockId>) -> Vec<bool> {
    let mut reached = vec![false; cfg.vertex_count()];
    reached[0] = without != Some(BlockId::ENTRY);
    loop {
        let before = reached.clone();
        for edge in cfg.edges().map(|edge| cfg.edge(edge)) {
            reached[edge.to.index()] |= reached[edge.from.index()] && Some(edge.to) != without;
        }
        if before == reached {
            return reached;
        }
    }
}

fn check(cfg: &Cfg) {
    let search = DepthFirst::new(cfg);
    let expected = reached(cfg, None);
    let vertices = || cfg.blocks().chain([cfg.exit()]);
    assert!(vertices().all(|vertex| search.is_reachable(vertex) == expected[vertex.index()]));
    for order in [search.preorder(), search.reverse_postorder()] {
        assert_eq!(order[0], BlockId::ENTRY);
        let mut sorted = order.to_vec();
        sorted.sort();
        assert!(sorted.into_iter().eq(vertices().filter(|vertex| expected[vertex.index()])));
    }
    let position = |vertex| search.reverse_postorder().iter().position(|&other| other == vertex);
    for edge in cfg.edges() {
        let ends = cfg.edge(edge);
        if search.is_reachable(ends.from) {
            let forward = position(ends.from) < position(ends.to);
            assert_eq!(search.is_back_edge(cfg, edge), !forward, "{edge} of {cfg:?}");
        } else {
            assert!(!search.is_back_edge(cfg, edge));
        }
    }
}

#[test]
fn orders_cover_what_is_reached_and_back_edges_go_back_in_them() {
    small_cfgs().for_each(|cfg| check(&cfg));
    for_random_cfgs(|cfg, _| check(cfg));
}

#[test]
fn in_structured_code_back_edges_go_to_dominators() {
    for_structured_cfgs(|cfg, _| {
        let search = DepthFirst::new(cfg);
        let dominators = Dominators::new(cfg, &search);
        for edge in cfg.edges() {
            let ends = cfg.edge(edge);
            assert_eq!(search.is_back_edge(cfg, edge), dominators.dominates(ends.to, ends.from));
        }
        assert_eq!(
            search.back_edges(cfg),
            cfg.edges().filter(|&e| search.is_back_edge(cfg, e)).collect::<Vec<_>>()
        );
    });
}

#[test]
fn a_path_of_a_million_blocks_does_not_overflow_the_stack() {
    let blocks = 1_000_000;
    let edges: Vec<_> = (0..blocks).map(|block| (block, block + 1)).collect();
    let cfg = Cfg::from_pairs(blocks, &edges).unwrap();
    assert_eq!(DepthFirst::new(&cfg).preorder().len(), 1_000_001);
}
