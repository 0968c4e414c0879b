//! Slow readers of what exporters write: the total of each metric.

use std::collections::BTreeMap;

use serde_json::Value;

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap()
}

fn sum(values: &Value) -> u64 {
    list(values).iter().map(|value| value.as_u64().unwrap()).sum()
}

fn name(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

pub fn folded(text: &str) -> u64 {
    text.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
}

pub fn speedscope(text: &str) -> Vec<(String, u64)> {
    let file: Value = serde_json::from_str(text).unwrap();
    let frames = list(&file["shared"]["frames"]).len() as u64;
    let profile = |profile: &Value| {
        let samples = list(&profile["samples"]);
        assert_eq!(samples.len(), list(&profile["weights"]).len());
        assert!(samples.iter().flat_map(list).all(|frame| frame.as_u64().unwrap() < frames));
        assert_eq!(profile["endValue"].as_u64().unwrap(), sum(&profile["weights"]));
        (name(&profile["name"]), sum(&profile["weights"]))
    };
    list(&file["profiles"]).iter().map(profile).collect()
}

/// The outermost events of each process but that of the time line; those within must lie in one that is there.
pub fn chrome(text: &str) -> Vec<(String, u64)> {
    let file: Value = serde_json::from_str(text).unwrap();
    let mut totals: Vec<(String, u64)> = Vec::new();
    let mut open: Vec<u64> = Vec::new();
    let is_metric = |event: &&Value| event["args"]["name"] != "time line";
    for event in list(&file["traceEvents"]).iter().take_while(is_metric) {
        if event["ph"] == "M" {
            totals.push((name(&event["args"]["name"]), 0));
            open.clear();
            continue;
        }
        let (start, width) = (event["ts"].as_u64().unwrap(), event["dur"].as_u64().unwrap());
        while open.last().is_some_and(|&end| end <= start) {
            open.pop();
        }
        match open.last() {
            Some(&end) => assert!(start + width <= end),
            None => totals.last_mut().unwrap().1 += width,
        }
        open.push(start + width);
    }
    totals
}

pub fn firefox(text: &str) -> Vec<(String, u64)> {
    let file: Value = serde_json::from_str(text).unwrap();
    let thread = |thread: &Value| {
        for table in ["samples", "markers", "stackTable", "frameTable", "funcTable", "resourceTable"] {
            let table = thread[table].as_object().unwrap();
            let columns = table.values().filter_map(Value::as_array);
            assert!(columns.into_iter().all(|column| table["length"] == column.len()));
        }
        let below = |column: &Value, length: &Value| {
            let numbers = list(column).iter().filter_map(Value::as_u64);
            assert!(numbers.into_iter().all(|number| number < length.as_u64().unwrap()));
        };
        below(&thread["samples"]["stack"], &thread["stackTable"]["length"]);
        below(&thread["stackTable"]["prefix"], &thread["stackTable"]["length"]);
        below(&thread["stackTable"]["frame"], &thread["frameTable"]["length"]);
        below(&thread["frameTable"]["func"], &thread["funcTable"]["length"]);
        let strings = Value::from(list(&thread["stringArray"]).len());
        below(&thread["funcTable"]["name"], &strings);
        below(&thread["funcTable"]["fileName"], &strings);
        (name(&thread["name"]), sum(&thread["samples"]["weight"]))
    };
    list(&file["threads"]).iter().map(thread).collect()
}

/// A file of callgrind.
#[derive(Debug, Default)]
pub struct Callgrind {
    /// The self costs, which are those of the summary.
    pub sums: Vec<u64>,
    /// The first cost of each function itself.
    pub own: BTreeMap<String, u64>,
    /// The first cost of calls, by caller and callee.
    pub calls: BTreeMap<(String, String), u64>,
}

pub fn callgrind(text: &str) -> Callgrind {
    let mut file = Callgrind::default();
    let (mut names, mut summary) = (BTreeMap::new(), Vec::new());
    let (mut function, mut callee, mut is_call) = (String::new(), String::new(), false);
    let mut name = |text: &str| -> String {
        let (number, name) = text.split_once(") ").unwrap_or((text.trim_end_matches(')'), ""));
        let known = names.entry(number.to_owned()).or_insert_with(|| name.to_owned());
        known.clone()
    };
    let numbers =
        |text: &str| -> Vec<u64> { text.split(' ').map(|number| number.parse().unwrap()).collect() };
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("summary: ") {
            summary = numbers(rest);
            file.sums = vec![0; summary.len()];
        } else if let Some((field, rest)) = line.split_once("=(") {
            let name = name(rest);
            match field {
                "fn" => function = name,
                "cfn" => callee = name,
                _ => {}
            }
        } else if let Some(rest) = line.strip_prefix("0x") {
            let (_, figures) = rest.split_once(' ').unwrap();
            // The line, then costs; missing ones are zero.
            let costs = &numbers(figures)[1..];
            if is_call {
                *file.calls.entry((function.clone(), callee.clone())).or_default() += costs[0];
            } else {
                *file.own.entry(function.clone()).or_default() += costs[0];
                file.sums.iter_mut().zip(costs).for_each(|(sum, cost)| *sum += cost);
            }
        }
        is_call = line.starts_with("calls=");
    }
    assert_eq!(file.sums, summary);
    file
}

