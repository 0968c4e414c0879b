//! Programs with one problem each, in the line that is marked: the first command, without options, shows that line first.

use super::{Folder, Ran, command, wprof};

/// The first row of the lines by time that `wprof run` shows.
fn hottest_line(program: &str) -> String {
    let ran: Ran = command(&["run", &path(program, "wasm")]).output().expect("the program starts").into();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let is_head = |line: &&str| line.contains("with callees") && line.contains("  line");
    let mut rows = ran.err.lines().skip_while(|line| !is_head(line)).skip(1);
    rows.next().unwrap_or_else(|| panic!("no lines: {}", ran.err)).trim_end().to_owned()
}

fn path(program: &str, extension: &str) -> String {
    format!("{}/../bench-wasm/programs/planted/{program}.{extension}", env!("CARGO_MANIFEST_DIR"))
}

fn check(program: &str, extension: &str) {
    let source = std::fs::read_to_string(path(program, extension)).expect("the source is there");
    let line = source.lines().position(|line| line.contains("// PLANTED")).expect("it is marked") + 1;
    let row = hottest_line(program);
    let place = format!("  {program}.{extension}:{line}");
    // Behind it stand what was called there, and the text.
    assert!(row.contains(&format!("{place} ")), "{row}");
    let text = source.lines().nth(line - 1).unwrap_or_default().trim();
    assert!(row.contains(&text[..text.len().min(10)]), "{row}");
}

#[test]
fn an_erase_that_moves_all_is_found_under_memmove() {
    check("erase", "cpp");
    assert!(hottest_line("erase").contains(" (memmove)"));
}

#[test]
fn a_sum_by_columns_is_found() {
    check("columns", "cpp");
}

#[test]
fn a_virtual_call_that_chases_pointers_is_found() {
    check("chase", "cpp");
}

#[test]
fn an_unpredictable_branch_is_found() {
    check("branch", "cpp");
}

#[test]
fn allocations_that_are_cleared_are_found() {
    check("allocate", "cpp");
}

#[test]
fn an_inlined_quadratic_function_is_found() {
    check("dedup", "rs");
}

#[test]
fn callers_of_what_is_only_inlined_are_shown() {
    let folder = super::Folder::new();
    let profile = folder.path("p.wprof");
    let ran: Ran =
        command(&["run", "-q", "-o", &profile, &path("dedup", "wasm")]).output().expect("it starts").into();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let callers = super::wprof(&["report", &profile, "--callers", "dedup"]).succeeded();
    let rows: Vec<&str> = callers.lines().skip_while(|line| !line.contains("called by")).skip(1).collect();
    assert!(rows[0].ends_with("  dedup::dedup") && rows[1].ends_with("  dedup::main"), "{callers}");
    assert!(rows[1].contains("  inlined  "), "{callers}");
    let folded = super::wprof(&["export", "--to", "folded", &profile]).succeeded();
    assert!(folded.contains(";dedup::main;dedup::dedup;"), "{folded}");
}

/// The program says itself what it has asked for.
#[test]
fn who_allocates_is_what_the_program_says() {
    let folder = super::Folder::new();
    let profile = folder.path("p.wprof");
    let args = ["run", "--collect", "allocations", "-o", &profile, &path("allocate", "wasm"), "1000"];
    let ran: Ran = command(&args).env("COLUMNS", "120").output().expect("it starts").into();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.starts_with("4000 blocks, 4164991 bytes, 41080 live, 45232 at the peak"), "{}", ran.out);
    // The C library has made two blocks before.
    for expected in ["4,165,022 bytes in 4,002 blocks allocated", "45,263 bytes in 25 blocks live at"] {
        assert!(ran.err.contains(expected), "{}", ran.err);
    }
    let source = std::fs::read_to_string(path("allocate", "cpp")).expect("the source is there");
    let planted = source.lines().position(|line| line.contains("// PLANTED")).expect("it is marked") + 1;
    let is_head = |line: &&str| line.contains("  function, allocator");
    let first = ran.err.lines().skip_while(|line| !is_head(line)).nth(1).expect("places are listed");
    assert!(first.contains("4,096,000  98.3%   1,000  45,056  40,960"), "{first}");
    assert!(first.contains(&format!("allocate.cpp:{planted}")) && first.ends_with(", calloc"), "{first}");
    for (weight, total) in [("allocated-bytes", 4_165_022), ("live-bytes", 41_111), ("peak-bytes", 45_263)] {
        let folded = super::wprof(&["export", "--to", "folded", "--weight", weight, &profile]).succeeded();
        let amounts = folded.lines().filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok());
        assert_eq!(amounts.sum::<u64>(), total, "{weight}");
    }
    let json = super::wprof(&["report", "--json", &profile]).succeeded();
    assert!(json.contains("\"live\":{\"blocks\":22,\"bytes\":41111}"), "{json}");
}

