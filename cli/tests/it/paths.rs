//! Paths: interesting ones are counted without a table, and single ones shown.

use serde_json::{Value, json};

use super::{COUNT, Folder, json, program, wprof};

/// The paths of json.wasm, some functions of which have too many for counters.
fn paths(folder: &Folder, name: &str, options: &[&str], args: &[&str]) -> String {
    let profile = folder.path(name);
    let run = ["run", "-q", "-o", &profile, "--collect", "paths"];
    wprof(&[&run[..], options, &[&program("json")], args].concat()).succeeded();
    profile
}

#[test]
fn interesting_paths_change_no_count() {
    let folder = Folder::new();
    let suite = paths(&folder, "suite.wprof", &[], &["20", "2"]);
    let plain = paths(&folder, "plain.wprof", &[], &["60", "1"]);
    let told = paths(&folder, "told.wprof", &["--interesting", &suite], &["60", "1"]);
    let functions = |profile: &str| {
        let mut functions = json(profile)["functions"].take();
        functions.as_array_mut().expect("functions").iter_mut().for_each(|function| {
            function.as_object_mut().expect("a function").remove("cost");
        });
        functions
    };
    assert_eq!(functions(&plain), functions(&told));
    let explained =
        wprof(&["explain", &program("json"), "dlmalloc", "--collect", "paths", "--interesting", &suite]);
    let explained = explained.succeeded();
    assert!(explained.contains("\ninteresting: 5 paths, with numbers below 5 in 8 cells\n"), "{explained}");
    assert!(
        explained.contains("value 2|598464215") && explained.contains("r + (2|598464215)"),
        "{explained}"
    );
}

#[test]
fn in_the_field_only_untested_paths_are_counted() {
    let folder = Folder::new();
    let suite = paths(&folder, "suite.wprof", &[], &["20", "2"]);
    let (whole, field) = (folder.path("whole.wprof"), folder.path("field.wprof"));
    let residual = |options: &[&str]| {
        let tested = ["residual", "--tested", &suite];
        wprof(&[&tested[..], options, &[&program("json"), "60", "1"]].concat())
    };
    let (all, few) = (residual(&["-o", &whole]), residual(&["--field", "-o", &field]));
    assert_eq!((all.code, few.code), (Some(3), Some(3)));
    assert_eq!(json(&whole)["functions"], json(&field)["functions"]);
    let paths = |said: &str| said.split_once("\n\n").map(|(_, paths)| paths.to_owned());
    assert_eq!(paths(&all.err.replace("paths of 192 ran", "paths ran")), paths(&few.err));
    assert!(few.err.starts_with("\nwprof: 11 paths ran that no test ran, in 6 functions\n"), "{}", few.err);
}

#[test]
fn reports_tell_interesting_paths_and_how_compact_their_numbers_are() {
    let folder = Folder::new();
    let suite = paths(&folder, "suite.wprof", &[], &["20", "2"]);
    let field = paths(&folder, "field.wprof", &[], &["60", "1"]);
    let report = wprof(&["report", &field, "--interesting", &suite]).succeeded();
    assert!(report.contains("Interesting paths\n") && report.contains("of times  delta "), "{report}");
    let malloc = report.lines().find(|line| line.ends_with(" dlmalloc")).expect("interesting paths of it");
    let words: Vec<&str> = malloc.split_whitespace().collect();
    assert_eq!((words[0], words[1], words[3], words[4]), ("5", "3,146,089,738", "1.00", "596,664,374"));
    assert!(report.contains("  interesting  "), "{report}");
    let edges = folder.count_profile();
    assert!(wprof(&["report", &field, "--interesting", &edges]).failed().contains("has no paths"));
    assert!(wprof(&["report", &edges, "--interesting", &suite]).failed().contains("has no paths"));
}

