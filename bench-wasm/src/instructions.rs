//! The number of instructions that the machine code of a program executes. The count is free of noise, so that a
//! change of one percent is significant.
//!
//! Input: a program, and the kind of profile. Output: the instructions of a run with more work minus those of a run
//! with less work, under valgrind's cachegrind. Startup and compilation cancel out, and the build of wprof does not
//! matter. The counts depend on the processor's features, as the generated code does: a baseline names the features
//! for which it holds.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::programs::home;

/// The kinds of profiles: a name, and options of `wprof-run`.
pub const KINDS: [(&str, &[&str]); 7] = [
    ("off", &[]),
    ("conservative", &["--conservative"]),
    ("checks", &["--burst", "inf:1", "--without", "all"]),
    ("checks by time", &["--burst", "1:1", "--every", "1000000000", "--without", "all"]),
    ("edges", &["--profile", "exact"]),
    ("paths", &["--profile", "paths"]),
    ("contexts", &["--contexts"]),
];

/// Our own programs, with arguments for little and for more work.
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

/// The file of the committed baseline.
pub const FILE: &str = "instructions.tsv";
/// Its first line.
pub const HEAD: &str =
    "Instructions of machine code: written by `instructions --write`, see src/instructions.rs.";

/// The fraction by which a count may exceed the baseline.
pub const TOLERANCE: f64 = 0.01;

/// Reports whether valgrind is installed (`scripts/setup` installs it).
pub fn has_valgrind() -> bool {
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Returns the number of instructions that the additional work of a program executes; `wprof-run` is the runner.
///
/// # Errors
/// Returns an error if the program cannot be run, or fails.
pub fn of_work(own: &Path, (program, less, more): (&str, &str, &str), options: &[&str]) -> Result<u64> {
    let [less, more] = [less, more].map(|args| of_run(own, program, args, options));
    more?.checked_sub(less?).with_context(|| format!("{program} executes less with more work"))
}

fn of_run(own: &Path, program: &str, args: &str, options: &[&str]) -> Result<u64> {
    let file = home().join("programs").join(program).with_extension("wasm");
    let mut command = Command::new("valgrind");
    command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
    // With one arena per thread, the compiler's growing vectors would be copied differently in each run.
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
