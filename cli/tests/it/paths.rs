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
        "begins at b1, after an earlier path; goes on at b1 with another path",
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