#[test]
fn json_has_the_lines_with_most_instructions() {
    let folder = Folder::new();
    let profile = folder.path("a.wprof");
    let budget = "instructions=20_000_000";
    wprof(&["run", "--exact", "--budget", budget, "-o", &profile, &path("columns", "wasm")]);
    let json = wprof(&["export", "--to", "json", &profile]).succeeded();
    let parsed: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let lines = parsed["lines"].as_array().expect("the module has debug information");
    let ops: Vec<u64> = lines.iter().map(|line| line["ops"].as_u64().expect("exact")).collect();
    assert!(
        ops.is_sorted_by(|a, b| a >= b) && ops.iter().sum::<u64>() <= parsed["ops"].as_u64().unwrap_or(0)
    );
    assert!(lines[0]["file"].as_str().is_some_and(|file| file.ends_with("columns.cpp")), "{}", lines[0]);
    assert!(lines[0].get("time").is_none() && lines[0]["line"].as_u64() > Some(0), "{}", lines[0]);
    // Without the module nobody knows lines.
    let nowhere = folder.file("not.wasm", b"");
    assert!(wprof(&["export", "--to", "json", "-m", &nowhere, &profile]).failed().contains("not.wasm"));
}

/// A simulated predictor misses the branch that time is lost at.
#[test]
fn the_branch_that_cannot_be_predicted_is_mispredicted_most() {
    let budget = "instructions=20_000_000";
    let args = ["run", "--collect", "branches", "--budget", budget, &path("branch", "wasm")];
    let ran: Ran = command(&args).output().expect("it starts").into();
    let source = std::fs::read_to_string(path("branch", "cpp")).expect("the source is there");
    let planted = source.lines().position(|line| line.contains("// PLANTED")).expect("it is marked") + 1;
    let is_head = |line: &&str| line.contains("mispredicted  share");
    let first = ran.err.lines().skip_while(|line| !is_head(line)).nth(1).unwrap_or_default();
    assert!(first.contains(&format!("  branch.cpp:{planted}  ")), "{}", ran.err);
}

/// Without the program's own file only libraries are left.
#[test]
fn whose_lines_are_shown_can_be_said() {
    let line = |args: &[&str]| {
        let module = path("erase", "wasm");
        let args = [&["run"], args, &[&module]].concat();
        let ran: Ran = command(&args).output().expect("it starts").into();
        let is_head = |line: &&str| line.contains("with callees") && line.contains("  line");
        ran.err.lines().skip_while(|line| !is_head(line)).nth(1).unwrap_or_default().to_owned()
    };
    assert!(line(&[]).contains("  erase.cpp:"));
    assert!(!line(&["--library", "erase.cpp"]).contains("  erase.cpp:"));
    assert!(line(&["--library", "erase.cpp", "--mine", "*.cpp"]).contains("  erase.cpp:"));
    let libc = line(&["--mine", "libc-top-half"]);
    assert!(libc.contains("  memmove.c:") || libc.contains("  memcpy.c:"), "{libc}");
}

/// What calls what directly follows from how often blocks ran.
#[test]
fn callgrind_has_direct_calls_of_exact_profiles() {
    let folder = super::Folder::new();
    let profile = folder.path("p.wprof");
    let args = ["run", "-q", "--collect", "edges", "-o", &profile, &path("allocate", "wasm"), "1000"];
    let ran: Ran = command(&args).output().expect("it starts").into();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let written = super::wprof(&["export", "--to", "callgrind", &profile]).succeeded();
    let calls =
        written.lines().filter_map(|line| line.strip_prefix("calls=")?.split(' ').next()?.parse().ok());
    let calls: Vec<u64> = calls.collect();
    // Two allocators and `drop` are called in each round, and `drop` not in every hundredth.
    assert!(calls.contains(&1000) && calls.contains(&990), "{calls:?}");
}

