//! Weights by stack, one tree of stacks per metric.
//!
//! Input: a profile. Output: its metrics: time, instructions, calls, then others.
//! Invariant: the weights of a metric add up to the profile's total; nodes come after their callers. Metrics known only
//! by function have stacks of one frame, and metrics known only for the program have one stack: weights are never
//! distributed among contexts by guess.
//!
//! | metric | stacks | there if the profile has |
//! |---|---|---|
//! | time | sampled stacks, with source functions that are inlined | sampled time |
//! | instructions | contexts, or functions | paths in contexts, or functions |
//! | calls | contexts, with what is inlined, or functions and host functions | contexts, or functions |
//! | host-calls | host functions | calls that are a sample, and calls to the host that are counted in all of the run |
//! | what is measured in contexts | contexts | these |
//! | a kind of event | the program | totals of events |
//!
//! Samples are not scaled up, so no metric has both sampled and exact counts; a sampled one says its share of the run.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;

use super::{CodeMap, Frame, executions};
use crate::{
    ALLOCATION_COLUMNS, BYTES_OF, Callee, ContextTree, FunctionProfile, HostCalls, INSTRUCTIONS, Profile,
    Rate, TimeProfile,
};

/// The frames of all stacks, and the metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// Frames, each once.
    pub frames: Vec<Frame>,
    /// Metrics, the default one first.
    pub metrics: Vec<Metric>,
    /// The frames that are threads, ascending: in profiles by thread, the outermost of all stacks of threads.
    pub threads: Vec<u32>,
}

/// A kind of weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// The share of the run that was counted, if the weights are those of a sample, which is not scaled up.
    pub sampled: Option<Rate>,
    /// The tree of stacks, each node after its caller.
    pub nodes: Vec<StackNode>,
}

/// The unit of a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// A count of the events that the metric's name states.
    #[default]
    Count,
    /// Time.
    Nanoseconds,
    /// Memory.
    Bytes,
}

impl Unit {
    /// Returns the unit's name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Nanoseconds => "nanoseconds",
            Self::Bytes => "bytes",
        }
    }
}

/// A weight in a file: counts are whole, times are in the format's own unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Amount {
    Whole(u64),
    Part(f64),
}

impl Unit {
    /// Returns a weight for a format whose time unit is so many nanoseconds.
    pub(super) fn amount(self, weight: u64, nanoseconds: f64) -> Amount {
        match self {
            Self::Count | Self::Bytes => Amount::Whole(weight),
            Self::Nanoseconds => Amount::Part(weight as f64 / nanoseconds),
        }
    }
}

/// Formats a share as a percentage; a small one has two digits.
pub(super) fn percent(rate: Rate) -> String {
    let percent = 100.0 * rate.as_f64();
    let digits = if percent > 0.0 { (1.0 - percent.log10().floor()).clamp(3.0, 9.0) as usize } else { 3 };
    format!("{percent:.digits$}%")
}

/// A stack: a frame and the stack that called it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackNode {
    /// The caller's node.
    pub caller: Option<u32>,
    /// Position in the list of frames.
    pub frame: u32,
    /// Weight of exactly this stack, without longer ones.
    pub weight: u64,
    /// The number of times that a timer found exactly this stack; 0 where weights are counted.
    pub samples: u64,
    /// Whether the frame is inlined into the one that called it.
    pub is_inlined: bool,
}

impl Metric {
    /// Returns the sum of all weights; saturates.
    pub fn total(&self) -> u64 {
        self.nodes.iter().map(|node| node.weight).fold(0, u64::saturating_add)
    }

    /// Reports whether weights are known by stack, not by function alone.
    fn has_stacks(&self) -> bool {
        self.nodes.iter().any(|node| node.caller.is_some())
    }

    /// Returns the size of the sample, in words, if the weights are those of one.
    pub(super) fn sample(&self) -> Option<String> {
        self.sampled.map(|rate| format!("a sample of {} of the run", percent(rate)))
    }

