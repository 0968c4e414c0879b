//! Runs a program in a child process, in any engine whose runner has our command line and prints its phases.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::time::{ClockId, clock_gettime};

use crate::programs::Program;

/// The measurements of one run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    /// Time to load the module, in ms.
    pub load: f64,
    /// Time to link and instantiate, in ms.
    pub instantiate: f64,
    /// Time from `_start` to the end, in ms.
    pub run: f64,
    /// Processor time of the running thread in that phase, in ms.
    pub thread: f64,
    /// Peak resident memory, in MiB.
    pub peak: f64,
    /// Time of the whole process, in ms.
    pub whole: f64,
}

/// The default burst lengths of `wprof run`.
pub const BURSTS: &str = "100000:100x10";

/// An engine with its settings.
#[derive(Clone, Debug)]
pub struct Engine {
    /// Its column in tables.
    pub name: &'static str,
    /// The runner program.
    pub runner: PathBuf,
    /// The options after `run` on its command line.
    pub options: Vec<&'static str>,
    /// The folder for machine code if `--cache` is among the options (`None`: the user's code cache).
    pub cache: Option<PathBuf>,
    /// Whether the runner is the product, which always keeps machine code and prints no times.
    pub is_product: bool,
}

/// Returns the runner `name`, built beside the running program.
///
/// # Errors
/// Returns an error if the runner has not been built.
pub fn beside_this_program(name: &str) -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    if !path.exists() {
        bail!(
            "{} is missing: build it with `cargo build --release -p wprof-cli -p wprof-bench -p wprof-peers`",
            path.display()
        );
    }
    Ok(path)
}

impl Engine {
    /// Creates an engine that keeps machine code, if it does, in the user's code cache.
    pub fn new(name: &'static str, runner: &Path, options: &[&'static str]) -> Engine {
        let (runner, options) = (runner.to_owned(), options.to_vec());
        Engine { name, runner, options, cache: None, is_product: false }
    }

    /// Creates an engine for the product `wprof` without options, with an empty code cache in the folder `scratch`.
    /// Only the time of the whole process is known of its runs.
    pub fn product(name: &'static str, program: &Path, scratch: &Path) -> Engine {
        let cache = Some(scratch.join("product-cache"));
        Engine { cache, is_product: true, ..Engine::new(name, program, &[]) }
    }

    /// Returns the file that the engine runs: the module, or machine code compiled from it beforehand in the folder
    /// `scratch`.
    ///
    /// # Errors
    /// Returns an error if the file cannot be made.
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

    /// Runs `file`, which is `program`'s module or the code compiled from it.
    ///
    /// # Errors
    /// Returns an error if the program cannot be run, or does not end with the expected exit code.
    pub fn run(&self, program: &Program, file: &Path, args: &[String]) -> Result<Measured> {
        self.start(program, file, args)?.end()
    }

    /// Starts `file` as [`run`](Self::run) does, without waiting for its end.
    ///
    /// # Errors
    /// Returns an error if the program cannot be started.
    pub fn start<'a>(&'a self, program: &'a Program, file: &Path, args: &[String]) -> Result<Running<'a>> {
        let mut command = Command::new(&self.runner);
        command.arg("run").args(&self.options);
        if let Some(folder) = &self.cache {
            command.env("XDG_CACHE_HOME", folder);
        }
        match (self.is_product, &self.cache) {
            (true, Some(folder)) if folder.exists() => std::fs::remove_dir_all(folder)?,
            (true, _) => {}
            (false, _) => drop(command.arg("--times")),
        }
        for (host, guest) in &program.dirs {
            command.arg("--dir").arg(format!("{}::{guest}", host.display()));
        }
        command.arg(file).args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let begin = Instant::now();
        let child = command.spawn().with_context(|| format!("cannot run {}", self.runner.display()))?;
        Ok(Running { engine: self, program, begin, child })
    }
}

/// A running program.
pub struct Running<'a> {
    engine: &'a Engine,
    program: &'a Program,
    begin: Instant,
    child: Child,
}

impl Running<'_> {
    /// Waits for the end of the program.
    ///
    /// # Errors
    /// Returns an error if the program does not end with the expected exit code.
    pub fn end(self) -> Result<Measured> {
        let Running { engine, program, begin, child } = self;
        let output = child.wait_with_output()?;
        let whole = begin.elapsed().as_secs_f64() * 1e3;
        let errors = String::from_utf8_lossy(&output.stderr);
        if output.status.code() != Some(program.exit_code) {
            bail!("{}: {} ended with {}: {errors}", engine.name, program.name, output.status);
        }
        if engine.is_product {
            return Ok(Measured { whole, ..Measured::default() });
        }
        let phases = errors.lines().rev().find_map(parse_times);
        let phases = phases.with_context(|| format!("{}: no times in {errors:?}", engine.name))?;
        Ok(Measured { whole, ..phases })
    }
}

/// Parses `load 1.0 ms, instantiate 0.1 ms, run 9.0 ms, thread 8.9 ms, peak 20.0 MiB`.
pub fn parse_times(line: &str) -> Option<Measured> {
    let mut measured = Measured::default();
    for part in line.split(", ") {
        let mut words = part.split(' ');
        let (name, value) = (words.next()?, words.next()?.parse().ok()?);
        match name {
            "load" => measured.load = value,
            "instantiate" => measured.instantiate = value,
            "run" => measured.run = value,
            "thread" => measured.thread = value,
            "peak" => measured.peak = value,
            _ => return None,
        }
    }
    Some(measured)
}

/// Prints a run's phases to standard error, in the form that `compare` reads. `thread` is the processor time of the
/// running thread during the last phase.
pub fn print_times(load: Duration, instantiate: Duration, run: Duration, thread: Duration) {
    let [load, instantiate, run, thread] =
        [load, instantiate, run, thread].map(|time| time.as_secs_f64() * 1e3);
    let peak = peak_memory().unwrap_or(0.0);
    eprintln!(
        "load {load:.3} ms, instantiate {instantiate:.3} ms, run {run:.3} ms, thread {thread:.3} ms, peak {peak:.1} MiB"
    );
}

/// Returns the processor time of this thread.
pub fn thread_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().expect("it is not negative")
}

/// Returns the peak resident memory of this process, in MiB.
pub fn peak_memory() -> Option<f64> {
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
        let line = "load 1.500 ms, instantiate 0.250 ms, run 9.000 ms, thread 8.750 ms, peak 20.5 MiB";
        let m = parse_times(line).expect("is well formed");
        assert_eq!((m.load, m.instantiate, m.run, m.thread, m.peak), (1.5, 0.25, 9.0, 8.75, 20.5));
        assert!(parse_times("error: no such file").is_none());
    }
}
