//! Pages hold what the profile holds, and work in a browser: each opens itself with `#test`, searches, sorts, zooms,
//! follows paths, and says how that went. Without Chromium (`scripts/setup`) that part is skipped, with a note.

use std::process::Command;

use serde_json::Value;
use wprof_profiler::{
    BlockId, BlockProfile, CodeRange, EdgeKind, EdgeProfile, FunctionCounts, FunctionProfile, Profile,
};

use super::{Folder, json, program, wprof};

/// What Chromium may be called.
pub const BROWSERS: [&str; 4] =
    ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable"];

/// Functions whose names would do something if they were taken for HTML.
const NASTY: &str = r#"(module
  (func $"</script><script>report('ran')</script>" (param i32) (result i32) local.get 0 i32.const 1 i32.and)
  (func $"<img src=x onerror=report('loaded')>" (export "f") (param i32) (result i32)
    (loop $again
      (if (call 0 (local.get 0)) (then nop))
      (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
    (call $"<!-- <script> {{data}}"))
  (func $"<!-- <script> {{data}}" (result i32) i32.const 7))"#;

/// The document after it has tried itself; nothing if there is no browser.
fn opened(page: &str) -> Option<String> {
    document(&[], &format!("file://{page}#test"))
}

/// The document at an address when it has been loaded; nothing if there is no browser.
pub fn document(options: &[&str], address: &str) -> Option<String> {
    let folder = Folder::new();
    let arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,800", "--dump-dom"];
    for browser in BROWSERS {
        let mut command = Command::new(browser);
        command.args(arguments).args(options).arg(format!("--user-data-dir={}", folder.path("user")));
        match command.arg(address).output() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            output => return Some(String::from_utf8(output.expect("it starts").stdout).expect("UTF-8")),
        }
    }
    eprintln!("skipped: Chromium is not installed, scripts/setup does that");
    None
}

/// Checks that a page works, if there is a browser, and gives its document.
pub fn works(page: &str) -> Option<String> {
    let document = opened(page)?;
    let head = document.lines().find(|line| line.starts_with("<html")).unwrap_or(&document);
    assert!(head.contains("data-test=\"passed "), "{page}: {head}");
    Some(document)
}

/// The page of a program's run.
fn page(folder: &Folder, options: &[&str], name: &str) -> String {
    let (profile, page) = (folder.path(&format!("{name}.wprof")), folder.path(&format!("{name}.html")));
    let module = program("json");
    let args = [&["run", "-q", "-o", &profile], options, &[&module, "8", "1"]].concat();
    wprof(&args).succeeded();
    wprof(&["report", &profile, "--html", &page]).succeeded();
    page
}

/// The values of a block of a page, one a line.
pub fn values(page: &str, id: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(page).unwrap();
    let (_, block) = text.split_once(&format!("id=\"{id}\">\n")).expect("the block is there");
    let (block, _) = block.split_once("</script>").expect("it ends");
    block.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn sum(numbers: &Value) -> u64 {
    numbers.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).sum()
}

#[test]
fn totals_are_those_of_the_profile() {
    let folder = Folder::new();
    let page = page(&folder, &["--collect", "paths,cycles,cct"], "f");
    let (profile, data) = (json(&folder.path("f.wprof")), &values(&page, "data")[0]);
    let figures = data["functions"]["figures"].as_array().unwrap();
    let own = |name: &str| sum(&figures.iter().find(|figure| figure["name"] == name).expect(name)["own"]);
    assert_eq!(
        (own("instructions"), own("calls")),
        (profile["ops"].as_u64().unwrap(), profile["calls"].as_u64().unwrap())
    );
    let records = profile["contexts"]["records"].as_array().unwrap();
    let weights = data["contexts"]["weights"].as_array().unwrap();
    let weight = |name: &str| weights.iter().find(|weight| weight["name"] == name).expect(name);
    let calls: u64 = records.iter().map(|record| record["calls"].as_u64().unwrap()).sum();
    let cycles: u64 = records.iter().filter_map(|record| record["metrics"][0].as_u64()).sum();
    assert_eq!((sum(&weight("calls")["own"]), sum(&weight("cycles")["own"])), (calls, cycles));
    for (line, details) in values(&page, "details").iter().enumerate() {
        let row = data["functions"]["index"]
            .as_array()
            .unwrap()
            .iter()
            .position(|index| *index == details["index"]);
        assert_eq!(data["functions"]["details"][row.unwrap()], line);
        assert_eq!(figures[0]["own"][row.unwrap()], sum(&details["blocks"]["ops"]));
    }
}