#[test]
fn a_path_is_shown_as_the_lines_that_it_runs() {
    let folder = Folder::new();
    let (module, profile) = (folder.file("count.wat", COUNT), folder.path("c.wprof"));
    let run = ["run", "-q", "-o", &profile, "--collect", "paths", "--invoke", "count", &module, "10"];
    wprof(&run).succeeded();
    let finished = json(&profile);
    let finished = super::function(&finished, "count")["paths"]["finished"].as_array().expect("paths");
    let is_odd = |path: &&Value| path["blocks"] == json!([1, 2, 3]) && path["to"] == 1;
    let id = finished.iter().find(is_odd).expect("it ran")["id"].to_string();
    let text = wprof(&["annotate", &profile, "count", "--path", &id]).succeeded();
    let lines: Vec<String> =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let expected = [
        "4 times, 40.0% of the function's paths",
        "12 instructions, 48 in all, 47.5% of the function's",
        "begins at b1, after an earlier path; continues at b1 with another path",
        "rarest branch: b1 taken, 50.0% of 10 times",
        "b1 local.get $n",
        "└ taken → b2 50.0%",
        "b2 local.get $odd",
        "b3 local.get $n",
        "└ taken → b1 90.0%",
    ];
    let mut rest = lines.iter();
    for line in expected {
        assert!(rest.any(|found| found == line), "{line}: {text}");
    }
    let said = wprof(&["annotate", &profile, "count", "--path", "9"]).failed();
    assert!(said.contains("there is no path 9: path numbers are below "), "{said}");
    let edges = folder.count_profile();
    assert!(wprof(&["annotate", &edges, "count", "--path", "0"]).failed().contains("has no paths"));
    let lines = paths(&folder, "json.wprof", &[], &["20", "2"]);
    let text = wprof(&["annotate", &lines, "strcmp", "--path", "1"]).succeeded();
    assert!(text.contains("strcmp.c:"), "{text}");
}

/// `foo` calls `bar` for numbers with bit 1, and `bar` goes two ways.
const FOO: &str = r#"(module
  (func $bar (param i32) (result i32)
    (if (result i32) (i32.and (local.get 0) (i32.const 1)) (then (i32.const 7)) (else (i32.const 9))))
  (func $foo (export "foo") (param $n i32) (result i32) (local $sum i32)
    (loop $next
      (if (i32.and (local.get $n) (i32.const 2))
        (then (local.set $sum (i32.add (local.get $sum) (call $bar (local.get $n))))))
      (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (local.get $sum)))"#;

#[test]
fn paths_lead_across_calls() {
    let folder = Folder::new();
    let module = folder.file("foo.wat", FOO);
    let take = |name: &str, options: &[&str], n: &str| {
        let profile = folder.path(name);
        let run = ["run", "-q", "-o", &profile, "--invoke", "foo"];
        wprof(&[&run[..], options, &[&module, n]].concat()).succeeded();
        profile
    };
    let ran = take("a.wprof", &["--collect", "paths"], "2");
    let across = ["--collect", "paths", "--depth", "1", "--interesting"];
    let tests = take("t.wprof", &[&across[..], &[&ran]].concat(), "2");
    let field = take("f.wprof", &[&across[..], &[&tests]].concat(), "8");
    let shown = wprof(&["report", &field]).succeeded();
    assert!(shown.contains("Hottest paths across calls\n") && shown.contains("b1 b2 → bar"), "{shown}");
    let found = json(&field)["paths_across_calls"].take();
    assert_eq!((&found["depth"], &found["marked_calls"]), (&json!(1), &json!(1)));
    // Counts of functions are those of a run without inlined calls.
    let plain = take("p.wprof", &["--collect", "edges"], "8");
    let calls = |profile: &str| {
        let functions = json(profile)["functions"].take();
        let all = functions.as_array().expect("functions").iter();
        all.map(|function| (function["calls"].clone(), function["edges"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(calls(&field), calls(&plain));
    let residual = |options: &[&str]| wprof(&[&["residual", "--depth", "1"][..], options].concat());
    let judged = residual(&["--tested", &tests, "--run", &field]);
    assert_eq!(judged.code, Some(3), "{}", judged.err);
    assert!(judged.out.contains("→ bar b0 b1 b3"), "{}", judged.out);
    let again = residual(&["--tested", &tests, "--field", "--invoke", "foo", &module, "8"]);
    assert_eq!(again.code, Some(3), "{}", again.err);
    let nothing = residual(&["--tested", &tests, "--tested", &field, "--invoke", "foo", &module, "8"]);
    assert_eq!(nothing.code, Some(0), "{}", nothing.err);
    let other = wprof(&["residual", "--depth", "2", "--tested", &tests, &module]).failed();
    assert!(other.contains("to depth 1: give --depth 1"), "{other}");
    let plain = wprof(&["residual", "--depth", "1", "--tested", &ran, &module]).failed();
    assert!(plain.contains("has no paths across calls"), "{plain}");
    let edges = wprof(&["run", "--collect", "edges", "--depth", "1", &module]).failed();
    assert!(edges.contains("add --collect paths"), "{edges}");
}