    /// Returns the metric's name, with the size of the sample if it is one.
    pub(super) fn title(&self) -> String {
        let sample = self.sample().map_or_else(String::new, |sample| format!(" ({sample})"));
        format!("{}{sample}", self.name)
    }

    /// Returns the metric without stacks.
    pub(super) fn emptied(&self) -> Self {
        Self { name: self.name.clone(), unit: self.unit, sampled: self.sampled, nodes: Vec::new() }
    }

    /// Returns the frames of a stack, outermost first.
    pub(super) fn stack(&self, node: usize) -> Vec<u32> {
        let mut frames = vec![self.nodes[node].frame];
        let mut at = self.nodes[node].caller;
        while let Some(caller) = at {
            let caller = &self.nodes[caller as usize];
            frames.push(caller.frame);
            at = caller.caller;
        }
        frames.reverse();
        frames
    }

    /// Divides the metric by threads, whose frames stacks then lack; what no thread is known of comes first. Without
    /// threads that is all there is.
    pub(super) fn by_thread(&self, threads: &[u32]) -> Vec<(Option<u32>, Self)> {
        let empty = || self.emptied();
        let mut parts: Vec<(Option<u32>, Self)> = vec![(None, empty())];
        // By node: its part, and its number there, if it is not a thread.
        let mut found: Vec<(usize, Option<u32>)> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let is_thread = node.caller.is_none() && threads.binary_search(&node.frame).is_ok();
            let (part, caller) = match node.caller {
                Some(caller) => found[caller as usize],
                None if !is_thread => (0, None),
                None => {
                    let known = parts.iter().position(|(thread, _)| *thread == Some(node.frame));
                    let part = known.unwrap_or(parts.len());
                    if part == parts.len() {
                        parts.push((Some(node.frame), empty()));
                    }
                    (part, None)
                }
            };
            let nodes = &mut parts[part].1.nodes;
            found.push((part, (!is_thread).then_some(nodes.len() as u32)));
            if !is_thread {
                nodes.push(StackNode { caller, ..*node });
            }
        }
        parts.retain(|(_, part)| part.nodes.iter().any(|node| node.weight > 0));
        if parts.is_empty() { vec![(None, empty())] } else { parts }
    }

    /// Returns the stacks with weight.
    pub(super) fn weighted(&self) -> impl Iterator<Item = (usize, &StackNode)> {
        self.nodes.iter().enumerate().filter(|(_, node)| node.weight > 0)
    }
}

impl Samples {
    /// Collects all metrics of a profile: time, instructions, calls, then others. The place of a frame is the first line
    /// of its function.
    pub fn new(profile: &Profile, code: &CodeMap) -> Self {
        Self::collect(Builder { by_line: false, ..Builder::new(profile, code) })
    }

    /// Collects the same metrics by source line: the place of a frame is the line that was executed, or that called,
    /// where the profile knows it.
    pub fn by_line(profile: &Profile, code: &CodeMap) -> Self {
        Self::collect(Builder { by_line: true, ..Builder::new(profile, code) })
    }

    fn collect(mut samples: Builder<'_>) -> Self {
        let profile = samples.profile;
        if let Some(time) = profile.time.as_ref().filter(|time| time.total().samples > 0) {
            samples.add_time(time);
        }
        let instructions = profile.instructions_in_contexts();
        if instructions.is_none() && !profile.functions.is_empty() {
            samples.add_instructions();
        }
        match &profile.contexts {
            Some(tree) => samples.add_contexts(tree, instructions),
            None if profile.functions.is_empty() => {}
            None => samples.add_flat("calls", FunctionProfile::calls),
        }
        samples.add_host_calls();
        samples.add_events();
        samples.finish()
    }

    /// Returns the stacks of a metric by thread, with the name of each part: that of the metric, and of the thread if
    /// stacks have threads.
    pub(super) fn parts(&self, metric: &Metric) -> Vec<Part> {
        let part = |(thread, metric): (Option<u32>, Metric)| {
            let thread = thread.map(|frame| self.frames[frame as usize].name.clone());
            let title = match &thread {
                Some(thread) => format!("{}, {thread}", metric.title()),
                None => metric.title(),
            };
            Part { title, thread, metric }
        };
        metric.by_thread(&self.threads).into_iter().map(part).collect()
    }

