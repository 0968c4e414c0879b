//! What changed between two profiles, and how much did not.

use std::process::Command;

use serde_json::{Value, json};

use super::readers::{accepted, foreign};
use super::{COUNT, Folder, program, wprof};

/// The profile of a module with `n`.
fn profile(folder: &Folder, name: &str, module: &str, n: &str) -> String {
    let (module, profile) =
        (folder.file(&format!("{name}.wat"), module), folder.path(&format!("{name}.wprof")));
    wprof(&["run", "-q", "--collect", "paths,cct", "-o", &profile, "--invoke", "count", &module, n])
        .succeeded();
    profile
}

/// Another build of `COUNT`: a function in front, and a branch more in `is_odd`.
fn rebuilt() -> String {
    let changed = COUNT.replace("(module", "(module (func $new)");
    changed.replace("local.get 0  i32.const 1  i32.and", "call $new (if (result i32) (i32.and (local.get 0) (i32.const 1)) (then (i32.const 1)) (else (i32.const 0)))")
}

fn diff(before: &str, after: &str) -> Value {
    serde_json::from_str(&wprof(&["diff", "--json", before, after]).succeeded()).expect("JSON")
}

fn change(found: &Value, name: &str) -> Value {
    let functions = found["functions"].as_array().unwrap();
    functions.iter().find(|function| function["name"] == name).unwrap().clone()
}

#[test]
fn more_rounds_are_more_instructions() {
    let folder = Folder::new();
    let (ten, four) = (profile(&folder, "ten", COUNT, "10"), profile(&folder, "four", COUNT, "4"));
    let found = diff(&four, &ten);
    assert_eq!(found["same_module"], true);
    assert_eq!(change(&found, "is_odd")["calls"], json!({"before": 4, "after": 10}));
    assert_eq!(found["totals"][0]["total"]["after"], 131);
    assert_eq!(
        found["contexts"][0],
        json!({"stack": ["count", "is_odd"], "calls": {"before": 4, "after": 10}})
    );
    let paths = found["paths"].as_array().unwrap();
    let ops = |side: &str| paths.iter().map(|path| path["ops"][side].as_u64().unwrap()).sum::<u64>();
    assert_eq!(ops("after"), 131);
    let text = wprof(&["diff", &four, &ten]).succeeded();
    assert!(text.contains("+18") && text.contains("+150.00%") && text.contains("is_odd ← count"), "{text}");
}

#[test]
fn another_build_is_matched_by_name() {
    let folder = Folder::new();
    let (before, after) = (profile(&folder, "a", COUNT, "10"), profile(&folder, "b", &rebuilt(), "10"));
    let found = diff(&before, &after);
    assert_eq!(found["same_module"], false);
    let is_odd = change(&found, "is_odd");
    assert_eq!((&is_odd["index_before"], &is_odd["index_after"]), (&json!(0), &json!(1)));
    assert_eq!(is_odd["was_reshaped"], true);
    assert_eq!(change(&found, "count")["was_reshaped"], false);
    assert_eq!(change(&found, "count")["ops"], json!({"before": 101, "after": 101}));
    assert_eq!(change(&found, "new")["calls"], json!({"before": 0, "after": 10}));
    let text = wprof(&["diff", &before, &after]).succeeded();
    assert!(text.contains("is_odd, changed") && text.contains("new"), "{text}");
}

#[test]
fn growth_beyond_a_threshold_fails() {
    let folder = Folder::new();
    let (ten, four) = (profile(&folder, "ten", COUNT, "10"), profile(&folder, "four", COUNT, "4"));
    let check =
        |threshold: &str, before: &str, after: &str| wprof(&["diff", "--fail-on", threshold, before, after]);
    assert_eq!(check("instructions>+1%", &ten, &ten).code, Some(0));
    assert_eq!(check("instructions>+1%", &ten, &four).code, Some(0));
    let grew = check("instructions>+1%", &four, &ten);
    assert_eq!(grew.code, Some(3));
    assert!(grew.err.contains("instructions went from 53 to 131"), "{grew:?}");
    let said = check("cycles>+1%", &four, &ten).failed();
    assert!(
        said.contains("`cycles` is not in both profiles") && said.contains("instructions, calls"),
        "{said}"
    );
    assert_eq!(check("instructions", &four, &ten).code, Some(2));
}