/// In a short run as users have it, no burst may have seen the function that contains the code; the timer has.
#[test]
fn what_is_only_inlined_has_its_time_and_code_without_bursts() {
    let folder = Folder::new();
    let (profile, module) = (folder.path("p.wprof"), path("dedup", "wasm"));
    wprof(&["run", "-q", "--rate", "1000", "--burst", "inf:1", "-o", &profile, &module]).succeeded();
    let annotated = wprof(&["annotate", &profile, "dedup"]).succeeded();
    let mut lines = annotated.lines();
    assert!(lines.next().is_some_and(|head| head.starts_with("dedup::dedup  inlined at ")), "{annotated}");
    let time = lines.next().unwrap_or_default();
    assert!(time.contains(" there, ") && time.contains(" ± ") && time.contains(" samples"), "{annotated}");
    assert!(annotated.contains("not counted: no burst saw it"), "{annotated}");
    assert!(!annotated.contains("0 instructions there"), "{annotated}");
    // Where in its code a few samples are is chance.
    let is_timed = |line: &str| [" µs ", " ms ", " s "].iter().any(|unit| line.contains(unit));
    let code = annotated.split_once(" block\n").map(|(_, code)| code).unwrap_or_default();
    assert!(code.contains("dedup.rs:16") && code.lines().any(is_timed), "{annotated}");
}

/// A function that exists only inlined has its instructions in others.
#[test]
fn what_is_only_inlined_is_shown_at_all_its_places() {
    let folder = Folder::new();
    let (profile, module) = (folder.path("p.wprof"), path("dedup", "wasm"));
    let args =
        ["run", "-q", "--collect", "edges", "--budget", "instructions=60_000_000", "-o", &profile, &module];
    wprof(&args);
    let annotated = wprof(&["annotate", &profile, "dedup"]).succeeded();
    let mut lines = annotated.lines();
    let places: u64 =
        lines.next().and_then(|head| head.strip_prefix("dedup::dedup  inlined at ")).map_or(0, first);
    let all = lines.next().map_or(0, first);
    let sizes: Vec<u64> = annotated
        .lines()
        .skip_while(|line| !line.starts_with("in "))
        .filter(|line| line.contains(" of all"))
        .map(first)
        .collect();
    assert!(places > 0 && all > 100_000, "{annotated}");
    assert_eq!((sizes.len() as u64, sizes.iter().sum::<u64>()), (places, all), "{annotated}");
    assert!(annotated.contains("\nin dedup::main  (function "), "{annotated}");
    let source = std::fs::read_to_string(path("dedup", "rs")).expect("the source is there");
    let planted = source.lines().find(|line| line.contains("// PLANTED")).expect("it is marked");
    assert!(annotated.contains(planted.trim()), "{planted}: {annotated}");
    let callers = wprof(&["report", &profile, "--callers", "dedup", "--least", "0"]).succeeded();
    assert!(callers.contains("Callers by instructions"), "{callers}");
    let rows = callers.lines().filter(|line| line.contains("dedup::main"));
    assert_eq!(rows.map(first).sum::<u64>(), all, "{callers}");
    let explained = wprof(&["explain", &module, "dedup"]).succeeded();
    assert!(explained.starts_with("dedup::dedup: inlined into 1 function\n"), "{explained}");
    assert!(explained.contains("\ndedup::main: "), "{explained}");
    assert!(wprof(&["annotate", &profile, "no_such_function"]).failed().contains("no function is called"));
}

/// Returns the first number in a line.
fn first(line: &str) -> u64 {
    let digits = line.trim_start().split(' ').next().unwrap_or_default().replace(',', "");
    digits.parse().unwrap_or(0)
}

