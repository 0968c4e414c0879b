//! Sampled time as users see it: it comes first, has an interval, and is there in short runs too.

use serde_json::Value;

use super::{Folder, Ran, command, json, program, wprof};

/// Spends its time in `hot`, most of it on the division; `cold` calls it once more for nothing.
const SPIN: &str = r#"(module
  (func $hot (param $n i32) (result i64) (local $x i64)
    (loop $again
      (local.set $x (i64.add (local.get $x)
        (i64.rem_u (i64.const -7) (i64.extend_i32_u (local.get $n)))))
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (local.get $x))
  (func $cold (param $n i32) (result i64) (call $hot (local.get $n)))
  (func (export "run") (param $n i32) (result i64) (call $cold (local.get $n))))"#;

/// How many rounds take some hundred milliseconds, so that there are samples whatever the kernel's ticks are.
const ROUNDS: &str = "30000000";

/// A run as users have it, samples included.
fn run(args: &[&str]) -> Ran {
    command(&[&["run"], args].concat()).output().expect("the program starts").into()
}

fn spin(folder: &Folder, options: &[&str]) -> Ran {
    let module = folder.file("spin.wat", SPIN);
    run(&[options, &["--invoke", "run", &module, ROUNDS]].concat())
}

/// The lines from one with a text on.
fn from<'a>(text: &'a str, first: &str) -> &'a str {
    text.split_once(first).unwrap_or_else(|| panic!("no {first:?} in {text}")).1
}

#[test]
fn the_summary_begins_with_who_has_the_time() {
    for options in [&[][..], &["--exact"], &["--collect", "paths,cct"], &["--collect", "events=loads"]] {
        let ran = spin(&Folder::new(), options);
        let summary = from(&ran.err, " of processor time, ");
        let rows: Vec<&str> = summary.lines().skip(2).take(2).collect();
        assert!(rows[0].contains("share") && rows[0].contains('±'), "{options:?}: {summary}");
        let first: Vec<&str> = rows[1].split_whitespace().collect();
        assert!(first.last() == Some(&"hot") && rows[1].contains('%'), "{options:?}: {summary}");
    }
}

/// About 20 ms of work: as short as five ticks of many kernels.
#[test]
fn a_short_run_has_a_table_whose_first_row_is_right() {
    let folder = Folder::new();
    let module = folder.file("spin.wat", SPIN);
    let profile = folder.path("short.wprof");
    let ran = run(&["-o", &profile, "--invoke", "run", &module, "3000000"]);
    let rows: Vec<&str> = from(&ran.err, " of processor time, ").lines().skip(3).collect();
    assert!(rows[0].trim_end().ends_with(" hot") && rows[0].contains('%'), "{}", ran.err);
    assert!(json(&profile)["time"]["samples"].as_u64().expect("sampled") >= 2, "{}", ran.err);
}

#[test]
fn a_report_shows_time_then_instructions_then_calls() {
    let folder = Folder::new();
    let profile = folder.path("p.wprof");
    spin(&folder, &["-q", "--collect", "edges,cct", "-o", &profile]).succeeded();
    let report = wprof(&["report", &profile]).succeeded();
    let titles = ["Functions by time", "Functions by instructions executed", "Functions by calls"];
    let places: Vec<usize> = titles.iter().map(|title| report.find(title).expect(title)).collect();
    assert!(places.is_sorted(), "{report}");
    let only = wprof(&["report", &profile, "--sort", "time"]).succeeded();
    assert!(only.contains(titles[0]) && !only.contains(titles[1]), "{only}");
    let tree = wprof(&["report", &profile, "--cct"]).succeeded();
    let context = from(&tree, "Calling contexts by time");
    let [run, cold, hot] = ["run", "  cold", "    hot"].map(|name| context.find(&format!(" {name}\n")));
    assert!(run.is_some() && run < cold && cold < hot, "{tree}");
    let callers = wprof(&["report", &profile, "--callers", "hot"]).succeeded();
    assert!(from(&callers, "Callers by time").contains("  cold\n"), "{callers}");
    // It only calls others, and counts with them.
    let of_run = wprof(&["report", &profile, "--callers", "run"]).succeeded();
    let row = from(&of_run, "Callers by time").lines().nth(2).unwrap_or_default();
    assert!(row.ends_with(" run") && row.contains("  100%"), "{of_run}");
    let by_calls = wprof(&["report", &profile, "--callers", "hot", "--by", "calls"]).succeeded();
    assert!(from(&by_calls, "Callers by calls").contains("      1   100%"), "{by_calls}");
}

