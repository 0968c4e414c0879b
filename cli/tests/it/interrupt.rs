//! Ctrl-C keeps the profile.

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{Folder, command, function, json};

/// Says `!`, then goes round for ever and calls `$tick` each time.
pub const FOREVER: &str = r#"(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\10\00\00\00\01\00\00\00")
  (data (i32.const 16) "!")
  (func $tick)
  (func $forever (export "_start")
    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))
    (loop $again (call $tick) (br $again))))"#;

pub fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill exists");
    assert!(sent.success());
}

/// Starts a module in a group of its own and waits until it has said something.
pub fn start(args: &[&str]) -> Child {
    let mut command = command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().expect("the program starts");
    let mut said = [0];
    child.stdout.as_mut().unwrap().read_exact(&mut said).expect("the program says it is ready");
    assert_eq!(said, *b"!");
    child
}

#[test]
fn an_interrupt_stops_the_program_and_keeps_its_profile() {
    let folder = Folder::new();
    let (module, profile) = (folder.file("forever.wat", FOREVER), folder.path("f.wprof"));
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let child = start(&["run", "--exact", "-o", &profile, &module]);
        std::thread::sleep(Duration::from_millis(200));
        send(signal, &child);
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{err}");
        assert!(err.contains("forever.wat interrupted after "), "{err}");
        check_profile(&json(&profile));
    }
}

#[test]
fn who_tells_a_process_and_its_group_is_heard_once() {
    let folder = Folder::new();
    let (module, profile) = (folder.file("forever.wat", FOREVER), folder.path("f.wprof"));
    for command in ["run", "top"] {
        let child = start(&[command, "-o", &profile, &module]);
        let id = child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", "--", &id, &format!("-{id}")]).status();
        assert!(sent.expect("kill exists").success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(143), "{command}: {output:?}");
        assert_eq!(json(&profile)["runs"][0]["ending"]["how"], "interrupted", "{command}");
    }
}

/// The loop calls `$tick` once a round, so that the counts of both tell each other.
fn check_profile(profile: &serde_json::Value) {
    assert_eq!(profile["runs"][0]["ending"]["how"], "interrupted");
    let forever = function(profile, "forever");
    assert_eq!((&forever["calls"], &forever["unfinished"].as_array().unwrap().len()), (&1.into(), &1));
    let rounds = forever["loops"][0]["iterations"].as_u64().unwrap();
    let ticks = function(profile, "tick")["calls"].as_u64().unwrap();
    assert!(rounds > 0);
    assert!(ticks == rounds || ticks + 1 == rounds, "{ticks} calls in {rounds} rounds");
}

/// Says `!`, then waits for input that never comes.
const WAITS: &str = r#"(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\10\00\00\00\01\00\00\00")
  (data (i32.const 16) "!")
  (func (export "_start")
    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))
    (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 12)))))"#;

#[test]
fn a_program_that_waits_for_input_is_interrupted_too() {
    let folder = Folder::new();
    let profile = folder.path("f.wprof");
    let child = start(&["run", "--exact", "-o", &profile, &folder.file("waits.wat", WAITS)]);
    std::thread::sleep(Duration::from_millis(100));
    send("-INT", &child);
    let output = wait(child);
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(json(&profile)["runs"][0]["ending"]["how"], "interrupted");
}

/// Waits for the end of a child whose input stays open.
fn wait(mut child: Child) -> std::process::Output {
    let input = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(input);
    output
}

/// Says `!`, then sleeps for an hour.
const SLEEPS: &str = r#"(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\10\00\00\00\01\00\00\00")
  (data (i32.const 16) "!")
  (func (export "_start")
    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))
    (i32.store (i32.const 144) (i32.const 1))
    (i64.store (i32.const 152) (i64.const 3600000000000))
    (drop (call $poll (i32.const 128) (i32.const 256) (i32.const 1) (i32.const 300)))))"#;

#[test]
fn a_second_interrupt_kills() {
    const SIGINT: i32 = 2;
    let folder = Folder::new();
    let module = folder.file("sleeps.wat", SLEEPS);
    // The first one ends the program; then nothing comes of telling about it, as nobody reads that.
    let (unread, err) = std::io::pipe().unwrap();
    fill(&err);
    let mut command = command(&["run", &module]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(err).process_group(0);
    let mut child = command.spawn().expect("the program starts");
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).expect("the program says it is ready");
    let status = loop {
        send("-INT", &child);
        std::thread::sleep(Duration::from_millis(20));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
    };
    assert_eq!(status.signal(), Some(SIGINT), "{status:?}");
    drop(unread);
}

/// Writes to a pipe until nothing more goes in.
fn fill(pipe: &impl AsRawFd) {
    // Opened once more, so that whoever else writes to it still waits.
    let path = format!("/proc/self/fd/{}", pipe.as_raw_fd());
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let mut pipe = std::fs::OpenOptions::new().write(true).custom_flags(flags).open(path).unwrap();
    while pipe.write(&[0; 4096]).is_ok() {}
}
