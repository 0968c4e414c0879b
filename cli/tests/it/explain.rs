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
    let found = [counts(&["--profile", "off"]), counts(&[]), counts(&["--collect", "blocks"])];
    assert_eq!(found, [0, 3, 5]);
}
