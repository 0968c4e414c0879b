//! Passes of the compiler can be turned off, and one that is at fault be found.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::{COUNT, Folder, wprof};

#[test]
fn the_list_says_what_is_on() {
    let list = wprof(&["passes", "none,masks,redundant-moves@0..57"]).succeeded();
    let on = |name: &str| {
        let line = list.lines().find(|line| line.starts_with(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("no {name}: {list}")).split_whitespace().nth(1).map(str::to_owned)
    };
    assert_eq!(
        ["masks", "redundant-moves", "jump-threading"].map(on),
        ["on", "0..57", "off"].map(|on| Some(on.to_owned()))
    );
    let all = wprof(&["passes"]).succeeded();
    let passes: Vec<&str> = all.lines().filter(|line| !line.starts_with(' ')).collect();
    assert!(
        passes.len() > 20 && passes.iter().all(|line| line.split_whitespace().nth(1) == Some("on")),
        "{all}"
    );
    assert!(all.lines().all(|line| line.chars().count() <= 80), "{all}");
}

#[test]
fn programs_do_the_same_without_passes() {
    let folder = Folder::new();
    let module = folder.file("count.wat", COUNT);
    let run = |options: &[&str]| {
        let all =
            [&["run", "-q", "--profile", "off", "--invoke", "count"], options, &[&*module, "9"]].concat();
        wprof(&all).succeeded()
    };
    let expected = run(&[]);
    for options in
        [&["--passes", "none"][..], &["--passes", "-redundant-moves,-jump-threading"], &["--conservative"]]
    {
        assert_eq!(run(options), expected, "{options:?}");
    }
    let both = wprof(&["run", "--conservative", "--passes", "all", &module]);
    assert!(both.code == Some(2) && both.err.contains("--conservative"), "{both:?}");
}

#[test]
fn code_is_shown_without_passes() {
    let folder = Folder::new();
    let module = folder.file("count.wat", COUNT);
    let code = |options: &[&str]| {
        let all = [&["explain", &*module, "count", "--profile", "off", "--stage", "asm"], options].concat();
        wprof(&all).succeeded()
    };
    assert_eq!(code(&["--passes", "all"]), code(&[]));
    assert_ne!(code(&["--passes", "none"]), code(&[]));
    assert_ne!(code(&["--passes", "-short"]), code(&[]));
}

#[test]
fn unknown_passes_are_refused_with_a_list() {
    let refused = wprof(&["run", "--passes", "-redundant-move", "m.wasm"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    for part in ["there is no pass `redundant-move`", "unroll", "redundant-moves", "jump-threading"] {
        assert!(refused.err.contains(part), "{refused:?}");
    }
}

/// In place of wprof: crashes if the pass `redundant-moves` works on function 57, and says something wrong if both `masks` and
/// `tables` work on function 3.
const FAULTY: &str = r#"#!/usr/bin/env python3
import os, signal, subprocess, sys
wprof, fault = sys.argv[0].rsplit("/", 1)[0] + "/wprof", os.environ["FAULT"]
if sys.argv[1] == "passes":
    sys.exit(subprocess.run([wprof, "passes"]).returncode)
passes = sys.argv[sys.argv.index("--passes") + 1]
listed = subprocess.run([wprof, "passes", passes], stdout=subprocess.PIPE, check=True).stdout.decode()
on = {line.split()[0]: line.split()[1] for line in listed.splitlines()}
def works(name, function):
    if ".." in on[name]:
        start, end = map(int, on[name].split(".."))
        return start <= function < end
    return on[name] == "on"
if fault == "crash" and works("redundant-moves", 57):
    os.kill(os.getpid(), signal.SIGSEGV)
print("wrong" if fault == "wrong" and works("masks", 3) and works("tables", 3) else "right")
"#;

#[test]
fn the_pass_and_the_function_at_fault_are_found() {
    let folder = Folder::new();
    let faulty = folder.file("faulty", FAULTY);
    std::fs::set_permissions(&faulty, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_wprof"), folder.path("wprof")).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/bisect-passes");
    let bisect = |fault: &str, more: &[&str]| {
        let mut command = Command::new("python3");
        command.arg(script).args(["--wprof", &faulty]).args(more).arg("m.wasm").env("FAULT", fault);
        let output = command.output().expect("python3");
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let crash = bisect("crash", &[]);
    assert!(
        crash.contains("the pass redundant-moves, in function 57\n") && crash.contains("signal 11"),
        "{crash}"
    );
    // Of the two faults the later one is found.
    let expected = folder.file("expected", "right\n");
    let wrong = bisect("wrong", &["--expect", &expected]);
    assert!(wrong.contains("the pass tables, in function 3\n"), "{wrong}");
    let right = bisect("none", &[]);
    assert!(right.contains("nothing goes wrong with all passes"), "{right}");
    let other = folder.file("expected", "left\n");
    assert!(bisect("none", &["--expect", &other]).contains("the fault is somewhere else"));
}
