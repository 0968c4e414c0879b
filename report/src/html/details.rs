//! Details of one function: its graph with counts, its loops, its hottest paths, its code.
//!
//! Invariant: positions in lists are the profile's numbers of blocks, edges and paths.

use std::collections::BTreeMap;

use serde::Serialize;
use wprof_profiler::export::CodeMap;
use wprof_profiler::{
    CallTarget, Callee, EdgePlan, EdgeWeights, FunctionProfile, Path, PathCount, PathEnd, PlaceTime, Profile,
    UnfinishedExit,
};

use super::code::{Code, Listing, block_at};
use super::contexts::PageCallee;
use crate::render::branches::way;
use crate::render::path_lines::PathLines;
use crate::render::path_text;
use crate::render::view::View;
use crate::tries;

/// The maximum total size of the code of functions shown in detail, which are those with the most time or instructions.
const MOST_CODE: usize = 400 << 10;

/// The maximum number of paths shown per function.
const PATHS: usize = 60;

/// The maximum number of callees of indirect calls shown per function.
const INDIRECT_CALLS: usize = 30;

/// The maximum number of `try`s shown per function.
const TRIES: usize = 30;

/// The details of a function.
#[derive(Debug, Serialize)]
pub struct Details<'a> {
    index: u32,
    blocks: Blocks,
    edges: Edges,
    /// The chords, which are the edges outside of a spanning tree; none unless edges were counted.
    chords: Option<Vec<u32>>,
    /// The time of its instructions, if it was sampled.
    time: Option<&'a InstructionTimes>,
    /// The places in the middle of blocks where calls ended, or were still executing.
    unfinished: Vec<Unfinished>,
    loops: Vec<Loop>,
    /// The number of paths that ran to their end; none if paths were not counted.
    paths_in_all: Option<usize>,
    paths: Vec<PathShape>,
    /// For each metric of the profile, where in the function it was measured.
    through: Vec<Through>,
    /// The most frequent targets of the function's indirect calls, if these were counted.
    indirect_calls: Vec<IndirectCall>,
    /// The `try`s that were entered, if the module is available.
    tries: Vec<Tried>,
    code: Option<&'a Listing>,
}

/// The blocks, column by column.
#[derive(Debug, Serialize)]
struct Blocks {
    /// The offsets of the blocks' code.
    start: Vec<u32>,
    /// The numbers of instructions.
    size: Vec<u32>,
    /// The execution counts.
    count: Vec<u64>,
    /// The numbers of executed instructions.
    ops: Vec<u64>,
}

/// The edges, column by column.
#[derive(Debug, Serialize)]
struct Edges {
    from: Vec<u32>,
    /// The target blocks; the number of blocks stands for the exit.
    to: Vec<u32>,
    way: Vec<String>,
    /// The counts; none if only blocks were counted.
    count: Option<Vec<u64>>,
}

#[derive(Debug, Serialize)]
struct Unfinished {
    block: u32,
    /// The offset of the instruction at which the calls ended.
    offset: u32,
    /// The number of the block's instructions that had been executed.
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
    /// The source lines of the path, if they are known.
    lines: Option<String>,
    /// The first block of the path.
    start: u32,
    /// The edges of the path; the last one leaves it.
    edges: Vec<u32>,
    count: u64,
    ops: u64,
    /// The measurements along the path, by metric of the profile.
    metrics: Vec<u64>,
}

/// A metric along paths that ran to their end.
#[derive(Debug, Serialize)]
struct Through {
    /// The sum over all paths.
    total: u64,
    /// For each block, the sum over paths through it.
    blocks: Vec<u64>,
}

#[derive(Debug, Serialize)]
struct IndirectCall {
    /// The place of the call in the source, or else in the module.
    place: String,
    callee: PageCallee,
    count: u64,
}

