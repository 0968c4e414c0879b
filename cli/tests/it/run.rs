//! Programs run as they would elsewhere, and a summary follows.

use std::io::Write;
use std::process::Stdio;

use super::{COUNT, Folder, command, json, program, wprof};

#[test]
fn a_program_has_its_own_output_and_the_summary_goes_to_stderr() {
    let ran = wprof(&["run", "--exact", &program("hello")]);
    assert!(ran.err.contains("wprof: hello.wasm exited with code 0 after "), "{}", ran.err);
    for part in [" instructions in ", "share", "counters", "one per block", "one per edge"] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    assert!(ran.err.lines().all(|line| line.chars().count() <= 80), "{}", ran.err);
    assert!(!ran.err.contains('\u{1b}'), "no colours in a pipe");
    assert!(!ran.succeeded().is_empty());
}

#[test]
fn quiet_leaves_nothing_on_stderr() {
    for mode in ["exact", "off"] {
        let ran = wprof(&["run", "-q", "--profile", mode, &program("hello")]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    }
}

#[test]
fn the_output_is_the_same_in_every_mode() {
    let args = [program("json"), "20".to_owned(), "2".to_owned()];
    let expected =
        std::fs::read_to_string(program("json").replace("json.wasm", "expected/json.txt")).unwrap();
    for options in [
        &["--profile", "exact"][..],
        &["--profile", "off"],
        &["--collect", "blocks"],
        &["--collect", "events=fuel"],
    ] {
        let all: Vec<&str> =
            ["run"].into_iter().chain(options.iter().copied()).chain(args.iter().map(|a| &**a)).collect();
        assert_eq!(wprof(&all).succeeded(), expected);
    }
}

#[test]
fn an_exit_code_is_passed_through_and_its_profile_is_complete() {
    let folder = Folder::new();
    let profile = folder.path("exit.wprof");
    let ran = wprof(&["run", "--exact", "-o", &profile, &program("exit"), "42", "100"]);
    assert_eq!(ran.code, Some(42), "{}", ran.err);
    assert!(ran.err.contains("exit.wasm exited with code 42"), "{}", ran.err);
    let profile = json(&profile);
    assert_eq!(profile["runs"][0]["ending"]["code"], 42);
    // exit() is called in the fifth leaf of a tree of depth 100: 101 + 3 visits.
    assert_eq!(super::function(&profile, "visit")["calls"], 104);
}

#[test]
fn arguments_after_the_module_are_the_programs() {
    let ran = wprof(&["run", "-q", &program("crash"), "--help"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(2), "crash: no kind '--help'\n"));
}

/// Copies standard input to standard output, 8 bytes at most; then exits with the number of bytes.
const COPY: &str = r#"(module
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\10\00\00\00\08\00\00\00")
  (func (export "_start")
    (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
    (i32.store (i32.const 4) (i32.load (i32.const 8)))
    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))
    (call $exit (i32.load (i32.const 8)))))"#;

#[test]
fn standard_input_is_the_programs() {
    let folder = Folder::new();
    let module = folder.file("copy.wat", COPY);
    let mut child =
        command(&["run", "-q", &module]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"hello").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(5), &b"hello"[..]));
}

/// Prints the sizes of its environment: the number of variables is the exit code.
const ENVIRONMENT: &str = r#"(module
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $sizes (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (func (export "_start")
    (drop (call $sizes (i32.const 0) (i32.const 4)))
    (call $exit (i32.load (i32.const 0)))))"#;

#[test]
fn the_environment_holds_what_is_given_only() {
    let folder = Folder::new();
    let module = folder.file("environment.wat", ENVIRONMENT);
    assert_eq!(wprof(&["run", "-q", &module]).code, Some(0));
    assert_eq!(wprof(&["run", "-q", "--env", "A=1", "--env", "PATH", &module]).code, Some(2));
    let ran = wprof(&["run", "-q", "--env", "WPROF_TEST_UNSET", &module]);
    assert_eq!(ran.code, Some(2), "a usage error");
}

/// Opens the file `f` in the first preopened folder; the error number is the exit code.
const OPEN: &str = r#"(module
  (import "wasi_snapshot_preview1" "path_open"
    (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "f")
  (func (export "_start")
    (call $exit (call $open (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 0)
      (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 8)))))"#;

