//! Chrome trace events, which Perfetto reads too: stacks as complete events, one process per metric, in it a thread
//! for each thread where stacks have threads, and the timeline.
//!
//! Source: the Trace Event Format, phases `X`, `C` and `M`. For a metric other than time, the axis does not show
//! time: a microsecond stands for one unit of the metric, and events are in the order of the tree, not of the run.
//! A process of sampled counts has a label that says so.
//! Only the timeline's process has real time: when the compiler worked, with one or more threads per code tier, and
//! when bursts ran.

use std::io::{self, Write};

use serde::Serialize;

use super::samples::{Amount, Part};
use super::spans::{Span, spans};
use super::{Metric, Samples, TOOL};
use crate::contexts::function_name;
use crate::{BurstSpan, CodeTier, CodeVersion, Timeline};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    trace_events: Vec<Event<'a>>,
    other_data: Origin,
}

#[derive(Serialize)]
struct Origin {
    exporter: &'static str,
}

#[derive(Serialize)]
#[serde(tag = "ph")]
enum Event<'a> {
    #[serde(rename = "M")]
    Name { name: &'static str, pid: usize, tid: u32, args: NameArgs<'a> },
    #[serde(rename = "M")]
    Labels { name: &'static str, pid: usize, tid: u32, args: LabelArgs },
    #[serde(rename = "X")]
    Stack { name: &'a str, pid: usize, tid: u32, ts: Amount, dur: Amount },
    #[serde(rename = "X")]
    Span { name: String, pid: usize, tid: u32, ts: f64, dur: f64, args: SpanArgs<'a> },
    #[serde(rename = "C")]
    Speed { name: &'static str, pid: usize, tid: u32, ts: f64, args: SpeedArgs },
}

#[derive(Serialize)]
struct NameArgs<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct LabelArgs {
    labels: String,
}

#[derive(Default, Serialize)]
struct SpanArgs<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_before: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checks_before: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    decisions: Vec<&'a str>,
}

#[derive(Serialize)]
struct SpeedArgs {
    checks: f64,
}

/// The thread of the bursts in the timeline's process; the threads of the code tiers follow.
const BURSTS: u32 = 1;

/// Writes all metrics, and the timeline if there is one.
///
/// # Errors
/// Returns the error of `out` if a write fails.
pub fn write_chrome(samples: &Samples, timeline: Option<&Timeline>, out: impl Write) -> io::Result<()> {
    let parts: Vec<Vec<Part>> = samples.metrics.iter().map(|metric| samples.parts(metric)).collect();
    let metrics = (1..).zip(samples.metrics.iter().zip(&parts));
    let metrics = metrics.flat_map(|(pid, (metric, parts))| process(samples, (metric, parts), pid));
    let times = timeline.into_iter().flat_map(|timeline| times(timeline, samples.metrics.len() + 1));
    let file = File { trace_events: metrics.chain(times).collect(), other_data: Origin { exporter: TOOL } };
    Ok(serde_json::to_writer(out, &file)?)
}

fn process<'a>(
    samples: &'a Samples,
    (metric, parts): (&'a Metric, &'a [Part]),
    pid: usize,
) -> Vec<Event<'a>> {
    let mut events = vec![name("process_name", pid, 1, &metric.name)];
    let label = |labels| Event::Labels { name: "process_labels", pid, tid: 1, args: LabelArgs { labels } };
    events.extend(metric.sample().map(label));
    for (tid, part) in (1..).zip(parts) {
        events.extend(part.thread.iter().map(|thread| name("thread_name", pid, tid, thread)));
        let event = |span: Span| Event::Stack {
            name: &samples.frames[span.frame as usize].name,
            pid,
            tid,
            ts: metric.unit.amount(span.start, 1e3),
            dur: metric.unit.amount(span.width, 1e3),
        };
        events.extend(spans(&part.metric).into_iter().map(event));
    }
    events
}

fn name<'a>(what: &'static str, pid: usize, tid: u32, name: &'a str) -> Event<'a> {
    Event::Name { name: what, pid, tid, args: NameArgs { name } }
}

/// Returns the events of the timeline.
fn times(timeline: &Timeline, pid: usize) -> Vec<Event<'_>> {
    let mut events = vec![name("process_name", pid, BURSTS, "time line")];
    if !timeline.bursts.is_empty() {
        events.push(name("thread_name", pid, BURSTS, "bursts"));
        events.extend(timeline.bursts.iter().map(|burst| of_burst(burst, pid)));
        events.extend(timeline.checks_per_ms().into_iter().map(|(at, checks)| Event::Speed {
            name: "checks per ms",
            pid,
            tid: BURSTS,
            ts: micros(at),
            args: SpeedArgs { checks },
        }));
    }
    let all = CodeTier::ALL.iter().flat_map(|&tier| threads(timeline, tier));
    for (tid, (tier, versions)) in (BURSTS + 1..).zip(all) {
        events.push(name("thread_name", pid, tid, tier.name()));
        events.extend(versions.into_iter().map(|version| of_version(version, pid, tid)));
    }
    events
}

/// Distributes the versions of one tier over as few threads as keep spans from overlapping: Perfetto drops spans that
/// overlap.
fn threads(timeline: &Timeline, tier: CodeTier) -> Vec<(CodeTier, Vec<&CodeVersion>)> {
    let mut threads: Vec<(CodeTier, Vec<&CodeVersion>)> = Vec::new();
    for version in timeline.versions.iter().filter(|version| version.tier == tier) {
        let is_over =
            |before: &&CodeVersion| before.began_ns.saturating_add(before.took_ns) < version.began_ns;
        match threads.iter_mut().find(|(_, versions)| versions.last().is_some_and(is_over)) {
            Some((_, versions)) => versions.push(version),
            None => threads.push((tier, vec![version])),
        }
    }
    threads
}

fn of_burst(burst: &BurstSpan, pid: usize) -> Event<'_> {
    let args = SpanArgs { checks_before: Some(burst.checks), ..SpanArgs::default() };
    let (ts, dur) = (micros(burst.began_ns), micros(burst.took_ns));
    Event::Span { name: "burst".to_owned(), pid, tid: BURSTS, ts, dur, args }
}

fn of_version(version: &CodeVersion, pid: usize, tid: u32) -> Event<'_> {
    let args = SpanArgs {
        bytes: Some(version.bytes),
        bytes_before: version.bytes_before,
        predicted_percent: version.benefit.predicted.map(percent),
        measured_percent: version.benefit.measured.map(percent),
        checks_before: None,
        decisions: version.decisions.iter().map(|decision| decision.text.as_str()).collect(),
    };
    let name = function_name(version.function, version.name.as_deref()).into_owned();
    Event::Span { name, pid, tid, ts: micros(version.began_ns), dur: micros(version.took_ns), args }
}

fn percent(millionths: i32) -> f64 {
    f64::from(millionths) / 1e4
}

/// Converts nanoseconds to microseconds, the format's unit.
fn micros(ns: u64) -> f64 {
    ns as f64 / 1000.0
}
