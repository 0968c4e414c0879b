//! Calling contexts from the run to the report.

use super::{COUNT, Folder, Ran, json, program, wprof};

/// The profile of `COUNT` with n = 10, by contexts and whatever else.
fn collected(folder: &Folder, collect: &str) -> (Ran, String) {
    let (module, profile) = (folder.file("count.wat", COUNT), folder.path("c.wprof"));
    let ran = wprof(&["run", "-o", &profile, "--collect", collect, "--invoke", "count", &module, "10"]);
    (ran, profile)
}

#[test]
fn the_summary_says_how_many_contexts_there_are() {
    let folder = Folder::new();
    let (ran, profile) = collected(&folder, "cct");
    assert!(ran.err.contains("\n  11 calls in 2 calling contexts, at most 2 deep\n"), "{}", ran.err);
    assert!(!ran.err.contains(" ran") && !ran.err.contains("placed"), "nothing else is counted: {}", ran.err);
    assert_eq!(json(&profile)["functions"], serde_json::json!([]));
    let (ran, profile) = collected(&folder, "edges,cct");
    assert!(ran.err.contains("131 instructions in 11 calls") && ran.err.contains("2 calling contexts"));
    let contexts = &json(&profile)["contexts"];
    let calls: Vec<_> = contexts["records"].as_array().unwrap().iter().map(|r| &r["calls"]).collect();
    assert_eq!(calls, [0, 1, 10]);
    assert_eq!(contexts["routines"][1]["name"], "is_odd");
}

#[test]
fn the_tree_is_shown_from_the_top_and_from_a_function_up() {
    let folder = Folder::new();
    let (_, profile) = collected(&folder, "cct");
    let tree = wprof(&["report", &profile, "--cct"]).succeeded();
    let expected = "\
Calling contexts by calls
  with callees  share  calls  called at  context
            11   100%      1             count
            10  90.9%     10  0x33         is_odd

The tree
    2  call records
   40  bytes of memory, 20.0 a record
  1.0  callees of a record that has any, on average
  2.0  calls down to a leaf on average, 2 at most
    1  records of one function, is_odd
    1  call sites in all records, 1 of them used
    0  recursive calls, by record and call site
";
    assert!(tree.contains(expected), "{tree}");
    let pruned = wprof(&["report", &profile, "--cct", "--least", "95%"]).succeeded();
    assert!(pruned.contains("count\n") && !pruned.contains("is_odd\n\n"), "{pruned}");
    let callers = wprof(&["report", &profile, "--callers", "odd"]).succeeded();
    let expected = "\
Callers by calls
  calls  share  calls at  called by
     10   100%            is_odd
     10   100%  0x33        count
";
    assert!(callers.contains(expected), "{callers}");
    let report = wprof(&["report", &profile]).succeeded();
    assert!(report.contains("Calling contexts\n    2  call records\n"), "{report}");
}

#[test]
fn call_sites_are_merged_on_request() {
    let folder = Folder::new();
    let module = "(module (func $f) (func $main (export \"main\") (call $f) (call $f)))";
    let (module, profile) = (folder.file("m.wat", module), folder.path("m.wprof"));
    let run = |collect: &str| {
        wprof(&["run", "-q", "--collect", collect, "-o", &profile, "--invoke", "main", &module]).succeeded();
        wprof(&["report", &profile, "--cct"]).succeeded()
    };
    let by_site = run("cct");
    assert!(by_site.contains("    2  call sites in all records, 2 of them used\n"), "{by_site}");
    let by_callee = run("cct=by-callee");
    let merged = "    1  callee slots in all records; call sites are merged\n";
    assert!(by_callee.contains(merged) && !by_callee.contains("inlined"), "{by_callee}");
    assert_eq!(json(&profile)["contexts"]["merges_sites"], true);
    assert!(wprof(&["report", &profile, "--callers", "f"]).succeeded().contains("main"));
}

