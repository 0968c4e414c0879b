//! Numbered paths against all paths, found one by one.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use wprof_profiler::{BlockId, Cfg, DepthFirst, EdgeId, MAX_PATHS, Path, PathNumbering};

use crate::random_cfg::{for_random_cfgs, small_cfgs};

/// Everything that a run may do between two ends of paths: whole paths, and for each prefix its last block.
pub struct AllPaths {
    pub finished: HashSet<Path>,
    pub prefixes: Vec<(BlockId, Path)>,
}

/// All paths, by following every edge; `None` if there are more than a few thousand.
pub fn all_paths(cfg: &Cfg, ends: impl Fn(EdgeId) -> bool) -> Option<AllPaths> {
    let mut starts = BTreeSet::from([BlockId::ENTRY]);
    let search = DepthFirst::new(cfg);
    let reached = |edge: &EdgeId| search.is_reachable(cfg.edge(*edge).from);
    let ending = cfg.edges().filter(reached).filter(|&edge| ends(edge)).map(|edge| cfg.edge(edge).to);
    starts.extend(ending.filter(|&to| to != cfg.exit()));
    let mut all = AllPaths { finished: HashSet::new(), prefixes: Vec::new() };
    let mut open: Vec<(BlockId, Path)> =
        starts.into_iter().map(|start| (start, Path { start, edges: Vec::new() })).collect();
    while let Some((block, path)) = open.pop() {
        for &edge in cfg.out_edges(block) {
            let mut longer = path.clone();
            longer.edges.push(edge);
            match ends(edge) {
                true => assert!(all.finished.insert(longer)),
                false => open.push((cfg.edge(edge).to, longer)),
            }
        }
        all.prefixes.push((block, path));
        if all.prefixes.len() > 3000 {
            return None;
        }
    }
    Some(all)
}

/// The sum of a path's values.
fn sum(numbering: &PathNumbering, path: &Path) -> u64 {
    let start = numbering.starts().find(|&(_, block)| block == path.start).map(|(edge, _)| edge);
    let edges = start.iter().chain(&path.edges);
    edges.map(|edge| numbering.values()[edge.index()]).sum()
}

/// Whether the numbers are those of all paths, and sums name prefixes.
fn check(cfg: &Cfg, numbering: &PathNumbering) -> bool {
    let Some(all) = all_paths(cfg, |edge| numbering.ends_path(edge)) else { return false };
    let found: Vec<Option<Path>> = (0..numbering.paths()).map(|id| numbering.path(id)).collect();
    let finished: HashSet<Path> = found.iter().flatten().cloned().collect();
    assert_eq!(finished, all.finished, "{cfg:?}");
    let traps = all.prefixes.iter().filter(|(block, _)| cfg.out_edges(*block).is_empty()).count();
    let unfinishable = found.iter().filter(|path| path.is_none()).count();
    assert_eq!((unfinishable, found.len()), (traps, finished.len() + traps), "each number is one path");
    for (id, path) in found.iter().enumerate() {
        assert!(path.as_ref().is_none_or(|path| sum(numbering, path) == id as u64));
    }
    let mut sums: BTreeMap<BlockId, BTreeSet<u64>> = BTreeMap::new();
    for (block, prefix) in &all.prefixes {
        let sum = sum(numbering, prefix);
        assert!(sums.entry(*block).or_default().insert(sum), "two prefixes have one sum");
        assert_eq!(numbering.prefix(*block, sum).as_ref(), Some(prefix));
        let begins = |path: &Path| path.start == prefix.start && path.edges.starts_with(&prefix.edges);
        let ids = numbering.ids_from(*block, sum);
        for (id, path) in (0..).zip(&found) {
            assert!(path.as_ref().is_none_or(|path| ids.contains(&id) == begins(path)));
        }
    }
    for block in cfg.blocks() {
        let known = sums.get(&block);
        let valid = (0..numbering.paths() + 2).filter(|&sum| numbering.prefix(block, sum).is_some());
        assert!(valid.eq(known.into_iter().flatten().copied()), "other sums name nothing");
    }
    true
}

#[test]
fn numbers_and_paths_correspond_on_all_small_graphs() {
    for cfg in small_cfgs() {
        let numbering = PathNumbering::new(&cfg);
        assert!(check(&cfg, &numbering) && numbering.cuts().is_empty());
        assert_eq!(numbering.path(numbering.paths()), None);
        assert_eq!(numbering.prefix(cfg.exit(), 0), None);
    }
}

#[test]
fn numbers_and_paths_correspond_on_random_graphs() {
    for_random_cfgs(|cfg, _| {
        let numbering = PathNumbering::new(cfg);
        if numbering.paths() < 3000 {
            check(cfg, &numbering);
        }
    });
}

