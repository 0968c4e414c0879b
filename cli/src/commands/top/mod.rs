//! `wprof top`: shows what a program does while it runs.
//!
//! The program runs in a separate process, `wprof run --live`, which writes its profile repeatedly; this process reads
//! the file whenever it is new. A program that somebody else has started is followed in the same way.

mod process;
mod replaced;
mod snapshots;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::{Args, ValueHint};
use wprof_profiler::{Ending, Profile};

use crate::durations;
use crate::screen::ColorChoice;
use process::Process;
use replaced::Replaced;
use snapshots::{Place, Snapshots};

/// The interval at which the file is checked.
const PAUSE: Duration = Duration::from_millis(50);

/// The time without a new profile after which a message says so.
const PATIENCE: Duration = Duration::from_secs(3);

const EXAMPLES: &str = "\
Examples:
  wprof top json.wasm 4000 150
  wprof top --every 250ms -n 5 -o f.wprof --dir . tool.wasm in.txt   options of `wprof run` too";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
Runs a program as `wprof run` does, and repeatedly shows the functions that take the most time: `now` is \
the share since the last update, `time` how much that was, `so far` the share since the start. A timer samples time; \
instructions are estimates from bursts, by which functions are ordered with `--rate off`. On a terminal each update replaces the last one; elsewhere they follow each other.

The program keeps its own input. Its output to the terminal is shown when it has ended, because the \
table occupies the terminal until then. Ctrl-C stops the program. The exit code is the program's.

`wprof top --follow FILE` follows a program that was started with `wprof run --live 1s -o FILE`, until \
it ends; then the exit code is 0.

{EXAMPLES}
  wprof run -q --live 1s -o f.wprof json.wasm 4000 150 &
  wprof top --follow f.wprof"))]
pub struct TopArgs {
    /// Update about every DURATION
    #[arg(long, value_name = "DURATION", value_parser = durations::parse, default_value = "1s")]
    every: Duration,
    /// Show N functions [default: as many as fit on the terminal, or 10]
    #[arg(short = 'n', long, value_name = "N")]
    top: Option<usize>,
    /// Stop after N updates; also stop the program if this command started it
    #[arg(long, value_name = "N")]
    looks: Option<u64>,
    /// Keep the profile in this file
    #[arg(short, long, value_name = "FILE", conflicts_with = "follow", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Watch the program that writes its profile to this file
    #[arg(long, value_name = "FILE", conflicts_with = "program", required_unless_present = "program")]
    #[arg(value_hint = ValueHint::FilePath)]
    follow: Option<PathBuf>,
    /// Options of `wprof run`, then the module and the program's arguments
    #[arg(value_name = "MODULE [ARG]", trailing_var_arg = true, allow_hyphen_values = true)]
    #[arg(value_hint = ValueHint::FilePath)]
    program: Vec<String>,
}

pub fn execute(args: &TopArgs, color: ColorChoice) -> Result<ExitCode> {
    match &args.follow {
        Some(path) => follow(args, path, color),
        None => run(args, color),
    }
}

/// Shows the snapshots in a file until the run that writes them ends.
fn follow(args: &TopArgs, path: &Path, color: ColorChoice) -> Result<ExitCode> {
    ensure!(path.exists(), "{} does not exist: give a file that `wprof run --live` writes", path.display());
    let (mut looks, mut file) = (Snapshots::new(Place::Output, args.top, color), Replaced::new(path));
    let mut news = Instant::now();
    while args.looks.is_none_or(|most| looks.count() < most) {
        match file.look()? {
            Some(profile) => {
                let is_over = has_ended(&profile);
                if !looks.show(profile)? || is_over {
                    break;
                }
                news = Instant::now();
            }
            None if news.elapsed() >= PATIENCE && !looks.say_silence(news.elapsed())? => break,
            None => thread::sleep(PAUSE),
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn has_ended(profile: &Profile) -> bool {
    profile.runs.iter().all(|run| run.ending != Ending::Running)
}

/// Runs the program, and shows its profile until it has ended.
fn run(args: &TopArgs, color: ColorChoice) -> Result<ExitCode> {
    let mut process = Process::start(&args.program, args.every, args.output.as_deref())?;
    let mut looks = Snapshots::new(Place::Messages, args.top, color);
    let mut file = Replaced::new(process.profile());
    let mut news = Instant::now();
    loop {
        let has_ended = process.has_ended()?;
        if let Some(profile) = file.look()? {
            looks.show(profile)?;
            news = Instant::now();
        }
        if has_ended {
            return process.finish();
        }
        process.pass_on_signals()?;
        if args.looks.is_some_and(|most| looks.count() >= most) {
            process.stop()?;
        }
        if news.elapsed() >= PATIENCE {
            looks.say_silence(news.elapsed())?;
        }
        thread::sleep(PAUSE);
    }
}
