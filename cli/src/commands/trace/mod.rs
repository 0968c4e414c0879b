//! `wprof trace`: the exact sequence of blocks of a run, recorded, replayed, measured.

mod bursts;
mod cat;
mod names;
mod record;
mod replay;
mod stats;

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Subcommand;
use wprof_profiler::{TraceFileError, TraceReader};

use crate::output;
use crate::progress::{Position, Reading};
use crate::render::screen::ColorChoice;
pub use record::Method;

/// What to do with a trace.
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
    /// Print what ran in each burst, from `wprof run --bursts`
    Bursts(bursts::BurstsArgs),
}

impl TraceCommand {
    /// Does it. The exit code of `record` is the program's.
    pub fn execute(self, color: ColorChoice) -> Result<ExitCode> {
        match self {
            TraceCommand::Record(args) => return record::execute(&args),
            TraceCommand::Replay(args) => replay::execute(&args)?,
            TraceCommand::Stats(args) => stats::execute(&args, color)?,
            TraceCommand::Cat(args) => cat::execute(&args)?,
            TraceCommand::Bursts(args) => bursts::execute(&args)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

type Reader = TraceReader<BufReader<Reading>>;

/// Opens a trace, which tells how far it has been read; errors name the file.
fn open(path: &Path) -> Result<(Reader, Position)> {
    let file = File::open(path).and_then(Reading::new);
    let file = file.with_context(|| format!("cannot read {}", path.display()))?;
    let position = file.position();
    let reader = TraceReader::open(BufReader::new(file)).map_err(|error| of(path, &error))?;
    Ok((reader, position))
}

/// An error of a trace file.
fn of(path: &Path, error: &TraceFileError) -> anyhow::Error {
    anyhow::anyhow!("{}: {error}", path.display())
}

/// Says what is missing from a trace.
fn note_ending(reader: &Reader) {
    if let Some(notice) = reader.ending().notice() {
        output::tell_line(format_args!("wprof: {notice}"));
    }
}
