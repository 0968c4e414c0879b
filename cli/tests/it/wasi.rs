//! What a program finds of the system when it is run from a shell, a cron job, a service.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use super::{Folder, command, wprof};

/// Waits until standard input can be read, then reads a byte. Exits with the event's error, or with 100 and the number of
/// bytes, or with the error of reading.
const POLL: &str = r#"(module
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\10\00\00\00\01\00\00\00")
  (func (export "_start") (local $error i32)
    (i32.store8 (i32.const 136) (i32.const 1))
    (if (call $poll (i32.const 128) (i32.const 256) (i32.const 1) (i32.const 300)) (then unreachable))
    (if (i32.ne (i32.load (i32.const 300)) (i32.const 1)) (then unreachable))
    (if (local.tee $error (i32.load16_u (i32.const 264))) (then (call $exit (local.get $error))))
    (if (local.tee $error (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
      (then (call $exit (local.get $error))))
    (call $exit (i32.add (i32.const 100) (i32.load (i32.const 8))))))"#;

#[test]
fn standard_input_of_any_kind_can_be_waited_for() {
    const IS_DIRECTORY: i32 = 31;
    let folder = Folder::new();
    let module = folder.file("poll.wat", POLL);
    let file = folder.file("file", "x");
    let run = |stdin: Stdio| command(&["run", "-q", &module]).stdin(stdin).status().unwrap().code();
    let open = |path: &str| Stdio::from(std::fs::File::open(path).unwrap());
    assert_eq!(run(Stdio::null()), Some(100));
    assert_eq!(run(open("/dev/zero")), Some(101));
    assert_eq!(run(open(&file)), Some(101));
    assert_eq!(run(open(folder.0.path().to_str().unwrap())), Some(IS_DIRECTORY));
    let closed = std::process::Command::new("sh")
        .args(["-c", "exec \"$0\" run -q \"$1\" <&-", env!("CARGO_BIN_EXE_wprof"), &module])
        .env("XDG_CACHE_HOME", "/dev/null")
        .status();
    assert_eq!(closed.unwrap().code(), Some(100), "the process itself finds nothing there");
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(b"x").unwrap();
    assert_eq!(run(Stdio::from(OwnedFd::from(reader))), Some(101));
    drop(writer);
}

/// A program that only exits.
fn exits_with(code: u32) -> String {
    format!(
        r#"(module (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32))) (memory (export "memory") 1)
            (func (export "_start") (call $exit (i32.const {code}))))"#
    )
}

#[test]
fn every_exit_code_is_passed_on() {
    let folder = Folder::new();
    for code in [125, 126, 127, 128, 134, 200, 255] {
        let ran = wprof(&["run", "-q", &folder.file("exit.wat", exits_with(code))]);
        assert_eq!((ran.code, &ran.err[..]), (Some(code as i32), ""));
    }
}

/// Programs that wait for what does not come.
const WAITING: [(&str, &str); 3] = [
    (
        "sleep",
        r#"(i32.store (i32.const 144) (i32.const 1)) (i64.store (i32.const 152) (i64.const 3600000000000))
        (drop (call $poll (i32.const 128) (i32.const 256) (i32.const 1) (i32.const 300)))"#,
    ),
    (
        "poll",
        r#"(i32.store8 (i32.const 136) (i32.const 1))
        (drop (call $poll (i32.const 128) (i32.const 256) (i32.const 1) (i32.const 300)))"#,
    ),
    ("read", "(drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))"),
];

/// What writes until nothing more goes into a pipe.
const WRITING: &str =
    "(loop $again (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))) (br $again))";

fn waiting(folder: &Folder, body: &str) -> String {
    let module = format!(
        r#"(module
            (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
            (memory (export "memory") 1)
            (data (i32.const 0) "\00\04\00\00\00\80\00\00")
            (func (export "_start") {body}))"#
    );
    folder.file("waiting.wat", &module)
}

/// Starts with a standard input that nobody writes to, and an output that nobody reads.
fn start(args: &[&str]) -> Child {
    command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for the end of a child, with both open.
fn end(mut child: Child) -> Output {
    let (stdin, mut stdout) = (child.stdin.take(), child.stdout.take());
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    stdout.take().unwrap().read_to_end(&mut Vec::new()).unwrap();
    output
}

#[test]
fn a_timeout_ends_what_waits_in_every_mode() {
    let folder = Folder::new();
    for (what, body) in WAITING.into_iter().chain([("write", WRITING)]) {
        let module = waiting(&folder, body);
        for mode in ["exact", "adaptive", "off"] {
            let clock = Instant::now();
            let output = end(start(&["run", "--timeout", "200ms", "--profile", mode, &module]));
            let err = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(134), "{what}, {mode}: {err}");
            assert!(err.contains("wasm trap: deadline exceeded"), "{what}, {mode}: {err}");
            assert!(
                (Duration::from_millis(200)..Duration::from_secs(20)).contains(&clock.elapsed()),
                "{what}, {mode}"
            );
        }
    }
}

/// The same as `POLL` in preview 0 for a clock; then seeks to the end of a file and tells its size as `fd_filestat_get` does.
const PREVIEW_0: &str = r#"(module
  (import "wasi_unstable" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (import "wasi_unstable" "fd_seek" (func $seek (param i32 i64 i32 i32) (result i32)))
  (import "wasi_unstable" "fd_filestat_get" (func $stat (param i32 i32) (result i32)))
  (import "wasi_unstable" "path_open"
    (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_unstable" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "f")
  (func (export "_start")
    (i32.store (i32.const 152) (i32.const 1)) (i64.store (i32.const 160) (i64.const 1000000))
    (if (call $poll (i32.const 128) (i32.const 256) (i32.const 1) (i32.const 300)) (then unreachable))
    (if (call $open (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 0)
          (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 8)) (then unreachable))
    (if (call $seek (i32.load (i32.const 8)) (i64.const 0) (i32.const 1) (i32.const 16)) (then unreachable))
    (if (call $stat (i32.load (i32.const 8)) (i32.const 512)) (then unreachable))
    (if (i64.ne (i64.load (i32.const 16)) (i64.load (i32.const 536))) (then unreachable))
    (call $exit (i32.load (i32.const 16)))))"#;

#[test]
fn programs_of_preview_0_run() {
    let folder = Folder::new();
    let module = folder.file("old.wat", PREVIEW_0);
    folder.file("f", "eleven more");
    let ran = wprof(&["run", "-q", "--dir", folder.0.path().to_str().unwrap(), &module]);
    assert_eq!((ran.code, &ran.err[..]), (Some(11), ""));
}

/// Writes random bytes.
const RANDOM: &str = r#"(module
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\10\00\00\00\10\00\00\00")
  (func (export "_start")
    (if (call $random (i32.const 16) (i32.const 16)) (then unreachable))
    (if (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)) (then unreachable))))"#;

#[test]
fn random_numbers_are_the_same_each_time_if_all_is_to_be() {
    let folder = Folder::new();
    let module = folder.file("random.wat", RANDOM);
    let numbers = |args: &[&str]| {
        let output = command(&[&["run", "-q"], args, &[&module]].concat()).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 16));
        output.stdout
    };
    assert_ne!(numbers(&[]), numbers(&[]));
    assert_eq!(numbers(&["--deterministic"]), numbers(&["--deterministic"]));
}