/// Instructions and calls.
pub fn csv(text: &str) -> [u64; 2] {
    let column = |line: &str, at: usize| line.split(',').nth(at).unwrap().parse::<u64>().unwrap_or(0);
    let sum = |at: usize| text.lines().skip(1).map(|line| column(line, at)).sum();
    [sum(7), sum(8)]
}

pub fn lcov_branches(text: &str) -> u64 {
    let ways = text.lines().filter_map(|line| line.strip_prefix("BRDA:"));
    ways.map(|way| way.rsplit_once(',').unwrap().1.parse::<u64>().unwrap_or(0)).sum()
}

/// What a file of pprof says.
pub struct Pprof {
    fields: Vec<(u64, Field)>,
    strings: Vec<String>,
}

/// A field of a message.
#[derive(Clone, Debug, PartialEq)]
enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

impl Field {
    fn bytes(&self) -> &[u8] {
        match self {
            Field::Bytes(bytes) => bytes,
            Field::Number(_) => panic!("a number where bytes belong"),
        }
    }

    fn number(&self) -> u64 {
        match self {
            Field::Number(number) => *number,
            Field::Bytes(_) => panic!("bytes where a number belongs"),
        }
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (&byte, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

fn varints(mut bytes: &[u8]) -> Vec<u64> {
    let mut values = Vec::new();
    while !bytes.is_empty() {
        values.push(varint(&mut bytes));
    }
    values
}

fn message(mut bytes: &[u8]) -> Vec<(u64, Field)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let field = match key & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => {
                let (number, rest) = bytes.split_first_chunk().unwrap();
                bytes = rest;
                Field::Number(u64::from_le_bytes(*number))
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (content, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(content.to_vec())
            }
            wire => panic!("wire type {wire}"),
        };
        fields.push((key >> 3, field));
    }
    fields
}

/// The fields of a message with one number.
fn all(fields: &[(u64, Field)], number: u64) -> impl Iterator<Item = &Field> {
    fields.iter().filter(move |(found, _)| *found == number).map(|(_, field)| field)
}

/// The content of stored blocks.
fn gunzip(file: &[u8]) -> Vec<u8> {
    assert_eq!(file[..3], [0x1f, 0x8b, 8]);
    let (deflated, tail) = file[10..].split_at(file.len() - 18);
    let content = miniz_oxide::inflate::decompress_to_vec(deflated).expect("deflate");
    assert_eq!(tail[4..], (content.len() as u32).to_le_bytes());
    content
}

pub fn pprof(file: &[u8]) -> Pprof {
    let fields = message(&gunzip(file));
    let strings = all(&fields, 6).map(|text| String::from_utf8(text.bytes().to_vec()).unwrap()).collect();
    Pprof { fields, strings }
}

impl Pprof {
    fn string(&self, fields: &[(u64, Field)], number: u64) -> &str {
        &self.strings[all(fields, number).next().map_or(0, Field::number) as usize]
    }

