//! Samples of V8's profiler, in files of two formats.
//!
//! A profile (`.cpuprofile`) is a tree of nodes, and the node of each sample. A trace is what the performance panel of
//! Chromium saves: a list of events, of which those named `ProfileChunk` hold pieces of one such profile for each thread.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

/// The samples of a thread.
#[derive(Debug, Default)]
pub struct Samples {
    /// The nodes of the tree.
    pub nodes: Vec<Node>,
    /// The node of each sample, and the microseconds before it; negative where V8's clock was corrected.
    pub taken: Vec<(u64, i64)>,
}

/// A node of the tree of calls.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    pub id: u64,
    pub call_frame: CallFrame,
    #[serde(default)]
    pub children: Vec<u64>,
    /// In a trace: the node of the caller.
    #[serde(default)]
    parent: Option<u64>,
}

/// A function.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallFrame {
    #[serde(default)]
    pub function_name: String,
    #[serde(default)]
    pub url: String,
    #[serde(default)]
    pub column_number: i64,
}

#[derive(Debug, Deserialize)]
struct Profile {
    nodes: Vec<Node>,
    #[serde(default)]
    samples: Vec<u64>,
    #[serde(default, rename = "timeDeltas")]
    deltas: Vec<i64>,
}

#[derive(Debug, Deserialize)]
struct Trace {
    #[serde(rename = "traceEvents")]
    events: Vec<Event>,
}

#[derive(Debug, Deserialize)]
struct Event {
    #[serde(default)]
    name: String,
    /// The profile that a piece belongs to, in its process.
    #[serde(default)]
    id: Value,
    #[serde(default)]
    pid: Value,
    #[serde(default)]
    args: Value,
}

#[derive(Debug, Deserialize)]
struct ChunkArgs {
    data: Chunk,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    #[serde(default)]
    cpu_profile: SampleChunk,
    #[serde(default)]
    time_deltas: Vec<i64>,
}

#[derive(Debug, Default, Deserialize)]
struct SampleChunk {
    #[serde(default)]
    nodes: Vec<Node>,
    #[serde(default)]
    samples: Vec<u64>,
}

/// Reads a file of either format; returns the samples of each thread.
///
/// # Errors
/// Returns an error if the file has neither format.
pub fn read(text: &[u8]) -> serde_json::Result<Vec<Samples>> {
    if text.trim_ascii_start().starts_with(b"[") {
        return of_events(serde_json::from_slice(text)?);
    }
    // A profile has no key of this name: only strings of code could contain it, and then the error is the profile's.
    if let Ok(Trace { events }) = serde_json::from_slice(text) {
        return of_events(events);
    }
    let Profile { nodes, samples, deltas } = serde_json::from_slice(text)?;
    Ok(vec![Samples { nodes, taken: samples.into_iter().zip(deltas).collect() }])
}

/// Puts the pieces of each thread's profile together.
fn of_events(events: Vec<Event>) -> serde_json::Result<Vec<Samples>> {
    let mut numbers: HashMap<(String, String), usize> = HashMap::new();
    let mut all: Vec<Samples> = Vec::new();
    for Event { pid, id, args, .. } in events.into_iter().filter(|event| event.name == "ProfileChunk") {
        let Chunk { cpu_profile: SampleChunk { nodes, samples }, time_deltas } =
            serde_json::from_value::<ChunkArgs>(args)?.data;
        let number = *numbers.entry((pid.to_string(), id.to_string())).or_insert(all.len());
        if number == all.len() {
            all.push(Samples::default());
        }
        all[number].nodes.extend(nodes);
        all[number].taken.extend(samples.into_iter().zip(time_deltas));
    }
    all.iter_mut().for_each(Samples::find_children);
    Ok(all)
}

impl Samples {
    /// Lists the children of each node, of which a trace has the parents.
    fn find_children(&mut self) {
        let by_id: HashMap<u64, usize> = self.nodes.iter().map(|node| node.id).zip(0..).collect();
        for at in 0..self.nodes.len() {
            let Node { id, parent, .. } = self.nodes[at];
            if let Some(&parent) = parent.and_then(|parent| by_id.get(&parent)) {
                self.nodes[parent].children.push(id);
            }
        }
    }
}
