//! Loops against exhaustive search.

use wprof_profiler::{BlockId, Cfg, DepthFirst, Dominators, EdgeId, LoopId, Loops};

use crate::random_cfg::{for_random_cfgs, for_structured_cfgs, small_cfgs};

/// The vertices that reach a source of `back_edges` by vertices that `allowed` accepts, and the header.
fn body(
    cfg: &Cfg,
    header: BlockId,
    back_edges: &[EdgeId],
    allowed: impl Fn(BlockId) -> bool,
) -> Vec<BlockId> {
    let mut inside = vec![false; cfg.vertex_count()];
    back_edges.iter().for_each(|&edge| inside[cfg.edge(edge).from.index()] = true);
    loop {
        let before = inside.clone();
        for edge in cfg.edges().map(|edge| cfg.edge(edge)) {
            if inside[edge.to.index()] && edge.to != header && allowed(edge.from) {
                inside[edge.from.index()] = true;
            }
        }
        if before == inside {
            break;
        }
    }
    inside[header.index()] = true;
    cfg.blocks().filter(|block| inside[block.index()]).collect()
}

fn back_edges_to(cfg: &Cfg, search: &DepthFirst, header: BlockId) -> Vec<EdgeId> {
    cfg.in_edges(header).iter().copied().filter(|&edge| search.is_back_edge(cfg, edge)).collect()
}

/// Checks all loops of a graph, given which blocks may belong to the loop of a header.
fn check(cfg: &Cfg, allowed: impl Fn(&DepthFirst, BlockId, BlockId) -> bool) {
    let search = DepthFirst::new(cfg);
    let loops = Loops::new(cfg, &search);
    loops.verify(cfg);
    for block in cfg.blocks() {
        let back_edges = back_edges_to(cfg, &search, block);
        let Some(id) = loops.headed_by(block) else {
            assert!(back_edges.is_empty());
            continue;
        };
        let expected = body(cfg, block, &back_edges, |other| allowed(&search, block, other));
        let mut found = loops.blocks(id).to_vec();
        found.sort();
        assert_eq!(found, expected, "loop of {block} in {cfg:?}");
        assert_eq!(loops.back_edges(cfg, id), back_edges);
        assert!(cfg.blocks().all(|other| loops.contains(id, other) == expected.contains(&other)));
    }
    check_nesting(cfg, &loops);
    check_exits(cfg, &loops);
}

/// The innermost loop and the parent are the smallest ones around.
fn check_nesting(cfg: &Cfg, loops: &Loops) {
    let around = |block, but: Option<LoopId>| {
        let all = loops.iter().map(|(id, _)| id).filter(|&id| Some(id) != but && loops.contains(id, block));
        all.min_by_key(|&id| loops.blocks(id).len())
    };
    for block in cfg.blocks().chain([cfg.exit()]) {
        let all = loops.iter().filter(|&(id, _)| loops.contains(id, block));
        assert_eq!(loops.depth(block) as usize, all.count());
        assert_eq!(loops.innermost(block), around(block, None));
    }
    for (id, found) in loops.iter() {
        assert_eq!(found.parent, around(found.header, Some(id)));
    }
}

fn check_exits(cfg: &Cfg, loops: &Loops) {
    let leaves = |id, edge| loops.contains(id, cfg.edge(edge).from) && !loops.contains(id, cfg.edge(edge).to);
    for (id, _) in loops.iter() {
        let mut found = loops.exit_edges(cfg, id);
        found.sort();
        assert_eq!(found, cfg.edges().filter(|&edge| leaves(id, edge)).collect::<Vec<_>>());
        assert_eq!(loops.exit_counts(cfg)[id.index()] as usize, found.len());
    }
    for edge in cfg.edges() {
        let outermost = loops.iter().map(|(id, _)| id).find(|&id| leaves(id, edge));
        assert_eq!(loops.outermost_exited(cfg, edge), outermost, "{edge} of {cfg:?}");
    }
}

#[test]
fn loops_of_structured_code_are_the_natural_loops() {
    for_structured_cfgs(|cfg, _| {
        // Ball and Larus: everything that reaches the back edge's source without passing the header.
        check(cfg, |search, _, block| search.is_reachable(block));
        let loops = Loops::new(cfg, &DepthFirst::new(cfg));
        assert!(loops.iter().all(|(_, found)| !found.irreducible));
    });
}

#[test]
fn loops_of_any_graph_lie_below_their_header_and_nest() {
    small_cfgs().for_each(|cfg| check(&cfg, DepthFirst::is_ancestor));
    for_random_cfgs(|cfg, _| check(cfg, DepthFirst::is_ancestor));
}

#[test]
fn a_loop_is_irreducible_if_its_header_does_not_dominate_it() {
    let check = |cfg: &Cfg| {
        let search = DepthFirst::new(cfg);
        let dominators = Dominators::new(cfg, &search);
        let loops = Loops::new(cfg, &search);
        for (id, found) in loops.iter() {
            let dominated = |&block: &BlockId| dominators.dominates(found.header, block);
            assert_eq!(found.irreducible, !loops.blocks(id).iter().all(dominated), "{id} of {cfg:?}");
        }
    };
    small_cfgs().for_each(|cfg| check(&cfg));
    for_random_cfgs(|cfg, _| check(cfg));
}

/// A branch out of all loops at each level: exits would be quadratic if they were listed per loop.
#[test]
fn deep_nests_are_fast() {
    let depth = 100_000;
    let enter = (0..depth).map(|block| (block, block + 1));
    let again = (1..=depth).map(|block| (depth, block));
    let out = (1..=depth).map(|block| (block, depth + 1));
    let edges: Vec<_> = enter.chain(again).chain(out).collect();
    let cfg = Cfg::from_pairs(depth + 1, &edges).unwrap();
    let loops = Loops::new(&cfg, &DepthFirst::new(&cfg));
    assert_eq!(loops.depth(BlockId(depth)), depth);
    assert_eq!(loops.exit_counts(&cfg)[0], depth);
    let weights = wprof_profiler::EdgeWeights::estimate(&cfg);
    assert!(weights.as_slice().iter().all(|weight| weight.is_finite() && *weight >= 0.0));
}
