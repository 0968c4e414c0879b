//! OpenTelemetry's format: profiles of several origins in one protocol buffers message.
//!
//! Source: `opentelemetry/proto/profiles/v1development/profiles.proto`, as of version 1.9 and commit ac2c4b5, after
//! 1.11. Each origin, with its labels, is a resource; each of its metrics is a profile, since a profile has one sample
//! type. Stacks, functions and texts of all profiles are in one dictionary, each once. A profile whose weights are those of a
//! sample has an attribute, [`SAMPLED_SHARE`], since weights are not scaled up. The format loses the addresses of code. Its
//! weights are signed: larger ones than 2^63 - 1 are clamped.

use std::collections::HashMap;
use std::io::{self, Write};

use super::protobuf::Message;
use super::{Frame, Metric, Samples, TOOL};
use crate::{Profile, Rate};

/// The origin of samples: the resource of a message, and the span that they belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    /// Names and values: `service.name`, a tenant, an instance.
    pub labels: Vec<(String, String)>,
    /// The ids of a trace and of a span in it.
    pub span: Option<([u8; 16], [u8; 8])>,
}

impl Origin {
    /// Creates the origin of some labels.
    pub fn new<N: Into<String>, V: Into<String>>(labels: impl IntoIterator<Item = (N, V)>) -> Origin {
        let labels = labels.into_iter().map(|(name, value)| (name.into(), value.into()));
        Origin { labels: labels.collect(), span: None }
    }

    /// Returns the same origin in a span of a trace, which others can look up by these ids.
    #[must_use]
    pub fn in_span(self, trace: [u8; 16], span: [u8; 8]) -> Origin {
        Origin { span: Some((trace, span)), ..self }
    }
}

/// The name of the attribute that says which share of the run was counted, from 0 to 1, if weights are those of a sample.
const SAMPLED_SHARE: &str = "wprof.sampled_share";

/// Field numbers of `ProfilesDictionary`.
mod dictionary {
    pub(super) const MAPPINGS: u64 = 1;
    pub(super) const LOCATIONS: u64 = 2;
    pub(super) const FUNCTIONS: u64 = 3;
    pub(super) const LINKS: u64 = 4;
    pub(super) const STRINGS: u64 = 5;
    pub(super) const ATTRIBUTES: u64 = 6;
    pub(super) const STACKS: u64 = 7;
}

/// Field numbers of `Profile`.
mod profile {
    pub(super) const SAMPLE_TYPE: u64 = 1;
    pub(super) const SAMPLES: u64 = 2;
    pub(super) const TIME: u64 = 3;
    pub(super) const DURATION: u64 = 4;
    pub(super) const ATTRIBUTES: u64 = 11;
}

/// Writes the message `ProfilesData` of all metrics of some profiles.
///
/// # Errors
/// Fails if writing to `out` fails.
pub fn write_otlp<'a>(
    profiles: impl IntoIterator<Item = (&'a Origin, &'a Samples, &'a Profile)>,
    mut out: impl Write,
) -> io::Result<()> {
    let mut file = File::new();
    for (origin, samples, profile) in profiles {
        file.add(origin, samples, profile);
    }
    out.write_all(file.finish().as_bytes())
}

/// A table of the dictionary, whose first entry is empty.
struct Table<K> {
    field: u64,
    numbers: HashMap<K, u64>,
    next: u64,
}

impl<K: std::hash::Hash + Eq> Table<K> {
    fn new(field: u64) -> Table<K> {
        Table { field, numbers: HashMap::new(), next: 1 }
    }

    /// Returns the number of a key; a new key gets the dictionary entry that `entry` creates.
    fn number(&mut self, key: K, dictionary: &mut Message, entry: impl FnOnce() -> Message) -> u64 {
        let (field, next) = (self.field, &mut self.next);
        *self.numbers.entry(key).or_insert_with(|| {
            dictionary.message(field, &entry());
            std::mem::replace(next, *next + 1)
        })
    }
}

struct File {
    message: Message,
    dictionary: Message,
    strings: HashMap<String, u64>,
    frames: Table<Frame>,
    stacks: Table<Vec<u64>>,
    links: Table<([u8; 16], [u8; 8])>,
    /// Attributes, by the bits of the sampled share.
    shares: Table<u64>,
}

impl File {
    fn new() -> File {
        use dictionary::{ATTRIBUTES, FUNCTIONS, LINKS, LOCATIONS, MAPPINGS, STACKS, STRINGS};
        let mut dictionary = Message::new();
        for field in [MAPPINGS, LOCATIONS, FUNCTIONS, LINKS, ATTRIBUTES, STACKS] {
            dictionary.message(field, &Message::new());
        }
        dictionary.string(STRINGS, "");
        let strings = HashMap::from([(String::new(), 0)]);
        let (frames, stacks, links) = (Table::new(LOCATIONS), Table::new(STACKS), Table::new(LINKS));
        let shares = Table::new(ATTRIBUTES);
        File { message: Message::new(), dictionary, strings, frames, stacks, links, shares }
    }

