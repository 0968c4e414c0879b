//! How many instructions the machine code of a program executes: free of noise, so that a change of a percent is one.
//!
//! Input: a program, and what is collected. Output: instructions, under valgrind's cachegrind, of a run with more
//! work less those of one with less work. So start and compilation cancel out, and it does not matter how wprof was
//! built. They depend on what the processor can do, as code does: a baseline says for which it holds.

use std::collections::BTreeMap;
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

/// Counts by program and kind, and for which processors they hold.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    /// See [`processor`].
    pub processor: String,
    /// Instructions.
    pub counts: BTreeMap<(String, String), u64>,
}

/// What the processor can do of what matters for code.
pub fn processor() -> String {
    let has = [
        ("sse4.2", is_x86_feature_detected!("sse4.2")),
        ("popcnt", is_x86_feature_detected!("popcnt")),
        ("lzcnt", is_x86_feature_detected!("lzcnt")),
        ("bmi1", is_x86_feature_detected!("bmi1")),
        ("bmi2", is_x86_feature_detected!("bmi2")),
        ("avx2", is_x86_feature_detected!("avx2")),
        ("fma", is_x86_feature_detected!("fma")),
    ];
    has.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect::<Vec<_>>().join(" ")
}

impl Baseline {
    /// The committed one.
    ///
    /// # Errors
    /// If it cannot be read, or is none.
    pub fn committed() -> Result<Baseline> {
        let file = home().join("instructions.tsv");
        let text =
            std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        Baseline::parse(&text).with_context(|| format!("{} is damaged", file.display()))
    }

    fn parse(text: &str) -> Result<Baseline> {
        let mut baseline = Baseline::default();
        for line in text.lines() {
            match line.strip_prefix("# processor: ") {
                Some(processor) => baseline.processor = processor.to_owned(),
                None if line.starts_with('#') => {}
                None => {
                    let [program, kind, count] = line.split('\t').collect::<Vec<_>>()[..] else {
                        bail!("three columns are due in {line:?}");
                    };
                    baseline.counts.insert((program.to_owned(), kind.to_owned()), count.parse()?);
                }
            }
        }
        Ok(baseline)
    }

    /// As a file.
    pub fn text(&self) -> String {
        let head =
            "# Instructions of machine code: written by `instructions --write`, see src/instructions.rs.\n";
        let rows = self.counts.iter().map(|((program, kind), count)| format!("{program}\t{kind}\t{count}\n"));
        format!("{head}# processor: {}\n{}", self.processor, rows.collect::<String>())
    }

    /// How a count compares with this, as a ratio; `None` if it is not in it.
    pub fn ratio(&self, program: &str, kind: &str, count: u64) -> Option<f64> {
        let known = *self.counts.get(&(program.to_owned(), kind.to_owned()))?;
        Some(count as f64 / known as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_is_read_as_it_was_written() {
        let key = |kind: &str| ("fib".to_owned(), kind.to_owned());
        let counts = [(key("off"), 100), (key("edges"), 110)].into();
        let baseline = Baseline { processor: "avx2 fma".to_owned(), counts };
        assert_eq!(Baseline::parse(&baseline.text()).unwrap(), baseline);
        assert_eq!(baseline.ratio("fib", "off", 120), Some(1.2));
        assert_eq!(baseline.ratio("fib", "paths", 120), None);
        assert!(Baseline::parse("fib\toff\tmany").is_err());
    }
}
