//! Exports hold what the profile holds. Where readers that others wrote are installed, they look at them.

use std::process::{Command, Output};

use super::{Folder, function, json, program, wprof};

/// All formats but JSON.
const FORMATS: [&str; 10] = [
    "folded",
    "flamegraph",
    "speedscope",
    "pprof",
    "firefox",
    "chrome",
    "callgrind",
    "lcov",
    "cobertura",
    "csv",
];

/// What a program that may not be installed makes of a file; a note that the test was skipped if it is not.
pub fn foreign(command: &mut Command) -> Option<Output> {
    match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: {} is not installed", command.get_program().display());
            None
        }
        output => Some(output.expect("it starts")),
    }
}

/// What it says if it accepts the file.
pub fn accepted(output: Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The profile of a program with debug information, and its exports in `formats`.
fn json_exports(folder: &Folder, formats: &[&str]) -> String {
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
fn callgrind_annotate_finds_all_instructions() {
    let folder = Folder::new();
    let profile = json_exports(&folder, &["callgrind"]);
    let Some(output) = foreign(Command::new("callgrind_annotate").arg(folder.path("callgrind"))) else {
        return;
    };
    let said = accepted(output).replace(',', "");
    let profile = json(&profile);
    assert!(said.contains(&format!("{} (100.0%)", profile["ops"])), "{said}");
    let parse_value = function(&profile, "parse_value")["ops"].to_string();
    assert!(said.lines().any(|line| line.contains(&parse_value) && line.ends_with(":parse_value")), "{said}");
}

#[test]
fn genhtml_accepts_line_coverage() {
    let folder = Folder::new();
    json_exports(&folder, &["lcov"]);
    let mut command = Command::new("genhtml");
    command.args(["--branch-coverage", "--ignore-errors", "source", "-o", &folder.path("html")]);
    let Some(output) = foreign(command.arg(folder.path("lcov"))) else { return };
    let said = accepted(output);
    let lcov = std::fs::read_to_string(folder.path("lcov")).unwrap();
    let sum = |key: &str| -> u64 {
        lcov.lines().filter_map(|line| line.strip_prefix(key)).map(|n| n.parse::<u64>().unwrap()).sum()
    };
    for (hit, found, what) in
        [("LH:", "LF:", "lines"), ("FNH:", "FNF:", "functions"), ("BRH:", "BRF:", "branches")]
    {
        let expected = format!("({} of {} {what})", sum(hit), sum(found));
        assert!(said.contains(&expected), "{expected}: {said}");
    }
}

#[test]
fn python_reads_gzip_xml_and_json() {
    let folder = Folder::new();
    json_exports(&folder, &FORMATS);
    let script = "
import gzip, json, sys, xml.dom.minidom
folder = sys.argv[1] + '/'
assert gzip.open(folder + 'pprof').read()
for name in 'flamegraph', 'cobertura': xml.dom.minidom.parse(folder + name)
for name in 'speedscope', 'firefox', 'chrome': json.load(open(folder + name))";
    if let Some(output) = foreign(Command::new("python3").args(["-c", script, &folder.path("")])) {
        accepted(output);
    }
}

/// Programs that read our formats, which `readers/download.sh` fetches.
const DOWNLOADS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/readers/downloads");

/// A downloaded program's file; a note that the test was skipped if it is not there.
fn downloaded(path: &str) -> Option<String> {
    let file = format!("{DOWNLOADS}/{path}");
    if std::path::Path::new(&file).exists() {
        return Some(file);
    }
    eprintln!("skipped: {path} is not there, cli/tests/it/readers/download.sh fetches it");
    None
}

/// What speedscope shows of a file: total, own weight and name of each function, as text.
fn in_speedscope(folder: &Folder, file: &str, name: &str) -> Option<String> {
    let page = downloaded("speedscope/dist/release/index.html")?;
    let script = "import base64, json, sys
content = base64.b64encode(open(sys.argv[1], 'rb').read()).decode()
open(sys.argv[2], 'w').write(f'speedscope.loadFileFromBase64({json.dumps(sys.argv[3])}, {json.dumps(content)})')";
    let load = folder.path("load.js");
    accepted(foreign(Command::new("python3").args(["-c", script, file, &load, name]))?);
    let address = format!("file://{page}#localProfilePath={load}&view=sandwich");
    super::html::document(&["--allow-file-access-from-files", "--virtual-time-budget=20000"], &address)
}

#[test]
fn speedscope_shows_what_other_formats_say() {
    let folder = Folder::new();
    let profile = json_exports(&folder, &["speedscope", "pprof", "chrome", "folded"]);
    let profile = json(&profile);
    let records = profile["contexts"]["records"].as_array().unwrap();
    let calls: u64 = records.iter().map(|record| record["calls"].as_u64().unwrap()).sum();
    for (format, name) in [
        ("speedscope", "f.speedscope.json"),
        ("pprof", "f.pb.gz"),
        ("chrome", "trace.json"),
        ("folded", "f.folded"),
    ] {
        let Some(shown) = in_speedscope(&folder, &folder.path(format), name) else { return };
        assert!(shown.contains("Symbol Name") && shown.contains(">parse_value<"), "{format}: {shown}");
        // Where a file has several metrics, a list tells the total of each.
        let has_list = matches!(format, "speedscope" | "pprof");
        let digits = |text: &str| {
            text.split(|c: char| !c.is_ascii_digit() && c != ',')
                .map(|t| t.replace(',', ""))
                .collect::<Vec<_>>()
        };
        assert!(!has_list || digits(&shown).contains(&calls.to_string()), "{format}, {calls}: {shown}");
    }
}

#[test]
fn a_decoder_of_pprof_finds_the_totals() {
    let folder = Folder::new();
    let profile = json_exports(&folder, &["pprof"]);
    let Some(decoder) = downloaded("pprof-format/dist/commonjs/index.js") else { return };
    let script = "
const { Profile } = require(process.argv[1]);
const file = require('zlib').gunzipSync(require('fs').readFileSync(process.argv[2]));
const profile = Profile.decode(file);
const text = (index) => profile.stringTable.strings[Number(index)];
profile.sampleType.forEach((kind, at) => console.log(text(kind.type),
    String(profile.sample.reduce((sum, sample) => sum + BigInt(sample.value[at]), 0n))));
const names = new Set(profile.function.map((found) => text(found.name)));
console.log(names.has('parse_value'), profile.location.every((found) => found.line.length === 1));";
    let mut node = Command::new("node");
    node.args(["-e", script, &decoder, &folder.path("pprof")]);
    let Some(output) = foreign(&mut node) else { return };
    let (said, profile) = (accepted(output), json(&profile));
    let records = profile["contexts"]["records"].as_array().unwrap();
    let calls: u64 = records.iter().map(|record| record["calls"].as_u64().unwrap()).sum();
    assert_eq!(said, format!("calls {calls}\ninstructions {}\ntrue true\n", profile["ops"]));
}

/// What others say that files must look like.
const READERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/readers");

#[test]
fn speedscope_files_are_as_its_schema_wants_them() {
    let folder = Folder::new();
    json_exports(&folder, &["speedscope"]);
    let script = "
import json, sys
try:
    import jsonschema
except ImportError:
    sys.exit('skipped: python3-jsonschema is not installed')
load = lambda path: json.load(open(path))
file, schema = load(sys.argv[1]), load(sys.argv[2])
jsonschema.validate(file, schema)
for profile in file['profiles']: profile['weights'] = 'heavy'
try:
    jsonschema.validate(file, schema)
except jsonschema.ValidationError:
    print('only right ones are valid')";
    let schema = format!("{READERS}/speedscope.schema.json");
    let mut python = Command::new("python3");
    let Some(output) = foreign(python.args(["-c", script, &folder.path("speedscope"), &schema])) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if said.starts_with("skipped: ") {
        eprint!("{said}");
        return;
    }
    assert_eq!(accepted(output), "only right ones are valid\n");
}

#[test]
fn cobertura_files_are_as_their_document_type_wants_them() {
    let folder = Folder::new();
    json_exports(&folder, &["cobertura"]);
    let document_type = format!("{READERS}/coverage-04.dtd");
    let mut xmllint = Command::new("xmllint");
    xmllint.args(["--noout", "--nonet", "--dtdvalid", &document_type, &folder.path("cobertura")]);
    foreign(&mut xmllint).map(accepted);
}
