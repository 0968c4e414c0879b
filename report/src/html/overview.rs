//! The overview of the run, which the page shows first.

use serde::Serialize;
use wprof_profiler::export::CodeMap;
use wprof_profiler::{
    Comparison, Ending, EventTotal, FigureKind, HostCalls, HotLoop, HotPath, Interval, Profile, RoutineTime,
    Run, ThreadProfile, TimeProfile, Timed, TotalChange,
};

use super::contexts::PageCallee;
use super::owners::Owners;
use crate::names;
use crate::ownership::Owner;
use crate::render::lines::LineOps;
use crate::render::place;
use crate::render::time::{self, LineTime};
use crate::render::time_loops::{self, LoopTime};
use crate::render::view::View;
use crate::render::{lines, paths, runs, sample, threads};
use crate::source_line::SourceLine;
use crate::sources::Sources;

/// The number of hottest loops and paths that are listed.
const HOTTEST: usize = 12;

/// The overview of the run or runs.
#[derive(Debug, Serialize)]
pub struct Overview {
    tool: &'static str,
    program: String,
    module_hash: String,
    runs: Vec<RunShape>,
    /// Whether the profile has counts of code.
    is_of_code: bool,
    /// The share of the run that was seen, if figures are sampled.
    sampled: Option<f64>,
    /// The sentence about the part of the run that bursts could not see, if that is large.
    unseen: Option<String>,
    /// The expected overlap of sampled functions with the complete profile.
    expected_overlap: Option<f64>,
    /// Whether all figures are complete counts.
    is_exact: bool,
    /// Whether all figures are of paths that no test ran.
    is_selected: bool,
    /// Sampled time, if there is any.
    time: Option<Timed>,
    /// The functions, host functions and others with most time.
    routines: Vec<RoutineShape>,
    lines: Vec<LineShape>,
    loops_by_time: Vec<LoopTimeShape>,
    /// The lines with most instructions, if all are counted and time says less.
    lines_by_instructions: Vec<LineOpsShape>,
    instructions: u64,
    calls: u64,
    /// The number of functions with a body, and the number of those that ran.
    functions: u64,
    ran: u64,
    contexts: Option<ContextsShape>,
    host_calls: Vec<HostShape>,
    /// The threads, if there are several.
    threads: Vec<ThreadShape>,
    /// The work of the garbage collector, if there was any.
    collector: Option<String>,
    events: Vec<Total>,
    /// The metrics that were measured along paths.
    path_metrics: Vec<String>,
    loops: Vec<LoopShape>,
    paths: Vec<PathShape>,
    /// The number of different paths that ran to their end.
    paths_in_all: usize,
    costs: Vec<Cost>,
    before: Option<Before>,
}

#[derive(Debug, Serialize)]
struct RunShape {
    ending: String,
    /// The message of the trap, if the program trapped.
    trap: Option<String>,
    wall_ns: Option<u64>,
    date: String,
    args: String,
    machine: String,
}

/// A thread.
#[derive(Debug, Serialize)]
struct ThreadShape {
    name: String,
    cpu_ns: u64,
    /// Its instructions, if all are counted.
    ops: Option<u64>,
}

#[derive(Debug, Serialize)]
struct ContextsShape {
    records: u64,
    height: u64,
}

#[derive(Debug, Serialize)]
struct Total {
    name: String,
    count: u64,
}

#[derive(Debug, Serialize)]
struct LoopShape {
    function: u32,
    header: u32,
    place: String,
    entries: Option<u64>,
    iterations: u64,
    ops: u64,
}

#[derive(Debug, Serialize)]
struct PathShape {
    function: u32,
    id: u64,
    /// The source lines of the path, if they are known.
    lines: Option<String>,
    count: u64,
    ops: u64,
}

/// A function of the host, and its calls.
#[derive(Debug, Serialize)]
struct HostShape {
    name: String,
    count: u64,
    /// The time in it, if it was measured.
    time_ns: Option<u64>,
}

/// The time of a part of the program.
#[derive(Debug, Serialize)]
struct TimeShape {
    own_ns: u64,
    total_ns: u64,
    /// The number of samples of it, and of it with callees.
    samples: u64,
    total_samples: u64,
    /// The error margins of both shares, in percentage points.
    points: f64,
    total_points: f64,
}

impl TimeShape {
    fn new(own: Timed, total: Timed, all: Timed) -> Self {
        Self {
            own_ns: own.time_ns,
            total_ns: total.time_ns,
            samples: own.samples,
            total_samples: total.samples,
            points: Interval::of_share(own, all).points(),
            total_points: Interval::of_share(total, all).points(),
        }
    }
}