    /// Returns the metric with a name, or the first one that is known by stack, or the first.
    pub fn metric(&self, name: Option<&str>) -> Option<&Metric> {
        match name {
            Some(name) => self.metrics.iter().find(|metric| metric.name == name),
            None => self.metrics.iter().find(|metric| metric.has_stacks()).or(self.metrics.first()),
        }
    }
}

/// The stacks of one thread, or of a program that does not tell threads apart.
pub(super) struct Part {
    /// The text for the part.
    pub(super) title: String,
    /// The thread's name.
    pub(super) thread: Option<String>,
    /// The weights.
    pub(super) metric: Metric,
}

struct Builder<'a> {
    profile: &'a Profile,
    code: &'a CodeMap,
    /// Whether frames have the lines that are executed there.
    by_line: bool,
    /// Frames and their numbers.
    frames: BTreeMap<Frame, u32>,
    metrics: Vec<Metric>,
    threads: BTreeSet<u32>,
}

impl<'a> Builder<'a> {
    fn new(profile: &'a Profile, code: &'a CodeMap) -> Self {
        let (frames, metrics, threads) = Default::default();
        Self { profile, code, by_line: false, frames, metrics, threads }
    }
}

impl Builder<'_> {
    /// Returns the number of the frame of a callee, and notes whether that is a thread.
    fn number_of(&mut self, callee: &Callee, frame: Frame) -> u32 {
        let number = self.number(frame);
        if matches!(callee, Callee::Thread { .. }) {
            self.threads.insert(number);
        }
        number
    }

    fn number(&mut self, frame: Frame) -> u32 {
        let next = self.frames.len() as u32;
        *self.frames.entry(frame).or_insert(next)
    }

    fn add(&mut self, name: &str, sampled: Option<Rate>, nodes: Vec<StackNode>) {
        let is_memory =
            name.ends_with("-bytes") && ALLOCATION_COLUMNS.contains(&name) || name.starts_with(BYTES_OF);
        let unit = if is_memory { Unit::Bytes } else { Unit::Count };
        self.metrics.push(Metric { name: name.to_owned(), unit, sampled, nodes });
    }

    /// Adds sampled stacks. Direct recursion is one frame; a place in a function is followed by the source functions
    /// inlined there.
    fn add_time(&mut self, time: &TimeProfile) {
        let mut nodes: Vec<StackNode> = Vec::new();
        let mut known: HashMap<(Option<u32>, u32, bool), u32> = HashMap::new();
        // By sampled node: the node of its function, and that of the innermost function inlined there.
        let mut stacks: Vec<(u32, u32)> = Vec::with_capacity(time.nodes.len());
        for (at, sampled) in time.nodes.iter().enumerate() {
            let mut called = |caller: Option<u32>, frame: u32, is_inlined: bool| {
                *known.entry((caller, frame, is_inlined)).or_insert_with(|| {
                    nodes.push(StackNode { caller, frame, weight: 0, samples: 0, is_inlined });
                    nodes.len() as u32 - 1
                })
            };
            let caller = sampled.caller.map(|caller| caller as usize);
            let is_recursive = caller.is_some_and(|caller| time.nodes[caller].callee == sampled.callee);
            let outer = match caller {
                Some(caller) if is_recursive => stacks[caller].0,
                _ => {
                    let frame = Frame::of_place(time.callee(at), sampled.offset, self.profile, self.code);
                    let is_ours = matches!(time.callee(at), Callee::Function { .. });
                    let frame = if is_ours { self.at(frame, sampled.offset) } else { frame };
                    called(
                        caller.map(|caller| stacks[caller].1),
                        self.number_of(time.callee(at), frame),
                        false,
                    )
                }
            };
            let inlined = self.code.inlined.get(&sampled.offset).into_iter().flatten().rev();
            let innermost =
                inlined.fold(outer, |outer, frame| called(Some(outer), self.number(frame.clone()), true));
            stacks.push((outer, innermost));
            let node = &mut nodes[innermost as usize];
            node.weight = node.weight.saturating_add(sampled.own.time_ns);
            node.samples = node.samples.saturating_add(sampled.own.samples);
        }
        // Time is that of the whole run.
        let (name, unit, sampled) = ("time".to_owned(), Unit::Nanoseconds, None);
        self.metrics.push(Metric { name, unit, sampled, nodes });
    }

    fn add_contexts(&mut self, tree: &ContextTree, instructions: Option<Vec<u64>>) {
        let mut frame = |callee| {
            let frame = Frame::of_callee(callee, self.profile, self.code);
            self.number_of(callee, frame)
        };
        let frames: Vec<u32> = tree.routines.iter().map(|routine| frame(&routine.callee)).collect();
        let skeleton = self.context_nodes(tree, &frames);
        let nodes = |weights: Vec<u64>| {
            let (mut nodes, of_record) = skeleton.clone();
            for (node, weight) in of_record.into_iter().zip(weights.into_iter().skip(1)) {
                nodes[node as usize].weight = weight;
            }
            nodes
        };
        let sampled = tree.kind.rate();
        if let Some(instructions) = instructions {
            self.add(INSTRUCTIONS, sampled, nodes(instructions));
        }
        self.add("calls", sampled, nodes(tree.calls()));
        for (column, metric) in tree.metrics.iter().enumerate().filter(|(_, m)| m.name != INSTRUCTIONS) {
            self.add(&metric.name, sampled, nodes(tree.amounts(column)));
        }
    }

    /// Returns the nodes of a tree's records, without weights, with the functions inlined at call sites; and the node
    /// of each record except the root, which represents no code.
    fn context_nodes(&mut self, tree: &ContextTree, frames: &[u32]) -> (Vec<StackNode>, Vec<u32>) {
        let (mut nodes, mut of_record): (Vec<StackNode>, Vec<u32>) = (Vec::new(), Vec::new());
        let mut known: HashMap<(Option<u32>, u32, bool), u32> = HashMap::new();
        // By record: the node of its caller.
        let mut callers: Vec<Option<u32>> = Vec::new();
        for record in tree.records.iter().skip(1) {
            let mut called =
                |nodes: &mut Vec<StackNode>, caller: Option<u32>, frame: u32, is_inlined: bool| {
                    *known.entry((caller, frame, is_inlined)).or_insert_with(|| {
                        nodes.push(StackNode { caller, frame, weight: 0, samples: 0, is_inlined });
                        nodes.len() as u32 - 1
                    })
                };
            let parent = record.parent.checked_sub(1).map(|parent| parent as usize);
            let mut caller = parent.map(|parent| of_record[parent]);
            let is_ours = matches!(tree.callee(record.parent), Callee::Function { .. });
            if let Some(parent) = parent.filter(|_| is_ours && self.by_line) {
                let frame = Frame::of_callee(tree.callee(record.parent), self.profile, self.code);
                let frame = self.at(frame, record.site);
                caller = Some(called(&mut nodes, callers[parent], self.number(frame), false));
            }
            let inlined = self.code.inlined.get(&record.site).filter(|_| is_ours);
            for frame in inlined.into_iter().flatten().rev() {
                caller = Some(called(&mut nodes, caller, self.number(frame.clone()), true));
            }
            callers.push(caller);
            of_record.push(nodes.len() as u32);
            let frame = frames[record.routine as usize];
            nodes.push(StackNode { caller, frame, weight: 0, samples: 0, is_inlined: false });
        }
        (nodes, of_record)
    }

    /// Returns the frame of a function where it executes the code at an offset.
    fn at(&self, frame: Frame, offset: u32) -> Frame {
        let place = self.code.place_in_function(offset).filter(|_| self.by_line);
        Frame { place: place.or(frame.place), ..frame }
    }

    /// Adds executed instructions, by function or by line.
    fn add_instructions(&mut self) {
        if !self.by_line {
            return self.add_flat(INSTRUCTIONS, FunctionProfile::ops);
        }
        let mut weights: BTreeMap<Frame, u64> = BTreeMap::new();
        for function in &self.profile.functions {
            for row in executions(function, self.code) {
                let frame = self.at(Frame::of_function(function, self.code), row.offset);
                let weight = weights.entry(frame).or_default();
                *weight = weight.saturating_add(row.ops);
            }
        }
        let node = |(frame, weight): (Frame, u64)| {
            let frame = self.number(frame);
            StackNode { caller: None, frame, weight, samples: 0, is_inlined: false }
        };
        let nodes = weights.into_iter().map(node).collect();
        self.add(INSTRUCTIONS, self.sampled_functions(), nodes);
    }

    /// Returns the share of the run in which functions were counted, if they are a sample.
    fn sampled_functions(&self) -> Option<Rate> {
        self.profile.functions.iter().find_map(|function| function.kind.rate())
    }

    /// Adds a metric known by function.
    fn add_flat(&mut self, name: &str, weight: impl Fn(&FunctionProfile) -> u64) {
        let profile = self.profile;
        let node = |function: &FunctionProfile| {
            let frame = self.number(Frame::of_function(function, self.code));
            StackNode { caller: None, frame, weight: weight(function), samples: 0, is_inlined: false }
        };
        let nodes = profile.functions.iter().map(node).collect();
        self.add(name, self.sampled_functions(), nodes);
    }

    /// Adds calls to the host: to the calls of functions if both are of the same kind, else as a metric of their own,
    /// unless calling contexts have some. A sample is not scaled up, so a sum of both would say nothing.
    fn add_host_calls(&mut self) {
        let profile = self.profile;
        let is_host = |callee: &Callee| matches!(callee, Callee::Host { .. });
        let in_contexts = |tree: &ContextTree| tree.routines.iter().any(|routine| is_host(&routine.callee));
        let (kind, is_known) = match (&profile.contexts, profile.functions.first()) {
            (Some(tree), _) => (tree.kind, in_contexts(tree)),
            (None, Some(function)) => (function.kind, false),
            (None, None) => return,
        };
        let (alike, others): (Vec<&HostCalls>, _) =
            profile.host_calls.iter().partition(|calls| calls.kind == kind);
        if profile.contexts.is_none() {
            let nodes = self.host_nodes(&alike);
            let calls = self.metrics.iter_mut().find(|metric| metric.name == "calls");
            calls.expect("calls were added").nodes.extend(nodes);
        }
        if !is_known && !others.is_empty() {
            let nodes = self.host_nodes(&others);
            self.add("host-calls", others.iter().find_map(|calls| calls.kind.rate()), nodes);
        }
    }

    fn host_nodes(&mut self, calls: &[&HostCalls]) -> Vec<StackNode> {
        let node = |calls: &&HostCalls| {
            let frame = self.number(Frame::of_host(calls));
            StackNode { caller: None, frame, weight: calls.count, samples: 0, is_inlined: false }
        };
        calls.iter().map(node).collect()
    }

    /// Adds the totals of events, except those known in more detail.
    fn add_events(&mut self) {
        let known: Vec<String> = self.metrics.iter().map(|metric| metric.name.clone()).collect();
        for total in self.profile.events.iter().filter(|total| !known.contains(&total.name)) {
            let frame = self.number(Frame::of_program(self.profile));
            let node = StackNode { caller: None, frame, weight: total.count, samples: 0, is_inlined: false };
            self.add(&total.name, None, vec![node]);
        }
    }

    fn finish(self) -> Samples {
        let mut frames: Vec<(u32, Frame)> =
            self.frames.into_iter().map(|(frame, number)| (number, frame)).collect();
        frames.sort_unstable_by_key(|&(number, _)| number);
        Samples {
            frames: frames.into_iter().map(|(_, frame)| frame).collect(),
            metrics: self.metrics,
            threads: self.threads.into_iter().collect(),
        }
    }
}
