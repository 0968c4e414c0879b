//! pprof's format: a gzipped protocol buffers message, with one sample type per metric, and one for the samples of time.
//!
//! Source: `proto/profile.proto` of pprof. A stack is a sample, whose values are 0 except its metric's and the number of
//! samples of time; where stacks have threads, it has the label `thread`, and it has the labels of its origin. Comments
//! name the metrics that are samples. A location is a place in a function's code: its line, after the lines of functions that are inlined there. The format loses the
//! addresses of code, which pprof would look up in native binaries. Its weights are signed: larger ones than 2^63 - 1
//! are clamped.

use std::collections::HashMap;
use std::io::{self, Write};

use super::gzip::gzip;
use super::protobuf::Message;
use super::samples::Part;
use super::{Frame, Metric, Origin, Samples, Unit};
use crate::Profile;

/// Field numbers of `message Profile`.
mod field {
    pub(super) const SAMPLE_TYPE: u64 = 1;
    pub(super) const SAMPLE: u64 = 2;
    pub(super) const LOCATION: u64 = 4;
    pub(super) const FUNCTION: u64 = 5;
    pub(super) const STRING_TABLE: u64 = 6;
    pub(super) const TIME_NANOS: u64 = 9;
    pub(super) const DURATION_NANOS: u64 = 10;
    pub(super) const COMMENT: u64 = 13;
    pub(super) const DEFAULT_SAMPLE_TYPE: u64 = 14;
}

/// Writes all metrics; `profile` provides the time of the run.
///
/// # Errors
/// Fails if writing to `out` fails.
pub fn write_pprof(samples: &Samples, profile: &Profile, out: impl Write) -> io::Result<()> {
    write_pprof_of(&Origin::default(), samples, profile, out)
}

/// Writes all metrics as [`write_pprof`] does, each sample with the labels of its origin. Samples of a span also have the
/// labels `trace_id` and `span_id`, in hexadecimal digits.
///
/// # Errors
/// Fails if writing to `out` fails.
pub fn write_pprof_of(
    origin: &Origin,
    samples: &Samples,
    profile: &Profile,
    mut out: impl Write,
) -> io::Result<()> {
    let mut file = File::default();
    file.strings.number("");
    file.add_origin(origin);
    file.add_metrics(samples);
    file.add_locations(&samples.frames);
    file.add_runs(profile);
    file.add_comments(samples, profile);
    out.write_all(&gzip(file.finish().as_bytes()))
}

/// The string table; its first string must be empty.
#[derive(Default)]
struct Strings {
    numbers: HashMap<String, u64>,
    list: Vec<String>,
}

impl Strings {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.list.len() as u64;
        self.numbers.insert(text.to_owned(), number);
        self.list.push(text.to_owned());
        number
    }
}

/// Returns pprof's usual name of a metric.
fn usual_name(name: &str) -> &str {
    match name {
        "allocated-bytes" => "alloc_space",
        "allocations" => "alloc_objects",
        "live-bytes" => "inuse_space",
        "live-blocks" => "inuse_objects",
        "peak-bytes" => "peak_space",
        "peak-blocks" => "peak_objects",
        other => other,
    }
}

/// Reports whether a timer has sampled the weights, so that the number of samples says how well they are known.
fn is_timed(metric: &Metric) -> bool {
    metric.unit == Unit::Nanoseconds
}

#[derive(Default)]
struct File {
    message: Message,
    strings: Strings,
    /// The locations: frames, innermost first, of which only the last is not inlined.
    locations: Vec<Vec<u32>>,
    /// Their ids.
    ids: HashMap<Vec<u32>, u64>,
    /// The labels of all samples.
    labels: Vec<Message>,
}

impl File {
    fn add_origin(&mut self, origin: &Origin) {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let span = origin.span.map(|(trace, span)| [("trace_id", hex(&trace)), ("span_id", hex(&span))]);
        for (name, value) in &origin.labels {
            let label = self.label(name, value);
            self.labels.push(label);
        }
        for (name, value) in span.into_iter().flatten() {
            let label = self.label(name, &value);
            self.labels.push(label);
        }
    }

    fn label(&mut self, name: &str, value: &str) -> Message {
        let mut label = Message::new();
        label.number(1, self.strings.number(name)).number(2, self.strings.number(value));
        label
    }

    fn add_metrics(&mut self, samples: &Samples) {
        let values: usize = samples.metrics.iter().map(|metric| 1 + usize::from(is_timed(metric))).sum();
        let mut position = 0;
        for metric in &samples.metrics {
            self.add_type(usual_name(&metric.name), metric.unit.name());
            if is_timed(metric) {
                self.add_type("samples", "count");
            }
            for part in samples.parts(metric) {
                self.add_part(&part, (position, values));
            }
            position += 1 + usize::from(is_timed(metric));
        }
        if let Some(first) = samples.metric(None) {
            let kind = self.strings.number(usual_name(&first.name));
            self.message.number(field::DEFAULT_SAMPLE_TYPE, kind);
        }
    }

