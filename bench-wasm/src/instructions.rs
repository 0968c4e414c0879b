//! How many instructions the machine code of a program executes: free of noise, so that a change of a percent is one.
//!
//! Input: a program, and what is collected. Output: instructions, under valgrind's cachegrind, of a run with more
//! work less those of one with less work. So start and compilation cancel out, and it does not matter how wprof was
//! built. They depend on what the processor can do, as code does: a baseline says for which it holds.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::programs::home;

/// What is collected while they are counted: a name, and options of `own`.
pub const KINDS: [(&str, &[&str]); 7] = [
    ("off", &[]),
    ("conservative", &["--conservative"]),
    ("checks", &["--burst", "inf:1", "--without", "all"]),
    ("checks by time", &["--burst", "1:1", "--every", "1000000000", "--without", "all"]),
    ("edges", &["--profile", "exact"]),
    ("paths", &["--profile", "paths"]),
    ("contexts", &["--contexts"]),
];

/// Our own programs, with little and with more work.
pub const WORK: [(&str, &str, &str); 14] = [
    ("fib", "16", "22"),
    ("calls", "20000", "200000"),
    ("vcall", "2", "8"),
    ("interp", "300", "1200"),
    ("matmul", "32", "64"),
    ("nbody", "2000", "8000"),
    ("mandelbrot", "60", "120"),
    ("sieve", "100000", "1000000"),
    ("branchy", "2", "10"),
    ("sort", "500 2", "4000 2"),
    ("hash", "500 2", "4000 2"),
    ("strings", "300 2", "3000 2"),
    ("json", "20 2", "200 4"),
    ("compress", "5000 1", "20000 2"),
];

/// The committed baseline.
pub const FILE: &str = "instructions.tsv";
/// Its first line.
pub const HEAD: &str =
    "Instructions of machine code: written by `instructions --write`, see src/instructions.rs.";

/// A baseline may be exceeded by this part of it.
pub const TOLERANCE: f64 = 0.01;

/// Whether valgrind is there (`scripts/setup` installs it).
pub fn has_valgrind() -> bool {
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// What the additional work of a program executes; `own` is the runner.
///
/// # Errors
/// If it cannot be run, or fails.
pub fn of_work(own: &Path, (program, less, more): (&str, &str, &str), options: &[&str]) -> Result<u64> {
    let [less, more] = [less, more].map(|args| of_run(own, program, args, options));
    more?.checked_sub(less?).with_context(|| format!("{program} executes less with more work"))
}

fn of_run(own: &Path, program: &str, args: &str, options: &[&str]) -> Result<u64> {
    let file = home().join("programs").join(program).with_extension("wasm");
    let mut command = Command::new("valgrind");
    command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
    // With an arena a thread, what is copied when a vector of the compiler's grows is another in each run.
    command.env("MALLOC_ARENA_MAX", "1");
    command.arg(own).args(["run", "--eager"]).args(options).arg(file).args(args.split(' '));
    let output =
        command.stdin(Stdio::null()).stdout(Stdio::null()).output().context("cannot run valgrind")?;
    let log = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{program} under valgrind: {}: {log}", output.status);
    }
    let (_, refs) = log.split_once("I   refs:").with_context(|| format!("valgrind counts nothing: {log}"))?;
    let digits: String =
        refs.lines().next().unwrap_or_default().chars().filter(char::is_ascii_digit).collect();
    digits.parse().with_context(|| format!("not a count: {refs}"))
}
