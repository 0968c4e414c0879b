//! The processed format of the Firefox Profiler: one process per metric, with a thread per thread where stacks have
//! threads.
//!
//! Source: the types of firefox-devtools/profiler (`src/types/profile`), version 48, which newer ones upgrade. A table
//! consists of one list per column. Samples are weighted stacks; the time of a sample, in milliseconds, is the weight
//! of all previous ones, so that the time line has the proportions of the flame graph. Weights are doubles: exact to
//! 2^53.

use std::collections::HashMap;
use std::io::{self, Write};

use serde::Serialize;

use super::samples::{Amount, Part};
use super::{Metric, Samples, TOOL, Unit};

#[derive(Serialize)]
struct File<'a> {
    meta: Meta,
    libs: [(); 0],
    threads: Vec<Thread<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    interval: f64,
    start_time: f64,
    process_type: u32,
    product: &'static str,
    stackwalk: u32,
    version: u32,
    preprocessed_profile_version: u32,
    symbolicated: bool,
    categories: [Category; 1],
    marker_schema: [(); 0],
}

#[derive(Serialize)]
struct Category {
    name: &'static str,
    color: &'static str,
    subcategories: [&'static str; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Thread<'a> {
    name: String,
    process_type: &'static str,
    process_name: &'static str,
    pid: String,
    tid: usize,
    is_main_thread: bool,
    process_startup_time: u32,
    process_shutdown_time: Option<u32>,
    register_time: u32,
    unregister_time: Option<u32>,
    paused_ranges: [(); 0],
    samples: SampleTable,
    markers: MarkerTable,
    stack_table: StackTable,
    frame_table: FrameTable,
    func_table: FuncTable,
    resource_table: ResourceTable,
    native_symbols: NativeSymbolTable,
    string_array: Vec<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SampleTable {
    stack: Vec<usize>,
    time: Vec<Amount>,
    weight: Vec<Amount>,
    weight_type: &'static str,
    length: usize,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct MarkerTable {
    data: [(); 0],
    name: [(); 0],
    start_time: [(); 0],
    end_time: [(); 0],
    phase: [(); 0],
    category: [(); 0],
    length: usize,
}

#[derive(Serialize)]
struct StackTable {
    frame: Vec<u32>,
    prefix: Vec<Option<u32>>,
    category: Vec<u32>,
    subcategory: Vec<u32>,
    length: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FrameTable {
    address: Vec<i32>,
    inline_depth: Vec<u32>,
    category: Vec<u32>,
    subcategory: Vec<u32>,
    func: Vec<usize>,
    native_symbol: Vec<Option<u32>>,
    #[serde(rename = "innerWindowID")]
    inner_window_id: Vec<u32>,
    implementation: Vec<Option<u32>>,
    line: Vec<Option<u32>>,
    column: Vec<Option<u32>>,
    length: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FuncTable {
    name: Vec<usize>,
    #[serde(rename = "isJS")]
    is_js: Vec<bool>,
    #[serde(rename = "relevantForJS")]
    relevant_for_js: Vec<bool>,
    resource: Vec<i32>,
    file_name: Vec<Option<usize>>,
    line_number: Vec<Option<u32>>,
    column_number: Vec<Option<u32>>,
    length: usize,
}

#[derive(Default, Serialize)]
struct ResourceTable {
    lib: [(); 0],
    name: [(); 0],
    host: [(); 0],
    #[serde(rename = "type")]
    kind: [(); 0],
    length: usize,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct NativeSymbolTable {
    lib_index: [(); 0],
    address: [(); 0],
    name: [(); 0],
    function_size: [(); 0],
    length: usize,
}

/// Writes all metrics; `started` is the start of the program, in seconds since 1970.
///
/// # Errors
/// Fails if writing to `out` fails.
pub fn write_firefox(samples: &Samples, started: u64, out: impl Write) -> io::Result<()> {
    let meta = Meta {
        interval: 1.0,
        start_time: started as f64 * 1000.0,
        process_type: 0,
        product: TOOL,
        stackwalk: 0,
        version: 27,
        preprocessed_profile_version: 48,
        symbolicated: true,
        categories: [Category { name: "Other", color: "grey", subcategories: ["Other"] }],
        marker_schema: [],
    };
    let metrics = samples.metrics.iter().enumerate();
    let parts =
        metrics.flat_map(|(pid, metric)| samples.parts(metric).into_iter().map(move |part| (pid, part)));
    let threads = parts.zip(0..).map(|((pid, part), tid)| thread(samples, part, (pid, tid))).collect();
    Ok(serde_json::to_writer(out, &File { meta, libs: [], threads })?)
}

fn thread(samples: &Samples, part: Part, (pid, tid): (usize, usize)) -> Thread<'_> {
    let Part { title, metric, .. } = part;
    let (strings, files) = strings(samples);
    Thread {
        name: title,
        process_type: "default",
        process_name: "wasm",
        pid: pid.to_string(),
        tid,
        is_main_thread: true,
        process_startup_time: 0,
        process_shutdown_time: None,
        register_time: 0,
        unregister_time: None,
        paused_ranges: [],
        samples: sample_table(&metric),
        markers: MarkerTable::default(),
        stack_table: stack_table(&metric),
        frame_table: frame_table(samples),
        func_table: func_table(samples, files),
        resource_table: ResourceTable::default(),
        native_symbols: NativeSymbolTable::default(),
        string_array: strings,
    }
}

/// Returns the names of all frames, then of files; and by frame the position of its file.
fn strings(samples: &Samples) -> (Vec<&str>, Vec<Option<usize>>) {
    let mut strings: Vec<&str> = samples.frames.iter().map(|frame| frame.name.as_str()).collect();
    let mut known = HashMap::new();
    let mut files = Vec::with_capacity(samples.frames.len());
    for frame in &samples.frames {
        files.push(frame.place.as_ref().map(|(file, _)| {
            *known.entry(file.as_str()).or_insert_with(|| {
                strings.push(file);
                strings.len() - 1
            })
        }));
    }
    (strings, files)
}

fn sample_table(metric: &Metric) -> SampleTable {
    // Time is in milliseconds.
    let shown = |weight: u64| metric.unit.amount(weight, 1e6);
    let mut before = 0_u64;
    let mut table = SampleTable {
        stack: Vec::new(),
        time: Vec::new(),
        weight: Vec::new(),
        weight_type: match metric.unit {
            Unit::Count => "samples",
            Unit::Bytes => "bytes",
            Unit::Nanoseconds => "tracing-ms",
        },
        length: metric.weighted().count(),
    };
    for (node, found) in metric.weighted() {
        table.stack.push(node);
        table.time.push(shown(before));
        table.weight.push(shown(found.weight));
        before = before.saturating_add(found.weight);
    }
    table
}

fn stack_table(metric: &Metric) -> StackTable {
    let length = metric.nodes.len();
    StackTable {
        frame: metric.nodes.iter().map(|node| node.frame).collect(),
        prefix: metric.nodes.iter().map(|node| node.caller).collect(),
        category: vec![0; length],
        subcategory: vec![0; length],
        length,
    }
}

/// Creates the frame table. A frame is a function: both have the same number.
fn frame_table(samples: &Samples) -> FrameTable {
    let length = samples.frames.len();
    FrameTable {
        address: vec![-1; length],
        inline_depth: vec![0; length],
        category: vec![0; length],
        subcategory: vec![0; length],
        func: (0..length).collect(),
        native_symbol: vec![None; length],
        inner_window_id: vec![0; length],
        implementation: vec![None; length],
        line: lines(samples),
        column: vec![None; length],
        length,
    }
}

fn func_table(samples: &Samples, files: Vec<Option<usize>>) -> FuncTable {
    let length = samples.frames.len();
    FuncTable {
        name: (0..length).collect(),
        is_js: vec![false; length],
        relevant_for_js: vec![false; length],
        resource: vec![-1; length],
        file_name: files,
        line_number: lines(samples),
        column_number: vec![None; length],
        length,
    }
}

fn lines(samples: &Samples) -> Vec<Option<u32>> {
    samples.frames.iter().map(|frame| frame.place.as_ref().map(|&(_, line)| line)).collect()
}