#[test]
fn deep_contexts_have_room_for_names() {
    let folder = Folder::new();
    let calls = (0..20).map(|f| format!("(func $function_{f} (call {}))", f + 1));
    let functions: String = calls.collect();
    let module = format!(r#"(module {functions} (func $last) (export "f" (func 0)))"#);
    let (module, profile) = (folder.file("deep.wat", module), folder.path("f.wprof"));
    wprof(&["run", "-q", "--collect", "cct", "-o", &profile, "--invoke", "f", &module]).succeeded();
    let tree = wprof(&["report", &profile, "--cct"]).succeeded();
    let rows = [
        "    function_2\n",
        &format!("{}function_12\n", " ".repeat(24)),
        " 13: function_13\n",
        " 20: last\n",
    ];
    assert!(rows.iter().all(|row| tree.contains(*row)), "{tree}");
    let callers = wprof(&["report", &profile, "--callers", "last"]).succeeded();
    assert!(callers.contains(" 13: function_7\n"), "{callers}");
}

#[test]
fn programs_keep_their_output_and_sums_of_profiles_their_contexts() {
    let folder = Folder::new();
    let (profile, sum) = (folder.path("p.wprof"), folder.path("sum.wprof"));
    let run = ["run", "-q", "--collect", "cct", "-o", &profile, &program("sort"), "200", "1"];
    let plain = wprof(&["run", "-q", "--profile", "off", &program("sort"), "200", "1"]).succeeded();
    assert_eq!(wprof(&run).succeeded(), plain);
    wprof(&["merge", "-o", &sum, &profile, &profile]).succeeded();
    let calls = |file: &str| {
        let report = wprof(&["report", file, "--callers", "wasi_snapshot_preview1::fd_write"]).succeeded();
        let row = report.lines().find(|line| line.ends_with("::fd_write")).map(str::to_owned);
        let row = row.unwrap_or_else(|| panic!("{report}"));
        row.split_whitespace().next().and_then(|calls| calls.parse::<u64>().ok()).expect("a number")
    };
    assert_eq!(calls(&sum), 2 * calls(&profile));
}

#[test]
fn memory_of_contexts_is_bounded_and_the_report_says_so() {
    let folder = Folder::new();
    let (module, profile) = (folder.file("count.wat", COUNT), folder.path("c.wprof"));
    let bound = ["run", "--collect", "cct", "--max-context-memory", "130", "-o", &profile];
    let ran = wprof(&[&bound[..], &["--invoke", "count", &module, "10"]].concat());
    assert!(ran.err.contains("some callers are unknown"), "{}", ran.err);
    let tree = wprof(&["report", &profile, "--cct"]).succeeded();
    assert!(tree.contains("<unknown callers>\n") && tree.contains("    is_odd\n"), "{tree}");
}

#[test]
fn contexts_that_were_not_counted_are_not_shown() {
    let folder = Folder::new();
    let profile = folder.count_profile();
    let error = wprof(&["report", &profile, "--cct"]).failed();
    assert!(error.contains("record one with `wprof run --collect cct`"), "{error}");
    let (_, profile) = collected(&folder, "cct");
    assert!(wprof(&["report", &profile, "--callers", "nobody"]).failed().contains("no function is called"));
}

/// The sum of the weights of all stacks.
fn folded(profile: &str) -> u64 {
    let stacks = wprof(&["export", "--to", "folded", "--weight", "instructions", profile]).succeeded();
    assert!(stacks.lines().any(|stack| stack.contains(';')), "{stacks}");
    stacks.lines().map(|stack| stack.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

#[test]
fn instructions_are_known_by_context_where_paths_are() {
    let folder = Folder::new();
    let (_, profile) = collected(&folder, "flow");
    let by_instructions = |profile: &str| wprof(&["report", profile, "--cct", "--by", "instructions"]);
    let tree = by_instructions(&profile).succeeded();
    let count = tree.lines().find(|line| line.ends_with(" count")).expect("it ran");
    assert!(count.trim_start().starts_with("131   100% "), "{tree}");
    assert_eq!(folded(&profile), 131);
    let (_, without) = collected(&folder, "edges,cct");
    let refused = by_instructions(&without).failed();
    assert!(refused.contains("calling contexts have no `instructions`, only calls"), "{refused}");
}

#[test]
fn instructions_by_context_count_paths_that_a_trap_ended() {
    let folder = Folder::new();
    let profile = folder.path("trap.wprof");
    let ran = wprof(&["run", "-q", "--collect", "flow", "-o", &profile, &program("crash"), "divide", "20"]);
    let found = json(&profile);
    assert_eq!(found["runs"][0]["ending"]["how"], "trapped", "{ran:?}");
    assert_eq!(found["ops"], folded(&profile));
}