/// A `try`: the tags are those of its handlers.
#[derive(Debug, Serialize)]
struct Tried {
    /// Its place in the source, or else in the module.
    place: String,
    /// Its block.
    block: Option<u32>,
    entered: u64,
    tags: Vec<String>,
    /// The number of exceptions that each handler caught; empty if edges were not counted.
    caught: Vec<u64>,
}

/// The functions that are shown in detail.
#[derive(Debug)]
pub struct Shown {
    /// Their indices, hottest first.
    order: Vec<u32>,
    /// Those that only the timer saw, by index: their code is the module's, without counts.
    timed: BTreeMap<u32, FunctionProfile>,
}

impl Shown {
    /// Chooses the functions with the largest shares of time or instructions.
    pub fn new(view: &View<'_>) -> Self {
        let profile = view.profile;
        let mut shares: BTreeMap<u32, f64> = BTreeMap::new();
        for function in &profile.functions {
            shares.insert(function.index, function.ops() as f64 / view.ops.max(1) as f64);
        }
        let mut timed = BTreeMap::new();
        let all = profile.time.as_ref().map_or(0, |time| time.total().time_ns).max(1) as f64;
        for routine in profile.time.iter().flat_map(|time| time.routines()) {
            let &Callee::Function { index, .. } = routine.callee else { continue };
            let of_time = routine.own.time_ns as f64 / all;
            if let Some(share) = shares.get_mut(&index) {
                *share = share.max(of_time);
            } else if routine.own.samples > 0
                && let Some(function) = view.program.and_then(|program| program.idle_function(index).ok())
            {
                timed.insert(index, function);
                shares.insert(index, of_time);
            }
        }
        let mut order: Vec<(u32, f64)> = shares.into_iter().collect();
        order.sort_by(|(_, ours), (_, theirs)| theirs.total_cmp(ours));
        let mut code = 0;
        let size = |index: u32| {
            let function = profile.function(index).or_else(|| timed.get(&index));
            function.map_or(0, |function| (function.code.end - function.code.start) as usize)
        };
        let with_room = order.into_iter().map(|(index, _)| index).take_while(|&index| {
            let has_room = code < MOST_CODE;
            code += size(index);
            has_room
        });
        let order = with_room.collect();
        Self { order, timed }
    }

    /// Returns the functions, hottest first; `profile` is that of the view.
    pub fn functions<'a>(&'a self, profile: &'a Profile) -> Vec<&'a FunctionProfile> {
        let function = |index: &u32| profile.function(*index).or_else(|| self.timed.get(index));
        self.order.iter().filter_map(function).collect()
    }
}

/// The sampled time of the instructions of all functions, by function.
#[derive(Debug, Default)]
pub struct Times(BTreeMap<u32, InstructionTimes>);

/// The sampled time of a function's instructions, column by column, ascending by offset.
#[derive(Debug, Default, Serialize)]
struct InstructionTimes {
    offset: Vec<u32>,
    /// Nanoseconds in which the instruction itself was executed.
    own_ns: Vec<u64>,
    /// Nanoseconds with what it called.
    total_ns: Vec<u64>,
}

impl Times {
    /// Sums the time of a profile by instruction.
    pub fn new(profile: &Profile) -> Self {
        let sampled = profile.time.as_ref().filter(|time| time.total().samples > 0);
        let Some(time) = sampled else { return Self::default() };
        let place = |node: usize| match time.callee(node) {
            &Callee::Function { index, .. } => vec![(index, time.nodes[node].offset)],
            _ => Vec::new(),
        };
        let mut found = time.places(place);
        found.sort_by_key(|found| found.place);
        let mut all = Self::default();
        for PlaceTime { place: (index, offset), own, total } in found {
            let times = all.0.entry(index).or_default();
            times.offset.push(offset);
            times.own_ns.push(own.time_ns);
            times.total_ns.push(total.time_ns);
        }
        all
    }
}

