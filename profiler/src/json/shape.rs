//! The JSON shape as types: the names and the order of the fields.
//!
//! Invariant: independent of the layout of the profile file; renaming a field of [`Profile`] changes
//! nothing here.

use serde::{Serialize, Serializer};

use super::across_calls::AcrossCallsShape;
use super::allocations::AllocationsShape;
use super::contexts::{CalleeShape, ContextsShape};
use super::lines::{LineFigures, LineShape};
use super::threads::ThreadShape;
use super::time::{ShareShape, TimeShape};
use super::timeline::TimelineShape;
use crate::{
    BlockId, BlockProfile, BranchOutcome, CallTarget, CodeStats, Collector, CounterCosts, EdgeId, EdgeKind,
    EdgeProfile, Ending, EventTotal, ExtendedPath, ExtendedProfile, FigureKind, FunctionProfile, HostCalls,
    LoopProfile, Metric, ModulePart, PathCount, PathOf, Profile, Run, Share, Shares, SkippedBursts,
    UnfinishedExit, UnfinishedPath,
};

#[derive(Serialize)]
pub(super) struct Shape<'a> {
    format: &'static str,
    program: &'a str,
    module_hash: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    modules: Vec<ModuleShape<'a>>,
    runs: Vec<RunShape<'a>>,
    code: CodeStats,
    calls: u64,
    ops: u64,
    cost: CounterCosts,
    #[serde(skip_serializing_if = "Option::is_none")]
    bursts: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped_bursts: Option<&'a SkippedBursts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_overlap: Option<f64>,
    host_calls: Vec<HostCallsShape<'a>>,
    events: Vec<EventShape<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    metrics: &'a [Metric],
    #[serde(skip_serializing_if = "Option::is_none")]
    contexts: Option<ContextsShape<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    call_targets: Vec<CallTargetShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extended_paths: Option<ExtendedShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paths_across_calls: Option<AcrossCallsShape>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<TimeShape<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<LineShape<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    threads: Vec<ThreadShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    garbage_collector: Option<Collector>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    predicted_branches: &'a [BranchOutcome],
    #[serde(skip_serializing_if = "Option::is_none")]
    allocations: Option<AllocationsShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline: Option<TimelineShape<'a>>,
    functions: FunctionShapes<'a>,
}

impl<'a> Shape<'a> {
    pub(super) fn new(profile: &'a Profile, lines: &'a [LineFigures]) -> Self {
        Self {
            format: "wprof-profile-1",
            program: &profile.program,
            module_hash: hex(&profile.module_hash),
            modules: profile.parts.iter().map(ModuleShape::new).collect(),
            runs: profile.runs.iter().map(RunShape::new).collect(),
            code: profile.code,
            calls: profile.calls(),
            ops: profile.ops(),
            cost: profile.counter_costs(),
            bursts: profile.bursts,
            skipped_bursts: profile.skipped.as_ref(),
            expected_overlap: profile.expected_overlap(),
            host_calls: profile.host_calls.iter().map(HostCallsShape::new).collect(),
            events: profile.events.iter().map(EventShape::new).collect(),
            metrics: &profile.metrics,
            contexts: profile.contexts.as_ref().map(ContextsShape::new),
            call_targets: profile.call_targets.iter().map(CallTargetShape::new).collect(),
            extended_paths: profile.extended.as_ref().map(ExtendedShape::new),
            paths_across_calls: profile.supergraphs.as_ref().map(AcrossCallsShape::new),
            time: profile.time.as_ref().map(|time| TimeShape::new(time, &profile.functions)),
            lines: lines.iter().map(|line| LineShape::new(line, profile.time.as_ref())).collect(),
            threads: profile.threads.iter().map(|of| ThreadShape::new(of, &profile.functions)).collect(),
            garbage_collector: profile.collector,
            predicted_branches: &profile.branches,
            allocations: profile.allocations.as_ref().map(AllocationsShape::new),
            timeline: profile.timeline.as_ref().map(TimelineShape::new),
            functions: FunctionShapes {
                functions: &profile.functions,
                shares: profile.sampled().map(|_| Shares::new(profile)),
            },
        }
    }
}

/// A core module of a component.
#[derive(Serialize)]
struct ModuleShape<'a> {
    name: &'a str,
    module_hash: String,
    first_function: u32,
    first_offset: u32,
    code: CodeStats,
}

impl<'a> ModuleShape<'a> {
    fn new(part: &'a ModulePart) -> Self {
        let ModulePart { name, module_hash, first_function, first_offset, code } = part;
        let (first_function, first_offset) = (*first_function, *first_offset);
        Self { name, module_hash: hex(module_hash), first_function, first_offset, code: *code }
    }
}

fn hex(hash: &[u8; 32]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The functions, serialized one by one, with the shape of each created on its turn.
struct FunctionShapes<'a> {
    functions: &'a [FunctionProfile],
    /// Their shares of the run, if they are sampled.
    shares: Option<Shares>,
}

