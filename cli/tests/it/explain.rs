//! Each stage of a function can be looked at.

use super::{COUNT, Folder, wprof};

fn explain(folder: &Folder, options: &[&str]) -> String {
    let module = folder.file("count.wat", COUNT);
    wprof(&[&["explain", &module, "count"], options].concat()).succeeded()
}

#[test]
fn the_plan_shows_chords_and_tree() {
    let text = explain(&Folder::new(), &["--stage", "plan"]);
    assert!(text.starts_with("count: 5 blocks, 7 edges, 3 counters\n"), "{text}");
    // 5 blocks and the exit are 6 vertices; a tree has 5 edges, the closing edge one of them.
    let tree = text.lines().filter(|line| line.ends_with(" tree")).count();
    let chords = text.lines().filter(|line| line.contains(" chord, counter ")).count();
    assert_eq!((tree, chords), (4, 3), "{text}");
    assert_eq!(explain(&Folder::new(), &[]), text, "the plan is shown by default");
}

#[test]
fn the_plan_shows_what_blocks_do_not_need() {
    let folder = Folder::new();
    // Ways part before and meet behind four heavy edges, which form a cycle without a pipe.
    let cross = r#"(module (func $cross (param i32 i32)
      (block $b (block $a (block $to2 (block $to1
        (block $5 (block $4 (block $3 (block $2 (block $1 (block $0
          (br_table $0 $1 $2 $3 $4 $5 (local.get 0)))
          (nop) (br $to1)) (nop) (br $to1)) (nop) (br $to1))
          (nop) (br $to2)) (nop) (br $to2)) (nop) (br $to2))
        (br_table $a $b (local.get 1)))
        (br_table $a $b (local.get 1)))
        (block $y (block $x (br_table $x $y 2 (local.get 0))) (return)) (return))
      (block $y (block $x (br_table $x $y 1 (local.get 0))) (return))))"#;
    let module = folder.file("cross.wat", cross);
    let text = wprof(&["explain", &module, "cross", "--collect", "blocks"]).succeeded();
    let dropped = text.lines().filter(|line| line.contains(" chord, dropped")).count();
    let chords = text.lines().filter(|line| line.contains(" chord, counter ")).count();
    assert_eq!((dropped, chords), (1, 10), "{text}");
    assert!(text.contains("\nweights: an estimate\n"), "{text}");
}

/// The arm of odd numbers is taken or not, before the loop goes on or ends: so from the entry, and from the loop
/// header.
#[test]
fn the_plan_shows_how_paths_are_numbered() {
    let text = explain(&Folder::new(), &["--collect", "paths"]);
    for part in ["8 paths, each with a counter", "paths begin here, value 4", "count r", ", r = "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let graph = explain(&Folder::new(), &["--collect", "paths", "--stage", "graph"]);
    assert!(graph.starts_with("path=") && graph.contains(" count[0+path"), "{graph}");
}

/// By hand: a round of the loop has 3 instructions with a call, 4 more if the number is odd, and 5.
#[test]
fn the_plan_shows_increments_and_queries_of_events() {
    let text = explain(&Folder::new(), &["--collect", "events=instructions,calls"]);
    assert!(text.starts_with("count: 5 blocks, 7 edges, 0 counters\n"), "{text}");
    for part in ["places: instructions ", ", calls 2\n", "call at 0x", "query ", " calls +1"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for (edge, added) in [("e2", "instructions +8, calls +1"), ("e3", "instructions +12, calls +1")] {
        let line = text.lines().find(|line| line.trim_start().starts_with(edge)).unwrap();
        assert!(line.ends_with(&format!(" {added}")), "{text}");
    }
    assert!(!text.contains("chord"), "{text}");
}

#[test]
fn every_stage_has_its_text() {
    let folder = Folder::new();
    let cases = [("cfg", "5 blocks"), ("graph", "count[0]"), ("clif", "function "), ("asm", "ret")];
    for (stage, part) in cases {
        let text = explain(&folder, &["--stage", stage]);
        assert!(text.contains(part), "{stage}: {text}");
    }
}

#[test]
fn counters_are_in_the_code_only_if_asked_for() {
    let folder = Folder::new();
    let counts = |options: &[&str]| {
        let text = explain(&folder, &[&["--stage", "graph"], options].concat());
        text.matches("count[").count()
    };
    let found = [counts(&["--profile", "off"]), counts(&[]), counts(&["--collect", "all-blocks"])];
    assert_eq!(found, [0, 3, 5]);
}

#[test]
fn the_plan_shows_what_is_traced_and_why() {
    let folder = Folder::new();
    let bits = explain(&folder, &["--trace", "bits"]);
    assert!(bits.contains("\ntrace: bits for each branch at 4 places, "), "{bits}");
    assert_eq!(bits.lines().filter(|line| line.contains("  writes ")).count(), 4, "{bits}");
    assert!(!bits.contains("counter 0"), "{bits}");
    let witness = explain(&folder, &["--trace", "witness"]);
    assert!(witness.contains("\ntrace: witnesses at "), "{witness}");
    assert!(witness.lines().any(|line| line.ends_with(", blocking")), "{witness}");
    let graph = explain(&folder, &["--trace", "bits", "--stage", "graph"]);
    assert_eq!(graph.matches(" emit[").count(), 4, "{graph}");
    let module = folder.file("touch.wat", "(module (memory 1) (func $f (drop (i32.load (i32.const 4)))))");
    let args = ["explain", &module, "f", "--trace", "best", "--addresses"];
    let touch = wprof(&args).succeeded();
    assert!(touch.contains(", 1 access to memory\n"), "{touch}");
}

#[test]
fn the_plan_shows_where_the_budget_is_checked() {
    let text = explain(&Folder::new(), &["--budget", "instructions=100"]);
    assert!(text.contains("\nbudget: instructions, checked where noted\n"), "{text}");
    let checked = text.lines().filter(|line| line.starts_with('b') && line.ends_with("  budget check"));
    assert_eq!(checked.count(), 2, "the entry and the loop: {text}");
    assert!(text.lines().any(|line| line.contains("call at ") && line.ends_with("budget check")), "{text}");
    let graph = explain(&Folder::new(), &["--budget", "instructions=100", "--stage", "graph"]);
    assert_eq!(graph.matches(" budget[0]").count(), 3, "{graph}");
}