#[test]
fn the_same_rounds_overlap() {
    let folder = Folder::new();
    let (ten, four) = (profile(&folder, "ten", COUNT, "10"), profile(&folder, "four", COUNT, "4"));
    let text = wprof(&["overlap", &ten, &ten]).succeeded();
    assert_eq!(text.lines().filter(|line| line.trim_start().starts_with("100%")).count(), 7, "{text}");
    let text = wprof(&["overlap", &ten, &four]).succeeded();
    // 10/11 and 4/5 of the calls are of is_odd.
    let calls = text.lines().find(|line| line.contains("functions, by calls")).unwrap();
    assert!(calls.contains("89.1%"), "{text}");
}

#[test]
fn profiles_without_a_common_figure_do_not_overlap() {
    let folder = Folder::new();
    let module = folder.file("count.wat", COUNT);
    let events = folder.path("events.wprof");
    let collect = ["--collect", "events=loads", "--invoke", "count"];
    wprof(&[&["run", "-q", "-o", &events][..], &collect, &[&module, "10"]].concat()).succeeded();
    let said = wprof(&["overlap", &folder.count_profile(), &events]).failed();
    assert!(said.contains("no figure in common"), "{said}");
}

#[test]
fn paths_are_named_by_their_lines_where_the_module_is_there() {
    let folder = Folder::new();
    let module = folder.path("json.wasm");
    std::fs::copy(program("json"), &module).expect("there is room");
    let count = |name: &str, items: &str| {
        let profile = folder.path(name);
        wprof(&["run", "-q", "--collect", "paths", "-o", &profile, &module, items, "1"]).succeeded();
        profile
    };
    let (before, after) = (count("before.wprof", "8"), count("after.wprof", "16"));
    let paths = || {
        let text = wprof(&["diff", &before, &after]).succeeded();
        text.split_once("Paths by change of instructions\n").expect("they are there").1.to_owned()
    };
    let (lines, row) = (paths(), |text: &str| text.lines().nth(1).expect("a path").to_owned());
    assert!(row(&lines).contains(".c:"), "{lines}");
    let named = lines.lines().skip(1).take(10).filter_map(|row| row.rsplit("  ").next());
    let named: Vec<&str> = named.collect();
    let distinct: std::collections::HashSet<&&str> = named.iter().collect();
    assert_eq!(distinct.len(), named.len(), "{lines}");
    std::fs::remove_file(&module).expect("it is there");
    let blocks = paths();
    assert!(row(&blocks).contains(": b") && !blocks.contains(".c:"), "{blocks}");
}

/// A sample of `sort`, by bursts of such lengths.
fn sampled(folder: &Folder, burst: &str, count: &str) -> String {
    let profile = folder.path(&format!("{}-{count}.wprof", burst.replace(':', "-")));
    let adaptive =
        ["run", "-q", "--profile", "adaptive", "--deterministic", "--burst", burst, "-o", &profile];
    wprof(&[&adaptive[..], &[&program("sort"), count, "3"]].concat()).succeeded();
    profile
}

#[test]
fn samples_of_one_run_do_not_fail_and_of_a_longer_one_do() {
    let folder = Folder::new();
    let (one, other) = (sampled(&folder, "300:20", "500"), sampled(&folder, "190:15", "500"));
    let grew = |before: &str, after: &str| {
        let total = diff(before, after)["totals"][0]["total"].clone();
        total["after"].as_u64() > total["before"].as_u64()
    };
    let (before, after) = if grew(&one, &other) { (&one, &other) } else { (&other, &one) };
    assert!(grew(before, after), "two samples are not the same");
    let check = ["diff", "--fail-on", "instructions>0", before, after];
    let ran = wprof(&check);
    assert!(ran.code == Some(0) && ran.err.contains(", which may be chance"), "{ran:?}");
    assert!(ran.out.contains("instructions, may be chance"), "{ran:?}");
    assert_eq!(wprof(&[&check[..], &["--insignificant"]].concat()).code, Some(3));
    let longer = sampled(&folder, "300:20", "3000");
    let ran = wprof(&["diff", "--fail-on", "instructions>+100%", &one, &longer]);
    assert!(ran.code == Some(3) && !ran.err.contains("chance"), "{ran:?}");
    assert_eq!(diff(&one, &longer)["totals"][0]["may_be_chance"], false);
}