/// What runs, and its time.
#[derive(Debug, Serialize)]
struct RoutineShape {
    #[serde(flatten)]
    callee: PageCallee,
    owner: Owner,
    #[serde(flatten)]
    time: TimeShape,
}

/// A loop and its time.
#[derive(Debug, Serialize)]
struct LoopTimeShape {
    function: u32,
    place: String,
    #[serde(flatten)]
    time: TimeShape,
}

/// A source line and its time.
#[derive(Debug, Serialize)]
struct LineShape {
    place: String,
    /// The line itself, if its file is there.
    text: Option<String>,
    owner: Owner,
    #[serde(flatten)]
    time: TimeShape,
}

impl LineShape {
    fn new(view: &View<'_>, found: LineTime, sources: &mut Sources) -> Self {
        let LineTime { line, source, own, total, .. } = found;
        let all = view.profile.time.as_ref().map(TimeProfile::basis).unwrap_or_default();
        Self {
            place: line,
            text: text(&source, sources),
            owner: view.ownership.of_file(&source.file),
            time: TimeShape::new(own, total, all),
        }
    }
}

fn text(line: &SourceLine, sources: &mut Sources) -> Option<String> {
    sources.text(line).map(|text| names::harmless(&text.trim().replace('\t', " ")))
}

/// A source line and its instructions.
#[derive(Debug, Serialize)]
struct LineOpsShape {
    place: String,
    text: Option<String>,
    owner: Owner,
    ops: u64,
}

impl LineOpsShape {
    fn new(view: &View<'_>, found: LineOps, sources: &mut Sources) -> Self {
        let LineOps { line, source, ops } = found;
        let text = text(&source, sources);
        Self { place: line, text, owner: view.ownership.of_file(&source.file), ops }
    }
}

/// The cost of a placement of counters.
#[derive(Debug, Serialize)]
struct Cost {
    placement: &'static str,
    counters: u64,
    increments: u64,
}

/// The earlier profile.
#[derive(Debug, Serialize)]
struct Before {
    program: String,
    /// The end of the first of its runs, and its date.
    date: String,
    is_of_one_module: bool,
    totals: Vec<TotalChange>,
}

impl Overview {
    /// Creates the overview of a profile, and of an earlier one if there is one. `map` has the module's lines, and `sources` their
    /// text.
    pub fn new(
        view: &View<'_>,
        before: Option<&Profile>,
        (map, sources): (&CodeMap, &mut Sources),
        owners: &Owners<'_>,
    ) -> Self {
        let profile = view.profile;
        let (hottest, metrics) = (profile.hottest_paths(), &profile.metrics);
        let are_all = |kind| profile.functions.iter().all(|function| function.kind == kind);
        Self {
            tool: concat!("wprof ", env!("CARGO_PKG_VERSION")),
            program: names::harmless(&profile.program),
            module_hash: profile.module_hash.iter().map(|byte| format!("{byte:02x}")).collect(),
            runs: profile.runs.iter().map(RunShape::new).collect(),
            is_of_code: view.is_of_code(),
            sampled: profile.sampled().map(|rate| rate.as_f64()).or(profile.bursts.map(|_| 0.0)),
            unseen: sample::unseen(profile),
            expected_overlap: profile.expected_overlap(),
            is_exact: are_all(FigureKind::Exact),
            is_selected: are_all(FigureKind::Selected),
            time: time::sampled(view).map(TimeProfile::total),
            routines: routines(view, owners),
            lines: time::hottest_lines(view, HOTTEST)
                .into_iter()
                .map(|found| LineShape::new(view, found, sources))
                .collect(),
            loops_by_time: loops_by_time(view),
            lines_by_instructions: lines::hottest(view, if profile.is_led_by_time() { 0 } else { HOTTEST })
                .into_iter()
                .map(|found| LineOpsShape::new(view, found, sources))
                .collect(),
            instructions: view.ops,
            calls: profile.calls(),
            functions: profile.code.functions,
            ran: view.functions_ran(),
            contexts: profile.contexts.as_ref().map(|tree| {
                let stats = tree.stats();
                ContextsShape { records: stats.records, height: stats.height }
            }),
            host_calls: host_calls(profile),
            threads: threads(profile),
            collector: threads::collector(profile).map(|(share, work)| format!("{share}{work}.")),
            events: profile.events.iter().map(Total::of_event).collect(),
            path_metrics: metrics.iter().map(|metric| names::harmless(&metric.name)).collect(),
            loops: profile.hottest_loops(HOTTEST).iter().map(|hot| LoopShape::new(view, hot)).collect(),
            paths: hottest.iter().take(HOTTEST).map(|hot| PathShape::new(view, hot, map)).collect(),
            paths_in_all: hottest.len(),
            costs: costs(profile),
            before: before.map(|before| Before::new(before, profile)),
        }
    }
}

