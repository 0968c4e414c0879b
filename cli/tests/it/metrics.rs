//! Metrics along paths from the run to the report.

use super::{Folder, function, json, program, wprof};

/// Round i of the loop loads from the start of line i; each goes through an arm or past it.
const STRIDES: &str = r#"(module (memory 4)
  (func $walk (export "walk") (param $n i32) (local $i i32)
    (loop $again
      (if (i32.and (local.get $i) (i32.const 1)) (then (nop)))
      (drop (i32.load (i32.mul (local.get $i) (i32.const 64))))
      (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))))"#;

#[test]
fn paths_have_figures_in_reports_and_in_json() {
    let folder = Folder::new();
    let (module, profile) = (folder.file("strides.wat", STRIDES), folder.path("m.wprof"));
    let what = "paths,cycles,cache,events=loads,instructions";
    let run =
        ["run", "-o", &profile, "--collect", what, "--cache", "4k,4,64", "--invoke", "walk", &module, "100"];
    let ran = wprof(&run);
    assert!(ran.err.contains("100 cache-misses; 4 hot paths (at least 1.0% each) have 100%"), "{}", ran.err);
    let report = wprof(&["report", &profile]).succeeded();
    let table = report.split("\n\n").find(|part| part.starts_with("Hot paths by cache-misses"));
    let is_right =
        |table: &str| table.contains("dense") && table.contains("sparse") && table.lines().count() == 7;
    assert!(table.is_some_and(is_right), "{report}");
    assert!(
        report.contains(" cycles along all paths; ") && report.contains("Who has the cycles"),
        "{report}"
    );
    let json = json(&profile);
    let names: Vec<_> = json["metrics"].as_array().unwrap().iter().map(|metric| &metric["name"]).collect();
    assert_eq!(names, ["cache-misses", "cycles", "instructions", "loads"]);
    let paths = function(&json, "walk")["paths"]["finished"].as_array().unwrap();
    let sum = |column: usize| paths.iter().map(|path| path["metrics"][column].as_u64().unwrap()).sum::<u64>();
    assert_eq!([0, 2, 3].map(sum), [100, json["ops"].as_u64().unwrap(), 100]);
}

#[test]
fn metrics_of_a_real_program_are_the_same_in_each_run_but_for_time() {
    let folder = Folder::new();
    let misses = |name: &str, what: &str| {
        let profile = folder.path(name);
        wprof(&["run", "-q", "-o", &profile, "--collect", what, &program("sort"), "500", "1"]).succeeded();
        let report = wprof(&["report", &profile]).succeeded();
        let total = report.lines().find(|line| line.ends_with("cache-misses along all paths"));
        total.unwrap_or_else(|| panic!("{report}")).to_owned()
    };
    assert_eq!(misses("a.wprof", "paths,cache"), misses("b.wprof", "paths,cycles,cache"));
}

#[test]
fn contexts_are_weighed_by_what_was_measured_in_them() {
    let folder = Folder::new();
    let (module, profile) = (folder.file("strides.wat", STRIDES), folder.path("m.wprof"));
    let run = ["run", "-o", &profile, "--collect", "cct,cycles,cache", "--invoke", "walk", &module, "100"];
    let ran = wprof(&run);
    assert!(ran.err.contains("  100 cache-misses in them\n"), "{}", ran.err);
    assert!(ran.err.contains(" cycles in them; "), "{}", ran.err);
    assert!(ran.err.contains("cycles are up to about twice too many"), "{}", ran.err);
    let alone = wprof(&["run", "--collect", "cct,cycles", "--invoke", "walk", &module, "100"]);
    assert!(!alone.err.contains("too many"), "{}", alone.err);
    let tree = wprof(&["report", &profile, "--cct", "--by", "cache-misses"]).succeeded();
    let expected = "\
Calling contexts by cache-misses
  with callees  share  itself  calls  context
           100   100%     100      1  walk
";
    assert!(tree.contains(expected), "{tree}");
    let callers = wprof(&["report", &profile, "--callers", "walk", "--by", "cache-misses"]).succeeded();
    assert!(
        callers.contains("     100   100%            walk\n") || callers.contains("     100   100%  walk\n"),
        "{callers}"
    );
    let message = wprof(&["report", &profile, "--cct", "--by", "loads"]).failed();
    assert!(message.contains("no `loads`, only calls, cache-misses, cycles"), "{message}");
    let record = &json(&profile)["contexts"]["records"][1];
    assert_eq!(record["metrics"][0], 100);
}