#[test]
fn two_builds_of_a_c_program_are_matched() {
    let folder = Folder::new();
    let source = program("json").replace(".wasm", ".c");
    let mut profiles = Vec::new();
    for flag in ["-O1", "-O3"] {
        let module = folder.path(&format!("json{flag}.wasm"));
        // In two steps: in one it would have Binaryen strip names where it finds that.
        let (target, object) = (["--target=wasm32-wasi", "--sysroot=/usr"], format!("{module}.o"));
        for args in [[flag, "-c", &source, "-o", &object], ["-g", "-w", &object, "-o", &module]] {
            let Some(output) = foreign(Command::new("clang-19").args(target).args(args)) else { return };
            accepted(output);
        }
        let profile = folder.path(&format!("json{flag}.wprof"));
        wprof(&["run", "-q", "--collect", "paths,cct", "-o", &profile, &module, "5", "1"]).succeeded();
        profiles.push(profile);
    }
    let found = diff(&profiles[0], &profiles[1]);
    assert_eq!(found["same_module"], false);
    // The compiler has changed the program's functions, but not those of the library.
    let (own, of_library) = (change(&found, "parse_value"), change(&found, "memcpy"));
    assert_eq!((&own["was_reshaped"], &of_library["was_reshaped"]), (&json!(true), &json!(false)));
    let functions = found["functions"].as_array().unwrap();
    let is_matched =
        |function: &&Value| !function["index_before"].is_null() && !function["index_after"].is_null();
    let matched: Vec<&Value> = functions.iter().filter(is_matched).collect();
    assert!(matched.len() * 3 > functions.len() * 2, "{} of {}", matched.len(), functions.len());
    let paths = found["paths"].as_array().unwrap();
    assert!(paths.iter().any(|path| path["index_before"] == of_library["index_before"]));
    let stacks = found["contexts"].as_array().unwrap();
    let in_both = |side: &str, stack: &Value| stack["calls"][side].as_u64() > Some(0);
    assert!(stacks.iter().filter(|stack| in_both("before", stack) && in_both("after", stack)).count() > 10);
}

#[test]
fn samples_too_small_to_be_compared_are_told() {
    let folder = Folder::new();
    let (sampled, exact) = (folder.path("sampled.wprof"), folder.path("exact.wprof"));
    wprof(&["run", "-q", "--no-code-cache", "-o", &sampled, &program("hello")]).succeeded();
    wprof(&["run", "-q", "--exact", "-o", &exact, &program("hello")]).succeeded();
    let changes = wprof(&["diff", &exact, &sampled]).succeeded();
    let told = "  after: nothing was seen; `wprof run --exact` counts everything";
    assert!(changes.starts_with(told), "{changes}");
    assert!(!changes.contains("before: "), "{changes}");
    for changes in [changes, wprof(&["diff", &sampled, &exact]).succeeded()] {
        assert!(
            changes.contains(
                "  the samples saw too little of the code: only time and host calls are compared\n"
            ),
            "{changes}"
        );
        assert!(!changes.contains("gone") && !changes.contains("instructions of"), "{changes}");
    }
    let threshold = wprof(&["diff", &exact, &sampled, "--fail-on", "instructions>+1%"]).failed();
    assert!(threshold.contains("`instructions` is not in both profiles"), "{threshold}");
    let overlap = wprof(&["overlap", &exact, &sampled]).failed();
    assert!(overlap.contains("sampled.wprof is a sample without bursts"), "{overlap}");
    for profiles in [[&exact, &sampled], [&sampled, &exact]] {
        let merge = wprof(&["merge", profiles[0], profiles[1], "-o", &folder.path("sum.wprof")]).failed();
        assert!(merge.contains("one profile is exact and the other a sample"), "{merge}");
    }
}
