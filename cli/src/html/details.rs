//! One function in detail: its graph with counts, its loops, its hottest paths, its code.
//!
//! Invariant: positions in lists are the numbers that the profile gives: those of blocks, of edges and of paths.

use serde::Serialize;
use wprof_profiler::{
    CallTarget, EdgePlan, EdgeWeights, FunctionProfile, PathCount, PathNumbering, Profile, UnfinishedExit,
};

use super::code::{Code, Listing};
use super::contexts::Shown;
use crate::render::branches::way;
use crate::render::view::View;

/// The functions with most instructions are shown in detail, until together they have so many bytes of code.
const MOST_CODE: usize = 400 << 10;

/// So many paths of a function are shown.
const PATHS: usize = 60;

/// So many callees of indirect calls are shown.
const INDIRECT_CALLS: usize = 30;

/// The function.
#[derive(Debug, Serialize)]
pub struct Details<'a> {
    index: u32,
    blocks: Blocks,
    edges: Edges,
    /// The edges that a spanning tree leaves over; nothing unless edges were counted.
    chords: Option<Vec<u32>>,
    /// Where calls ended, or stood, in the middle of a block.
    unfinished: Vec<Unfinished>,
    loops: Vec<Loop>,
    /// How many paths ran to their end; nothing if paths were not counted.
    paths_in_all: Option<usize>,
    paths: Vec<PathShape>,
    /// By metric of the profile, where in the function it was measured.
    through: Vec<Through>,
    /// What its indirect calls called most often, if that was counted.
    indirect_calls: Vec<IndirectCall>,
    code: Option<&'a Listing>,
}

/// The blocks, column by column.
#[derive(Debug, Serialize)]
struct Blocks {
    /// Where the code of each begins.
    start: Vec<u32>,
    /// Instructions in each.
    size: Vec<u32>,
    /// How often each began.
    count: Vec<u64>,
    /// Instructions executed in each.
    ops: Vec<u64>,
}

/// The edges, column by column.
#[derive(Debug, Serialize)]
struct Edges {
    from: Vec<u32>,
    /// The number of blocks stands for the exit.
    to: Vec<u32>,
    way: Vec<String>,
    /// Nothing if only blocks were counted.
    count: Option<Vec<u64>>,
}

#[derive(Debug, Serialize)]
struct Unfinished {
    block: u32,
    /// Of the instruction at which they ended.
    offset: u32,
    /// Instructions of the block that had been executed.
    ops: u32,
    count: u64,
}

#[derive(Debug, Serialize)]
struct Loop {
    header: u32,
    depth: u32,
    blocks: usize,
    entries: Option<u64>,
    iterations: u64,
    ops: u64,
}

#[derive(Debug, Serialize)]
struct PathShape {
    id: u64,
    /// Its first block.
    start: u32,
    /// Its edges; the last leads out of it.
    edges: Vec<u32>,
    count: u64,
    ops: u64,
    /// What was measured along it, by metric of the profile.
    metrics: Vec<u64>,
}

/// A metric, along paths that ran to their end.
#[derive(Debug, Serialize)]
struct Through {
    /// Along all of them.
    total: u64,
    /// By block, along those that go through it.
    blocks: Vec<u64>,
}

#[derive(Debug, Serialize)]
struct IndirectCall {
    /// Where the call is, in the source or else in the module.
    place: String,
    callee: Shown,
    count: u64,
}

/// The functions that are shown in detail, hottest first.
pub fn shown(profile: &Profile) -> Vec<&FunctionProfile> {
    let mut code = 0;
    let hottest = profile.functions_by_ops().into_iter().map(|(function, _)| function);
    hottest
        .take_while(|function| {
            let has_room = code < MOST_CODE;
            code += (function.code.end - function.code.start) as usize;
            has_room
        })
        .collect()
}

impl<'a> Details<'a> {
    /// A function of the view's profile that `code` knows, if its module is at hand.
    pub fn new(view: &View<'_>, function: &FunctionProfile, code: &'a Code) -> Self {
        let paths_in_all = function.paths.as_ref().map(|paths| paths.finished.len());
        Self {
            index: function.index,
            blocks: Blocks::new(function),
            edges: Edges::new(function),
            chords: chords(function),
            unfinished: unfinished(function),
            loops: loops(function),
            paths_in_all,
            paths: paths(function).unwrap_or_default(),
            through: through(function),
            indirect_calls: indirect_calls(view, function),
            code: code.listing(function.index),
        }
    }
}

