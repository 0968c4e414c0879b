//! The path register, driven over random walks, against a log that is cut into paths afterwards.

use std::collections::HashMap;

use std::collections::BTreeMap;

use wprof_profiler::{
    BlockId, Cfg, EdgeCounts, EdgeId, EdgeWeights, Path, PathNumbering, PathPlan, PathStep,
};

use crate::random_cfg::{for_random_cfgs, small_cfgs};
use crate::rng::Rng;

/// One call: its edges, and the block in which it was stopped, unless it returned.
pub struct Walk {
    pub edges: Vec<EdgeId>,
    pub stopped: Option<BlockId>,
}

pub fn walk(cfg: &Cfg, rng: &mut Rng) -> Walk {
    let (mut at, mut edges) = (BlockId::ENTRY, Vec::new());
    loop {
        let out = cfg.out_edges(at);
        if out.is_empty() || rng.once_in(30) {
            return Walk { edges, stopped: Some(at) };
        }
        let edge = out[rng.below(out.len())];
        edges.push(edge);
        at = cfg.edge(edge).to;
        if at == cfg.exit() {
            return Walk { edges, stopped: None };
        }
    }
}

/// The paths of a walk: those that ended, and the last one if the walk was stopped.
pub fn split(cfg: &Cfg, walk: &Walk, ends: impl Fn(EdgeId) -> bool) -> (Vec<Path>, Option<Path>) {
    let mut finished = Vec::new();
    let mut open = Path { start: BlockId::ENTRY, edges: Vec::new() };
    for &edge in &walk.edges {
        open.edges.push(edge);
        if ends(edge) {
            let start = cfg.edge(edge).to;
            finished.push(std::mem::replace(&mut open, Path { start, edges: Vec::new() }));
        }
    }
    (finished, walk.stopped.map(|_| open))
}

/// What an instrumented run does: the numbers it counts, and the register where it stops.
pub fn drive(cfg: &Cfg, plan: &PathPlan, walk: &Walk) -> (Vec<u64>, u64) {
    let mut register = plan.entry as u64;
    let mut counted = Vec::new();
    for &edge in &walk.edges {
        match plan.steps[edge.index()] {
            PathStep::Stay => {}
            PathStep::Add(amount) => register = register.wrapping_add_signed(amount),
            PathStep::Set(value) => register = value as u64,
            PathStep::Finish { add, restart } => {
                counted.push(register.wrapping_add_signed(add));
                assert_eq!(restart.is_none(), cfg.edge(edge).to == cfg.exit());
                register = restart.unwrap_or_default() as u64;
            }
        }
    }
    (counted, register)
}

fn check(cfg: &Cfg, plan: &PathPlan, rng: &mut Rng) {
    let numbering = &plan.numbering;
    for _ in 0..20 {
        let walk = walk(cfg, rng);
        let (finished, unfinished) = split(cfg, &walk, |edge| numbering.ends_path(edge));
        let (counted, register) = drive(cfg, plan, &walk);
        let regenerated: Vec<Path> = counted.iter().map(|&id| numbering.path(id).unwrap()).collect();
        assert_eq!(regenerated, finished, "{cfg:?}");
        if let (Some(block), Some(prefix)) = (walk.stopped, unfinished) {
            let sum = plan.prefix_sum(block, Some(register));
            assert_eq!(numbering.prefix(block, sum), Some(prefix), "{cfg:?}");
        }
    }
    assert!(numbering.prefix(BlockId::ENTRY, plan.prefix_sum(BlockId::ENTRY, None)).is_some());
}

fn wild_weights(cfg: &Cfg, rng: &mut Rng) -> EdgeWeights {
    EdgeWeights::from_vec(cfg.closed_edges().map(|_| (rng.next() % 100) as f64).collect())
}

#[test]
fn the_register_tells_the_paths_of_the_log() {
    for_random_cfgs(|cfg, rng| {
        check(cfg, &PathPlan::new(cfg, &EdgeWeights::estimate(cfg)), rng);
        let numbering = PathNumbering::with_limit(cfg, 1 + rng.next() % 100);
        check(cfg, &PathPlan::of_numbering(cfg, &wild_weights(cfg, rng), numbering), rng);
    });
}

/// How often each path is among some.
fn times(paths: &[Path]) -> HashMap<&Path, u32> {
    let mut times = HashMap::new();
    paths.iter().for_each(|path| *times.entry(path).or_default() += 1);
    times
}

