//! Runs of the programs on the two sides of a comparison.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::callgrind::machine_code;
use super::figures::{self, Figures, LATENCY, PEAK};
use super::{INSTRUCTIONS, Samples, Work};
use crate::programs::{home, is_among};
use crate::runner::{BURSTS, Measured, parse_times};

/// A build with a configuration.
#[derive(Clone, Debug)]
pub struct Side {
    /// Its program `wprof-run`.
    pub runner: PathBuf,
    /// Additional options of `wprof-run`, as words.
    pub options: Vec<String>,
    /// The output of `wprof-run run --help`: an earlier build may lack some options.
    help: String,
}

/// Whether instructions are counted too, which needs valgrind and takes many times as long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// Code, versions and decisions.
    Versions,
    /// Code, versions, decisions and executed instructions, with a file for valgrind.
    Instructions,
}

impl Side {
    /// Creates a side from its program `wprof-run`, or from a checkout, which is built; `options` are separated by blanks.
    ///
    /// # Errors
    /// Returns an error if there is no such build.
    pub fn new(at: &Path, options: &str) -> Result<Side> {
        let runner = if at.is_dir() { built_in(at)? } else { at.to_owned() };
        // A name without a folder would be searched among the system's programs.
        let runner = runner.canonicalize().with_context(|| format!("there is no {}", runner.display()))?;
        let help = Command::new(&runner).args(["run", "--help"]).output();
        let help = help.with_context(|| format!("cannot run {}", runner.display()))?;
        ensure!(help.status.success(), "{} is not the runner `wprof-run`", runner.display());
        let help = String::from_utf8_lossy(&help.stdout).into_owned();
        Ok(Side { runner, options: options.split_whitespace().map(str::to_owned).collect(), help })
    }

    /// Reports whether the side knows all of these options.
    fn knows(&self, options: &[&str]) -> bool {
        options.iter().filter(|option| option.starts_with("--")).all(|option| self.help.contains(option))
    }

    fn command(&self, options: &[&str], program: &str, args: &str) -> Command {
        let mut command = Command::new(&self.runner);
        let file = home().join("programs").join(program).with_extension("wasm");
        command.arg("run").args(options).args(&self.options).arg(file).args(args.split_whitespace());
        command
    }
}

/// Builds the runner of a checkout. Older checkouts call it `own`.
fn built_in(checkout: &Path) -> Result<PathBuf> {
    let is_older = checkout.join("bench-wasm/src/bin/own.rs").exists();
    let runner = if is_older { "own" } else { "wprof-run" };
    let mut command = Command::new("cargo");
    command.args(["build", "--release", "--locked", "-p", "wprof-bench", "--bin", runner]);
    let status = command.current_dir(checkout).status().context("cannot run cargo")?;
    ensure!(status.success(), "{} cannot be built", checkout.display());
    Ok(checkout.join("target/release").join(runner))
}

/// Options for deterministic runs: bursts are short, so that short runs have enough of them to reoptimize hot
/// functions.
const COUNTED: [&str; 4] = ["--deterministic", "--figures", "--burst", "1000:100"];

/// Counts what a run of each program compiles and executes, without a clock. Both sides of a comparison need the same
/// `counting`.
///
/// # Errors
/// Returns an error if a program fails.
pub fn counted(side: &Side, work: &[Work], counting: Counting) -> Result<Samples> {
    ensure!(side.knows(&COUNTED), "{} cannot tell figures: it is too old", side.runner.display());
    let mut samples = Samples::new();
    for Work { program, counted, .. } in work {
        let command = side.command(&COUNTED, program, counted);
        let mut figures = figures_of(command, counting).with_context(|| (*program).to_owned())?;
        figures.retain(|name, _| ![PEAK, LATENCY].contains(&name.as_str()));
        let keyed = figures.into_iter().map(|(name, value)| (((*program).to_owned(), name), vec![value]));
        samples.extend(keyed);
    }
    Ok(samples)
}

