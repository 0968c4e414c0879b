//! Chrome's trace events, which Perfetto reads too: stacks as complete events, one process for each metric.
//!
//! Source: the Trace Event Format, phase `X`. The axis is no time: a microsecond stands for a unit of the metric. The order
//! of events is that of the tree, not of the run.

use std::io::{self, Write};

use serde::Serialize;

use super::spans::{Span, spans};
use super::{Metric, Samples, TOOL};

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
    ProcessName { name: &'static str, pid: usize, tid: u32, args: NameArgs<'a> },
    #[serde(rename = "X")]
    Complete { name: &'a str, pid: usize, tid: u32, ts: u64, dur: u64 },
}

#[derive(Serialize)]
struct NameArgs<'a> {
    name: &'a str,
}

/// Writes all metrics.
///
/// # Errors
/// If `out` refuses.
pub fn write_chrome(samples: &Samples, out: impl Write) -> io::Result<()> {
    let events = (1..).zip(&samples.metrics).flat_map(|(pid, metric)| process(samples, metric, pid));
    let file = File { trace_events: events.collect(), other_data: Origin { exporter: TOOL } };
    Ok(serde_json::to_writer(out, &file)?)
}

fn process<'a>(samples: &'a Samples, metric: &'a Metric, pid: usize) -> Vec<Event<'a>> {
    let args = NameArgs { name: &metric.name };
    let name = Event::ProcessName { name: "process_name", pid, tid: 1, args };
    let event = |span: Span| Event::Complete {
        name: &samples.frames[span.frame as usize].name,
        pid,
        tid: 1,
        ts: span.start,
        dur: span.width,
    };
    [name].into_iter().chain(spans(metric).into_iter().map(event)).collect()
}