#[test]
fn folders_are_seen_if_they_are_given() {
    const BADF: i32 = 8;
    let folder = Folder::new();
    let module = folder.file("open.wat", OPEN);
    folder.file("f", "content");
    let dir = folder.0.path().to_str().unwrap().to_owned();
    assert_eq!(wprof(&["run", "-q", &module]).code, Some(BADF));
    assert_eq!(wprof(&["run", "-q", "--dir", &dir, &module]).code, Some(0));
    assert_eq!(wprof(&["run", "-q", "--dir", &format!("{dir}::/data"), &module]).code, Some(0));
    assert!(wprof(&["run", "-q", "--dir", "/does/not/exist", &module]).failed().contains("/does/not/exist"));
}

#[test]
fn verbose_tells_of_compilation() {
    let ran = wprof(&["run", "-v", "--profile", "off", &program("hello")]);
    assert!(ran.err.contains("functions compiled to "), "{}", ran.err);
}

#[test]
fn a_memory_cannot_outgrow_its_limit() {
    let folder = Folder::new();
    let grow = r#"(module (memory 1) (func (export "grow") (result i32) (memory.grow (i32.const 1))))"#;
    let module = folder.file("grow.wat", grow);
    assert_eq!(wprof(&["run", "-q", "--invoke", "grow", &module]).succeeded(), "1\n");
    assert_eq!(wprof(&["run", "-q", "--max-memory", "64K", "--invoke", "grow", &module]).succeeded(), "-1\n");
}

/// The fourth instruction of `count` with 10 is the first of `is_odd`.
#[test]
fn a_program_can_be_stopped_at_any_instruction() {
    let folder = Folder::new();
    let module = folder.file("count.wat", COUNT);
    let stop = |until: &str| {
        let ran = wprof(&["run", "--until", until, "--invoke", "count", &module, "10"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.err
    };
    let said = stop("4");
    assert!(said.starts_with("wprof: stopped at instruction 4\n     0  is_odd  (0x"), "{said}");
    assert!(said.contains("     1  count  (0x"), "{said}");
    assert!(said.contains("wprof: count.wat stopped at instruction 4 after "), "{said}");
    assert!(said.contains("  local 0  10: i32\n  operand 0  10: i32\n"), "{said}");
    let (once, again) = (stop("100"), stop("1_00"));
    let state = |said: &str| said.split_once("\n\n").map_or(said.to_owned(), |(state, _)| state.to_owned());
    assert_eq!(state(&once), state(&again));
    // The same by the place: the call of `is_odd` has been made.
    let place = said.split_once("is_odd  (").and_then(|(_, rest)| rest.split_once(')')).expect("a place").0;
    let until = format!("back_edges_and_calls=1@{place}");
    let found = stop(&until);
    assert!(
        found.starts_with(&format!("wprof: stopped at back_edges_and_calls 1 at byte {place}\n")),
        "{found}"
    );
    assert_eq!(
        state(&found).split_once('\n').expect("lines").1,
        state(&said).split_once('\n').expect("lines").1
    );
    let later = stop(&format!("back_edges_and_calls=0@{place}"));
    assert!(later.contains(", to which it came first with 1\n"), "{later}");
    // It executes 131 instructions.
    let ran = wprof(&["run", "-q", "--until", "132", "--invoke", "count", &module, "10"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "5\n"));
    assert_eq!(ran.err, "wprof: the program ended before instruction 132\n");
}

#[test]
fn eagerly_all_functions_are_compiled() {
    let compiled = |more: &[&str]| {
        let options = ["run", "-v", "--exact", "--no-code-cache"];
        let said = wprof(&[&options[..], more, &[&program("hello")]].concat()).err;
        let number = |behind: &str| {
            let (before, _) = said.split_once(behind).unwrap_or_else(|| panic!("no{behind}: {said}"));
            before.rsplit([' ', '\n']).next().expect("a number").parse::<usize>().expect("a number")
        };
        (number(" functions ran"), number(" functions compiled to "))
    };
    let (all, compiled_all) = compiled(&["--eager"]);
    assert_eq!(compiled_all, all);
    let (all, compiled_some) = compiled(&[]);
    assert!(compiled_some < all, "{compiled_some} of {all}");
}