impl RunShape {
    fn new(run: &Run) -> Self {
        let trap = match &run.ending {
            Ending::Trapped { message } => Some(names::harmless(message)),
            _ => None,
        };
        Self {
            ending: runs::ending(&run.ending),
            trap,
            wall_ns: run.wall_ns,
            date: runs::date(run.started),
            args: names::harmless(&run.args.join(" ")),
            machine: names::harmless(&format!("{} on {}", run.tool, run.machine)),
        }
    }
}

impl Total {
    fn of_event(event: &EventTotal) -> Self {
        Self { name: names::harmless(&event.name), count: event.count }
    }
}

impl LoopShape {
    fn new(view: &View<'_>, hot: &HotLoop) -> Self {
        let HotLoop { function, found } = hot;
        let header = view.profile.function(*function).map(|function| &function.blocks[found.header.index()]);
        Self {
            function: *function,
            header: found.header.0,
            place: place::of_blocks(view, header),
            entries: found.entries,
            iterations: found.iterations,
            ops: found.ops,
        }
    }
}

impl PathShape {
    fn new(view: &View<'_>, hot: &HotPath, map: &CodeMap) -> Self {
        let &HotPath { function, id, count, ops, .. } = hot;
        Self { function, id, lines: paths::by_lines(view, function, id, Some(&map.lines)), count, ops }
    }
}

impl Before {
    fn new(before: &Profile, profile: &Profile) -> Self {
        let comparison = Comparison::of_amounts(before, profile);
        Self {
            program: names::harmless(&before.program),
            date: before.runs.first().map_or_else(String::new, |run| runs::date(run.started)),
            is_of_one_module: comparison.is_of_one_module(),
            totals: comparison.totals(),
        }
    }
}

fn threads(profile: &Profile) -> Vec<ThreadShape> {
    let is_counted = threads::are_counted(profile);
    let shape = |thread: &ThreadProfile| ThreadShape {
        name: threads::name(thread),
        cpu_ns: thread.cpu_ns,
        ops: is_counted.then(|| thread.ops()),
    };
    threads::heaviest_first(profile).into_iter().map(shape).collect()
}

/// Returns the functions of the host: ordered by time or, if no time was measured, by calls.
fn host_calls(profile: &Profile) -> Vec<HostShape> {
    let shape = |calls: &HostCalls| HostShape {
        name: names::harmless(&format!("{}::{}", calls.module, calls.name)),
        count: calls.count,
        time_ns: calls.time_ns,
    };
    let mut calls: Vec<HostShape> = profile.host_calls.iter().map(shape).collect();
    calls.sort_by_key(|call| std::cmp::Reverse((call.time_ns, call.count)));
    calls
}

/// Returns what takes the most time, also the host's functions and the engine.
fn routines(view: &View<'_>, owners: &Owners<'_>) -> Vec<RoutineShape> {
    let Some(time) = time::sampled(view) else { return Vec::new() };
    let sampled = time.routines().into_iter().filter(|routine| routine.own.samples > 0);
    let shape = |routine: RoutineTime<'_>| RoutineShape {
        callee: PageCallee::new(routine.callee),
        owner: owners.owner(routine.callee),
        time: TimeShape::new(routine.own, routine.total, time.basis()),
    };
    sampled.take(HOTTEST).map(shape).collect()
}

fn loops_by_time(view: &View<'_>) -> Vec<LoopTimeShape> {
    let all = view.profile.time.as_ref().map(TimeProfile::basis).unwrap_or_default();
    let shape = |LoopTime { function, place, own, total, .. }: LoopTime| LoopTimeShape {
        function,
        place,
        time: TimeShape::new(own, total, all),
    };
    time_loops::hottest(view, HOTTEST).into_iter().map(shape).collect()
}

fn costs(profile: &Profile) -> Vec<Cost> {
    if profile.functions.is_empty() {
        return Vec::new();
    }
    let costs = profile.counter_costs();
    [("as here", costs.chords), ("one per block", costs.per_block), ("one per edge", costs.per_edge)]
        .map(|(placement, cost)| Cost { placement, counters: cost.counters, increments: cost.increments })
        .into()
}