#[test]
fn pages_of_all_kinds_of_profiles_work_in_a_browser() {
    let folder = Folder::new();
    let kinds: [&[&str]; 9] = [
        &["--collect", "edges"],
        &["--collect", "blocks"],
        &["--collect", "cct"],
        &["--collect", "events=instructions"],
        &["--collect", "edges,cct"],
        &["--collect", "paths,cycles,cache,cct,events=loads"],
        &["--collect", "flow"],
        &["--profile", "adaptive", "--burst", "100:50", "--deterministic"],
        &["--profile", "adaptive", "--burst", "100:50"],
    ];
    for (kind, options) in kinds.iter().enumerate() {
        works(&page(&folder, options, &kind.to_string()));
    }
}

/// What people ask first: at which line of theirs the time goes.
#[test]
fn the_first_finding_is_the_line_that_takes_most_time() {
    let folder = Folder::new();
    let (profile, page) = (folder.path("c.wprof"), folder.path("c.html"));
    wprof(&["run", "-q", "--rate", "1000", "-o", &profile, &program("planted/columns")]).succeeded();
    wprof(&["report", &profile, "--html", &page]).succeeded();
    let Some(document) = works(&page) else { return };
    let (_, findings) = document.split_once("aria-label=\"Findings\"").expect("something stands out");
    let first = findings.split("</li>").next().expect("a first one");
    assert!(first.contains("of the time is at <code>columns.cpp:15"), "{first}");
}

/// Loops, lines and functions have their time, also those that no burst saw.
#[test]
fn time_comes_first_where_only_the_timer_saw_functions() {
    let folder = Folder::new();
    let (profile, page) = (folder.path("c.wprof"), folder.path("c.html"));
    let module = program("planted/columns");
    let run = ["run", "-q", "--rate", "1000", "--burst", "inf:1", "-o", &profile, &module];
    wprof(&run).succeeded();
    wprof(&["report", &profile, "--html", &page]).succeeded();
    let data = &values(&page, "data")[0];
    let overview = &data["overview"];
    let line = &overview["lines"][0];
    assert!(line["place"].as_str().is_some_and(|place| place.starts_with("columns.cpp:15")), "{line}");
    assert!(line["text"].as_str().is_some_and(|text| !text.is_empty()), "{line}");
    let part = |found: &Value| found["samples"].as_u64() > Some(0) && found["total_points"].is_number();
    for part_of in ["lines", "routines", "loops_by_time"] {
        assert!(part(&overview[part_of][0]), "{part_of}: {overview}");
    }
    let host = overview["host_calls"].as_array().unwrap();
    assert!(!host.is_empty() && host.iter().all(|calls| calls["time_ns"].is_u64()), "{overview}");
    // The function with most time has its code, with the time of its instructions.
    let hottest = &overview["routines"].as_array().unwrap().iter().find(|found| found["function"].is_u64());
    let hottest = hottest.expect("a function of the module");
    let details = values(&page, "details");
    let details = details.iter().find(|found| found["index"] == hottest["function"]).expect("details");
    assert_eq!(sum(&details["time"]["own_ns"]), hottest["own_ns"].as_u64().unwrap());
    assert!(details["code"]["text"].as_array().is_some_and(|text| !text.is_empty()), "{details}");
    let figure = &data["functions"]["figures"][0];
    assert!(figure["name"] == "time" && figure["points_with_callees"].is_array(), "{figure}");
    assert!(data["contexts"]["weights"][0]["points"].is_array());
    works(&page);
}

/// The share of sampled instructions has an interval, for functions and contexts.
#[test]
fn sampled_instructions_have_intervals() {
    let folder = Folder::new();
    let page = page(&folder, &["--profile", "adaptive", "--burst", "100:50", "--deterministic"], "s");
    let data = &values(&page, "data")[0];
    for columns in [&data["functions"]["figures"], &data["contexts"]["weights"]] {
        let found = columns.as_array().unwrap().iter().find(|figure| figure["name"] == "instructions");
        let points = found.expect("they are counted")["points"].as_array().expect("they are sampled");
        assert!(points.iter().any(|points| points.as_f64() > Some(0.0)), "{points:?}");
    }
}