    /// Start, and duration, in nanoseconds.
    pub fn time(&self) -> (u64, u64) {
        (one(&self.fields, 9), one(&self.fields, 10))
    }

    /// The comments.
    pub fn comments(&self) -> Vec<String> {
        let numbers = all(&self.fields, 13).flat_map(|comments| varints(comments.bytes()));
        numbers.map(|number| self.strings[number as usize].clone()).collect()
    }

    fn metrics(&self) -> Vec<String> {
        all(&self.fields, 1).map(|kind| self.string(&message(kind.bytes()), 1).to_owned()).collect()
    }

    /// Locations, leaf first, and values of each sample.
    fn samples(&self) -> Vec<(Vec<u64>, Vec<u64>)> {
        let numbers = |sample: &[(u64, Field)], number| varints(all(sample, number).next().unwrap().bytes());
        let sample = |sample: &Field| {
            let sample = message(sample.bytes());
            (numbers(&sample, 1), numbers(&sample, 2))
        };
        all(&self.fields, 2).map(sample).collect()
    }

    /// The labels of all samples, each a key and a text.
    pub fn labels(&self) -> Vec<(String, String)> {
        let samples = all(&self.fields, 2).map(|sample| message(sample.bytes()));
        let labels = samples
            .flat_map(|sample| all(&sample, 3).map(|label| message(label.bytes())).collect::<Vec<_>>());
        labels.map(|label| (self.string(&label, 1).to_owned(), self.string(&label, 2).to_owned())).collect()
    }

    /// By location: the function's name, file and line.
    fn locations(&self) -> Vec<String> {
        let functions: Vec<_> = all(&self.fields, 5).map(|function| message(function.bytes())).collect();
        let one = |fields: &[(u64, Field)], number| all(fields, number).next().map_or(0, Field::number);
        let shown = |(position, location): (usize, &Field)| {
            let location = message(location.bytes());
            assert_eq!(one(&location, 1), position as u64 + 1);
            let line = message(all(&location, 4).next().unwrap().bytes());
            let function = functions.iter().find(|function| one(function, 1) == one(&line, 1)).unwrap();
            format!("{} {}:{}", self.string(function, 2), self.string(function, 4), one(&line, 2))
        };
        all(&self.fields, 4).enumerate().map(shown).collect()
    }

    /// By location: how many lines it has.
    pub fn lines_of_locations(&self) -> Vec<usize> {
        let lines = |location: &Field| all(&message(location.bytes()), 4).count();
        all(&self.fields, 4).map(lines).collect()
    }

    pub fn totals(&self) -> Vec<(String, u64)> {
        let samples = self.samples();
        let total = |at: usize| samples.iter().map(|(_, values)| values[at]).sum();
        self.metrics().into_iter().enumerate().map(|(at, name)| (name, total(at))).collect()
    }

    pub fn to_text(&self) -> String {
        let locations = self.locations();
        let mut text = format!("{}\n", self.metrics().join(" "));
        for (stack, values) in self.samples() {
            let values: Vec<String> = values.iter().map(u64::to_string).collect();
            let stack: Vec<&str> = stack.iter().map(|&at| locations[at as usize - 1].as_str()).collect();
            text += &format!("{}: {}\n", values.join(" "), stack.join(" < "));
        }
        text + self.string(&self.fields, 14) + "\n"
    }
}

/// What a message for OpenTelemetry says of one origin.
pub struct Otlp {
    pub labels: Vec<(String, String)>,
    pub profiles: Vec<OtlpProfile>,
}

pub struct OtlpProfile {
    pub metric: String,
    pub span: Option<([u8; 16], [u8; 8])>,
    pub started_ns: u64,
    pub duration_ns: u64,
    /// The share of the run that was counted, if the profile says so.
    pub sampled_share: Option<f64>,
    /// Names, the leaf's first.
    pub stacks: Vec<(Vec<String>, u64)>,
}

impl Otlp {
    pub fn totals(&self) -> Vec<(String, u64)> {
        let total = |profile: &OtlpProfile| profile.stacks.iter().map(|(_, weight)| weight).sum();
        self.profiles.iter().map(|profile| (profile.metric.clone(), total(profile))).collect()
    }
}

fn one(fields: &[(u64, Field)], number: u64) -> u64 {
    all(fields, number).next().map_or(0, Field::number)
}

fn string(field: &Field) -> String {
    String::from_utf8(field.bytes().to_vec()).unwrap()
}

/// The tables of a message's dictionary.
struct Dictionary {
    fields: Vec<(u64, Field)>,
}

impl Dictionary {
    fn entry(&self, table: u64, number: u64) -> Vec<(u64, Field)> {
        message(all(&self.fields, table).nth(number as usize).expect("in the dictionary").bytes())
    }

