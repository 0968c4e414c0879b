//! `wprof run --profile adaptive`: samples, and what is said of them.

use std::time::{Duration, Instant};

use super::interrupt::FOREVER;
use super::{COUNT, Folder, Ran, json, program, wprof};

/// A sample of a program, with this length of bursts.
fn sampled(folder: &Folder, name: &str, burst: &str, args: &[&str]) -> Ran {
    let profile = folder.path("a.wprof");
    let options = ["run", "--profile", "adaptive", "--deterministic", "--burst", burst, "-o", &profile];
    wprof(&[&options, &[program(name).as_str()][..], args].concat())
}

#[test]
fn the_same_run_gives_the_same_sample_and_says_how_large_it_is() {
    let folder = Folder::new();
    let profiles = [(); 2].map(|()| {
        let ran = sampled(&folder, "sort", "100:10", &["300", "2"]);
        assert!(ran.err.contains(" seen in bursts: a sample of "), "{}", ran.err);
        json(&folder.path("a.wprof"))
    });
    assert!(profiles[0]["ops"].as_u64() > Some(1000));
    assert_eq!(profiles[0]["functions"], profiles[1]["functions"]);
    let report = wprof(&["report", &folder.path("a.wprof")]).succeeded();
    assert!(report.contains("a sample of ") && !report.contains("placed"), "{report}");
    for title in
        ["Functions by calls (a sample of ", "Hottest paths (a sample of ", "Calling contexts (a sample of "]
    {
        assert!(report.contains(title), "{report}");
    }
    let annotated = wprof(&["annotate", &folder.path("a.wprof"), "heapsort_ints"]).succeeded();
    assert!(annotated.contains("seen in bursts: a sample of "), "{annotated}");
}

#[test]
fn samples_are_taken_unless_something_else_is_asked_for() {
    let folder = Folder::new();
    let (module, profile) = (folder.file("count.wat", COUNT), folder.path("c.wprof"));
    let kind = |options: &[&str]| {
        let count = ["--deterministic", "-o", &profile, "--invoke", "count", &module, "150000"];
        let ran = wprof(&[&["run"], options, &count[..]].concat());
        (super::function(&json(&profile), "count")["kind"]["how"].as_str().unwrap().to_owned(), ran.err)
    };
    let (how, said) = kind(&[]);
    assert_eq!(how, "sampled");
    assert!(said.contains(" seen in bursts: a sample of ") && said.contains("only "), "{said}");
    assert!(said.contains("too few bursts to show loops and paths") && !said.contains("path in"), "{said}");
    let (_, said) = kind(&["--burst", "100:10"]);
    assert!(!said.contains("too few bursts") && said.contains("path in"), "{said}");
    assert_eq!(kind(&["--collect", "cycles"]).0, "sampled");
    for exact in [&["--exact"][..], &["--profile", "exact"], &["--collect", "paths,cct"]] {
        assert_eq!(kind(exact).0, "exact", "{exact:?}");
    }
    let forever = ["--checks", "orig", "--burst", "1:inf", "--extend", "calls:1"];
    let (_, said) = kind(&forever);
    let table = said.split("extended path in").nth(1).expect("a table");
    assert!(table.contains("is_odd") && table.contains("count  "), "{said}");
    let extended = &json(&profile)["extended_paths"];
    assert_eq!(extended["extension"], "calls:1");
    assert!(extended["paths"][0]["pieces"].as_array().is_some_and(|pieces| !pieces.is_empty()), "{extended}");
    let report = wprof(&["report", &profile]).succeeded();
    assert!(report.contains("Hottest extended paths (a sample of "), "{report}");
}

#[test]
fn a_program_that_ends_before_a_burst_has_nothing_to_show_and_says_so() {
    let folder = Folder::new();
    let ran = sampled(&folder, "hello", "inf:1", &[]);
    assert!(ran.err.contains(" functions ran; none of them was in a burst\n"), "{}", ran.err);
    assert!(
        ran.err.contains("`wprof run --exact` counts everything") && !ran.err.contains('%'),
        "{}",
        ran.err
    );
    let report = wprof(&["report", &folder.path("a.wprof")]).succeeded();
    assert!(report.contains("none of them was in a burst") && report.contains("--exact"), "{report}");
    assert_eq!(json(&folder.path("a.wprof"))["bursts"], 0);
    let error = |name: &str| wprof(&["annotate", &folder.path("a.wprof"), name]).failed();
    assert!(
        error("main").starts_with("error: no burst saw `__original_main`, which may have run"),
        "{}",
        error("main")
    );
    let unknown = error("__original_mian");
    assert!(
        unknown.starts_with("error: no function is called `__original_mian`: ")
            && unknown.contains("  __original_main\n"),
        "{unknown}"
    );
    assert!(!unknown.contains("burst"), "{unknown}");
}

