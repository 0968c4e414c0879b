//! Exports hold what the profile holds.

use super::{Folder, function, json, program, wprof};

/// All formats but JSON.
pub const FORMATS: [&str; 11] = [
    "folded",
    "flamegraph",
    "speedscope",
    "pprof",
    "firefox",
    "chrome",
    "cpuprofile",
    "callgrind",
    "lcov",
    "cobertura",
    "csv",
];

/// The profile of a program with debug information, and its exports in `formats`.
pub fn json_exports(folder: &Folder, formats: &[&str]) -> String {
    let profile = folder.path("f.wprof");
    wprof(&["run", "-q", "--collect", "edges,cct", "-o", &profile, &program("json"), "5", "1"]).succeeded();
    for format in formats {
        wprof(&["export", "--to", format, "-o", &folder.path(format), &profile]).succeeded();
    }
    profile
}

#[test]
fn json_has_exact_counts() {
    let folder = Folder::new();
    let profile = json(&folder.count_profile());
    assert_eq!((&profile["ops"], &profile["calls"]), (&131.into(), &11.into()));
    let count = function(&profile, "count");
    assert_eq!(count["loops"][0]["iterations"], 10);
    assert_eq!(count["loops"][0]["entries"], 1);
    assert_eq!(profile["runs"][0]["args"], serde_json::json!(["count.wat", "10"]));
    assert_eq!(profile["runs"][0]["ending"], serde_json::json!({"how": "exited", "code": 0}));
}

#[test]
fn reports_files_and_standard_output_agree() {
    let folder = Folder::new();
    let (profile, file) = (folder.count_profile(), folder.path("f.json"));
    let out = wprof(&["export", "--to", "json", &profile, "-o", "-"]).succeeded();
    wprof(&["export", "--to", "json", "-o", &file, &profile]).succeeded();
    assert_eq!(std::fs::read_to_string(file).unwrap(), out);
    assert_eq!(wprof(&["report", "--json", &profile]).succeeded(), out);
}

#[test]
fn each_format_is_written_to_files_and_pipes_alike() {
    let folder = Folder::new();
    let profile = json_exports(&folder, &FORMATS);
    for format in FORMATS.into_iter().filter(|&format| format != "pprof") {
        let piped = wprof(&["export", "--to", format, &profile]).succeeded();
        assert!(!piped.is_empty());
        assert_eq!(std::fs::read_to_string(folder.path(format)).unwrap(), piped, "{format}");
    }
}

#[test]
fn weights_are_chosen_by_name() {
    let folder = Folder::new();
    let profile = folder.count_profile();
    let folded = |weight: &str| wprof(&["export", "--to", "folded", "--weight", weight, &profile]);
    assert_eq!(folded("instructions").succeeded(), "is_odd 30\ncount 101\n");
    assert_eq!(folded("calls").succeeded(), "is_odd 10\ncount 1\n");
    let said = folded("cycles").failed();
    assert!(said.contains("no weight `cycles`") && said.contains("instructions, calls"), "{said}");
    let said = wprof(&["export", "--to", "pprof", "--weight", "calls", &profile]).failed();
    assert!(said.contains("leave out --weight"), "{said}");
}

#[test]
fn figures_of_a_sample_say_so_and_are_no_coverage() {
    let folder = Folder::new();
    let profile = folder.path("sample.wprof");
    let run =
        ["run", "-q", "--deterministic", "--burst", "100:10", "-o", &profile, &program("sort"), "300", "2"];
    wprof(&run).succeeded();
    let export = |to: &str| wprof(&["export", "--to", to, &profile]);
    let csv = export("csv").succeeded();
    let columns = |line: &str| line.split(',').count();
    assert!(csv.lines().next().is_some_and(|titles| titles.ends_with(",line,counted_share")), "{csv}");
    // Names of C functions have no commas.
    assert!(
        csv.lines().all(|line| columns(line) == 16) && csv.lines().any(|row| row.contains(",0.")),
        "{csv}"
    );
    assert!(export("callgrind").succeeded().contains("\ndesc: Sample: instructions and calls are those of "));
    let image = export("flamegraph").succeeded();
    assert!(image.contains("% of the run) · instructions: "), "{}", &image[..2000.min(image.len())]);
    for to in ["lcov", "cobertura"] {
        let said = export(to).failed();
        assert!(said.contains("a sample would show code as not covered that ran between bursts"), "{said}");
    }
}