impl Blocks {
    fn new(function: &FunctionProfile) -> Self {
        Self {
            start: function.blocks.iter().map(|block| block.code.start).collect(),
            size: function.blocks.iter().map(|block| block.ops).collect(),
            count: function.block_counts(),
            ops: function.block_ops(),
        }
    }
}

impl Edges {
    fn new(function: &FunctionProfile) -> Self {
        let edges = &function.edges;
        let count = || edges.iter().map(|edge| edge.count).collect();
        Self {
            from: edges.iter().map(|edge| edge.from.0).collect(),
            to: edges.iter().map(|edge| edge.to.0).collect(),
            way: edges.iter().map(|edge| way(edge.kind)).collect(),
            count: function.has_edge_counts().then(count),
        }
    }
}

/// By the static estimate: the profile does not say by what other weights counters may have been placed.
fn chords(function: &FunctionProfile) -> Option<Vec<u32>> {
    let cfg = function.cfg().ok().filter(|_| function.has_edge_counts())?;
    let plan = EdgePlan::new(&cfg, &EdgeWeights::estimate(&cfg));
    Some(plan.counted.iter().map(|edge| edge.0).collect())
}

fn unfinished(function: &FunctionProfile) -> Vec<Unfinished> {
    let shape = |exit: &UnfinishedExit| Unfinished {
        block: exit.block.0,
        offset: exit.offset,
        ops: exit.ops_executed,
        count: exit.count,
    };
    function.exits.iter().map(shape).collect()
}

fn loops(function: &FunctionProfile) -> Vec<Loop> {
    let mut loops = function.loops();
    loops.retain(|found| found.iterations > 0);
    loops.sort_by_key(|found| std::cmp::Reverse(found.ops));
    let shape = |found: wprof_profiler::LoopProfile| Loop {
        header: found.header.0,
        depth: found.depth,
        blocks: found.blocks.len(),
        entries: found.entries,
        iterations: found.iterations,
        ops: found.ops,
    };
    loops.into_iter().map(shape).collect()
}

/// The paths with most instructions, if paths were counted.
fn paths(function: &FunctionProfile) -> Option<Vec<PathShape>> {
    let (numbering, finished) = (function.path_numbering()?, &function.paths.as_ref()?.finished);
    let shapes = finished.iter().filter_map(|path| PathShape::new(function, &numbering, path));
    let mut paths: Vec<PathShape> = shapes.collect();
    paths.sort_by_key(|path| std::cmp::Reverse(path.ops));
    paths.truncate(PATHS);
    Some(paths)
}

fn through(function: &FunctionProfile) -> Vec<Through> {
    let finished = function.paths.iter().flat_map(|paths| &paths.finished);
    let total = |metric: usize| {
        finished.clone().fold(0, |sum: u64, path: &PathCount| sum.saturating_add(path.metrics[metric]))
    };
    let by_metric = function.metrics_through().unwrap_or_default().into_iter().enumerate();
    by_metric.map(|(metric, blocks)| Through { total: total(metric), blocks }).collect()
}

fn indirect_calls(view: &View<'_>, function: &FunctionProfile) -> Vec<IndirectCall> {
    let targets = &view.profile.call_targets;
    let from = targets.partition_point(|target| target.caller < function.index);
    let own = targets[from..].iter().take_while(|target| target.caller == function.index);
    let call = |target: &CallTarget| IndirectCall {
        place: view.place(target.site),
        callee: Shown::new(&target.callee),
        count: target.count,
    };
    let mut calls: Vec<IndirectCall> = own.map(call).collect();
    calls.sort_by_key(|call| std::cmp::Reverse(call.count));
    calls.truncate(INDIRECT_CALLS);
    calls
}

impl PathShape {
    fn new(function: &FunctionProfile, numbering: &PathNumbering, path: &PathCount) -> Option<Self> {
        let found = numbering.path(path.id)?;
        let inner = found.edges.iter().take(found.edges.len().saturating_sub(1));
        let entered = inner.map(|edge| function.edges[edge.index()].to);
        let blocks = [found.start].into_iter().chain(entered);
        let ops: u64 = blocks.map(|block| u64::from(function.blocks[block.index()].ops)).sum();
        Some(Self {
            id: path.id,
            start: found.start.0,
            edges: found.edges.iter().map(|edge| edge.0).collect(),
            count: path.count,
            ops: ops.saturating_mul(path.count),
            metrics: path.metrics.clone(),
        })
    }
}
