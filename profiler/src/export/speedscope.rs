//! Speedscope's own format: one sampled profile per metric, and per thread where stacks have threads.
//!
//! Source: its JSON schema, `file-format-schema.json`. A stack is a list of frames, outermost first. The format loses
//! nothing of [`Samples`], but readers hold weights in doubles, which are exact to 2^53.

use std::io::{self, Write};

use serde::Serialize;

use super::samples::Part;
use super::{Frame, Samples, TOOL, Unit};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    name: &'a str,
    exporter: &'static str,
    active_profile_index: u32,
    shared: Shared<'a>,
    profiles: Vec<SampledProfile>,
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: Vec<FrameShape<'a>>,
}

#[derive(Serialize)]
struct FrameShape<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SampledProfile {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    samples: Vec<Vec<u32>>,
    weights: Vec<u64>,
}

/// Writes all metrics of `program`.
///
/// # Errors
/// Fails if writing to `out` fails.
pub fn write_speedscope(samples: &Samples, program: &str, out: impl Write) -> io::Result<()> {
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        name: program,
        exporter: TOOL,
        active_profile_index: active(samples),
        shared: Shared { frames: samples.frames.iter().map(frame).collect() },
        profiles: samples.metrics.iter().flat_map(|metric| samples.parts(metric)).map(profile).collect(),
    };
    Ok(serde_json::to_writer(out, &file)?)
}

/// Returns the number of the profile that is shown first: that of the metric which other formats have alone.
fn active(samples: &Samples) -> u32 {
    let shown = samples.metric(None).map(|metric| &metric.name);
    let before = samples.metrics.iter().take_while(|metric| Some(&metric.name) != shown);
    before.map(|metric| samples.parts(metric).len() as u32).sum()
}

fn frame(frame: &Frame) -> FrameShape<'_> {
    let place = frame.place.as_ref();
    FrameShape {
        name: &frame.name,
        file: place.map(|(file, _)| file.as_str()),
        line: place.map(|&(_, line)| line),
    }
}

fn profile(part: Part) -> SampledProfile {
    let Part { title, metric, .. } = part;
    SampledProfile {
        kind: "sampled",
        name: title,
        unit: match metric.unit {
            Unit::Count => "none",
            Unit::Bytes => "bytes",
            Unit::Nanoseconds => "nanoseconds",
        },
        start_value: 0,
        end_value: metric.total(),
        samples: metric.weighted().map(|(node, _)| metric.stack(node)).collect(),
        weights: metric.weighted().map(|(_, node)| node.weight).collect(),
    }
}