#[test]
fn a_profile_without_a_burst_gives_no_advice_and_the_program_runs() {
    let folder = Folder::new();
    sampled(&folder, "hello", "inf:1", &[]);
    let used = wprof(&["run", "--profile-use", &folder.path("a.wprof"), &program("hello")]);
    assert!(used.code == Some(0) && used.out.contains("ello"), "{used:?}");
    assert!(used.err.contains("running without it"), "{}", used.err);
}

#[test]
fn samples_know_instructions_by_context_and_within_what_shares_are() {
    let folder = Folder::new();
    sampled(&folder, "sort", "100:10", &["300", "2"]);
    let profile = folder.path("a.wprof");
    let contexts = wprof(&["report", &profile, "--cct", "--by", "instructions"]).succeeded();
    assert!(contexts.contains("heapsort_ints"), "{contexts}");
    assert!(wprof(&["report", &profile]).succeeded().contains("95% within"));
    let flames = wprof(&["export", "--to", "folded", "--weight", "instructions", &profile]);
    assert!(flames.out.lines().any(|line| line.contains(";heapsort_ints")), "{flames:?}");
    assert!(
        flames.err.starts_with("wprof: instructions are those of a sample of ")
            && flames.err.ends_with(" of the run, not scaled up\n"),
        "{flames:?}"
    );
}

#[test]
fn bursts_can_follow_the_clock_or_keep_to_a_budget() {
    for how in [["--trigger", "time:200us"], ["--budget", "1%"]] {
        let folder = Folder::new();
        let profile = folder.path("a.wprof");
        let args = ["run", "-v", "--profile", "adaptive", "-o", &profile];
        let ran = wprof(&[&args, &how[..], &[program("sort").as_str(), "10000", "5"]].concat());
        // Whether there was code for them in time depends on how busy the machine is.
        assert!(ran.err.contains("were skipped, as their code was not compiled yet"), "{how:?}: {}", ran.err);
        assert!(!ran.err.contains(" 0 bursts; 0 more"), "{how:?}: {}", ran.err);
        assert!(json(&profile)["ops"].is_u64(), "{how:?}: {}", ran.err);
    }
}

#[test]
fn bursts_are_kept_in_order() {
    let folder = Folder::new();
    let (module, bursts) = (folder.file("count.wat", COUNT), folder.path("b.wbursts"));
    let forever = ["--deterministic", "--checks", "orig", "--burst", "1:inf", "--bursts", &bursts];
    let count = ["--invoke", "count", &module, "20000"];
    wprof(&[&["run", "-q", "--profile", "adaptive"], &forever[..], &count[..]].concat()).succeeded();
    let stats = wprof(&["trace", "bursts", "--stats", &bursts]).succeeded();
    assert!(stats.starts_with("1 burst, ") && stats.contains(" paths, "), "{stats}");
    let text = wprof(&["trace", "bursts", &bursts]).succeeded();
    assert!(text.starts_with("burst 1 after "), "{text}");
    assert!(
        ["  enter is_odd\n", "  path in is_odd: 0x", "  path in count: 0x", " return\n"]
            .iter()
            .all(|part| text.contains(part)),
        "{text}"
    );
    let extended = wprof(&["trace", "bursts", "--extend", "calls:1", "-n", "1", &bursts]).succeeded();
    let lines: Vec<&str> = extended.lines().collect();
    assert!(lines[0].ends_with(" different") && lines[1].contains('%'), "{extended}");
    assert!(lines[2].starts_with("    is_odd: 0x") && lines[3].starts_with("    count: 0x"), "{extended}");
    let moved = wprof(&["trace", "bursts", "--module", &module, &bursts]).succeeded();
    assert_eq!(text, moved);
    let error = wprof(&["trace", "bursts", &module]).failed();
    assert!(error.contains("count.wat: this is not a wprof trace"), "{error}");
    for of_samples in [["--bursts", &bursts], ["--extend", "calls:1"], ["--path-table", "16x2"]] {
        let args = [&["run", "--exact"], &of_samples[..], &["--invoke", "count", &module, "2"]].concat();
        assert!(wprof(&args).failed().contains("leave out --exact"), "{of_samples:?}");
    }
}