#[test]
fn figures_are_found_by_what_was_collected() {
    let folder = Folder::new();
    let (module, profile) = (folder.file("strides.wat", STRIDES), folder.path("m.wprof"));
    wprof(&["run", "-q", "-o", &profile, "--collect", "cct,energy", "--invoke", "walk", &module, "100"])
        .succeeded();
    for (collected, column) in [("energy", "picojoules"), ("cache", "cache-misses")] {
        let tree = |by: &str| wprof(&["report", &profile, "--cct", "--by", by]).succeeded();
        assert_eq!(tree(collected), tree(column));
        let folded = |by: &str| wprof(&["export", "--to", "folded", "--weight", by, &profile]).succeeded();
        assert_eq!(folded(collected), folded(column));
    }
}

/// `leaf` goes one way when `odd` calls it, and the other when `even` does.
const FLOW: &str = r#"(module
  (func $leaf (param i32) (if (i32.and (local.get 0) (i32.const 1)) (then (nop) (nop))))
  (func $odd (param i32) (call $leaf (i32.or (local.get 0) (i32.const 1))))
  (func $even (param i32) (call $leaf (i32.shl (local.get 0) (i32.const 1))))
  (func (export "run") (param $n i32)
    (loop $again
      (call $odd (local.get $n))
      (call $even (local.get $n))
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))"#;

#[test]
fn paths_in_contexts_tell_who_goes_which_way() {
    let folder = Folder::new();
    let (module, profile) = (folder.file("flow.wat", FLOW), folder.path("f.wprof"));
    wprof(&["run", "-q", "-o", &profile, "--collect", "flow,cache", "--invoke", "run", &module, "50"])
        .succeeded();
    let report = wprof(&["report", &profile]).succeeded();
    let table = report.split("\n\n").find(|part| part.starts_with("Hottest paths in calling contexts"));
    let leaf = table.map(|table| table.lines().filter(|line| line.contains(" leaf ")).collect::<Vec<_>>());
    let is_right = |leaf: &Vec<&str>| {
        leaf.len() == 2
            && leaf[0].contains("odd < ")
            && leaf[1].contains("even < ")
            && leaf[0].contains("b0 b1 b2")
    };
    assert!(leaf.as_ref().is_some_and(is_right), "{report}");
    let json = json(&profile);
    let records = json["contexts"]["records"].as_array().unwrap();
    assert!(
        records.iter().skip(1).all(|record| record["paths"][0]["metrics"] == serde_json::json!([0])),
        "{json}"
    );
    let sum = folder.path("sum.wprof");
    wprof(&["merge", &profile, &profile, "-o", &sum]).succeeded();
    assert!(wprof(&["report", &sum]).succeeded().contains("Hottest paths in calling contexts"));
}

#[test]
fn what_the_system_counts_is_measured() {
    let folder = Folder::new();
    let profile = folder.path("p.wprof");
    let sort = program("sort");
    let run =
        ["run", "-q", "-o", &profile, "--collect", "paths,cct", "--events", "page-faults,task-clock", &sort];
    wprof(&[&run[..], &["200", "1"]].concat()).succeeded();
    let report = wprof(&["report", &profile]).succeeded();
    assert!(
        report.contains("Hot paths by perf-task-clock") && report.contains(" perf-page-faults along"),
        "{report}"
    );
    let tree = wprof(&["report", &profile, "--cct", "--by", "perf-task-clock"]).succeeded();
    assert!(tree.contains("Calling contexts by perf-task-clock") && tree.contains("main"), "{tree}");
    let message = wprof(&["run", "--collect", "paths", "--events", "loads", &sort]);
    assert!(message.err.contains("possible values: cpu-cycles") && message.code == Some(2), "{message:?}");
}

#[test]
fn what_cannot_be_measured_is_said() {
    let said = |args: &[&str]| wprof(&[args, &[program("sort").as_str()]].concat());
    let message = said(&["run", "--collect", "edges,cycles"]).failed();
    assert!(message.contains("add `paths` or `cct` to --collect"), "{message}");
    let message = said(&["run", "--collect", "paths,cache", "--cache", "32k,3,64"]);
    assert!(message.err.contains("powers of two") && message.code == Some(2), "{message:?}");
}