fn figures_of(mut command: Command, counting: Counting) -> Result<Figures> {
    if counting == Counting::Versions {
        return Ok(figures::parse(&output(&mut command)?));
    }
    let out = std::env::temp_dir().join(format!("wprof-callgrind-{}", std::process::id()));
    let counted = machine_code(&command, 0, &out);
    let _ = std::fs::remove_file(&out);
    let (instructions, log) = counted?;
    let mut figures = figures::parse(&log);
    figures.insert(INSTRUCTIONS.to_owned(), instructions as f64);
    Ok(figures)
}

/// Returns the standard error of a run.
fn output(command: &mut Command) -> Result<String> {
    let output = command.output().context("cannot run it")?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{}: {text}", output.status);
    Ok(text)
}

/// A timed case.
struct Case {
    figure: &'static str,
    options: &'static [&'static str],
    /// Whether the short arguments are enough, because the measured part is over soon.
    is_short: bool,
    time: fn(&Measured, &Figures) -> Option<f64>,
}

/// Burst lengths other than the default, which lift the limit on the reoptimizer's cost, so that it gets equally far
/// in each run; one check in two hundred is in a burst.
const OFTEN: &str = "20000:100";

/// The timed cases; they use the processor time of the thread that runs the program where that is enough.
const CASES: [Case; 8] = [
    Case {
        figure: "time to first result, ms",
        options: &["--burst", BURSTS],
        is_short: true,
        time: |times, _| Some(times.load + times.instantiate + times.run),
    },
    Case {
        figure: "compiling all, ms",
        options: &["--eager", "--burst", BURSTS],
        is_short: true,
        time: |times, _| Some(times.load),
    },
    Case {
        figure: "steady, baseline, ms",
        options: &["--baseline"],
        is_short: true,
        time: |times, _| Some(times.thread),
    },
    Case {
        figure: "steady, optimised, ms",
        options: &["--eager"],
        is_short: false,
        time: |times, _| Some(times.thread),
    },
    Case {
        figure: "tiered without bursts, ms",
        options: &["--profile", "off"],
        is_short: false,
        time: |times, _| Some(times.thread),
    },
    Case {
        figure: "steady, adaptive, ms",
        options: &["--burst", OFTEN],
        is_short: false,
        time: |times, _| Some(times.thread),
    },
    Case {
        figure: PEAK,
        options: &["--burst", OFTEN, "--figures"],
        is_short: false,
        time: |_, figures| figures.get(PEAK).copied(),
    },
    Case {
        figure: LATENCY,
        options: &["--burst", OFTEN, "--figures"],
        is_short: false,
        time: |_, figures| figures.get(LATENCY).copied(),
    },
];

/// Times each program on both sides in `rounds` rounds: the figures whose names contain one of `figures`. The sides
/// alternate in going first in a round, and both use the same code padding, which varies by round, since speed depends
/// on the layout. Reports options that a side does not know on standard error.
///
/// # Errors
/// Returns an error if a program fails.
pub fn timed(sides: [&Side; 2], work: &[Work], figures: &str, rounds: u32) -> Result<[Samples; 2]> {
    let mut samples = [Samples::new(), Samples::new()];
    for case in CASES.iter().filter(|case| is_among(case.figure, figures)) {
        if let Some(side) = sides.iter().find(|side| !side.knows(case.options)) {
            eprintln!("left out: {}, which {} does not know", case.figure, side.runner.display());
            continue;
        }
        for work in work {
            for round in 0..rounds {
                let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
                for at in order {
                    let time = time(sides[at], case, work, round)
                        .with_context(|| format!("{}, {}", work.program, case.figure))?;
                    let key = (work.program.to_owned(), case.figure.to_owned());
                    samples[at].entry(key).or_default().extend(time);
                }
            }
        }
    }
    Ok(samples)
}

fn time(side: &Side, case: &Case, work: &Work, round: u32) -> Result<Option<f64>> {
    let padding = round.to_string();
    let options = [case.options, &["--times", "--padding", &padding]].concat();
    let args = if case.is_short { work.counted } else { work.timed };
    let text = output(&mut side.command(&options, work.program, args))?;
    let times = text.lines().rev().find_map(parse_times).with_context(|| format!("no times in {text:?}"))?;
    Ok((case.time)(&times, &figures::parse(&text)))
}