#[test]
fn coverage_without_source_lines_is_refused() {
    let folder = Folder::new();
    let said = wprof(&["export", "--to", "lcov", &folder.count_profile()]).failed();
    assert!(said.contains("no source lines"), "{said}");
}

#[test]
fn a_full_disk_is_an_error_in_every_format() {
    let folder = Folder::new();
    let profile = json_exports(&folder, &[]);
    for format in FORMATS {
        let said = wprof(&["export", "--to", format, "-o", "/dev/full", &profile]).failed();
        assert!(said.contains("No space left"), "{format}: {said}");
    }
}

#[test]
fn flame_graphs_show_what_changed() {
    let folder = Folder::new();
    let (before, after, image) = (folder.path("a.wprof"), folder.path("b.wprof"), folder.path("f.svg"));
    for (profile, rounds) in [(&before, "1"), (&after, "3")] {
        let run = ["run", "-q", "--collect", "edges,cct", "-o", profile, &program("json"), "8", rounds];
        wprof(&run).succeeded();
    }
    let export = ["export", "--to", "flamegraph", "--weight", "instructions", "-o", &image];
    wprof(&[&export[..], &["--against", &before, &after]].concat()).succeeded();
    let (svg, ops) =
        (std::fs::read_to_string(&image).unwrap(), |profile: &str| json(profile)["ops"].to_string());
    let totals = format!("instructions: {} in all before, {} after", ops(&before), ops(&after));
    assert!(svg.contains(&totals), "{totals}: {svg}");
    let calls = |of: &str| function(&json(of), "parse_value")["ops"].to_string();
    let frame = svg.lines().find(|line| line.contains("<title>parse_value: ")).expect("it ran");
    assert!(
        frame.contains(&calls(&after)) && frame.contains(&format!("before {}</title>", calls(&before))),
        "{frame}"
    );
    assert!(frame.contains("fill=\"rgb(240,"), "there is more: {frame}");
    let said = wprof(&["export", "--to", "folded", "--against", &before, &after]).failed();
    assert!(said.contains("wprof diff"), "{said}");
    let none = folder.count_profile();
    let said =
        wprof(&["export", "--to", "flamegraph", "--weight", "calls", "--against", "none", &none]).failed();
    assert!(said.contains("none"), "{said}");
}

#[test]
fn a_file_of_v8_has_the_weights_of_all_stacks() {
    let folder = Folder::new();
    let profile = json_exports(&folder, &[]);
    let exported = wprof(&["export", "--to", "cpuprofile", "--weight", "calls", &profile]).succeeded();
    let file: serde_json::Value = serde_json::from_str(&exported).expect("JSON");
    let folded = wprof(&["export", "--to", "folded", "--weight", "calls", &profile]).succeeded();
    let weight = |line: &str| line.rsplit(' ').next().and_then(|weight| weight.parse::<u64>().ok());
    let expected: u64 = folded.lines().filter_map(weight).sum();
    let deltas = file["timeDeltas"].as_array().expect("deltas");
    assert_eq!(deltas.iter().filter_map(serde_json::Value::as_u64).sum::<u64>(), expected);
    assert_eq!(deltas.len(), file["samples"].as_array().expect("samples").len());
    let nodes = file["nodes"].as_array().expect("nodes");
    // Each node but the root is a child of one other.
    let children: usize = nodes.iter().map(|node| node["children"].as_array().expect("children").len()).sum();
    assert_eq!(children + 1, nodes.len());
    assert!(nodes.iter().any(|node| node["callFrame"]["functionName"] == "main"), "{exported}");
}
