//! What is counted can be chosen: edges, blocks, events, and a budget of them.

use std::process::Stdio;
use std::time::Duration;

use super::{COUNT, Folder, Ran, function, json, program, wprof};

/// Runs `$count` with n = 10 and gives its profile.
fn collected(folder: &Folder, options: &[&str]) -> (Ran, serde_json::Value) {
    let (module, profile) = (folder.file("count.wat", COUNT), folder.path("c.wprof"));
    let ran = wprof(&[&["run", "-o", &profile, "--invoke", "count"], options, &[&module, "10"]].concat());
    (ran, json(&profile))
}

fn totals(profile: &serde_json::Value) -> Vec<(String, u64)> {
    let events = profile["events"].as_array().expect("events");
    events.iter().map(|e| (e["name"].as_str().unwrap().to_owned(), e["count"].as_u64().unwrap())).collect()
}

#[test]
fn only_events_are_counted_if_nothing_else_is_asked_for() {
    let folder = Folder::new();
    let (ran, profile) = collected(&folder, &["--collect", "events=instructions,calls"]);
    assert_eq!(totals(&profile), [("calls".to_owned(), 10), ("instructions".to_owned(), 131)]);
    assert_eq!((&profile["functions"], &profile["code"]["counters"]), (&serde_json::json!([]), &0.into()));
    assert!(ran.err.contains("\n  total  events\n     10  calls\n    131  instructions\n"), "{}", ran.err);
    assert!(!ran.err.contains(" ran") && !ran.err.contains("placed"), "{}", ran.err);
    let report = wprof(&["report", &folder.path("c.wprof")]).succeeded();
    assert!(report.contains("Events\n") && !report.contains(" ran"), "{report}");
}

#[test]
fn events_and_edges_are_counted_side_by_side() {
    let folder = Folder::new();
    let costs = folder.file("costs.toml", "name = 'energy'\nentry = 1\n[cost]\ncall = 100");
    let options = ["--collect", "edges", "--collect", &format!("events={costs}"), "--collect", "events=fuel"];
    let (ran, profile) = collected(&folder, &options);
    assert_eq!(totals(&profile)[0], ("energy".to_owned(), 1011));
    assert_eq!(profile["ops"], 131);
    assert!(
        ran.err.contains("1,011  energy") && ran.err.contains("131 instructions in 11 calls"),
        "{}",
        ran.err
    );
}

#[test]
fn blocks_have_counts_and_branches_have_none() {
    let folder = Folder::new();
    for collect in ["blocks", "block-counters", "all-blocks"] {
        let (ran, profile) = collected(&folder, &["--collect", collect]);
        assert_eq!((&profile["ops"], &profile["calls"]), (&131.into(), &11.into()), "{collect}");
        let count = function(&profile, "count");
        let rounds: Vec<_> =
            count["blocks"].as_array().unwrap().iter().map(|block| &block["count"]).collect();
        assert_eq!(rounds, [1, 10, 5, 10, 1], "{collect}");
        assert!(count["edges"].as_array().unwrap().iter().all(|edge| edge["count"].is_null()), "{collect}");
        assert!(ran.err.contains("block") && !ran.err.contains("trips"), "{}", ran.err);
        let report = wprof(&["report", &folder.path("c.wprof")]).succeeded();
        assert!(report.contains("Hottest blocks") && !report.contains("branches"), "{report}");
        let annotated = wprof(&["annotate", &folder.path("c.wprof"), "count"]).succeeded();
        assert!(annotated.contains("       10  b1") && !annotated.contains('└'), "{annotated}");
    }
}

#[test]
fn a_budget_stops_the_program_and_keeps_the_profile() {
    let folder = Folder::new();
    for (options, ops) in [(&[][..], 66), (&["--collect", "events=loads"], 0), (&["--collect", "blocks"], 66)]
    {
        let options = [options, &["--budget", "instructions=60"]].concat();
        let (ran, profile) = collected(&folder, &options);
        assert_eq!(ran.code, Some(134), "{}", ran.err);
        let said = "error: out of budget: 60 instructions were allowed, ";
        assert!(ran.err.starts_with(said) && ran.err.contains("     0  count  (0x"), "{}", ran.err);
        assert!(ran.err.contains("count.wat ran out of budget after "), "{}", ran.err);
        assert_eq!(profile["runs"][0]["ending"]["how"], "out-of-budget");
        let spent = totals(&profile).into_iter().find(|(name, _)| name == "instructions").unwrap().1;
        assert!((61..=61 + 13).contains(&spent), "{spent}");
        assert!(
            ran.err
                .contains(&format!("{spent} had happened when the program was stopped, {} over", spent - 60))
        );
        if ops > 0 {
            assert_eq!(profile["ops"], spent);
        }
    }
    let enough = collected(&folder, &["-q", "--budget", "instructions=131"]).0;
    assert_eq!((enough.code, enough.err.as_str()), (Some(0), ""));
}

