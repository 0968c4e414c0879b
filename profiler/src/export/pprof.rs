//! pprof's format: a gzipped protocol buffers message, with one sample type per metric.
//!
//! Source: `proto/profile.proto` of pprof. A stack is a sample, whose values are 0 except its metric's; where stacks have threads, it has the label `thread`. A location is a
//! place in a function's code: its line, after the lines of functions that are inlined there. The format loses the
//! addresses of code, which pprof would look up in native binaries. Its weights are signed: larger ones than 2^63 - 1
//! are clamped.

use std::collections::HashMap;
use std::io::{self, Write};

use super::gzip::gzip;
use super::protobuf::Message;
use super::samples::Part;
use super::{Frame, Metric, Samples};
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
pub fn write_pprof(samples: &Samples, profile: &Profile, mut out: impl Write) -> io::Result<()> {
    let mut file = File::default();
    file.strings.number("");
    file.add_metrics(samples);
    file.add_locations(&samples.frames);
    file.add_runs(profile);
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

#[derive(Default)]
struct File {
    message: Message,
    strings: Strings,
    /// The locations: frames, innermost first, of which only the last is not inlined.
    locations: Vec<Vec<u32>>,
    /// Their ids.
    ids: HashMap<Vec<u32>, u64>,
}

impl File {
    fn add_metrics(&mut self, samples: &Samples) {
        for (position, metric) in samples.metrics.iter().enumerate() {
            let (kind, unit) =
                (self.strings.number(usual_name(&metric.name)), self.strings.number(metric.unit.name()));
            let mut value_type = Message::new();
            value_type.number(1, kind).number(2, unit);
            self.message.message(field::SAMPLE_TYPE, &value_type);
            for part in samples.parts(metric) {
                self.add_part(&part, (position, samples.metrics.len()));
            }
        }
        if let Some(first) = samples.metrics.first() {
            let kind = self.strings.number(usual_name(&first.name));
            self.message.number(field::DEFAULT_SAMPLE_TYPE, kind);
        }
    }

    /// Adds the stacks of one thread, or of all, with weights of the metric at this position among so many.
    fn add_part(&mut self, part: &Part, (position, metrics): (usize, usize)) {
        let label = part.thread.as_ref().map(|thread| {
            let (key, text) = (self.strings.number("thread"), self.strings.number(thread));
            let mut label = Message::new();
            label.number(1, key).number(2, text);
            label
        });
        for (node, found) in part.metric.weighted() {
            let weight = found.weight.min(i64::MAX as u64);
            let value = |at: usize| if at == position { weight } else { 0 };
            let mut sample = Message::new();
            sample.numbers(1, self.stack(&part.metric, node));
            sample.numbers(2, (0..metrics).map(value));
            if let Some(label) = &label {
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
        let comment = self.strings.number(&profile.program);
        self.message.numbers(field::COMMENT, [comment]);
    }

    fn finish(mut self) -> Message {
        for text in &self.strings.list {
            self.message.string(field::STRING_TABLE, text);
        }
        self.message
    }
}