#[test]
fn owners_are_those_of_the_files() {
    let folder = Folder::new();
    let data = &values(&page(&folder, &["--collect", "edges,cct"], "f"), "data")[0];
    let functions = &data["functions"];
    let owner = |name: &str| {
        let row = functions["name"].as_array().unwrap().iter().position(|found| found == name);
        functions["owner"][row.unwrap_or_else(|| panic!("{name} ran"))].as_u64().unwrap()
    };
    let libraries = ["dlmalloc", "memcpy", "strcmp"];
    assert_eq!((owner("main"), libraries.map(owner)), (0, [1; 3]), "{}", functions["name"]);
    let contexts = &data["contexts"];
    let callees = contexts["callees"].as_array().unwrap().iter().zip(contexts["owner"].as_array().unwrap());
    let owner = |name: &str| {
        let (_, owner) =
            callees.clone().find(|(callee, _)| callee["name"].as_str().unwrap().contains(name)).unwrap();
        owner.as_u64().unwrap()
    };
    assert_eq!((owner("strcmp"), owner("::fd_write"), owner("parse_value")), (1, 2, 0));
    assert!(data["overview"]["lines_by_instructions"][0]["owner"].is_u64());
}

#[test]
fn paths_are_named_by_their_lines() {
    let folder = Folder::new();
    let page = page(&folder, &["--collect", "paths"], "f");
    let report = wprof(&["report", &folder.path("f.wprof")]).succeeded();
    let (_, paths) = report.split_once("Hottest paths\n").expect("they are there");
    let (paths, _) = paths.split_once("\n\n").expect("something follows");
    let overview = &values(&page, "data")[0]["overview"]["paths"];
    let details = values(&page, "details");
    for path in overview.as_array().unwrap() {
        let lines = path["lines"].as_str().expect("there is debug information");
        let (first, to) = lines.split_once(" → ").expect("it leads somewhere");
        let (file, number) = first.split_once(':').expect("a file and a line");
        assert!(file.ends_with(".c") || file.ends_with(".h"), "{lines}");
        assert!(number.starts_with(|c: char| c.is_ascii_digit()) && !to.starts_with('b'), "{lines}");
        let same = details.iter().find(|found| found["index"] == path["function"]).expect("it is hot");
        let same = same["paths"].as_array().unwrap().iter().find(|found| found["id"] == path["id"]);
        assert_eq!(same.expect("it is hot")["lines"], path["lines"]);
    }
    let first = overview[0]["lines"].as_str().unwrap();
    assert!(paths.contains(first) && !paths.contains(" b1 "), "{first}: {paths}");
    // Without debug information there are blocks.
    let (module, profile) = (folder.file("n.wat", NASTY), folder.path("n.wprof"));
    wprof(&["run", "-q", "--collect", "paths", "-o", &profile, "--invoke", "f", &module, "9"]).succeeded();
    let report = wprof(&["report", &profile]).succeeded();
    assert!(report.contains("b1 b2 b3 → b1"), "{report}");
}

#[test]
fn the_time_line_is_the_profiles() {
    let folder = Folder::new();
    let page = page(&folder, &["--profile", "adaptive", "--burst", "100:50"], "f");
    let (profile, data) = (json(&folder.path("f.wprof")), &values(&page, "data")[0]["timeline"]);
    let versions = profile["timeline"]["versions"].as_array().unwrap();
    assert!(versions.iter().any(|version| version["tier"] == "baseline"));
    let columns = data["versions"].as_object().unwrap();
    assert!(columns.values().all(|column| column.as_array().unwrap().len() == versions.len()));
    let bytes: u64 = versions.iter().map(|version| version["bytes"].as_u64().unwrap()).sum();
    assert_eq!(sum(&data["versions"]["bytes"]), bytes);
    assert_eq!(
        data["bursts"].as_array().unwrap().len(),
        profile["timeline"]["bursts"].as_array().unwrap().len()
    );
    // One input gives one page.
    let same = self::page(&folder, &["--profile", "adaptive", "--deterministic"], "g");
    assert!(values(&same, "data")[0]["timeline"].is_null());
}

#[test]
fn a_page_of_a_trap_works_and_says_so() {
    let folder = Folder::new();
    let (profile, page) = (folder.path("f.wprof"), folder.path("f.html"));
    wprof(&["run", "-q", "--collect", "paths", "-o", &profile, &program("crash"), "unreachable", "3"]);
    wprof(&["report", &profile, "--html", &page]).succeeded();
    let trap = values(&page, "data")[0]["overview"]["runs"][0]["trap"].clone();
    assert!(trap.is_string(), "{trap}");
    works(&page);
}

