//! The command line of the programs that run generated tests for many seeds.

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::check::Summary;
use crate::isolate::{Done, Isolated, replay, work};
use crate::sweep::{Check, sweep};

const OPTIONS: &str = "\
  --isolate   in processes of their own, N at once, so that crashes are found, too, and the run goes on
  --minutes   no longer than so
  --replay    the module in FILE, with its calls beside it, as the seed would have it checked; with WPROF_PASSES in
              the environment, as `wprof run --passes` takes them, to find the pass at fault
A module that fails is written to target/failures, made smaller, and the exit code is 1.";

struct Options {
    name: String,
    check: Check,
    seeds: u64,
    start: u64,
    isolate: bool,
    minutes: Option<f64>,
    jobs: usize,
}

enum Task {
    Sweep(Options),
    Work(Check, u64, u64),
    Replay(Check, u64, String),
}

fn task(checks: &[(&str, Check)]) -> Option<Task> {
    let mut args = std::env::args().skip(1).peekable();
    let named = args.peek().and_then(|name| checks.iter().find(|(known, _)| known == name));
    let (name, check) = *named.unwrap_or(&checks[0]);
    if named.is_some() {
        args.next();
    }
    let name = name.to_string();
    let mut options =
        Options { name, check, seeds: 10_000, start: 0, isolate: false, minutes: None, jobs: 1 };
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seeds" => options.seeds = args.next()?.parse().ok()?,
            "--start" => options.start = args.next()?.parse().ok()?,
            "--minutes" => options.minutes = Some(args.next()?.parse().ok()?),
            "--jobs" => options.jobs = args.next()?.parse().ok()?,
            "--isolate" => options.isolate = true,
            "--worker" => {
                return Some(Task::Work(check, args.next()?.parse().ok()?, args.next()?.parse().ok()?));
            }
            "--replay" => return Some(Task::Replay(check, args.next()?.parse().ok()?, args.next()?)),
            _ => return None,
        }
    }
    Some(Task::Sweep(options))
}

/// Runs one of `checks`, the first unless the command line names another, as the command line says. `usage` describes
/// the checks in an error.
///
/// # Panics
/// Panics if there are no checks.
pub fn run(checks: &[(&str, Check)], usage: &str) -> ExitCode {
    match task(checks) {
        None => {
            eprintln!("{usage}\n{OPTIONS}");
            ExitCode::from(2)
        }
        Some(Task::Work(check, start, count)) => work(check, start, count),
        Some(Task::Replay(check, seed, file)) => replay(check, seed, Path::new(&file)),
        Some(Task::Sweep(options)) if options.isolate => isolated(&options),
        Some(Task::Sweep(options)) => together(&options),
    }
}

fn together(options: &Options) -> ExitCode {
    let begin = Instant::now();
    let progress = |summary: &Summary| tell(summary.modules, options, begin);
    match sweep(options.start..options.start + options.seeds, options.check, progress) {
        Ok(summary) => {
            println!("{summary:#?}\nin {:.1} s", begin.elapsed().as_secs_f64());
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("{}", failure.report(Path::new("target/failures")));
            ExitCode::FAILURE
        }
    }
}

fn isolated(options: &Options) -> ExitCode {
    let begin = Instant::now();
    let deadline = options.minutes.map(|minutes| begin + Duration::from_secs_f64(60.0 * minutes));
    let run = Isolated {
        program: std::env::current_exe().expect("a program of a system with /proc"),
        name: options.name.clone(),
        check: options.check,
        jobs: options.jobs,
        folder: Path::new("target/failures").to_path_buf(),
    };
    let seeds = options.start..options.start.saturating_add(options.seeds);
    let done = match run.run(seeds, deadline, |done: &Done| tell(done.cases, options, begin)) {
        Ok(done) => done,
        Err(error) => {
            eprintln!("cannot start a process for cases: {error}");
            return ExitCode::from(2);
        }
    };
    for finding in &done.findings {
        println!("seed {}: {}\n  see {}", finding.seed, finding.message, finding.file.display());
    }
    // `scripts/fuzz` reads this line.
    println!("{}: {} cases, {} divergences", options.name, done.cases, done.findings.len());
    if done.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn tell(done: u64, options: &Options, begin: Instant) {
    let live = std::io::stderr().is_terminal();
    if done.is_multiple_of(if live { 20 } else { 1000 }) {
        let end = if live { '\r' } else { '\n' };
        eprint!("{done} of {} cases, {:.0} s{end}", options.seeds, begin.elapsed().as_secs_f64());
    }
}
