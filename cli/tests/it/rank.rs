//! `wprof rank`: failing runs and passing ones, and the order of tests.

use super::residual::called;
use super::{Folder, wprof};

#[test]
fn a_combination_that_fails_comes_first() {
    let folder = Folder::new();
    let [one, two, three] = ["1", "2", "3"].map(|argument| called(&folder, argument));
    let found = wprof(&["rank", "--failing", &three, "--passing", &one, &two]).succeeded();
    let first = "path in two: in 1 failing run and 0 passing runs, increase 0.67, importance 0.80\n";
    assert!(found.contains(&format!("1 failing run and 2 passing runs\n\n{first}")), "{found}");
    assert!(found.contains("    branches  b0 taken, b2 taken, b3 not taken\n"), "{found}");
}

#[test]
fn the_way_to_a_trap_is_suspect() {
    let folder = Folder::new();
    let [one, two, trap] = ["1", "2", "6"].map(|argument| called(&folder, argument));
    let found = wprof(&["rank", "--failing", &trap, "--passing", &one, "--passing", &two]).succeeded();
    let first = found.lines().nth(2).expect("a suspect");
    assert!(first.starts_with("edge in two: in 1 failing run and 0 passing runs"), "{found}");
    assert!(found.contains("(taken)\n"), "{found}");
}

#[test]
fn tests_that_add_nothing_come_last() {
    let folder = Folder::new();
    let [one, two] = ["1", "2"].map(|argument| called(&folder, argument));
    let again = folder.path("again.wprof");
    std::fs::copy(&one, &again).expect("a file");
    let order = wprof(&["rank", "--tests", &one, &again, &two]).succeeded();
    assert!(order.ends_with("\n\n2 of 3 tests run all 2 paths\n"), "{order}");
    let tests: Vec<_> = order.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert_eq!(tests[1..4], [one.as_str(), &two, &again], "{order}");
    let edges = folder.path("edges.wprof");
    wprof(&["run", "-q", "-o", &edges, "--exact", "--invoke", "two", &folder.path("two.wat"), "1"])
        .succeeded();
    let error = wprof(&["rank", "--tests", &edges]).failed();
    assert!(error.contains("has no paths: record it with `wprof run --collect paths`"), "{error}");
}

#[test]
fn instructions_are_distributed_over_paths() {
    let folder = Folder::new();
    let module = folder.file("count.wat", super::COUNT);
    let profile = folder.path("count.wprof");
    let args = ["run", "-q", "-o", &profile, "--collect", "paths", "--invoke", "count", &module, "10"];
    wprof(&args).succeeded();
    let shown = wprof(&["report", "--distribution", &profile]).succeeded();
    assert!(shown.starts_with("131 instructions of "), "{shown}");
    let any = shown.lines().last().expect("a table");
    assert_eq!(any.split_whitespace().collect::<Vec<_>>(), ["any", "131", "100%"], "{shown}");
}
