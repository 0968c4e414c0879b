//! Reports state exact figures.

use super::{Folder, command, program, wprof};

/// Whether a line of `text` has these words, in this order.
fn has_line(text: &str, words: &[&str]) -> bool {
    text.lines().any(|line| {
        let mut rest = line.split_whitespace();
        words.iter().all(|word| rest.any(|found| found == *word))
    })
}

#[test]
fn the_counts_are_those_of_the_program() {
    let folder = Folder::new();
    let report = wprof(&["report", &folder.count_profile()]).succeeded();
    assert!(report.contains("131 instructions in 11 calls; 2 of 2 functions ran"), "{report}");
    let rows = [
        // Functions: instructions, share, calls.
        &["101", "77.1%", "1", "count"][..],
        &["30", "22.9%", "10", "is_odd"],
        // The loop: instructions, share, entries, trips.
        &["100", "76.3%", "1", "10.0", "count"],
        // The block that ends in `br_if`.
        &["50", "38.2%", "10", "b3", "count"],
        // Branches: the `if`, and `br_if`.
        &["10", "50.0%", "taken", "count"],
        &["10", "90.0%", "taken", "count"],
        // Blocks began 1 + 10 + 5 + 10 + 1 times in `count`, 10 times in `is_odd`.
        &["one", "per", "block", "37"],
    ];
    for row in rows {
        assert!(has_line(&report, row), "{row:?}: {report}");
    }
    assert!(report.contains("exited with code 0 after "), "{report}");
}

#[test]
fn the_order_can_be_chosen() {
    let folder = Folder::new();
    let profile = folder.count_profile();
    let report = wprof(&["report", "--sort", "calls", "--top", "1", &profile]).succeeded();
    assert!(
        report.contains("Functions by calls") && !report.contains("Functions by instructions"),
        "{report}"
    );
    assert!(has_line(&report, &["30", "22.9%", "10", "is_odd"]), "{report}");
    assert!(!has_line(&report, &["101", "count"]), "{report}");
}

#[test]
fn source_lines_are_shown_where_there_is_debug_information() {
    let folder = Folder::new();
    let profile = folder.path("json.wprof");
    wprof(&["run", "-q", "--exact", "-o", &profile, &program("json"), "20", "2"]).succeeded();
    let report = wprof(&["report", &profile]).succeeded();
    assert!(report.contains("json.c:"), "{report}");
    // Without the module there are offsets.
    let moved = folder.file("moved.wprof", std::fs::read(folder.count_profile()).unwrap());
    std::fs::remove_file(folder.path("count.wat")).unwrap();
    assert!(wprof(&["report", &moved]).succeeded().contains("0x"));
}

#[test]
fn tables_fit_the_terminal_and_have_more_columns_on_a_wide_one() {
    let folder = Folder::new();
    let profile = folder.path("json.wprof");
    wprof(&["run", "-q", "--exact", "-o", &profile, &program("json"), "20", "2"]).succeeded();
    for (columns, wide) in [("40", false), ("80", false), ("140", true)] {
        let output = command(&["report", &profile]).env("COLUMNS", columns).output().unwrap();
        let report = super::Ran::from(output).succeeded();
        let widest = report.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= columns.parse().unwrap(), "{widest}: {report}");
        assert_eq!(report.contains("per call"), wide, "{report}");
    }
}

#[test]
fn colours_are_for_terminals_or_when_asked_for() {
    let folder = Folder::new();
    let profile = folder.count_profile();
    assert!(!wprof(&["report", &profile]).succeeded().contains('\u{1b}'));
    assert!(
        wprof(&["report", "--color", "always", &profile]).succeeded().contains("\u{1b}[36mcount\u{1b}[0m")
    );
}