#[test]
fn exports_have_time_first_and_it_adds_up() {
    let folder = Folder::new();
    let (profile, sum) = (folder.path("p.wprof"), folder.path("sum.wprof"));
    spin(&folder, &["-q", "--rate", "500", "-o", &profile]).succeeded();
    let total = |file: &str| json(file)["time"]["time_ns"].as_u64().expect("sampled");
    let folded = wprof(&["export", "--to", "folded", &profile]).succeeded();
    let weight = |line: &str| line.rsplit_once(' ').and_then(|(_, weight)| weight.parse::<u64>().ok());
    assert_eq!(folded.lines().filter_map(weight).sum::<u64>(), total(&profile));
    assert!(folded.lines().any(|line| line.starts_with("run;cold;hot ")), "{folded}");
    let svg = wprof(&["export", "--to", "flamegraph", &profile]).succeeded();
    assert!(svg.contains(" · time: ") && svg.contains(" ms in all"), "{svg}");
    let scope: Value =
        serde_json::from_str(&wprof(&["export", "--to", "speedscope", &profile]).succeeded()).unwrap();
    assert_eq!(
        (&scope["profiles"][0]["name"], &scope["profiles"][0]["unit"]),
        (&"time".into(), &"nanoseconds".into())
    );
    wprof(&["merge", "-o", &sum, &profile, &profile]).succeeded();
    assert_eq!(total(&sum), 2 * total(&profile));
    let diff = wprof(&["diff", &profile, &sum]).succeeded();
    assert!(from(&diff, "By change of time").contains("hot"), "{diff}");
    let same = wprof(&["diff", &profile, &profile]).succeeded();
    assert!(!same.contains("By change of time"), "{same}");
    let page = folder.path("p.html");
    wprof(&["report", &profile, "--html", &page]).succeeded();
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains(r#""figures":[{"name":"time""#), "time is the first figure of functions");
}

#[test]
fn lines_of_the_source_have_their_time() {
    let folder = Folder::new();
    let profile = folder.path("p.wprof");
    let words = format!("{}/../docs/src/tutorials/programs/words.wasm", env!("CARGO_MANIFEST_DIR"));
    let ran = run(&["-o", &profile, &words, "40000"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report = wprof(&["report", &profile, "--top", "40"]).succeeded();
    // `strlen` has it, but its line is no line of the program's: that which calls it is.
    let lines = from(&report, "Lines by time");
    assert!(lines.lines().nth(2).is_some_and(|row| row.contains("  words.c:16 (strlen)")), "{report}");
}

#[test]
fn nothing_is_sampled_where_runs_are_to_be_the_same() {
    for options in [&["--deterministic"][..], &["--rate", "off"], &["--exact", "--deterministic"]] {
        let folder = Folder::new();
        let profile = folder.path("p.wprof");
        let ran = spin(&folder, &[options, &["-o", &profile]].concat());
        assert!(ran.code == Some(0) && !ran.err.contains("processor time"), "{options:?}: {}", ran.err);
        assert_eq!(json(&profile).get("time"), None, "{options:?}");
    }
    let folder = Folder::new();
    let refused = |options: &[&str]| spin(&folder, options).failed();
    assert!(refused(&["--deterministic", "--rate", "100"]).contains("--deterministic"));
    assert!(refused(&["--profile", "off", "--rate", "100"]).contains("--rate needs a profile"));
    let odd = spin(&folder, &["--rate", "often"]);
    assert!(odd.code == Some(2) && odd.err.contains("give from 1 to 100000, or off"), "{odd:?}");
}

#[test]
fn a_short_run_has_a_table_or_says_why_not() {
    let ran = run(&[&program("hello")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.err.contains("ended before"), "{}", ran.err);
    assert!(ran.err.contains(" of processor time, ") || ran.err.contains("no sample of time"), "{}", ran.err);
}
