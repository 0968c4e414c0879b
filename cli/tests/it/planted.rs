//! Programs with one problem each, in the line that is marked: the first command, without options, shows that line first.

use super::{Ran, command};

/// The first row of the lines by time that `wprof run` shows.
fn hottest_line(program: &str) -> String {
    let ran: Ran = command(&["run", &path(program, "wasm")]).output().expect("the program starts").into();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let is_head = |line: &&str| line.trim_end().ends_with("with callees  line");
    let mut rows = ran.err.lines().skip_while(|line| !is_head(line)).skip(1);
    rows.next().unwrap_or_else(|| panic!("no lines: {}", ran.err)).trim_end().to_owned()
}

fn path(program: &str, extension: &str) -> String {
    format!("{}/../bench-wasm/programs/planted/{program}.{extension}", env!("CARGO_MANIFEST_DIR"))
}

fn check(program: &str, extension: &str) {
    let source = std::fs::read_to_string(path(program, extension)).expect("the source is there");
    let line = source.lines().position(|line| line.contains("// PLANTED")).expect("it is marked") + 1;
    let row = hottest_line(program);
    let place = format!("  {program}.{extension}:{line}");
    assert!(row.ends_with(&place) || row.contains(&format!("{place} (")), "{row}");
}

#[test]
fn an_erase_that_moves_all_is_found_under_memmove() {
    check("erase", "cpp");
    assert!(hottest_line("erase").ends_with(" (memmove)"));
}

#[test]
fn a_sum_by_columns_is_found() {
    check("columns", "cpp");
}

#[test]
fn a_virtual_call_that_chases_pointers_is_found() {
    check("chase", "cpp");
}

#[test]
fn an_unpredictable_branch_is_found() {
    check("branch", "cpp");
}

#[test]
fn an_inlined_quadratic_function_is_found() {
    check("dedup", "rs");
}

#[test]
fn callers_of_what_is_only_inlined_are_shown() {
    let folder = super::Folder::new();
    let profile = folder.path("p.wprof");
    let ran: Ran =
        command(&["run", "-q", "-o", &profile, &path("dedup", "wasm")]).output().expect("it starts").into();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let callers = super::wprof(&["report", &profile, "--callers", "dedup"]).succeeded();
    let rows: Vec<&str> = callers.lines().skip_while(|line| !line.contains("called by")).skip(1).collect();
    assert!(rows[0].ends_with("  dedup::dedup") && rows[1].ends_with("  dedup::main"), "{callers}");
    assert!(rows[1].contains("  inlined  "), "{callers}");
    let folded = super::wprof(&["export", "--to", "folded", &profile]).succeeded();
    assert!(folded.contains(";dedup::main;dedup::dedup;"), "{folded}");
}
