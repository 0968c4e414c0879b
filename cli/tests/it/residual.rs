//! What ran that no test ran: the report, the exit code, the profile of it alone.

use serde_json::{Value, json};

use super::{COUNT, Folder, Ran, json, wprof};

/// Bits 0 and 1 decide two ifs, and bit 2 ends the second one in a trap. So calls with 1 and 2 cross all edges but
/// those that lead to the trap, and a call with 3 only combines them.
pub const TWO: &str = r#"(module (func $two (export "two") (param i32)
  (if (i32.and (local.get 0) (i32.const 1)) (then nop))
  (if (i32.and (local.get 0) (i32.const 2))
    (then (if (i32.and (local.get 0) (i32.const 4)) (then unreachable))))))"#;

/// The profile of a call of `TWO`.
pub fn called(folder: &Folder, argument: &str) -> String {
    let (module, profile) = (folder.file("two.wat", TWO), folder.path(&format!("{argument}.wprof")));
    let args = ["run", "-q", "-o", &profile, "--collect", "paths", "--invoke", "two", &module, argument];
    assert!(wprof(&args).code.is_some());
    profile
}

/// A call of `TWO` beside tests of 1 and 2.
fn residual(folder: &Folder, options: &[&str], argument: &str) -> Ran {
    let (one, two) = (called(folder, "1"), called(folder, "2"));
    let tested = ["residual", "--tested", &one, "--tested", &two];
    wprof(&[&tested[..], options, &["--invoke", "two", &folder.path("two.wat"), argument]].concat())
}

#[test]
fn a_new_combination_of_tested_edges_is_reported() {
    let folder = Folder::new();
    let ran = residual(&folder, &[], "3");
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let expected = "
wprof: 1 path of 1 ran that no test ran, in 1 function
  1 in functions without an untested edge, which coverage of edges misses

  two, path 1, 1 time, 13 instructions
    blocks    b0 b1 b2 b3 b5 b6 → exit
    lines     0x21 0x28 0x2a 0x31 0x3a 0x3b
    branches  b0 taken, b2 taken, b3 not taken
    new       all its edges were tested, in other paths
";
    assert_eq!(words(&ran.err), words(expected));
}

fn words(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn what_was_tested_is_no_news() {
    let ran = residual(&Folder::new(), &[], "2");
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{ran:?}");
    assert_eq!(ran.err, "\nwprof: all that ran was tested: 1 path\n");
}

#[test]
fn the_way_to_a_trap_is_a_path_without_an_end() {
    let folder = Folder::new();
    let ran = residual(&folder, &["--json"], "6");
    assert_eq!(ran.code, Some(3));
    let line = ran.err.lines().last().expect("a line");
    let said: Value = serde_json::from_str(line).expect("JSON");
    assert_eq!((&said["untested"], &said["ran"], &said["beyond_edges"]), (&json!(1), &json!(1), &json!(0)));
    let path = &said["paths"][0];
    assert_eq!((&path["blocks"], &path["id"]), (&json!([0, 2, 3, 4]), &Value::Null));
    assert_eq!(path["new_edges"], json!([{ "from": 3, "to": 4, "kind": "taken" }]));
    // Who has tested the trap knows the way there.
    let six = called(&folder, "6");
    let again = residual(&folder, &["--tested", &six], "6");
    assert_eq!(again.code, Some(0), "{again:?}");
}

#[test]
fn saved_profiles_are_compared_and_what_is_new_is_kept_alone() {
    let folder = Folder::new();
    let (tested, field, new) = (called(&folder, "1"), called(&folder, "3"), folder.path("new.wprof"));
    let args = ["residual", "--tested", &tested, "--run", &field];
    let ran = wprof(&[&args[..], &["-o", &new]].concat());
    assert_eq!((ran.code, ran.err.as_str()), (Some(3), ""));
    assert!(ran.out.contains("    new       b0 → b2 (not taken)") || ran.out.contains("b2 → b3 (taken)"));
    let kept = json(&new);
    assert_eq!(kept["functions"][0]["kind"], json!({ "how": "selected" }));
    assert_eq!(kept["functions"][0]["paths"]["finished"].as_array().map(Vec::len), Some(1));
    assert_eq!(wprof(&["residual", "--tested", &tested, "--run", &new]).code, Some(3));
    let report = wprof(&["report", &new]).succeeded();
    assert!(report.contains("instructions on paths that no test ran"), "{report}");
    let sum = folder.path("sum.wprof");
    wprof(&["merge", &tested, &new, "-o", &sum]).succeeded();
    assert_eq!(wprof(&["residual", "--tested", &sum, "--run", &field]).code, Some(0), "now it is tested");
}

#[test]
fn profiles_that_say_nothing_about_it_are_refused() {
    let folder = Folder::new();
    let (paths, edges) = (called(&folder, "1"), folder.count_profile());
    let two = folder.path("two.wat");
    let said = wprof(&["residual", "--tested", &edges, &two]).failed();
    assert!(said.contains("count.wprof has no paths"), "{said}");
    let said = wprof(&["residual", "--tested", &paths, "--run", &edges]).failed();
    assert!(said.contains("count.wprof: the tests ran another module"), "{said}");
    let other = folder.file("other.wat", COUNT);
    let said = wprof(&["residual", "--tested", &paths, "--invoke", "count", &other, "1"]).failed();
    assert!(said.contains("the tests ran another module than") && said.contains("other.wat"), "{said}");
    assert_eq!(wprof(&["residual", "--tested", &paths]).code, Some(2));
    assert_eq!(wprof(&["residual", "--tested", &paths, "--run", &paths, &two]).code, Some(2));
    // A program that runs is the module.
    assert_eq!(wprof(&["residual", "--tested", &paths, "--module", &two, &two]).code, Some(2));
    assert_eq!(wprof(&["residual", "--tested", &paths, "--run", &paths, "--module", &two]).code, Some(0));
}
