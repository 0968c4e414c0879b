//! `wprof trace`: records, replays and measures the exact sequence of blocks of a run.

mod bursts;
mod cat;
mod compress;
mod hot;
mod names;
mod pack;
mod pages;
mod phases;
mod record;
mod replay;
mod residual;
mod stats;
mod streams;
mod unpack;

use std::fs::File;
use std::io::BufReader;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Subcommand;
use wprof_profiler::{TraceFileError, TraceReader, WholePath};

use crate::output;
use crate::progress::{Position, Reading};
use crate::screen::ColorChoice;
pub use record::Method;

/// The examples of the whole group.
pub const EXAMPLES: &str = "\
Examples:
  wprof trace record -o json.wtrace json.wasm 4   record a run
  wprof trace replay json.wtrace                  what ran, in order
  wprof trace compress json.wtrace -o json.wpp    its paths, as a grammar
  wprof trace hot json.wpp                        the sequences that took most of the run";

/// The subcommands for traces.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Run a program and record every basic block that it executes
    Record(record::RecordArgs),
    /// Print the sequence of calls, blocks and returns
    Replay(replay::ReplayArgs),
    /// Show the size of a trace
    Stats(stats::StatsArgs),
    /// Show the contents of a trace file: functions, chunks, bits
    Cat(cat::CatArgs),
    /// Print the events of each burst, from `wprof run --bursts`
    Bursts(bursts::BurstsArgs),
    /// Write the whole program path of a trace: its acyclic paths, as a grammar
    Compress(compress::CompressArgs),
    /// Show the sequences of paths that took most of a run, across loops and calls
    Hot(hot::HotArgs),
    /// Show the sequences of paths across calls that no test ran
    Residual(residual::ResidualArgs),
    /// Show the phases of a run, by the paths that execute in them
    Phases(phases::PhasesArgs),
    /// Show the sequences of loads and stores that recur
    Streams(streams::StreamsArgs),
    /// Compress a trace into fewer bits, for storage
    Pack(pack::PackArgs),
    /// Restore the trace that was packed
    Unpack(unpack::UnpackArgs),
}

impl TraceCommand {
    /// Executes the command. The exit code of `record` is the program's, and that of `residual` the verdict.
    pub fn execute(self, color: ColorChoice) -> Result<ExitCode> {
        match self {
            TraceCommand::Record(args) => return record::execute(&args),
            TraceCommand::Replay(args) => replay::execute(&args)?,
            TraceCommand::Stats(args) => stats::execute(&args, color)?,
            TraceCommand::Cat(args) => cat::execute(&args)?,
            TraceCommand::Bursts(args) => bursts::execute(&args)?,
            TraceCommand::Compress(args) => compress::execute(&args)?,
            TraceCommand::Hot(args) => hot::execute(&args, color)?,
            TraceCommand::Residual(args) => return residual::execute(&args, color),
            TraceCommand::Phases(args) => phases::execute(&args, color)?,
            TraceCommand::Streams(args) => streams::execute(&args, color)?,
            TraceCommand::Pack(args) => pack::execute(&args)?,
            TraceCommand::Unpack(args) => unpack::execute(&args)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

type Reader = TraceReader<BufReader<Reading>>;

/// Opens a trace, together with the position up to which it has been read; errors name the file.
fn open(path: &Path) -> Result<(Reader, Position)> {
    let file = File::open(path).and_then(Reading::new);
    let file = file.with_context(|| format!("cannot read {}", path.display()))?;
    let position = file.position();
    let reader = TraceReader::open_within(BufReader::new(file), &super::limits());
    let reader = reader.map_err(|error| with_path(path, &error))?;
    Ok((reader, position))
}

/// Reads a whole program path; errors name the file.
fn whole_path(path: &Path) -> Result<WholePath> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let whole = WholePath::read(BufReader::new(file), &super::limits());
    whole.map_err(|error| with_path(path, &error))
}

/// Converts an error of a trace file.
fn with_path(path: &Path, error: &TraceFileError) -> anyhow::Error {
    match error {
        TraceFileError::Expands => anyhow::anyhow!("{}: {error}: {}", path.display(), super::TRUST),
        _ => anyhow::anyhow!("{}: {error}", path.display()),
    }
}

/// Returns the output path: the given one, or the input's name with another extension, in the current folder.
fn output_for(given: Option<&PathBuf>, input: &Path, extension: &str) -> PathBuf {
    let beside = || PathBuf::from(input.file_name().unwrap_or_default()).with_extension(extension);
    given.cloned().unwrap_or_else(beside)
}

/// Parses a range of numbers: `A..B`, both included, or one number.
fn range(text: &str) -> Result<RangeInclusive<u64>, String> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let parsed = from.parse().ok().zip(to.trim_start_matches('=').parse().ok());
    let range = parsed.filter(|(from, to)| (1..=*to).contains(from));
    range.map(|(from, to)| from..=to).ok_or_else(|| "give two numbers, such as 2..8".to_owned())
}

/// Parses a percentage into a share of 1.
fn percent(text: &str) -> Result<f64, String> {
    let percent = text.trim_end_matches('%').parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
    percent.map(|percent: f64| percent / 100.0).ok_or_else(|| "give a percentage, such as 1%".to_owned())
}

/// Reports what is missing from a trace.
fn note_ending(reader: &Reader) {
    if let Some(notice) = reader.ending().notice() {
        output::tell_line(format_args!("wprof: {notice}"));
    }
}
