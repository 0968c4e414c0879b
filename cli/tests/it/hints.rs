//! Hints in modules: the program stays the same, and hints can be checked by running it.

use std::process::Command;

use super::readers::{accepted, foreign};
use super::{Folder, function, json, program, wprof};

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
    assert!(said.contains("no branch counts"), "{said}");
    // The module is an argument: there is no option to advise.
    let said = wprof(&["hints", &folder.path("none.wasm"), &profile, "-o", "x"]).failed();
    assert!(said.contains("none.wasm does not exist: give the module that ran\n"), "{said}");
    assert_eq!(wprof(&["hints", &module, &profile]).code, Some(2));
    assert_eq!(wprof(&["hints", &module, &profile, "--likely", "50", "-o", "x"]).code, Some(2));
}

/// `$down` calls itself through the table, and `$other` once for each time that it does not end.
const INDIRECT: &str = r#"(module (table funcref (elem $down $other)) (type $t (func (param i32)))
  (func $down (type $t)
    (if (local.get 0) (then
      (call_indirect (type $t) (local.get 0) (i32.const 1))
      (call_indirect (type $t) (i32.sub (local.get 0) (i32.const 1)) (i32.const 0)))))
  (func $other (type $t))
  (func (export "run") (call_indirect (type $t) (i32.const 9) (i32.const 0))))"#;

#[test]
fn recursive_indirect_calls_are_hinted() {
    let folder = Folder::new();
    let (module, profile) = (folder.file("f.wat", INDIRECT), folder.path("f.wprof"));
    wprof(&["run", "-q", "--collect", "edges,cct", "-o", &profile, "--invoke", "run", &module]).succeeded();
    let ran = wprof(&["hints", &module, &profile, "--all", "-o", &folder.path("hinted.wasm")]);
    assert!(ran.err.contains("metadata.code.call_targets: 3 hints in 2 functions"), "{ran:?}");
}

#[test]
fn llvm_reads_how_often_lines_ran() {
    let folder = Folder::new();
    let (json_module, samples) = (program("json"), folder.path("f.prof"));
    let profile = profile(&folder, "f.wprof", &json_module, &["5", "1"]);
    wprof(&["hints", &json_module, &profile, "--autofdo", &samples]).succeeded();
    let text = std::fs::read_to_string(&samples).unwrap();
    let calls = function(&json(&profile), "parse_value")["calls"].to_string();
    let head = text.lines().find(|line| line.starts_with("parse_value:")).expect("it ran");
    assert!(head.ends_with(&format!(":{calls}")), "{head}");
    assert!(text.lines().any(|line| line.starts_with("  ")), "functions were inlined");
    let mut llvm = Command::new("llvm-profdata-19");
    let Some(output) = foreign(llvm.args(["show", "--sample", &samples])) else { return };
    let said = accepted(output);
    assert!(
        said.contains(&format!("Function: parse_value: {}, {calls}, ", head.split(':').nth(1).unwrap())),
        "{said}"
    );
    let none = folder.count_profile();
    let said = wprof(&["hints", &folder.path("count.wat"), &none, "--autofdo", &samples]).failed();
    assert!(said.contains("with DWARF"), "{said}");
}

#[test]
fn ways_through_one_line_and_indirect_calls_are_told_apart() {
    let folder = Folder::new();
    let module = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/programs/ways.wasm");
    let (profile, samples) = (folder.path("f.wprof"), folder.path("f.prof"));
    let run = ["run", "-q", "--collect", "edges,cct", "-o", &profile, "--invoke", "run", module, "8"];
    wprof(&run).succeeded();
    wprof(&["hints", module, &profile, "--autofdo", &samples]).succeeded();
    let text = std::fs::read_to_string(&samples).unwrap();
    // Of 8 rounds two go one way and six the other, each with its call.
    for expected in [" 2.3: 2 twice:2\n", " 2.4: 6 next:6\n"] {
        assert!(text.contains(expected), "{text}");
    }
    let mut llvm = Command::new("llvm-profdata-19");
    let Some(output) = foreign(llvm.args(["show", "--sample", &samples])) else { return };
    let said = accepted(output);
    assert!(said.contains("2.4: 6, calls: next:6"), "{said}");
}

#[test]
fn binaryen_reads_which_functions_ran() {
    let folder = Folder::new();
    let (module, split) = (program("sort"), folder.path("f.split"));
    let profile = profile(&folder, "f.wprof", &module, &["20", "1"]);
    wprof(&["hints", &module, &profile, "--split", &split]).succeeded();
    let ran = json(&profile)["functions"].as_array().unwrap().len();
    let bytes = std::fs::read(&split).unwrap();
    assert_eq!(bytes[8..].chunks(4).filter(|number| *number == [1, 0, 0, 0]).count(), ran);
    let (kept, moved) = (folder.path("kept.wasm"), folder.path("moved.wasm"));
    let options = [format!("--profile={split}"), "-o1".to_owned(), kept, "-o2".to_owned(), moved];
    let mut binaryen = Command::new("wasm-split");
    let Some(output) = foreign(binaryen.args(["--verbose", "-g", &module]).args(&options)) else { return };
    let said = accepted(output);
    let names =
        |what: &str| said.lines().find_map(|line| line.strip_prefix(what)).unwrap_or("").split(", ").count();
    assert_eq!(names("Keeping functions: "), ran, "{said}");
    assert_eq!(names("Splitting out functions: "), (bytes.len() - 8) / 4 - ran, "{said}");
}
