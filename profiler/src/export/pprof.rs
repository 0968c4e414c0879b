//! pprof's format: a gzipped protocol buffers message, with one sample type per metric.
//!
//! Source: `proto/profile.proto` of pprof. A stack is a sample, whose values are 0 except its metric's; a frame is a
//! function and a location in it. The format loses the addresses of code, which pprof would look up in
//! native binaries. Its weights are signed: larger ones than 2^63 - 1 are clamped.

use std::collections::HashMap;
use std::io::{self, Write};

use super::gzip::gzip;
use super::protobuf::Message;
use super::{Frame, Samples};
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
    for (frame, id) in samples.frames.iter().zip(1..) {
        file.add_frame(frame, id);
    }
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
}

impl File {
    fn add_metrics(&mut self, samples: &Samples) {
        for (position, metric) in samples.metrics.iter().enumerate() {
            let (kind, unit) =
                (self.strings.number(usual_name(&metric.name)), self.strings.number(metric.unit.name()));
            let mut value_type = Message::new();
            value_type.number(1, kind).number(2, unit);
            self.message.message(field::SAMPLE_TYPE, &value_type);
            for (node, found) in metric.weighted() {
                let weight = found.weight.min(i64::MAX as u64);
                let value = |at: usize| if at == position { weight } else { 0 };
                let mut sample = Message::new();
                // The leaf comes first.
                sample.numbers(1, metric.stack(node).into_iter().rev().map(|frame| u64::from(frame) + 1));
                sample.numbers(2, (0..samples.metrics.len()).map(value));
                self.message.message(field::SAMPLE, &sample);
            }
        }
        if let Some(first) = samples.metrics.first() {
            let kind = self.strings.number(usual_name(&first.name));
            self.message.number(field::DEFAULT_SAMPLE_TYPE, kind);
        }
    }

    /// Adds a frame, which is a function and its only location, both with the same number.
    fn add_frame(&mut self, frame: &Frame, id: u64) {
        let (file, first_line) =
            frame.place.as_ref().map_or(("", 0), |(file, line)| (file, u64::from(*line)));
        let (name, file) = (self.strings.number(&frame.name), self.strings.number(file));
        let full_name = self.strings.number(frame.full_name());
        let [mut line, mut location, mut function] = [const { Message::new() }; 3];
        line.number(1, id).number(2, first_line);
        location.number(1, id).message(4, &line);
        function.number(1, id).number(2, name).number(3, full_name).number(4, file).number(5, first_line);
        self.message.message(field::LOCATION, &location).message(field::FUNCTION, &function);
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
