//! Runs of a program in a child process, by any engine whose runner has our command line and prints its phases.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::programs::Program;

/// What one run took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    /// Loading the module, in ms.
    pub load: f64,
    /// Linking and instantiating, in ms.
    pub instantiate: f64,
    /// From `_start` to the end, in ms.
    pub run: f64,
    /// Peak resident memory, in MiB.
    pub peak: f64,
    /// The whole process, in ms.
    pub whole: f64,
}

/// The bursts of `wprof run` without options.
pub const BURSTS: &str = "100000:100x10";

/// An engine with its settings.
#[derive(Clone, Debug)]
pub struct Engine {
    /// Its column in tables.
    pub name: &'static str,
    /// The runner program.
    pub runner: PathBuf,
    /// What follows `run` on its command line.
    pub options: Vec<&'static str>,
    /// Where it keeps machine code if `--cache` is one of them (`None`: in the user's code cache).
    pub cache: Option<PathBuf>,
}

/// The runner called `name`, built beside the running program.
///
/// # Errors
/// If it has not been built.
pub fn beside_this_program(name: &str) -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    if !path.exists() {
        bail!(
            "{} is missing: build it with `cargo build --release -p wprof-bench -p wprof-peers`",
            path.display()
        );
    }
    Ok(path)
}

impl Engine {
    /// One that keeps machine code, if it does, in the user's code cache.
    pub fn new(name: &'static str, runner: &Path, options: &[&'static str]) -> Engine {
        Engine { name, runner: runner.to_owned(), options: options.to_vec(), cache: None }
    }

    /// The file that it runs: the module, or machine code made from it beforehand, in the folder `scratch`.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn prepare(&self, program: &Program, scratch: &Path) -> Result<PathBuf> {
        if self.options.contains(&"--cache") {
            self.run(program, &program.file, &program.quick_args)?;
        }
        if !self.options.contains(&"--precompiled") {
            return Ok(program.file.clone());
        }
        let settings: Vec<&str> = self.options.iter().copied().filter(|&o| o != "--precompiled").collect();
        let compiled = scratch.join(format!("{}{}.cwasm", program.name, settings.concat()));
        let mut command = Command::new(&self.runner);
        let status = command.arg("compile").args(settings).arg(&program.file).arg(&compiled).status()?;
        ensure!(status.success(), "{} could not compile {}", self.name, program.name);
        Ok(compiled)
    }

    /// Runs `file`, which is `program`'s module or what was compiled from it.
    ///
    /// # Errors
    /// If it cannot be run, or does not end with the expected exit code.
    pub fn run(&self, program: &Program, file: &Path, args: &[String]) -> Result<Measured> {
        let mut command = Command::new(&self.runner);
        command.arg("run").args(&self.options).arg("--times");
        if let Some(folder) = &self.cache {
            command.env("XDG_CACHE_HOME", folder);
        }
        for (host, guest) in &program.dirs {
            command.arg("--dir").arg(format!("{}::{guest}", host.display()));
        }
        command.arg(file).args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let begin = Instant::now();
        let output = command.output().with_context(|| format!("cannot run {}", self.runner.display()))?;
        let whole = begin.elapsed().as_secs_f64() * 1e3;
        let errors = String::from_utf8_lossy(&output.stderr);
        if output.status.code() != Some(program.exit_code) {
            bail!("{}: {} ended with {}: {errors}", self.name, program.name, output.status);
        }
        let phases = errors.lines().rev().find_map(parse_times);
        let phases = phases.with_context(|| format!("{}: no times in {errors:?}", self.name))?;
        Ok(Measured { whole, ..phases })
    }
}

/// Reads `load 1.0 ms, instantiate 0.1 ms, run 9.0 ms, peak 20.0 MiB`.
fn parse_times(line: &str) -> Option<Measured> {
    let mut measured = Measured::default();
    for part in line.split(", ") {
        let mut words = part.split(' ');
        let (name, value) = (words.next()?, words.next()?.parse().ok()?);
        match name {
            "load" => measured.load = value,
            "instantiate" => measured.instantiate = value,
            "run" => measured.run = value,
            "peak" => measured.peak = value,
            _ => return None,
        }
    }
    Some(measured)
}

/// Prints a run's phases to standard error, in the form that `compare` reads.
pub fn print_times(load: f64, instantiate: f64, run: f64) {
    let peak = peak_memory().unwrap_or(0.0);
    eprintln!("load {load:.3} ms, instantiate {instantiate:.3} ms, run {run:.3} ms, peak {peak:.1} MiB");
}

/// Peak resident memory of this process, in MiB.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}

#[cfg(test)]
mod tests {
    use wprof::profiler::BurstLengths;

    use super::*;

    #[test]
    fn bursts_are_the_default_ones() {
        assert_eq!(BURSTS.parse(), Ok(BurstLengths::default()));
    }

    #[test]
    fn times_are_read_back() {
        let line = "load 1.500 ms, instantiate 0.250 ms, run 9.000 ms, peak 20.5 MiB";
        let m = parse_times(line).expect("is well formed");
        assert_eq!((m.load, m.instantiate, m.run, m.peak), (1.5, 0.25, 9.0, 20.5));
        assert!(parse_times("error: no such file").is_none());
    }
}