    fn string(&self, number: u64) -> String {
        string(all(&self.fields, 5).nth(number as usize).expect("in the dictionary"))
    }

    fn stack(&self, number: u64) -> Vec<String> {
        let stack = self.entry(7, number);
        let locations = varints(all(&stack, 1).next().expect("a stack is not empty").bytes());
        locations.into_iter().map(|location| self.name(location)).collect()
    }

    fn name(&self, location: u64) -> String {
        assert!(location > 0, "the first one stands for none");
        let location = self.entry(2, location);
        let line = message(all(&location, 3).next().expect("a line").bytes());
        self.string(one(&self.entry(3, one(&line, 1)), 1))
    }

    fn profile(&self, bytes: &[u8]) -> OtlpProfile {
        let fields = message(bytes);
        let kind = message(all(&fields, 1).next().expect("a type").bytes());
        let samples: Vec<_> = all(&fields, 2).map(|sample| message(sample.bytes())).collect();
        let stacks = samples.iter().map(|sample| {
            let values = varints(all(sample, 4).next().expect("a value").bytes());
            assert_eq!(values.len(), 1);
            (self.stack(one(sample, 1)), values[0])
        });
        let links = samples.iter().map(|sample| one(sample, 3)).collect::<std::collections::BTreeSet<_>>();
        let link = links.first().copied().filter(|&link| link > 0);
        let span = link.map(|link| {
            let link = self.entry(4, link);
            let bytes = |field| all(&link, field).next().expect("an id").bytes().to_vec();
            (bytes(1).try_into().expect("16 bytes"), bytes(2).try_into().expect("8 bytes"))
        });
        OtlpProfile {
            metric: self.string(one(&kind, 1)),
            span,
            started_ns: one(&fields, 3),
            duration_ns: one(&fields, 4),
            sampled_share: self.sampled_share(&fields),
            stacks: stacks.collect(),
        }
    }

    fn sampled_share(&self, profile: &[(u64, Field)]) -> Option<f64> {
        let numbers = varints(all(profile, 11).next()?.bytes());
        assert_eq!(numbers.len(), 1);
        let attribute = self.entry(6, numbers[0]);
        assert_eq!(self.string(one(&attribute, 1)), "wprof.sampled_share");
        let value = message(all(&attribute, 2).next().expect("a value").bytes());
        Some(f64::from_bits(one(&value, 4)))
    }
}

pub fn otlp(bytes: &[u8]) -> Vec<Otlp> {
    let fields = message(bytes);
    let dictionary = Dictionary { fields: message(all(&fields, 2).next().expect("a dictionary").bytes()) };
    for table in [1, 2, 3, 4, 6, 7] {
        assert!(dictionary.entry(table, 0).is_empty(), "the first entry of table {table} is none");
    }
    assert_eq!(dictionary.string(0), "");
    let resources = all(&fields, 1).map(|resource| message(resource.bytes()));
    resources
        .map(|resource| {
            let attributes = message(all(&resource, 1).next().expect("a resource").bytes());
            let label = |field: &Field| {
                let label = message(field.bytes());
                let value = message(all(&label, 2).next().expect("a value").bytes());
                (string(all(&label, 1).next().expect("a key")), string(all(&value, 1).next().expect("text")))
            };
            let scope = message(all(&resource, 2).next().expect("a scope").bytes());
            let profiles = all(&scope, 2).map(|profile| dictionary.profile(profile.bytes())).collect();
            Otlp { labels: all(&attributes, 1).map(label).collect(), profiles }
        })
        .collect()
}
