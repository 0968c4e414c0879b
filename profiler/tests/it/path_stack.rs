//! Paths that a stack finds, against those cut out of the whole sequence of blocks.

use wprof_profiler::{
    BlockId, Branch, FunctionTable, PathDescriptor, PathDetector, PathMapping, PathOperations, StackedPath,
    TraceEvent, TraceMethod,
};

use crate::rng::Rng;

fn table(function: u32, blocks: usize, edges: &[(u32, u32)]) -> FunctionTable {
    let edges = edges.iter().map(|&(from, to)| (BlockId(from), BlockId(to))).collect();
    let (calls, emits, accesses) = (vec![None; blocks], Vec::new(), Vec::new());
    FunctionTable {
        function,
        fingerprint: 0,
        method: TraceMethod::EveryBranch,
        calls,
        edges,
        emits,
        accesses,
    }
}

fn found(mapping: PathMapping, tables: &[FunctionTable], events: &[TraceEvent]) -> Vec<StackedPath> {
    let (mut detector, mut found) = (PathDetector::new(mapping, tables), Vec::new());
    events.iter().for_each(|&event| detector.event(event, |path| found.push(path)));
    found
}

/// The descriptors of a walk through function 0, cut behind branches back and those of many ways.
fn cut(ways: &[Vec<u32>], walk: &[u32]) -> Vec<PathDescriptor> {
    let place = |block: u32| PathDetector::place(0, BlockId(block));
    let (mut all, mut start, mut branches) = (Vec::new(), place(walk[0]), Vec::new());
    for pair in walk.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let ways = &ways[from as usize];
        let bits = match ways.len() {
            1 => 0,
            2 => 1,
            _ => 2,
        };
        let outcome = ways.iter().position(|&way| way == to).unwrap() as u32;
        if ways.len() > 1 || to <= from {
            branches.push(Branch { outcome, bits, to: place(to) });
        }
        if to <= from || ways.len() > 2 {
            all.extend(PathDescriptor::of_path(start, branches.drain(..)));
            start = place(to);
        }
    }
    all.extend(PathDescriptor::of_path(start, branches));
    all
}

#[test]
fn paths_of_one_function_are_those_of_its_walk() {
    let mut rng = Rng::new(50);
    for round in 0..60 {
        let blocks = 2 + round;
        let mut ways: Vec<Vec<u32>> = Vec::new();
        for _ in 0..blocks {
            let mut to: Vec<u32> = (0..1 + rng.below(4)).map(|_| rng.below(blocks) as u32).collect();
            // Mostly forward, so that some paths have more outcomes than a descriptor holds.
            if rng.once_in(2) {
                to = vec![(ways.len() as u32 + 1) % blocks as u32, rng.below(blocks) as u32];
            }
            to.sort_unstable();
            to.dedup();
            ways.push(to);
        }
        let mut walk = vec![0_u32];
        for _ in 0..500 {
            let here = &ways[*walk.last().unwrap() as usize];
            walk.push(here[rng.below(here.len())]);
        }
        let edges: Vec<(u32, u32)> =
            (0..).zip(&ways).flat_map(|(from, to)| to.iter().map(move |&to| (from, to))).collect();
        let blocks_of = walk.iter().map(|&block| TraceEvent::Block(0, BlockId(block)));
        let events: Vec<TraceEvent> =
            [TraceEvent::Enter(0)].into_iter().chain(blocks_of).chain([TraceEvent::Leave(0)]).collect();
        let found = found(PathMapping::BALL_LARUS, &[table(0, blocks, &edges)], &events);
        let paths: Vec<PathDescriptor> = found.iter().map(|found| found.path).collect();
        assert_eq!(paths, cut(&ways, &walk), "round {round}");
    }
}

/// 0 -> 1, which calls -> 2, the end of the loop -> 1 or 3; the callee is one block or, behind a branch, two.
fn loop_with_a_call() -> (Vec<FunctionTable>, Vec<TraceEvent>) {
    use TraceEvent::{Block, Enter, Leave};
    let tables = vec![table(0, 4, &[(0, 1), (1, 2), (2, 1), (2, 3)]), table(1, 2, &[(0, 1), (0, 2), (1, 2)])];
    let at = |function, block| Block(function, BlockId(block));
    let events = vec![
        Enter(0),
        at(0, 0),
        at(0, 1),
        Enter(1),
        at(1, 0),
        at(1, 1),
        Leave(1),
        at(0, 2),
        at(0, 1),
        Enter(1),
        at(1, 0),
        Leave(1),
        at(0, 2),
        at(0, 3),
        Leave(0),
    ];
    (tables, events)
}

/// Where a path starts, its outcomes from the first, and the number of branches that were counted.
fn shown(found: &[StackedPath]) -> Vec<(u32, Vec<u32>, u64)> {
    let outcomes = |path: &PathDescriptor| (0..path.branches).map(|at| path.outcomes >> at & 1).collect();
    found.iter().map(|found| (found.path.start, outcomes(&found.path), found.branches)).collect()
}

#[test]
fn calls_are_in_the_middle_of_paths_or_between_them() {
    let (tables, events) = loop_with_a_call();
    let at = |function, block| PathDetector::place(function, BlockId(block));
    // Of the callee: a branch and the return. Of the caller: the call, and the branch at the end of the round.
    let expected =
        [(at(1, 0), vec![0], 2), (at(0, 0), vec![0], 2), (at(1, 0), vec![], 1), (at(0, 1), vec![1], 3)];
    assert_eq!(shown(&found(PathMapping::BALL_LARUS, &tables, &events)), expected);
    let expected = [
        (at(0, 0), vec![], 1),
        (at(1, 0), vec![0], 2),
        (at(0, 1), vec![0], 1),
        (at(0, 1), vec![], 1),
        (at(1, 0), vec![], 1),
        (at(0, 1), vec![1], 2),
    ];
    assert_eq!(shown(&found(PathMapping::WHOLE_PATH, &tables, &events)), expected);
}

#[test]
fn a_mapping_may_follow_loops_and_leave_frames_out() {
    let (tables, events) = loop_with_a_call();
    let follow = PathMapping::BALL_LARUS.forward;
    let rounds = PathMapping { backward: follow, ..PathMapping::BALL_LARUS };
    let paths = shown(&found(rounds, &tables, &events));
    assert_eq!(paths.last(), Some(&(PathDetector::place(0, BlockId(0)), vec![0, 1], 5)));
    let none = PathOperations { push: false, ..rounds.call };
    assert_eq!(found(PathMapping { call: none, ..rounds }, &tables, &events), []);
}

#[test]
fn frames_that_end_early_leave_the_stack() {
    let (tables, mut events) = loop_with_a_call();
    let caught = TraceEvent::Unwound { function: 1, block: BlockId(1) };
    events[6] = caught;
    let paths = shown(&found(PathMapping::BALL_LARUS, &tables, &events));
    // All but the path of the frame that ended.
    assert_eq!(paths.len(), 3);
    assert_eq!(paths[0], (PathDetector::place(0, BlockId(0)), vec![0], 2));
}