#[test]
fn names_are_only_text() {
    let folder = Folder::new();
    let (module, profile) = (folder.file("<b>.wat", NASTY), folder.path("f.wprof"));
    wprof(&["run", "-q", "--collect", "paths,cct", "-o", &profile, "--invoke", "f", &module, "9"])
        .succeeded();
    let page = folder.path("f.html");
    wprof(&["report", &profile, "--html", &page]).succeeded();
    let names = values(&page, "data")[0]["functions"]["name"].clone();
    assert_eq!(names[2], "<!-- <script> {{data}}");
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(!text.contains("<img") && !text.contains("<b>") && !text.contains("report('ran')</"));
    if let Some(document) = works(&page) {
        assert!(!document.contains("<img"), "{document}");
    }
}

#[test]
fn differences_are_shown_beside_an_earlier_profile() {
    let folder = Folder::new();
    let (before, after, page) = (folder.path("a.wprof"), folder.path("b.wprof"), folder.path("f.html"));
    for (profile, rounds) in [(&before, "1"), (&after, "3")] {
        wprof(&["run", "-q", "--collect", "edges,cct", "-o", profile, &program("json"), "8", rounds])
            .succeeded();
    }
    wprof(&["report", &after, "--diff", &before, "--html", &page]).succeeded();
    let data = &values(&page, "data")[0];
    let (figures, ops) =
        (&data["functions"]["figures"], |profile: &str| json(profile)["ops"].as_u64().unwrap());
    assert_eq!((sum(&figures[0]["before"]), sum(&figures[0]["own"])), (ops(&before), ops(&after)));
    let (weights, calls) = (&data["contexts"]["weights"][0], |at: &str| {
        json(at)["contexts"]["records"][0]["inclusive_calls"].clone()
    });
    let top = data["contexts"]["caller"].as_array().unwrap().iter().position(|caller| *caller == -1).unwrap();
    assert_eq!((&weights["before"][top], &weights["with_callees"][top]), (&calls(&before), &calls(&after)));
    works(&page);
}

#[test]
fn a_page_of_many_functions_opens_quickly() {
    let folder = Folder::new();
    let (profile, page) = (folder.path("f.wprof"), folder.path("f.html"));
    let functions = (0..30_000).map(function).collect();
    Profile { program: "many.wasm".to_owned(), functions, ..Profile::default() }.write(&profile).unwrap();
    wprof(&["report", &profile, "--html", &page]).succeeded();
    assert!(std::fs::metadata(&page).unwrap().len() < 8 << 20);
    let Some(document) = works(&page) else { return };
    // Until everything at the start is read and drawn, in milliseconds; a machine may be busy with other tests.
    let (_, ready) = document.split_once("data-ready=\"").unwrap();
    let ready: u64 = ready.split_once('"').unwrap().0.parse().unwrap();
    assert!(ready < 10_000, "{ready} ms");
}

/// One that ran so often.
fn function(index: u32) -> FunctionProfile {
    let code = CodeRange { start: 100 * index, end: 100 * index + 90 };
    let edge = |from: u32, to: u32, kind| EdgeProfile { from: BlockId(from), to: BlockId(to), kind };
    let block = |start, end| BlockProfile {
        code: CodeRange { start: code.start + start, end: code.start + end },
        ops: 7,
    };
    let mut function = FunctionProfile {
        index,
        name: Some(format!("function_with_a_name_{index}")),
        code,
        fingerprint: 0,
        kind: wprof_profiler::FigureKind::Exact,
        blocks: vec![block(0, 40), block(40, 90)],
        edges: vec![
            edge(0, 1, EdgeKind::Taken),
            edge(0, 2, EdgeKind::NotTaken),
            edge(1, 2, EdgeKind::Return),
        ],
        exits: Vec::new(),
        cost: wprof_profiler::CounterCost::default(),
        counts: FunctionCounts::Edges(vec![u64::from(index); 3]),
    };
    function.fingerprint = function.cfg().unwrap().fingerprint();
    function
}

#[test]
fn the_same_profile_gives_the_same_page() {
    let folder = Folder::new();
    let first = page(&folder, &["--collect", "paths,cct"], "f");
    let again = wprof(&["report", &folder.path("f.wprof"), "--html", "-"]).succeeded();
    assert_eq!(std::fs::read_to_string(first).unwrap(), again);
}

#[test]
fn what_cannot_be_shown_or_written_is_an_error() {
    let folder = Folder::new();
    let profile = folder.count_profile();
    let said = wprof(&["report", &profile, "--html", "/dev/full"]).failed();
    assert!(said.contains("No space left"), "{said}");
    let alone = wprof(&["report", &profile, "--diff", &profile]);
    assert!(alone.code == Some(2) && alone.err.contains("--html"), "{alone:?}");
}
