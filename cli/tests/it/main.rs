//! The program as its users meet it: each test runs the built binary and looks at what comes out.
//!
//! How to write one: `wprof(&["run", …])` gives exit code and output; `Folder` is a place for files;
//! `COUNT` is a module whose counts are known by construction.

mod accessibility;
mod adaptive;
mod annotate;
mod bad_input;
mod book;
mod browser;
mod code_cache;
mod collect;
mod command_line;
mod comparison;
mod compile;
mod components;
mod contexts;
mod explain;
mod export;
mod hints;
mod html;
mod https;
mod idle_options;
mod instrument;
mod interrupt;
mod invoke;
mod library;
mod merge;
mod metrics;
mod named_files;
mod names;
mod node;
mod packages;
mod passes;
mod paths;
mod perf;
mod planted;
mod profile_files;
mod rank;
mod readers;
mod reoptimized;
mod report;
mod residual;
mod resource_limits;
mod resources;
mod run;
mod security;
mod serve;
mod threads;
mod time;
mod top;
mod trace;
mod trap;
mod tries;
mod view;
mod wasi;
mod wasm3_programs;
mod whole_path;
mod write_failure;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Counts the odd numbers from 1 to n. With n = 10: the loop is entered once and goes round 10 times, `if` holds 5
/// times, `$is_odd` is called 10 times; 30 + 20 + 50 + 1 instructions in `$count` and 30 in `$is_odd`.
const COUNT: &str = r#"(module
  (func $is_odd (param i32) (result i32)
    local.get 0  i32.const 1  i32.and)
  (func $count (export "count") (param $n i32) (result i32)
    (local $odd i32)
    (loop $again
      (if (call $is_odd (local.get $n))
        (then (local.set $odd (i32.add (local.get $odd) (i32.const 1)))))
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    local.get $odd))"#;

/// The program, 80 columns wide.
fn command(args: &[impl AsRef<OsStr>]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wprof"));
    command.args(args).env("COLUMNS", "80").env_remove("NO_COLOR");
    // Each run compiles for itself, except where a test gives it a cache.
    command.env("XDG_CACHE_HOME", "/dev/null");
    command
}

/// What a run of the program gave.
#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Ran {
    /// Checks that it failed in good order, and gives what it said.
    fn failed(self) -> String {
        assert_eq!(self.code, Some(1), "{self:?}");
        assert!(self.err.starts_with("error: "), "{self:?}");
        assert_eq!(self.err.matches("error: ").count(), 1, "{self:?}");
        assert!(!self.err.contains("panicked"), "{self:?}");
        self.err
    }

    /// Checks that it went well, and gives its output.
    fn succeeded(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.out
    }
}

/// Runs take no samples of time unless they say how often: where one falls depends on the machine.
fn wprof(args: &[impl AsRef<OsStr>]) -> Ran {
    let mut args: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
    if args.first().is_some_and(|first| *first == "run") && !args.contains(&OsStr::new("--rate")) {
        args.splice(1..1, ["--rate", "off"].map(OsStr::new));
    }
    command(&args).output().expect("the program starts").into()
}

/// Says that tests are skipped, once for each reason. The test harness keeps what the macros print of tests that pass.
fn tell_skipped(why: &'static str) {
    static TOLD: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    if TOLD.lock().is_ok_and(|mut told| told.insert(why)) {
        let _ = writeln!(io::stderr(), "skipped: {why}");
    }
}

/// A benchmark program.
fn program(name: &str) -> String {
    format!("{}/../bench-wasm/programs/{name}.wasm", env!("CARGO_MANIFEST_DIR"))
}

/// A folder for one test.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("UTF-8").to_owned()
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), content).expect("the folder can be written");
        self.path(name)
    }

    fn names(&self) -> Vec<PathBuf> {
        std::fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().file_name().into()).collect()
    }

    /// The profile of `COUNT` with n = 10, the module beside it.
    fn count_profile(&self) -> String {
        let (module, profile) = (self.file("count.wat", COUNT), self.path("count.wprof"));
        wprof(&["run", "-q", "--exact", "-o", &profile, "--invoke", "count", &module, "10"]).succeeded();
        profile
    }
}

/// Waits until `condition` gives something.
fn until<T>(mut condition: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(begin.elapsed() < Duration::from_secs(120), "it takes too long");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A profile as JSON.
fn json(profile: &str) -> Value {
    serde_json::from_str(&wprof(&["export", "--to", "json", profile]).succeeded()).expect("JSON")
}

/// The function of a profile in JSON with this name.
fn function<'a>(profile: &'a Value, name: &str) -> &'a Value {
    let functions = profile["functions"].as_array().expect("functions");
    functions
        .iter()
        .find(|function| function["name"] == name)
        .unwrap_or_else(|| panic!("no {name}: {profile}"))
}