/// Goes round for ever.
const SPIN: &str = r#"(module (func (export "spin") (loop $again (br $again))))"#;

#[test]
fn an_interrupt_stops_a_program_whose_events_alone_are_counted() {
    let folder = Folder::new();
    let (module, profile) = (folder.file("spin.wat", SPIN), folder.path("s.wprof"));
    let args =
        ["run", "-o", &profile, "--collect", "events=branches,instructions", "--invoke", "spin", &module];
    let child = super::command(&args).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(600));
    super::interrupt::send("-INT", &child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(totals(&json(&profile))[1].1 > 1000);
}

#[test]
fn measured_weights_move_counters_and_change_no_count() {
    let folder = Folder::new();
    let (first, second) = (folder.path("first.wprof"), folder.path("second.wprof"));
    let sort = program("sort");
    let events = ["--collect", "edges", "--collect", "events=fuel"];
    wprof(&[&["run", "-q", "-o", &first], &events[..], &[&sort, "200", "2"]].concat()).succeeded();
    let weighted = ["--weights", &first, &sort, "200", "2"];
    wprof(&[&["run", "-q", "-o", &second], &events[..], &weighted].concat()).succeeded();
    let (before, after) = (json(&first), json(&second));
    let increments = |profile: &serde_json::Value| profile["cost"]["chords"]["increments"].as_u64().unwrap();
    assert!(increments(&after) < increments(&before), "{} {}", increments(&after), increments(&before));
    assert_eq!((&before["ops"], &before["events"]), (&after["ops"], &after["events"]));
    let edges = |profile: &serde_json::Value| function(profile, "strcmp")["edges"].clone();
    assert_eq!(edges(&before), edges(&after));
    let explained = wprof(&["explain", &sort, "strcmp", "--weights", &first]).succeeded();
    assert!(explained.contains("\nweights: counts of an earlier run\n"), "{explained}");
}

#[test]
fn weights_of_another_module_or_without_edges_are_refused() {
    let folder = Folder::new();
    let (ran, _) = collected(&folder, &["--collect", "blocks"]);
    assert_eq!(ran.code, Some(0));
    let (blocks, edges) = (folder.path("c.wprof"), folder.count_profile());
    let sort = program("sort");
    assert!(wprof(&["run", "--weights", &blocks, &sort]).failed().contains("has no edge counts"));
    for command in [&["run"][..], &["explain"]] {
        let refused = wprof(&[command, &["--weights", &edges, &sort, "strcmp"]].concat()).failed();
        assert!(refused.contains("another module"), "{refused}");
    }
}

/// By hand: ten rounds, five of them by the arm of odd numbers; the first path begins at the entry, the last one
/// leaves.
#[test]
fn paths_have_counts_and_edges_follow() {
    let folder = Folder::new();
    let (ran, profile) = collected(&folder, &["--collect", "paths"]);
    let (_, edges) = collected(&Folder::new(), &["--exact"]);
    let count = function(&profile, "count");
    assert_eq!(count["edges"], function(&edges, "count")["edges"]);
    let finished = count["paths"]["finished"].as_array().expect("paths");
    let mut ways: Vec<(String, u64)> = finished
        .iter()
        .map(|path| (format!("{} {}", path["blocks"], path["to"]), path["count"].as_u64().unwrap()))
        .collect();
    ways.sort();
    let expected = [("[0,1,3] 1", 1), ("[1,2,3,4] null", 1), ("[1,2,3] 1", 4), ("[1,3] 1", 4)];
    assert_eq!(ways, expected.map(|(way, count)| (way.to_owned(), count)));
    assert!(ran.err.contains("path in") && ran.err.contains("b1 b2 b3 → b1"), "{}", ran.err);
    let report = wprof(&["report", &folder.path("c.wprof")]).succeeded();
    assert!(report.contains("Hottest paths\n") && report.contains("b1 b2 b3 → b1"), "{report}");
    assert!(report.contains("paths that ran have 90% of their instructions"), "{report}");
}

#[test]
fn contradictions_are_explained() {
    let both = wprof(&["run", "--collect", "edges", "--collect", "blocks", "x.wasm"]).failed();
    assert!(both.contains("give one of edges, paths and blocks"), "{both}");
    assert!(
        wprof(&["run", "--profile", "off", "--collect", "edges", "x.wasm"])
            .failed()
            .contains("--profile off")
    );
    let off = wprof(&["run", "--profile", "off", "-o", "/tmp", "x.wasm"]).failed();
    assert!(off.contains("there is no profile to write"), "{off}");
    for wrong in [["--collect", "events=fule"], ["--budget", "fuel"]] {
        assert_eq!(wprof(&[&["run"], &wrong[..], &["x.wasm"]].concat()).code, Some(2));
    }
}
