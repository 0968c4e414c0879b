//! Spanning trees against petgraph, and against every tree.

use petgraph::data::Element;
use petgraph::graph::UnGraph;
use wprof_profiler::{Cfg, EdgeId, EdgeWeights, RootedForest, SpanningTree};

use crate::random_cfg::{for_random_cfgs, small_cfgs};
use crate::rng::Rng;

/// Small whole numbers, so that sums are exact and ties are frequent.
fn random_weights(cfg: &Cfg, rng: &mut Rng) -> EdgeWeights {
    EdgeWeights::from_vec(cfg.closed_edges().map(|_| rng.below(6) as f64).collect())
}

fn weight(edges: impl Iterator<Item = EdgeId>, weights: &EdgeWeights) -> f64 {
    edges.map(|edge| weights.get(edge)).sum()
}

fn tree_edges(cfg: &Cfg, weights: &EdgeWeights) -> Vec<EdgeId> {
    let tree = SpanningTree::maximum(cfg, weights);
    assert!(tree.contains(cfg.closing_edge()));
    assert!(tree.chords().all(|edge| !tree.contains(edge)));
    cfg.closed_edges().filter(|&edge| tree.contains(edge)).collect()
}

/// Number of components of the closed, undirected graph.
pub fn components(cfg: &Cfg) -> usize {
    let mut name: Vec<usize> = (0..cfg.vertex_count()).collect();
    for edge in cfg.closed_edges().map(|edge| cfg.edge(edge)) {
        let (old, new) = (name[edge.from.index()], name[edge.to.index()]);
        name.iter_mut().filter(|name| **name == old).for_each(|name| *name = new);
    }
    name.sort_unstable();
    name.dedup();
    name.len()
}

/// The weight of petgraph's minimum tree under the opposite weights, the closing edge forced in.
fn petgraph_weight(cfg: &Cfg, weights: &EdgeWeights) -> f64 {
    let opposite = |edge| if edge == cfg.closing_edge() { -1e6 } else { -weights.get(edge) };
    let ends = |edge| (cfg.edge(edge).from.0, cfg.edge(edge).to.0, opposite(edge));
    let mut graph = UnGraph::<(), f64>::new_undirected();
    for _ in 0..cfg.vertex_count() {
        graph.add_node(());
    }
    graph.extend_with_edges(cfg.closed_edges().map(ends));
    let tree = petgraph::algo::min_spanning_tree(&graph);
    let sum: f64 =
        tree.map(|element| if let Element::Edge { weight, .. } = element { weight } else { 0.0 }).sum();
    -sum - 1e6 + weights.get(cfg.closing_edge())
}

#[test]
fn no_tree_is_heavier_says_petgraph() {
    for_random_cfgs(|cfg, rng| {
        let weights = random_weights(cfg, rng);
        let edges = tree_edges(cfg, &weights);
        assert_eq!(edges.len(), cfg.vertex_count() - components(cfg));
        assert!(RootedForest::new(cfg, |edge| edges.contains(&edge)).is_some());
        assert_eq!(weight(edges.into_iter(), &weights), petgraph_weight(cfg, &weights), "{cfg:?}");
    });
}

#[test]
fn no_tree_is_heavier_or_lighter_say_all_trees_of_small_graphs() {
    let mut rng = Rng::new(5);
    for cfg in small_cfgs().step_by(7) {
        let weights = random_weights(&cfg, &mut rng);
        let edges = tree_edges(&cfg, &weights);
        let all: Vec<EdgeId> = cfg.edges().collect();
        let subsets = (0..1_u32 << all.len()).map(|set| {
            let chosen = all.iter().copied().filter(move |edge| set >> edge.0 & 1 == 1);
            chosen.chain([cfg.closing_edge()]).collect::<Vec<_>>()
        });
        let forests = subsets.filter(|set| RootedForest::new(&cfg, |edge| set.contains(&edge)).is_some());
        let weighed: Vec<_> = forests.map(|set| (set.len(), weight(set.into_iter(), &weights))).collect();
        let best = weighed.iter().map(|tree| tree.1).fold(0.0, f64::max);
        let trees = weighed.iter().filter(|tree| tree.0 == edges.len());
        let worst = trees.map(|tree| tree.1).fold(f64::INFINITY, f64::min);
        let tree = SpanningTree::minimum(&cfg, &weights);
        let lightest: Vec<EdgeId> = cfg.closed_edges().filter(|&edge| tree.contains(edge)).collect();
        assert_eq!((lightest.len(), tree.contains(cfg.closing_edge())), (edges.len(), true));
        assert_eq!(weight(lightest.into_iter(), &weights), worst, "{cfg:?}");
        assert_eq!(weight(edges.into_iter(), &weights), best, "{cfg:?}");
    }
}

#[test]
fn forests_are_told_from_cycles() {
    // A different way to see a cycle: an edge whose ends are connected already.
    let mut rng = Rng::new(6);
    for cfg in small_cfgs() {
        let set: Vec<bool> = cfg.closed_edges().map(|_| rng.once_in(2)).collect();
        let mut name: Vec<usize> = (0..cfg.vertex_count()).collect();
        let mut cycle = false;
        for edge in cfg.closed_edges().filter(|edge| set[edge.index()]).map(|edge| cfg.edge(edge)) {
            let (old, new) = (name[edge.from.index()], name[edge.to.index()]);
            cycle |= old == new;
            name.iter_mut().filter(|name| **name == old).for_each(|name| *name = new);
        }
        let forest = RootedForest::new(&cfg, |edge| set[edge.index()]);
        assert_eq!(forest.is_none(), cycle);
        if let Some(forest) = forest {
            check_order(&cfg, &forest);
        }
    }
}

/// Every vertex once, after the vertex its up edge leads to.
fn check_order(cfg: &Cfg, forest: &RootedForest) {
    let position = |vertex| forest.order().iter().position(|&other| other == vertex).unwrap();
    assert_eq!(forest.order().len(), cfg.vertex_count());
    for vertex in cfg.blocks().chain([cfg.exit()]) {
        if let Some(edge) = forest.up(vertex) {
            let ends = cfg.edge(edge);
            let above = if ends.from == vertex { ends.to } else { ends.from };
            assert!(position(above) < position(vertex));
        }
    }
}

#[test]
fn of_equal_edges_the_critical_one_needs_no_counter() {
    // 0 branches to 1 and 2, 1 goes on to 2: any edge of the triangle could be the chord.
    let cfg = Cfg::from_pairs(3, &[(0, 2), (0, 1), (1, 2), (2, 3)]).unwrap();
    let tree = SpanningTree::maximum(&cfg, &EdgeWeights::from_vec(vec![1.0; 5]));
    assert!(cfg.is_critical(EdgeId(0)) && tree.contains(EdgeId(0)));
    assert!(tree.contains(EdgeId(1)));
}