impl Serialize for FunctionShapes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let share = |index| {
            let Share { share, low, high } = self.shares.as_ref()?.function(index);
            Some(ShareShape { share, least: low, most: high })
        };
        let functions = self.functions.iter();
        serializer.collect_seq(functions.map(|function| FunctionShape::new(function, share(function.index))))
    }
}

#[derive(Serialize)]
struct RunShape<'a> {
    started: u64,
    tool: &'a str,
    machine: &'a str,
    args: &'a [String],
    wall_ns: Option<u64>,
    ending: EndingShape<'a>,
}

impl<'a> RunShape<'a> {
    fn new(run: &'a Run) -> Self {
        let ending = EndingShape::new(&run.ending);
        let Run { started, tool, machine, args, wall_ns, ending: _ } = run;
        Self { started: *started, tool, machine, args, wall_ns: *wall_ns, ending }
    }
}

#[derive(Serialize)]
#[serde(tag = "how", rename_all = "kebab-case")]
enum EndingShape<'a> {
    Running,
    Exited { code: i32 },
    Trapped { message: &'a str },
    Interrupted,
    OutOfBudget,
}

impl<'a> EndingShape<'a> {
    fn new(ending: &'a Ending) -> Self {
        match ending {
            Ending::Running => Self::Running,
            Ending::Exited { code } => Self::Exited { code: *code },
            Ending::Trapped { message } => Self::Trapped { message },
            Ending::Interrupted => Self::Interrupted,
            Ending::OutOfBudget => Self::OutOfBudget,
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "how", rename_all = "kebab-case")]
pub(super) enum KindShape {
    Exact,
    Sampled { counted: u64, of: u64 },
    Derived,
    Selected,
}

impl KindShape {
    pub(super) fn new(kind: FigureKind) -> Self {
        match kind {
            FigureKind::Exact => Self::Exact,
            FigureKind::Sampled { rate } => Self::Sampled { counted: rate.counted, of: rate.of },
            FigureKind::Derived => Self::Derived,
            FigureKind::Selected => Self::Selected,
        }
    }
}

#[derive(Serialize)]
struct HostCallsShape<'a> {
    module: &'a str,
    name: &'a str,
    count: u64,
    kind: KindShape,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_ns: Option<u64>,
}

impl<'a> HostCallsShape<'a> {
    fn new(calls: &'a HostCalls) -> Self {
        let HostCalls { module, name, count, kind, time_ns } = calls;
        Self { module, name, count: *count, kind: KindShape::new(*kind), time_ns: *time_ns }
    }
}

#[derive(Serialize)]
struct EventShape<'a> {
    name: &'a str,
    count: u64,
    kind: KindShape,
}

impl<'a> EventShape<'a> {
    fn new(total: &'a EventTotal) -> Self {
        let EventTotal { name, count, kind } = total;
        Self { name, count: *count, kind: KindShape::new(*kind) }
    }
}

#[derive(Serialize)]
struct CallTargetShape<'a> {
    caller: u32,
    site: u32,
    callee: CalleeShape<'a>,
    count: u64,
    kind: KindShape,
}

impl<'a> CallTargetShape<'a> {
    fn new(target: &'a CallTarget) -> Self {
        let CallTarget { caller, site, callee, count, kind } = target;
        let (callee, kind) = (CalleeShape::new(callee), KindShape::new(*kind));
        Self { caller: *caller, site: *site, callee, count: *count, kind }
    }
}

#[derive(Serialize)]
struct ExtendedShape<'a> {
    extension: String,
    paths: Vec<ExtendedPathShape<'a>>,
}

#[derive(Serialize)]
struct ExtendedPathShape<'a> {
    pieces: &'a [PathOf],
    count: u64,
}

impl<'a> ExtendedShape<'a> {
    fn new(extended: &'a ExtendedProfile) -> Self {
        let shape = |path: &'a ExtendedPath| ExtendedPathShape { pieces: &path.pieces, count: path.count };
        Self {
            extension: extended.extension.to_string(),
            paths: extended.by_count().into_iter().map(shape).collect(),
        }
    }
}

#[derive(Serialize)]
struct FunctionShape<'a> {
    index: u32,
    name: Option<&'a str>,
    start: u32,
    end: u32,
    fingerprint: String,
    kind: KindShape,
    calls: u64,
    ops: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<ShareShape>,
    cost: CounterCosts,
    blocks: Vec<BlockShape>,
    edges: Vec<EdgeShape>,
    unfinished: &'a [UnfinishedExit],
    loops: Vec<LoopShape>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paths: Option<PathsShape<'a>>,
}

