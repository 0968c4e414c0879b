//! Programs that others wrote read our exports, where they are installed; elsewhere their tests are skipped, with a
//! note. `scripts/setup` installs some, `readers/download.sh` fetches the others.

mod chrome;
mod firefox;

use std::process::{Command, Output};

use serde_json::Value;

use super::export::{FORMATS, json_exports};
use super::html::document;
use super::{Folder, function, json, program, wprof};

/// Runs a program that may not be installed; says that the test was skipped, and returns `None`, if it is not.
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
fn callgrind_annotate_finds_what_callees_execute() {
    let folder = Folder::new();
    let (profile, file) = (folder.path("f.wprof"), folder.path("callgrind"));
    wprof(&["run", "-q", "--collect", "flow", "-o", &profile, &program("json"), "5", "1"]).succeeded();
    wprof(&["export", "--to", "callgrind", "-o", &file, &profile]).succeeded();
    let Some(output) = foreign(Command::new("callgrind_annotate").args(["--inclusive=yes", &file])) else {
        return;
    };
    let said = accepted(output);
    let start = said.lines().find(|line| line.ends_with(":_start")).expect("it ran");
    let (_, share) = start.split_once('(').expect("a share");
    let share: f64 = share.split('%').next().unwrap().trim().parse().expect("a number");
    assert!(share > 99.0, "{said}");
}

/// `$odd` and `$even` call each other, and `$fib` calls itself at two sites.
const RECURSIVE: &str = r#"(module
  (func $even (param i32) (result i32)
    (if (result i32) (local.get 0) (then (call $odd (i32.sub (local.get 0) (i32.const 1)))) (else (i32.const 1))))
  (func $odd (param i32) (result i32)
    (if (result i32) (local.get 0) (then (call $even (i32.sub (local.get 0) (i32.const 1)))) (else (i32.const 0))))
  (func $fib (param i32) (result i32)
    (if (result i32) (i32.lt_u (local.get 0) (i32.const 2))
      (then (local.get 0))
      (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1)))
        (call $fib (i32.sub (local.get 0) (i32.const 2)))))))
  (func (export "go") (result i32) (i32.add (call $even (i32.const 9)) (call $fib (i32.const 10)))))"#;

#[test]
fn callgrind_annotate_finds_recursive_calls_and_counts_what_they_execute_once() {
    let folder = Folder::new();
    let (module, profile, file) =
        (folder.file("f.wat", RECURSIVE), folder.path("f.wprof"), folder.path("callgrind"));
    wprof(&["run", "-q", "--collect", "flow", "-o", &profile, "--invoke", "go", &module]).succeeded();
    wprof(&["export", "--to", "callgrind", "-o", &file, &profile]).succeeded();
    // By caller and callee: $even is called 5 times, $odd 5 times, $fib 177 times.
    let text = std::fs::read_to_string(&file).unwrap();
    let calls: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("calls=")).collect();
    let calls: Vec<&str> = calls.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(calls, ["5", "4", "88", "88", "1", "1"], "{text}");
    let mut command = Command::new("callgrind_annotate");
    let Some(output) = foreign(command.args(["--inclusive=yes", "--tree=calling", "--threshold=100", &file]))
    else {
        return;
    };
    let said = accepted(output).replace(',', "");
    for (caller, callee, times) in
        [("even", "odd", 5), ("odd", "even", 4), ("fib", "fib", 88 + 88), ("go", "fib", 1)]
    {
        let shown =
            said.split("* ").find(|part| part.lines().next().unwrap_or("").ends_with(&format!(":{caller}")));
        let shown = shown.unwrap_or_else(|| panic!("no {caller}: {said}"));
        let call = format!(":{callee} ({times}x)");
        assert!(shown.contains(&call), "{call}: {said}");
    }
    // With what is called no function has more than the program, and its own calls have all of it.
    let profile = json(&profile);
    let inclusive = |name: &str| -> u64 {
        let line = said
            .lines()
            .find(|line| line.contains("* ") && line.ends_with(&format!(":{name}")))
            .expect("it ran");
        line.split_whitespace().next().unwrap().parse().unwrap()
    };
    let own = |name: &str| function(&profile, name)["ops"].as_u64().unwrap();
    assert_eq!(inclusive("fib"), own("fib"));
    assert_eq!(inclusive("even"), own("even") + own("odd"));
}

#[test]
fn genhtml_accepts_line_coverage() {
    let folder = Folder::new();
    json_exports(&folder, &["lcov"]);
    let mut command = Command::new("genhtml");
    // The debug information has paths relative to where the program was built.
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../bench-wasm/programs"));
    command.args(["--branch-coverage", "-o", &folder.path("html")]);
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

/// All calls in the calling contexts of a profile in JSON.
fn calls_in_contexts(profile: &Value) -> u64 {
    let records = profile["contexts"]["records"].as_array().unwrap();
    records.iter().map(|record| record["calls"].as_u64().unwrap()).sum()
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
    document(&["--allow-file-access-from-files", "--virtual-time-budget=20000"], &address)
}

#[test]
fn speedscope_shows_what_other_formats_say() {
    let folder = Folder::new();
    let profile = json_exports(&folder, &["speedscope", "pprof", "chrome", "folded"]);
    let profile = json(&profile);
    let calls = calls_in_contexts(&profile);
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
    let calls = calls_in_contexts(&profile);
    assert_eq!(said, format!("instructions {}\ncalls {calls}\ntrue true\n", profile["ops"]));
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