impl<'a> Details<'a> {
    /// Describes a function of the view's profile, whose code `code` contains if the module is available;
    /// `map` has the module's lines.
    pub fn new(
        view: &View<'_>,
        function: &FunctionProfile,
        (code, map): (&'a Code, &CodeMap),
        times: &'a Times,
    ) -> Self {
        let paths_in_all = function.paths().map(|paths| paths.finished.len());
        Self {
            index: function.index,
            blocks: Blocks::new(function),
            edges: Edges::new(function),
            chords: chords(function),
            time: times.0.get(&function.index),
            unfinished: unfinished(function),
            loops: loops(function),
            paths_in_all,
            paths: paths(view, function, map).unwrap_or_default(),
            through: through(function),
            indirect_calls: indirect_calls(view, function),
            tries: tries(view, function),
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
        Self {
            from: edges.iter().map(|edge| edge.from.0).collect(),
            to: edges.iter().map(|edge| edge.to.0).collect(),
            way: edges.iter().map(|edge| way(edge.kind)).collect(),
            count: function.counts.edges().map(<[u64]>::to_vec),
        }
    }
}

/// Computes chords by the static estimate: the profile does not record other weights that may have placed its counters.
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

/// Returns the paths with the most instructions, if paths were counted.
fn paths(view: &View<'_>, function: &FunctionProfile, map: &CodeMap) -> Option<Vec<PathShape>> {
    let (numbering, finished) = (function.path_numbering()?, &function.paths()?.finished);
    let mut found: Vec<(u64, &PathCount, Path)> = finished
        .iter()
        .filter_map(|count| {
            let path = numbering.path(count.id)?;
            Some((ops(function, &path).saturating_mul(count.count), count, path))
        })
        .collect();
    found.sort_by_key(|(ops, ..)| std::cmp::Reverse(*ops));
    found.truncate(PATHS);
    let mut lines = PathLines::new(view, function, Some(&map.lines));
    Some(found.iter().map(|(ops, count, path)| PathShape::new(&mut lines, *ops, count, path)).collect())
}

/// Returns the number of instructions on a path.
fn ops(function: &FunctionProfile, path: &Path) -> u64 {
    let blocks = path_text::blocks(function, path, &PathEnd::Finished(0));
    blocks.iter().map(|block| u64::from(function.blocks[block.index()].ops)).sum()
}

fn through(function: &FunctionProfile) -> Vec<Through> {
    let finished = function.paths().into_iter().flat_map(|paths| &paths.finished);
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
        callee: PageCallee::new(&target.callee),
        count: target.count,
    };
    let mut calls: Vec<IndirectCall> = own.map(call).collect();
    calls.sort_by_key(|call| std::cmp::Reverse(call.count));
    calls.truncate(INDIRECT_CALLS);
    calls
}

fn tries(view: &View<'_>, function: &FunctionProfile) -> Vec<Tried> {
    let found = view.program.map_or_else(Vec::new, |program| program.tries(function));
    let shape = |tried: tries::Tried| {
        let (tags, caught) =
            tried.caught.into_iter().flatten().map(|caught| (caught.tag, caught.count)).unzip();
        let block = block_at(function, tried.at).map(|block| block as u32);
        Tried { place: view.place(tried.at), block, entered: tried.entered, tags, caught }
    };
    let mut shown: Vec<Tried> = found.into_iter().filter(|tried| tried.entered > 0).map(shape).collect();
    let caught = |tried: &Tried| tried.caught.iter().copied().fold(0, u64::saturating_add);
    shown.sort_by_key(|tried| std::cmp::Reverse((caught(tried), tried.entered)));
    shown.truncate(TRIES);
    shown
}

impl PathShape {
    fn new(lines: &mut PathLines<'_>, ops: u64, count: &PathCount, path: &Path) -> Self {
        Self {
            id: count.id,
            lines: lines.name(path),
            start: path.start.0,
            edges: path.edges.iter().map(|edge| edge.0).collect(),
            count: count.count,
            ops,
            metrics: count.metrics.clone(),
        }
    }
}
