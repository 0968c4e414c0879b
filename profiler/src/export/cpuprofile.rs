//! The format of V8's profiler (`.cpuprofile`), for the performance panels of Chromium and editors: one metric.
//!
//! Source: "Chrome DevTools Protocol", `Profiler.Profile`. A stack is a node, which names its children; each has one
//! sample, preceded by a time delta equal to its weight. Times below a microsecond are lost; a count is
//! shown as a microsecond. The metric, and the size of its sample if it is one, are in `$wprof`.

use std::io::{self, Write};

use serde::Serialize;

use super::{Frame, Metric, Samples, Unit};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    nodes: Vec<Node<'a>>,
    start_time: u64,
    end_time: u64,
    samples: Vec<u64>,
    time_deltas: Vec<u64>,
    #[serde(rename = "$wprof")]
    about: About<'a>,
}

/// What the format has no place for. Readers skip what begins with a dollar, where editors put what they add.
#[derive(Serialize)]
struct About<'a> {
    metric: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sample: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Node<'a> {
    id: u64,
    call_frame: CallFrame<'a>,
    hit_count: u64,
    children: Vec<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallFrame<'a> {
    function_name: &'a str,
    script_id: &'static str,
    url: &'a str,
    line_number: i64,
    column_number: i64,
}

/// The id of the root, followed by those of the nodes.
const ROOT: u64 = 1;

/// Writes a metric.
///
/// # Errors
/// Fails if writing to `out` fails.
pub fn write_cpuprofile(samples: &Samples, metric: &Metric, out: impl Write) -> io::Result<()> {
    let weight = |weight: u64| match metric.unit {
        Unit::Count | Unit::Bytes => weight,
        Unit::Nanoseconds => weight / 1000,
    };
    let root = Frame { name: "(root)".into(), place: None, full_name: None };
    let mut nodes = vec![node(ROOT, &root, 0)];
    for (stack, id) in metric.nodes.iter().zip(ROOT + 1..) {
        let hits = u64::from(stack.weight > 0);
        nodes.push(node(id, &samples.frames[stack.frame as usize], hits));
        let caller = stack.caller.map_or(0, |caller| caller as usize + 1);
        nodes[caller].children.push(id);
    }
    let (samples, time_deltas): (Vec<u64>, Vec<u64>) = metric
        .nodes
        .iter()
        .zip(ROOT + 1..)
        .filter(|(stack, _)| stack.weight > 0)
        .map(|(stack, id)| (id, weight(stack.weight)))
        .unzip();
    let end_time = time_deltas.iter().fold(0, |sum: u64, delta| sum.saturating_add(*delta));
    let about = About { metric: &metric.name, sample: metric.sample() };
    Ok(serde_json::to_writer(out, &File { nodes, start_time: 0, end_time, samples, time_deltas, about })?)
}

fn node(id: u64, frame: &Frame, hit_count: u64) -> Node<'_> {
    let (url, line) =
        frame.place.as_ref().map_or(("", -1), |(file, line)| (file.as_str(), i64::from(*line) - 1));
    let call_frame =
        CallFrame { function_name: &frame.name, script_id: "0", url, line_number: line, column_number: -1 };
    Node { id, call_frame, hit_count, children: Vec::new() }
}