#[test]
fn a_timeout_stops_the_program_in_every_mode_and_keeps_the_profile() {
    let folder = Folder::new();
    let (module, profile) = (folder.file("forever.wat", FOREVER), folder.path("f.wprof"));
    for mode in ["exact", "adaptive", "off"] {
        let clock = Instant::now();
        let mut args = vec!["run", "--timeout", "300ms", "--profile", mode];
        if mode != "off" {
            args.extend(["-o", &profile]);
        }
        args.push(&module);
        let ran = wprof(&args);
        assert_eq!(ran.code, Some(134), "{mode}: {ran:?}");
        assert!(ran.err.contains("wasm trap: deadline exceeded"), "{mode}: {ran:?}");
        assert!(clock.elapsed() >= Duration::from_millis(300), "{mode}");
        if mode == "exact" {
            assert_eq!(json(&profile)["runs"][0]["ending"]["message"], "deadline exceeded");
        }
    }
}

/// Calls `$twice` three times of four.
const INDIRECT: &str = r#"(module
  (type $unary (func (param i32) (result i32)))
  (table 4 4 funcref) (elem (i32.const 0) $twice $thrice $twice $twice)
  (func $twice (type $unary) (i32.mul (local.get 0) (i32.const 2)))
  (func $thrice (type $unary) (i32.mul (local.get 0) (i32.const 3)))
  (func $count (export "count") (param $n i32) (result i32) (local $sum i32)
    (loop $again
      (local.set $sum (i32.add (local.get $sum)
        (call_indirect (type $unary) (local.get $n) (i32.and (local.get $n) (i32.const 3)))))
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (local.get $sum)))"#;

#[test]
fn reports_tell_what_indirect_calls_called_in_bursts() {
    let folder = Folder::new();
    let (module, profile) = (folder.file("indirect.wat", INDIRECT), folder.path("a.wprof"));
    let options = ["--profile", "adaptive", "--deterministic", "--burst", "1:inf", "-o", &profile];
    wprof(&[&["run", "-q"], &options[..], &["--invoke", "count", &module, "40000"]].concat()).succeeded();
    let targets = &json(&profile)["call_targets"];
    let counts: Vec<u64> = targets.as_array().unwrap().iter().filter_map(|t| t["count"].as_u64()).collect();
    assert!(counts.len() == 2 && counts[0].abs_diff(3 * counts[1]) < 4, "{targets}");
    let report = wprof(&["report", &profile]).succeeded();
    let table = report.split("Most frequent targets of indirect calls").nth(1).expect("a table");
    assert!(table.contains("75.0%  twice") && table.contains("25.0%  thrice"), "{report}");
}

#[test]
fn contexts_seen_in_bursts_are_shown_as_a_sample_and_overlap_with_all_contexts() {
    let folder = Folder::new();
    let (module, exact, some) =
        (folder.file("count.wat", COUNT), folder.path("e.wprof"), folder.path("s.wprof"));
    let run = |options: &[&str]| {
        let count = ["--invoke", "count", &module, "20000"];
        wprof(&[&["run", "-q"], options, &count[..]].concat()).succeeded()
    };
    run(&["--collect", "paths,cct", "-o", &exact]);
    run(&["--profile", "adaptive", "--deterministic", "--burst", "100:50", "--checks", "orig", "-o", &some]);
    let tree = wprof(&["report", "--cct", &some]).succeeded();
    assert!(tree.contains(" calls in 2 calling contexts") && tree.contains("bursts: a sample of "), "{tree}");
    assert!(tree.contains("count\n") && tree.contains("  is_odd\n"), "{tree}");
    let overlap = wprof(&["overlap", &exact, &some]).succeeded();
    for kind in ["edges", "paths", "contexts"] {
        assert!(overlap.contains(kind), "{overlap}");
    }
    let folded = wprof(&["export", "--to", "folded", &some]).succeeded();
    assert!(folded.contains("count;is_odd "), "{folded}");
    assert_eq!(json(&some)["contexts"]["kind"]["how"], "sampled");
}

#[test]
fn what_is_touched_in_bursts_is_recorded_if_asked_for() {
    let folder = Folder::new();
    let bursts = folder.path("b.wbursts");
    let options =
        ["run", "-q", "--profile", "adaptive", "--deterministic", "--burst", "100:10", "--addresses"];
    wprof(&[&options[..], &["--bursts", &bursts, &program("sort"), "300", "2"]].concat()).succeeded();
    let stats = wprof(&["trace", "bursts", "--stats", &bursts]).succeeded();
    assert!(stats.contains(" data references"), "{stats}");
    let text = wprof(&["trace", "bursts", &bursts]).succeeded();
    assert!(text.contains("    at 0x") && text.contains(" bytes from 0x"), "{text}");
}