impl<'a> FunctionShape<'a> {
    fn new(function: &'a FunctionProfile, share: Option<ShareShape>) -> Self {
        let figures = function.block_counts().into_iter().zip(function.block_ops());
        let blocks = function.blocks.iter().zip(figures);
        let edges = (0..).map(EdgeId).zip(&function.edges).zip(function.branch_probabilities());
        Self {
            index: function.index,
            name: function.name.as_deref(),
            start: function.code.start,
            end: function.code.end,
            fingerprint: format!("{:016x}", function.fingerprint),
            kind: KindShape::new(function.kind),
            calls: function.calls(),
            ops: function.ops(),
            share,
            cost: function.counter_costs(),
            blocks: blocks.map(|(block, (count, ops))| BlockShape::new(block, count, ops)).collect(),
            edges: edges.map(|(edge, probability)| EdgeShape::new(function, edge, probability)).collect(),
            unfinished: &function.exits,
            loops: function.loops().into_iter().map(LoopShape::new).collect(),
            paths: PathsShape::new(function),
        }
    }
}

#[derive(Serialize)]
struct BlockShape {
    start: u32,
    end: u32,
    size: u32,
    count: u64,
    ops: u64,
}

impl BlockShape {
    fn new(block: &BlockProfile, count: u64, ops: u64) -> Self {
        Self { start: block.code.start, end: block.code.end, size: block.ops, count, ops }
    }
}

#[derive(Serialize)]
struct EdgeShape {
    from: BlockId,
    to: Option<BlockId>,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    case: Option<u32>,
    count: Option<u64>,
    probability: Option<f64>,
}

impl EdgeShape {
    fn new(function: &FunctionProfile, (id, edge): (EdgeId, &EdgeProfile), probability: Option<f64>) -> Self {
        let (kind, case) = kind_name(edge.kind);
        let to = (edge.to != function.exit()).then_some(edge.to);
        Self { from: edge.from, to, kind, case, count: function.edge_count(id), probability }
    }
}

/// Returns the name of an edge kind, and the case of a switch.
pub(super) fn kind_name(kind: EdgeKind) -> (&'static str, Option<u32>) {
    match kind {
        EdgeKind::Jump => ("jump", None),
        EdgeKind::Taken => ("taken", None),
        EdgeKind::NotTaken => ("not-taken", None),
        EdgeKind::Case(case) => ("case", Some(case)),
        EdgeKind::Default => ("default", None),
        EdgeKind::Return => ("return", None),
        EdgeKind::TailCall => ("tail-call", None),
        EdgeKind::Catch(tag) => ("catch", Some(tag)),
        EdgeKind::CatchAll => ("catch-all", None),
    }
}

#[derive(Serialize)]
struct LoopShape {
    header: BlockId,
    depth: u32,
    blocks: Vec<BlockId>,
    entries: Option<u64>,
    iterations: u64,
    average_trips: Option<f64>,
    ops: u64,
}

impl LoopShape {
    fn new(found: LoopProfile) -> Self {
        let average_trips = found.average_trips();
        let LoopProfile { header, depth, blocks, entries, iterations, ops, id: _ } = found;
        Self { header, depth, blocks, entries, iterations, average_trips, ops }
    }
}

#[derive(Serialize)]
struct PathsShape<'a> {
    possible: u64,
    finished: Vec<PathShape<'a>>,
    unfinished: Vec<UnfinishedPathShape<'a>>,
}

#[derive(Serialize)]
struct PathShape<'a> {
    id: u64,
    blocks: Vec<BlockId>,
    to: Option<BlockId>,
    count: u64,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    metrics: &'a [u64],
}

#[derive(Serialize)]
struct UnfinishedPathShape<'a> {
    blocks: Vec<BlockId>,
    offset: u32,
    ops_executed: u32,
    count: u64,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    metrics: &'a [u64],
}

impl<'a> PathsShape<'a> {
    /// Creates the shape of a function's paths, if they were counted and belong to it.
    fn new(function: &'a FunctionProfile) -> Option<Self> {
        let (paths, cfg, numbering) = (function.paths()?, function.cfg().ok()?, function.path_numbering()?);
        let finished = |PathCount { id, count, metrics }: &'a PathCount| {
            let (id, count) = (*id, *count);
            let path = numbering.path(id)?;
            let to = cfg.edge(*path.edges.last()?).to;
            let to = (to != cfg.exit()).then_some(to);
            Some(PathShape { id, blocks: path.blocks(&cfg), to, count, metrics })
        };
        let unfinished = |UnfinishedPath { exit, prefix, metrics }: &'a UnfinishedPath| {
            let blocks = numbering.prefix(exit.block, *prefix)?.blocks_of_prefix(&cfg);
            let UnfinishedExit { offset, ops_executed, count, block: _ } = *exit;
            Some(UnfinishedPathShape { blocks, offset, ops_executed, count, metrics })
        };
        Some(Self {
            possible: paths.possible,
            finished: paths.finished.iter().map(finished).collect::<Option<_>>()?,
            unfinished: paths.unfinished.iter().map(unfinished).collect::<Option<_>>()?,
        })
    }
}