#[test]
fn only_back_edges_and_cuts_end_paths() {
    for_random_cfgs(|cfg, rng| {
        let search = DepthFirst::new(cfg);
        let numbering = PathNumbering::with_limit(cfg, 1 + rng.next() % 50);
        for edge in cfg.edges() {
            let leaves = cfg.edge(edge).to == cfg.exit();
            let is_cut = numbering.cuts().contains(&edge);
            assert!(!is_cut || !leaves && !search.is_back_edge(cfg, edge));
            assert_eq!(numbering.ends_path(edge), leaves || is_cut || search.is_back_edge(cfg, edge));
        }
    });
}

/// A limit that cannot be kept is one below the number of edges and blocks.
#[test]
fn cuts_keep_the_limit_and_the_correspondence() {
    for_random_cfgs(|cfg, rng| {
        let uncut = PathNumbering::new(cfg).paths();
        let limit = 1 + rng.next() % 200;
        let numbering = PathNumbering::with_limit(cfg, limit);
        assert!(uncut > limit || numbering.cuts().is_empty());
        let least = (cfg.edge_count() + cfg.block_count()) as u64;
        assert!(numbering.paths() <= limit.max(least), "{} paths, {limit} allowed", numbering.paths());
        check(cfg, &numbering);
    });
}

/// A path leads over as many branches as its number can tell apart: a cut is at every twentieth `if` or so, and not at each.
#[test]
fn paths_of_many_branches_in_a_row_are_cut_rarely() {
    const BRANCHES: u32 = 500;
    let diamond = |at: u32| [(at, at + 1), (at, at + 2), (at + 1, at + 3), (at + 2, at + 3)];
    let edges: Vec<(u32, u32)> = (0..BRANCHES).flat_map(|number| diamond(3 * number)).collect();
    let last = 3 * BRANCHES;
    let cfg = Cfg::from_pairs(last + 1, &[&edges[..], &[(last, last + 1)]].concat()).unwrap();
    let numbering = PathNumbering::new(&cfg);
    assert!(numbering.paths() <= MAX_PATHS);
    // Both ways of a branch are cut.
    let cuts = numbering.cuts().len() as u32;
    assert!((2 * BRANCHES / 32..2 * BRANCHES / 20).contains(&cuts), "{cuts} cuts");
    let path = numbering.path(numbering.paths() / 2).expect("there are so many");
    assert!(path.edges.len() >= 40, "{path:?}");
}

/// Figure 1 of Ammons, Ball & Larus 1997 (and of Ball & Larus 1996): A to F, its six paths in the order of their sums.
#[test]
fn the_paper_s_graph_has_its_six_paths() {
    let (a, b, c, d, e, f) = (0, 1, 2, 3, 4, 5);
    let edges = [(a, c), (a, b), (b, c), (b, d), (c, d), (d, f), (d, e), (e, f), (f, 6)];
    let cfg = Cfg::from_pairs(6, &edges).unwrap();
    let numbering = PathNumbering::new(&cfg);
    assert_eq!(numbering.values(), [0, 2, 0, 2, 0, 0, 1, 0, 0, 0]);
    let name = |id| -> String {
        let path = numbering.path(id).unwrap();
        path.blocks(&cfg).iter().map(|block| char::from(b'A' + block.0 as u8)).collect()
    };
    let names: Vec<String> = (0..numbering.paths()).map(name).collect();
    assert_eq!(names, ["ACDF", "ACDEF", "ABCDF", "ABCDEF", "ABDF", "ABDEF"]);
}

/// Figure 3 of Ammons, Ball & Larus 1997: a back edge makes four sorts of paths.
#[test]
fn a_back_edge_begins_and_ends_paths() {
    let cfg = Cfg::from_pairs(4, &[(0, 1), (0, 2), (1, 2), (2, 3), (3, 2), (3, 4)]).unwrap();
    let numbering = PathNumbering::new(&cfg);
    let blocks = |id| numbering.path(id).unwrap().blocks(&cfg).iter().map(|b| b.0).collect::<Vec<_>>();
    let all: Vec<_> =
        (0..numbering.paths()).map(|id| (blocks(id), numbering.path(id).unwrap().edges.pop())).collect();
    let ways = [vec![0, 1, 2, 3], vec![0, 2, 3], vec![2, 3]];
    let expected: Vec<_> =
        ways.iter().flat_map(|way| [4, 5].map(|last| (way.clone(), Some(EdgeId(last))))).collect();
    assert_eq!(all, expected);
}

#[test]
fn ten_thousand_diamonds_are_cut_into_pieces_of_about_twenty() {
    let diamonds = 10_000;
    let edges: Vec<_> = (0..diamonds)
        .flat_map(|d| {
            [(3 * d, 3 * d + 1), (3 * d, 3 * d + 2), (3 * d + 1, 3 * d + 3), (3 * d + 2, 3 * d + 3)]
        })
        .collect();
    let cfg = Cfg::from_pairs(3 * diamonds, &edges).unwrap();
    let numbering = PathNumbering::new(&cfg);
    assert!(numbering.paths() <= MAX_PATHS);
    let pieces = numbering.starts().count();
    assert!((300..1000).contains(&pieces), "{pieces}");
    let last = numbering.path(numbering.paths() - 1).unwrap();
    assert!(last.edges.len() > 40 && last.start != BlockId::ENTRY);
}
