//! Hints in modules: the program stays the same, and hints can be checked by running it.

use super::{Folder, program, wprof};

fn profile(folder: &Folder, name: &str, module: &str, args: &[&str]) -> String {
    let profile = folder.path(name);
    let run = ["run", "-q", "--collect", "edges,cct", "-o", &profile, module];
    wprof(&[&run[..], args].concat()).succeeded();
    profile
}

#[test]
fn hinted_programs_do_the_same_and_branches_go_as_hinted() {
    let folder = Folder::new();
    let (json, hinted) = (program("json"), folder.path("hinted.wasm"));
    let first = profile(&folder, "f.wprof", &json, &["20", "2"]);
    let ran = wprof(&["hints", &json, &first, "--all", "-o", &hinted]);
    assert!(ran.err.contains("metadata.code.branch_hint: ") && ran.err.contains("went as hinted"), "{ran:?}");
    for name in ["instr_freq", "call_targets", "compilation_priority"] {
        assert!(ran.err.contains(&format!("metadata.code.{name}: ")), "{ran:?}");
    }
    ran.succeeded();
    let output = |module: &str| wprof(&["run", "-q", module, "7", "3"]).succeeded();
    assert_eq!(output(&hinted), output(&json));
    let second = profile(&folder, "g.wprof", &hinted, &["7", "3"]);
    let checked = wprof(&["hints", "--check", &hinted, &second]);
    let share: f64 = checked.err.split("; ").nth(1).unwrap().split('%').next().unwrap().parse().unwrap();
    assert!((90.0..=100.0).contains(&share), "{checked:?}");
    checked.succeeded();
    // What ran was the hinted module, not the one that it came from.
    assert!(wprof(&["hints", &json, &second, "-o", &hinted]).failed().contains("not the module that ran"));
}

#[test]
fn functions_are_listed_hottest_first() {
    let folder = Folder::new();
    let (profile, order) = (folder.count_profile(), folder.path("order.txt"));
    wprof(&["hints", &folder.path("count.wat"), &profile, "--order", &order]).succeeded();
    assert_eq!(std::fs::read_to_string(order).unwrap(), "count\nis_odd\n");
}

#[test]
fn what_cannot_be_hinted_is_said() {
    let folder = Folder::new();
    let (profile, module) = (folder.count_profile(), folder.path("count.wat"));
    assert!(wprof(&["hints", "--check", &module, &profile]).failed().contains("no branch hints"));
    assert!(wprof(&["hints", &module, &profile, "-o", "/dev/full"]).failed().contains("No space left"));
    let blocks = folder.path("blocks.wprof");
    let run = ["run", "-q", "--collect", "blocks", "-o", &blocks, "--invoke", "count", &module, "10"];
    wprof(&run).succeeded();
    let said = wprof(&["hints", &module, &blocks, "-o", &folder.path("out.wasm")]).failed();
    assert!(said.contains("which ways branches went"), "{said}");
    assert_eq!(wprof(&["hints", &module, &profile]).code, Some(2));
    assert_eq!(wprof(&["hints", &module, &profile, "--likely", "50", "-o", "x"]).code, Some(2));
}
