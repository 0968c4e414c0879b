//! Reports say how often each `try` was entered, and what it caught.

use super::html::{values, works};
use super::{Folder, wprof};

/// A hundred rounds, with calls that throw `t` every eighth time and another tag every tenth; the call outside of `try`s
/// traps or throws in the last round if that is asked for.
const WAT: &str = r#"(module
    (tag $t (export "t") (param i32))
    (tag $u)
    (func $may (param i32)
        (if (i32.eqz (i32.and (local.get 0) (i32.const 7))) (then (throw $t (local.get 0))))
        (if (i32.eqz (i32.rem_u (local.get 0) (i32.const 10))) (then (throw $u))))
    (func $before (param $n i32) (param $last i32)
        (if (i32.eqz (i32.sub (local.get $n) (i32.const 1)))
            (then (drop (i32.div_u (i32.const 1) (local.get $last))))))
    (func $run (export "run") (param $last i32) (result i32) (local $n i32) (local $caught i32)
        (local.set $n (i32.const 100))
        (loop $again
            (call $before (local.get $n) (local.get $last))
            (block $done
                (block $all
                    (block $t (result i32)
                        (try_table (catch $t $t) (catch_all $all)
                            (call $may (local.get $n)))
                        (br $done))
                    (drop)
                    (local.set $caught (i32.add (local.get $caught) (i32.const 1)))
                    (br $done))
                (local.set $caught (i32.add (local.get $caught) (i32.const 1000))))
            try
                (call $may (i32.const 1))
            catch_all
            end
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $caught)))"#;

/// The words of each line.
fn words(text: &str) -> Vec<String> {
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Returns what a report has under a heading, up to the next empty line.
fn table(report: &str, heading: &str) -> Vec<String> {
    let lines = words(report);
    let at = lines.iter().position(|line| line.starts_with(heading)).unwrap_or_else(|| panic!("{report}"));
    lines[at + 1..]
        .iter()
        .skip_while(|line| line.is_empty())
        .take_while(|line| !line.is_empty())
        .cloned()
        .collect()
}

/// Runs the program, which ends with this exit code, and returns its profile.
fn profile(folder: &Folder, last: &str, code: i32, options: &[&str]) -> String {
    let (module, profile) = (folder.file("tries.wat", WAT), folder.path("tries.wprof"));
    let run = [&["run", "-q", "-o", &profile, "--invoke", "run"][..], options, &[&module, last]].concat();
    assert_eq!(wprof(&run).code, Some(code));
    profile
}

#[test]
fn each_try_is_listed_with_what_it_caught() {
    let folder = Folder::new();
    for collect in ["edges", "paths"] {
        let profile = profile(&folder, "1", 0, &["--exact", "--collect", collect]);
        let report = wprof(&["report", &profile]).succeeded();
        let found = table(&report, "Where exceptions are caught");
        assert_eq!(found.len(), 3, "{report}");
        // Of 100 numbers 12 are divisible by 8, and of the others 8 by 10.
        assert!(found[1].starts_with("100 20 20.0% 12 `t`, 8 all 0x"), "{report}");
        assert!(found[1].ends_with(" run"), "{report}");
        assert!(found[2].starts_with("100 0 0% nothing 0x"), "{report}");
    }
}

#[test]
fn a_frame_that_ended_before_a_try_has_not_entered_it() {
    let folder = Folder::new();
    let profile = profile(&folder, "0", 134, &["--exact"]);
    let report = wprof(&["report", &profile]).succeeded();
    let found = table(&report, "Where exceptions are caught");
    // The last round ended in the block in which the first `try` begins.
    assert!(found[1].starts_with("99 20 20.2% 12 `t`, 8 all 0x"), "{report}");
    assert!(found[2].starts_with("99 0 0% nothing 0x"), "{report}");
}

#[test]
fn annotated_functions_mark_each_try() {
    let folder = Folder::new();
    let profile = profile(&folder, "1", 0, &["--exact"]);
    let text = wprof(&["annotate", &profile, "run"]).succeeded();
    let lines = words(&text);
    let marks: Vec<&String> = lines.iter().filter(|line| line.contains('↳')).collect();
    assert_eq!(
        marks,
        ["100 ↳ entered, caught 20 (20.0%): 12 `t`, 8 all", "100 ↳ entered, caught nothing"],
        "{text}"
    );
    let first = lines.iter().position(|line| line.contains('↳')).expect("there are two");
    assert!(lines[first - 1].contains("try_table"), "{text}");
}

/// The page tries itself: it draws as many edges to handlers as there are.
#[test]
fn pages_have_edges_to_handlers() {
    let folder = Folder::new();
    let (profile, page) = (profile(&folder, "1", 0, &["--exact"]), folder.path("tries.html"));
    wprof(&["report", &profile, "--html", &page]).succeeded();
    let functions = values(&page, "details");
    let ways = functions.iter().flat_map(|function| function["edges"]["way"].as_array().expect("edges"));
    let caught = ways.filter(|way| way.as_str().expect("text").starts_with("catch")).count();
    assert_eq!(caught, 3, "{functions:?}");
    works(&page);
}

#[test]
fn sampled_profiles_have_them_too() {
    let folder = Folder::new();
    let profile = profile(&folder, "1", 0, &["--burst", "1:inf"]);
    let report = wprof(&["report", &profile]).succeeded();
    let found = table(&report, "Where exceptions are caught");
    assert_eq!(found.len(), 3, "{report}");
    assert!(found[1].contains("`t`"), "{report}");
}

#[test]
fn without_its_module_a_profile_does_not_tell() {
    let folder = Folder::new();
    let profile = profile(&folder, "1", 0, &["--exact"]);
    std::fs::remove_file(folder.path("tries.wat")).unwrap();
    let report = wprof(&["report", &profile]).succeeded();
    assert!(!report.contains("Where exceptions are caught"), "{report}");
}