    fn add_type(&mut self, kind: &str, unit: &str) {
        let (kind, unit) = (self.strings.number(kind), self.strings.number(unit));
        let mut value_type = Message::new();
        value_type.number(1, kind).number(2, unit);
        self.message.message(field::SAMPLE_TYPE, &value_type);
    }

    /// Adds the stacks of one thread, or of all, with their weights at this position among so many values, and numbers of samples
    /// behind these.
    fn add_part(&mut self, part: &Part, (position, values): (usize, usize)) {
        let thread = part.thread.as_ref().map(|thread| self.label("thread", thread));
        for (node, found) in part.metric.weighted() {
            let mut of_stack = vec![0; values];
            of_stack[position] = found.weight.min(i64::MAX as u64);
            if is_timed(&part.metric) {
                of_stack[position + 1] = found.samples;
            }
            let mut sample = Message::new();
            sample.numbers(1, self.stack(&part.metric, node));
            sample.numbers(2, of_stack);
            for label in self.labels.iter().chain(&thread) {
                sample.message(3, label);
            }
            self.message.message(field::SAMPLE, &sample);
        }
    }

    /// Returns the ids of the locations on a stack, the leaf's first.
    fn stack(&mut self, metric: &Metric, node: usize) -> Vec<u64> {
        let mut ids = Vec::new();
        let mut at = Some(node);
        while let Some(innermost) = at {
            let mut frames = vec![metric.nodes[innermost].frame];
            let mut outermost = &metric.nodes[innermost];
            while let Some(caller) = outermost.caller.filter(|_| outermost.is_inlined) {
                outermost = &metric.nodes[caller as usize];
                frames.push(outermost.frame);
            }
            at = outermost.caller.map(|caller| caller as usize);
            ids.push(self.location(frames));
        }
        ids
    }

    fn location(&mut self, frames: Vec<u32>) -> u64 {
        if let Some(&id) = self.ids.get(&frames) {
            return id;
        }
        self.locations.push(frames.clone());
        let id = self.locations.len() as u64;
        self.ids.insert(frames, id);
        id
    }

    /// Adds the locations, and the functions of their frames.
    fn add_locations(&mut self, frames: &[Frame]) {
        let mut functions: HashMap<(u64, u64, u64), u64> = HashMap::new();
        for (lines, id) in std::mem::take(&mut self.locations).into_iter().zip(1..) {
            let mut location = Message::new();
            location.number(1, id);
            for frame in lines.into_iter().map(|frame| &frames[frame as usize]) {
                let (file, number) = frame.place.as_ref().map_or(("", 0), |(file, line)| (file, *line));
                let (name, file) = (self.strings.number(&frame.name), self.strings.number(file));
                let full_name = self.strings.number(frame.full_name());
                let next = functions.len() as u64 + 1;
                let function = *functions.entry((name, full_name, file)).or_insert(next);
                if function == next {
                    let mut message = Message::new();
                    message.number(1, function).number(2, name).number(3, full_name).number(4, file);
                    self.message.message(field::FUNCTION, &message);
                }
                let mut line = Message::new();
                line.number(1, function).number(2, number.into());
                location.message(4, &line);
            }
            self.message.message(field::LOCATION, &location);
        }
    }

    fn add_runs(&mut self, profile: &Profile) {
        let started = profile.runs.iter().map(|run| run.started).find(|&started| started > 0).unwrap_or(0);
        let durations = profile.runs.iter().filter_map(|run| run.wall_ns);
        self.message.number(field::TIME_NANOS, started.saturating_mul(1_000_000_000));
        self.message.number(field::DURATION_NANOS, durations.fold(0, u64::saturating_add));
    }

    /// Adds the program, and the metrics that are samples.
    fn add_comments(&mut self, samples: &Samples, profile: &Profile) {
        let note = |metric: &Metric| Some(format!("{}: {}, not scaled up", metric.name, metric.sample()?));
        let notes = samples.metrics.iter().filter_map(note);
        let comments = std::iter::once(profile.program.clone()).chain(notes);
        let numbers: Vec<u64> = comments.map(|comment| self.strings.number(&comment)).collect();
        self.message.numbers(field::COMMENT, numbers);
    }

    fn finish(mut self) -> Message {
        for text in &self.strings.list {
            self.message.string(field::STRING_TABLE, text);
        }
        self.message
    }
}