#[test]
fn paths_that_are_not_known_are_counted_and_others_as_often_as_they_ran_or_never() {
    for_random_cfgs(|cfg, rng| {
        let numbering = PathNumbering::with_limit(cfg, 1 + rng.next() % 100);
        let all = numbering.paths();
        let known: Vec<u64> = match rng.next() % 3 {
            0 => (0..all).collect(),
            least => (0..all).filter(|_| rng.next() % 8 > least).collect(),
        };
        let plan = PathPlan::of_numbering(cfg, &wild_weights(cfg, rng), numbering).of_others(cfg, &known);
        let is_known = |path: &Path| known.iter().any(|&id| plan.numbering.path(id).as_ref() == Some(path));
        for _ in 0..20 {
            let walk = walk(cfg, rng);
            let (finished, unfinished) = split(cfg, &walk, |edge| plan.numbering.ends_path(edge));
            let (counted, register) = drive(cfg, &plan, &walk);
            let counted: Vec<Path> = counted.iter().map(|&id| plan.numbering.path(id).unwrap()).collect();
            let (ran, counted) = (times(&finished), times(&counted));
            assert!(counted.iter().all(|(path, count)| ran.get(path) == Some(count)), "{cfg:?} {known:?}");
            assert!(ran.keys().all(|path| counted.contains_key(path) || is_known(path)), "{cfg:?} {known:?}");
            let (Some(block), Some(prefix)) = (walk.stopped, unfinished) else { continue };
            if plan.is_told(block) {
                let sum = plan.prefix_sum(block, Some(register));
                assert_eq!(plan.numbering.prefix(block, sum), Some(prefix), "{cfg:?}");
            } else {
                let begins =
                    |path: &Path| path.start == prefix.start && path.edges.starts_with(&prefix.edges);
                let of_known = known.iter().filter_map(|&id| plan.numbering.path(id));
                assert!(of_known.into_iter().any(|path| begins(&path)), "{cfg:?} {known:?}");
            }
        }
    });
}

#[test]
fn nothing_is_done_where_all_paths_are_known() {
    for cfg in small_cfgs() {
        let plan = PathPlan::new(&cfg, &EdgeWeights::estimate(&cfg));
        let all: Vec<u64> = (0..plan.numbering.paths()).collect();
        // Of blocks without successors some path is never finished, and so never known.
        if cfg.blocks().any(|block| cfg.out_edges(block).is_empty()) {
            continue;
        }
        let others = plan.of_others(&cfg, &all);
        let idle = |step: &PathStep| matches!(step, PathStep::Stay | PathStep::Set(0));
        assert!(others.entry == 0 && others.steps.iter().all(idle), "{cfg:?} {others:?}");
    }
}

#[test]
fn the_register_tells_the_paths_of_the_log_on_all_small_graphs() {
    let mut rng = Rng::new(5);
    for cfg in small_cfgs() {
        check(&cfg, &PathPlan::new(&cfg, &EdgeWeights::estimate(&cfg)), &mut rng);
    }
}

/// Inside paths there are as many additions as independent cycles of the graph without what ends paths: the least that
/// can be, as each such cycle is two ways between two blocks.
#[test]
fn additions_stand_on_chords_only() {
    for_random_cfgs(|cfg, _| {
        let plan = PathPlan::new(cfg, &EdgeWeights::estimate(cfg));
        let search = wprof_profiler::DepthFirst::new(cfg);
        let inner =
            |edge: &EdgeId| search.is_reachable(cfg.edge(*edge).from) && !plan.numbering.ends_path(*edge);
        let blocks = cfg.blocks().filter(|&block| search.is_reachable(block)).count();
        let cycles = cfg.edges().filter(inner).count() + 1 - blocks;
        let additions = plan.steps.iter().filter(|step| matches!(step, PathStep::Add(_))).count();
        assert!(additions <= cycles, "{additions} additions for {cycles} cycles");
    });
}

/// The optimised instrumentation of figure 1(d): of the nine edges two add inside, the others are part of the beginning
/// or of the count.
#[test]
fn the_paper_s_graph_needs_few_additions() {
    let edges = [(0, 2), (0, 1), (1, 2), (1, 3), (2, 3), (3, 5), (3, 4), (4, 5), (5, 6)];
    let cfg = Cfg::from_pairs(6, &edges).unwrap();
    let plan = PathPlan::new(&cfg, &EdgeWeights::estimate(&cfg));
    assert_eq!(plan.steps.iter().filter(|step| matches!(step, PathStep::Add(_))).count(), 3);
    assert!(matches!(plan.steps[8], PathStep::Finish { restart: None, .. }));
}

#[test]
fn a_loop_of_one_path_adds_nothing() {
    let cfg = Cfg::from_pairs(3, &[(0, 1), (1, 1), (1, 2), (2, 3)]).unwrap();
    let plan = PathPlan::new(&cfg, &EdgeWeights::estimate(&cfg));
    assert!(!plan.steps.iter().any(|step| matches!(step, PathStep::Add(_))));
    let counts = EdgeCounts { edges: vec![1, 9, 1, 1], blocks: vec![1, 10, 1], entries: 1 };
    assert_eq!(plan.cost(&counts).increments, 10);
}

#[test]
fn what_paths_imply_for_edges_is_what_the_log_says() {
    for_random_cfgs(|cfg, rng| {
        let plan = PathPlan::new(cfg, &EdgeWeights::estimate(cfg));
        let walks: Vec<Walk> = (0..10).map(|_| walk(cfg, rng)).collect();
        let paths = crate::path_profile::paths_of(cfg, &plan, &walks);
        let counts = paths.edge_counts(cfg, &plan.numbering).unwrap();
        let mut edges = vec![0; cfg.edge_count()];
        walks.iter().flat_map(|walk| &walk.edges).for_each(|edge| edges[edge.index()] += 1);
        assert_eq!((counts.edges, counts.entries), (edges, 10));
        let mut blocks: BTreeMap<BlockId, u64> = BTreeMap::from([(BlockId::ENTRY, 10)]);
        for edge in walks.iter().flat_map(|walk| &walk.edges) {
            *blocks.entry(cfg.edge(*edge).to).or_default() += 1;
        }
        let began = cfg.blocks().map(|block| blocks.get(&block).copied().unwrap_or(0));
        assert!(began.eq(counts.blocks));
    });
}