    fn add(&mut self, origin: &Origin, samples: &Samples, profile: &Profile) {
        let link = origin.span.map_or(0, |(trace, span)| {
            self.links.number((trace, span), &mut self.dictionary, || {
                let mut link = Message::new();
                link.data(1, &trace).data(2, &span);
                link
            })
        });
        let frames: Vec<u64> = samples.frames.iter().map(|frame| self.frame(frame)).collect();
        let [mut resource, mut scope, mut of_scope, mut of_resource] = [const { Message::new() }; 4];
        for (name, value) in &origin.labels {
            let [mut any, mut attribute] = [const { Message::new() }; 2];
            any.string(1, value);
            attribute.string(1, name).message(2, &any);
            resource.message(1, &attribute);
        }
        scope.string(1, "wprof").string(2, TOOL.trim_start_matches("wprof "));
        of_scope.message(1, &scope);
        for metric in &samples.metrics {
            let made = self.profile(metric, &frames, link, profile);
            of_scope.message(2, &made);
        }
        of_resource.message(1, &resource).message(2, &of_scope);
        self.message.message(1, &of_resource);
    }

    fn profile(&mut self, metric: &Metric, frames: &[u64], link: u64, of: &Profile) -> Message {
        let [mut made, mut kind] = [const { Message::new() }; 2];
        kind.number(1, self.string(&metric.name)).number(2, self.string(metric.unit.name()));
        made.message(profile::SAMPLE_TYPE, &kind);
        for (node, found) in metric.weighted() {
            // The leaf comes first.
            let stack: Vec<u64> =
                metric.stack(node).into_iter().rev().map(|frame| frames[frame as usize]).collect();
            let stack = self.stacks.number(stack.clone(), &mut self.dictionary, || {
                let mut entry = Message::new();
                entry.numbers(1, stack);
                entry
            });
            let mut sample = Message::new();
            sample.number(1, stack).number(3, link).numbers(4, [found.weight.min(i64::MAX as u64)]);
            made.message(profile::SAMPLES, &sample);
        }
        let started = of.runs.iter().map(|run| run.started).find(|&started| started > 0).unwrap_or(0);
        let durations = of.runs.iter().filter_map(|run| run.wall_ns);
        made.fixed(profile::TIME, started.saturating_mul(1_000_000_000));
        made.number(profile::DURATION, durations.fold(0, u64::saturating_add));
        if let Some(rate) = metric.sampled {
            made.numbers(profile::ATTRIBUTES, [self.sampled_share(rate)]);
        }
        made
    }

    /// Returns the number of the attribute that says which share of the run was counted.
    fn sampled_share(&mut self, rate: Rate) -> u64 {
        let (name, bits) = (self.string(SAMPLED_SHARE), rate.as_f64().to_bits());
        self.shares.number(bits, &mut self.dictionary, || {
            let [mut value, mut attribute] = [const { Message::new() }; 2];
            // A double, which is encoded as its bits.
            value.fixed(4, bits);
            attribute.number(1, name).message(2, &value);
            attribute
        })
    }

    /// Returns the number of a frame, which is a function and its only location, both with the same number.
    fn frame(&mut self, frame: &Frame) -> u64 {
        let (file, line) = frame.place.as_ref().map_or(("", 0), |(file, line)| (file, u64::from(*line)));
        let (name, full_name) = (self.string(&frame.name), self.string(frame.full_name()));
        let file = self.string(file);
        let number = self.frames.next;
        let mut function = Message::new();
        function.number(1, name).number(2, full_name).number(3, file).number(4, line);
        let found = self.frames.number(frame.clone(), &mut self.dictionary, || {
            let [mut lines, mut location] = [const { Message::new() }; 2];
            lines.number(1, number).number(2, line);
            location.message(3, &lines);
            location
        });
        if found == number {
            self.dictionary.message(dictionary::FUNCTIONS, &function);
        }
        found
    }

    fn string(&mut self, text: &str) -> u64 {
        if let Some(&number) = self.strings.get(text) {
            return number;
        }
        let number = self.strings.len() as u64;
        self.strings.insert(text.to_owned(), number);
        self.dictionary.string(dictionary::STRINGS, text);
        number
    }

    fn finish(mut self) -> Message {
        self.message.message(2, &self.dictionary);
        self.message
    }
}