/// A virtual call has as many callees in the call graph as classes.
#[test]
fn callgrind_has_indirect_calls_that_were_counted() {
    let folder = Folder::new();
    let text = r#"(module (type $f (func))
        (table funcref (elem $a $b))
        (func $a) (func $b (call $a))
        (func $run (export "run") (param $n i32)
            (loop $again
                (call_indirect (type $f) (i32.and (local.get $n) (i32.const 1)))
                (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))"#;
    let (module, profile) = (folder.file("m.wat", text), folder.path("m.wprof"));
    for collect in ["callees", "callees,edges", "paths,callees"] {
        wprof(&["run", "-q", "--collect", collect, "-o", &profile, "--invoke", "run", &module, "100"])
            .succeeded();
        let written = wprof(&["export", "--to", "callgrind", &profile]).succeeded();
        let calls: Vec<&str> = written.lines().filter(|line| line.starts_with("calls=")).collect();
        assert_eq!(calls.iter().filter(|calls| calls.starts_with("calls=50 ")).count(), 3, "{written}");
    }
}

/// Libraries' lines that only call others say nothing, and loops are told by the program's own lines.
#[test]
fn the_programs_own_lines_are_shown() {
    let folder = Folder::new();
    let profile = folder.path("p.wprof");
    let module = path("dedup", "wasm");
    wprof(&["run", "-q", "--rate", "1000", "-o", &profile, &module]).succeeded();
    let report = wprof(&["report", &profile, "--top", "30"]).succeeded();
    let section = |title: &str| -> Vec<String> {
        let rows = report.lines().skip_while(|line| *line != title).skip(2);
        rows.take_while(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    let lines = section("Lines by time");
    let is_idle = |row: &&String| row.trim_start().starts_with("0 µs") && !row.contains("  dedup.rs:");
    assert!(!lines.is_empty() && !lines.iter().any(|row| is_idle(&row)), "{report}");
    let loops = section("Loops by time");
    let own = loops.iter().find(|row| row.ends_with("  dedup::main"));
    assert!(own.is_some_and(|row| row.contains("  dedup.rs:")), "{report}");
}

/// Neither what is inlined nor what is not is chosen without a word where a part of a name fits both.
#[test]
fn a_part_of_a_name_of_several_functions_is_refused() {
    let folder = Folder::new();
    let (profile, module) = (folder.path("p.wprof"), path("erase", "wasm"));
    let budget = "instructions=1_000_000";
    wprof(&[
        "run",
        "-q",
        "--collect",
        "edges,cct",
        "--rate",
        "off",
        "--budget",
        budget,
        "-o",
        &profile,
        &module,
    ]);
    for said in [
        wprof(&["annotate", &profile, "mem"]).failed(),
        wprof(&["explain", &module, "mem"]).failed(),
        wprof(&["report", &profile, "--callers", "mem"]).failed(),
    ] {
        assert!(said.contains("`mem` matches several functions"), "{said}");
        assert!(said.lines().count() <= 8 && said.lines().all(|line| line.chars().count() <= 130), "{said}");
    }
    assert!(wprof(&["annotate", &profile, "memmove"]).succeeded().starts_with("memmove"));
    let said = wprof(&["annotate", &profile, "memmoev"]).failed();
    assert!(said.contains("similar are") && said.contains("  memmove") && !said.contains("malloc"), "{said}");
}

/// Without time lines are found by exact counts.
#[test]
fn the_hottest_lines_are_found_by_instructions() {
    let folder = Folder::new();
    let (profile, page) = (folder.path("p.wprof"), folder.path("p.html"));
    let source = std::fs::read_to_string(path("columns", "cpp")).expect("the source is there");
    let planted = source.lines().position(|line| line.contains("// PLANTED")).expect("it is marked") + 1;
    let run = ["run", "--exact", "--rate", "off", "-o", &profile, &path("columns", "wasm")];
    let summary = wprof(&run).err;
    let report = wprof(&["report", &profile]).succeeded();
    let place = format!("  columns.cpp:{planted}  ");
    for text in [&summary, from(&report, "Lines by instructions")] {
        let first = text.lines().skip_while(|line| !line.ends_with("share  line")).nth(1);
        assert!(first.is_some_and(|row| row.contains(&place)), "{text}");
    }
    wprof(&["report", &profile, "--html", &page]).succeeded();
    let html = std::fs::read_to_string(&page).expect("it was written");
    let data = format!("\"lines_by_instructions\":[{{\"place\":\"columns.cpp:{planted}\"");
    assert!(html.contains(&data), "no {data}");
}

/// The text from a title on.
fn from<'a>(text: &'a str, title: &str) -> &'a str {
    text.split_once(title).unwrap_or_else(|| panic!("no {title}: {text}")).1
}

/// Bursts hardly see a run as short as this.
#[test]
fn loops_have_the_time_that_was_sampled_in_them() {
    let folder = Folder::new();
    let profile = folder.path("p.wprof");
    let ran: Ran =
        command(&["run", "-q", "-o", &profile, &path("erase", "wasm")]).output().expect("it starts").into();
    ran.succeeded();
    let report = wprof(&["report", &profile]).succeeded();
    let first = report.lines().skip_while(|line| *line != "Loops by time").nth(2).unwrap_or_default();
    assert!(first.contains("  memmove.c:") && first.ends_with("  memmove"), "{report}");
}

/// No option is ignored without a word.
#[test]
fn options_that_do_nothing_are_told() {
    let folder = super::Folder::new();
    let profile = folder.path("p.wprof");
    let args = ["run", "-o", &profile, &path("allocate", "wasm"), "5", "--exact"];
    let ran: Ran = command(&args).output().expect("it starts").into();
    assert!(ran.err.contains("--exact stands after the module, so it goes to the program"), "{}", ran.err);
    let ran: Ran = command(&["report", "--by", "calls", &profile]).output().expect("it starts").into();
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("--by weighs calling contexts: add --cct"), "{}", ran.err);
}
