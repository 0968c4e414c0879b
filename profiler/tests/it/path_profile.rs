//! Paths in profiles: merged, written, verified, ordered, all against logged walks.

use std::collections::BTreeMap;

use wprof_profiler::{
    BlockId, BlockProfile, Cfg, CodeRange, CounterCost, EdgeKind, EdgeProfile, EdgeWeights, FigureKind,
    FileError, FunctionCounts, FunctionProfile, InvalidProfile, Metric, PathCount, PathPlan, PathProfile,
    Profile, UnfinishedExit, UnfinishedPath,
};

use crate::path_plan::{Walk, drive, split, walk};
use crate::random_cfg::for_random_cfgs;
use crate::rng::Rng;

/// The profile of some calls, with figures that grow with the counts.
pub fn paths_of(cfg: &Cfg, plan: &PathPlan, walks: &[Walk]) -> PathProfile {
    let mut finished: BTreeMap<u64, u64> = BTreeMap::new();
    let mut unfinished: BTreeMap<(BlockId, u64), u64> = BTreeMap::new();
    for walk in walks {
        let (counted, register) = drive(cfg, plan, walk);
        counted.iter().for_each(|&id| *finished.entry(id).or_default() += 1);
        if let Some(block) = walk.stopped {
            *unfinished.entry((block, plan.prefix_sum(block, Some(register)))).or_default() += 1;
        }
    }
    let unfinished = unfinished.into_iter().map(|((block, prefix), count)| {
        let exit = UnfinishedExit { block, offset: 10 * block.0 + 1, ops_executed: 1, count };
        UnfinishedPath { exit, prefix, metrics: vec![7 * count] }
    });
    PathProfile {
        possible: plan.numbering.paths(),
        finished: finished
            .into_iter()
            .map(|(id, count)| PathCount { id, count, metrics: vec![(id + 3) * count] })
            .collect(),
        unfinished: unfinished.collect(),
    }
}

/// The profile of one function that was called so.
pub fn profile_of(cfg: &Cfg, walks: &[Walk]) -> Profile {
    let plan = PathPlan::new(cfg, &EdgeWeights::estimate(cfg));
    let paths = paths_of(cfg, &plan, walks);
    let counts = paths.edge_counts(cfg, &plan.numbering).unwrap();
    let edges = cfg.edges().map(|edge| {
        let ends = cfg.edge(edge);
        EdgeProfile { from: ends.from, to: ends.to, kind: EdgeKind::Jump }
    });
    let block = |block: BlockId| {
        let code = CodeRange { start: 10 * block.0, end: 10 * block.0 + 10 };
        BlockProfile { code, ops: 1 + block.0 % 5 }
    };
    let function = FunctionProfile {
        index: 4,
        name: None,
        code: CodeRange { start: 0, end: 10 * cfg.block_count() as u32 },
        fingerprint: cfg.fingerprint(),
        kind: FigureKind::Exact,
        blocks: cfg.blocks().map(block).collect(),
        edges: edges.collect(),
        exits: paths.unfinished.iter().map(|path| path.exit).collect(),
        cost: CounterCost::default(),
        counts: FunctionCounts::Paths(counts.edges, paths),
    };
    let metrics = vec![Metric { name: "m".into(), taken_off: 1 }];
    let mut profile = Profile { functions: vec![function], metrics, ..Profile::default() };
    profile.normalize();
    profile
}

pub fn for_random_profiles(property: impl Fn(&Cfg, [&[Walk]; 2], [Profile; 2])) {
    for_random_cfgs(|cfg, rng| {
        let walks = |rng: &mut Rng| (0..8).map(|_| walk(cfg, rng)).collect::<Vec<_>>();
        let (a, b) = (walks(rng), walks(rng));
        let profiles = [&a, &b].map(|walks| profile_of(cfg, walks));
        property(cfg, [&a, &b], profiles);
    });
}

/// The profile of calls of a function with two branches one after the other, along these edges, with so much of a
/// metric along each path by number.
pub fn measured_profile(calls: &[&[u32]], amounts: [u64; 4]) -> Profile {
    let pairs = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5), (4, 6), (5, 6), (6, 7)];
    let cfg = Cfg::from_pairs(7, &pairs).unwrap();
    let edges = |call: &&[u32]| call.iter().copied().chain([8]).map(wprof_profiler::EdgeId).collect();
    let walks: Vec<Walk> = calls.iter().map(|call| Walk { edges: edges(call), stopped: None }).collect();
    let mut profile = profile_of(&cfg, &walks);
    profile.metrics[0].taken_off = 0;
    profile.functions[0].blocks.iter_mut().for_each(|block| block.ops = 3);
    let paths = profile.functions[0].counts.paths_mut().unwrap();
    paths.finished.iter_mut().zip(amounts).for_each(|(path, amount)| path.metrics = vec![amount]);
    profile
}

#[test]
fn the_sum_has_the_metrics_that_both_have() {
    for_random_profiles(|_, _, [first, second]| {
        let mut more = second.clone();
        more.metrics.insert(0, Metric { name: "a".into(), taken_off: 0 });
        let paths = more.functions[0].counts.paths_mut().unwrap();
        paths.finished.iter_mut().for_each(|path| path.metrics.insert(0, 5));
        paths.unfinished.iter_mut().for_each(|path| path.metrics.insert(0, 5));
        more.verify().unwrap();
        assert_eq!(Profile::from_bytes(&more.to_bytes().unwrap()).unwrap(), more);
        let sums = [(&first, &more), (&more, &first), (&first, &second)].map(|(a, b)| {
            let mut sum = a.clone();
            sum.merge(b).unwrap();
            sum
        });
        assert_eq!(sums[0].metrics, [Metric { name: "m".into(), taken_off: 2 }]);
        assert!(sums[0] == sums[1] && sums[0] == sums[2]);
        more.metrics.pop();
        assert_eq!(more.verify(), Err(InvalidProfile::WrongFigures { index: 4 }));
    });
}

#[test]
fn profiles_with_paths_are_valid_and_read_back() {
    for_random_profiles(|_, _, [profile, _]| {
        profile.verify().unwrap();
        assert_eq!(Profile::from_bytes(&profile.to_bytes().unwrap()).unwrap(), profile);
    });
}

#[test]
fn the_sum_of_two_profiles_is_that_of_both_logs() {
    for_random_profiles(|cfg, [a, b], [first, second]| {
        let both: Vec<Walk> =
            a.iter().chain(b).map(|walk| Walk { edges: walk.edges.clone(), ..*walk }).collect();
        let mut sum = first.clone();
        sum.merge(&second).unwrap();
        sum.verify().unwrap();
        assert_eq!(sum.functions, profile_of(cfg, &both).functions);
        let mut without = second.clone();
        without.functions[0].counts.forget_paths();
        without.merge(&first).unwrap();
        assert_eq!(without.functions[0].paths(), None, "who did not count paths has not counted none");
    });
}

#[test]
fn instructions_of_paths_are_those_of_the_log_hottest_first() {
    for_random_profiles(|cfg, [walks, _], [profile, _]| {
        let function = &profile.functions[0];
        let numbering = function.path_numbering().unwrap();
        let mut expected: BTreeMap<_, (u64, u64)> = BTreeMap::new();
        for path in walks.iter().flat_map(|walk| split(cfg, walk, |edge| numbering.ends_path(edge)).0) {
            let ops: u64 = path.blocks(cfg).iter().map(|b| u64::from(function.blocks[b.index()].ops)).sum();
            let entry = expected.entry((path.start, path.edges)).or_default();
            *entry = (entry.0 + 1, entry.1 + ops);
        }
        let hottest = profile.hottest_paths();
        assert!(hottest.is_sorted_by(|a, b| a.ops >= b.ops));
        let found = hottest.iter().map(|hot| {
            let path = numbering.path(hot.id).unwrap();
            ((path.start, path.edges), (hot.count, hot.ops))
        });
        assert_eq!(found.collect::<BTreeMap<_, _>>(), expected);
    });
}

#[test]
fn paths_that_contradict_the_edges_are_refused() {
    let cfg = Cfg::from_pairs(4, &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]).unwrap();
    let walks = [[0, 2, 4], [1, 3, 4]]
        .map(|edges| Walk { edges: edges.map(wprof_profiler::EdgeId).to_vec(), stopped: None });
    let stopped = Walk { edges: Vec::new(), stopped: Some(BlockId::ENTRY) };
    let profile = profile_of(&cfg, &walks.into_iter().chain([stopped]).collect::<Vec<_>>());
    profile.verify().unwrap();
    let refused = |change: fn(&mut PathProfile)| {
        let mut wrong = profile.clone();
        change(wrong.functions[0].counts.paths_mut().unwrap());
        assert!(matches!(wrong.to_bytes(), Err(FileError::Invalid(_))));
        wrong.verify().unwrap_err()
    };
    assert_eq!(refused(|paths| paths.finished[0].count += 1), InvalidProfile::WrongPaths { index: 4 });
    assert_eq!(refused(|paths| paths.possible += 1), InvalidProfile::WrongPaths { index: 4 });
    assert_eq!(refused(|paths| paths.unfinished[0].exit.count += 1), InvalidProfile::WrongPaths { index: 4 });
    assert_eq!(refused(|paths| paths.finished.reverse()), InvalidProfile::Unsorted { list: "paths" });
    assert!(matches!(refused(|paths| paths.finished[1].id = 7), InvalidProfile::BadPaths { index: 4, .. }));
    assert!(matches!(refused(|paths| paths.unfinished[0].prefix = 1), InvalidProfile::BadPaths { .. }));
}
