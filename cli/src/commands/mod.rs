//! The subcommands, one file each.

mod annotate;
mod diff;
mod explain;
mod export;
mod hints;
mod merge;
mod overlap;
mod report;
mod run;
mod trace;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use clap::Subcommand;
use wprof_profiler::{FileError, Profile};

use crate::render::screen::ColorChoice;

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program and profile it
    Run(run::RunArgs),
    /// Show where a profile's instructions went
    Report(report::ReportArgs),
    /// Show one function with the counts of its blocks and edges
    Annotate(annotate::AnnotateArgs),
    /// Show how a function is compiled and where its counters are
    Explain(explain::ExplainArgs),
    /// Add up profiles of one module
    Merge(merge::MergeArgs),
    /// Show what changed from one profile to another
    Diff(diff::DiffArgs),
    /// Tell how much two profiles say the same
    Overlap(overlap::OverlapArgs),
    /// Write what a profile says into its module, as hints to compilers
    Hints(hints::HintsArgs),
    /// Write a profile in a format that other tools read
    Export(export::ExportArgs),
    /// Record everything that a program executes, in order, and look at it
    #[command(subcommand)]
    Trace(trace::TraceCommand),
}

impl Command {
    /// Does it. The exit code is 0 but for `run` and `trace record`, where it is the program's, and `diff`.
    pub fn execute(self, color: ColorChoice) -> Result<ExitCode> {
        match self {
            Command::Run(args) => return run::execute(args, color),
            Command::Trace(command) => return command.execute(color),
            Command::Diff(args) => return diff::execute(&args, color),
            Command::Overlap(args) => overlap::execute(&args, color)?,
            Command::Report(args) => report::execute(&args, color)?,
            Command::Annotate(args) => annotate::execute(&args, color)?,
            Command::Explain(args) => explain::execute(&args)?,
            Command::Merge(args) => merge::execute(&args)?,
            Command::Export(args) => export::execute(&args)?,
            Command::Hints(args) => hints::execute(&args)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Reads a profile; errors name the file.
fn read_profile(path: &Path) -> Result<Profile> {
    Profile::read(path).map_err(|error| match error {
        // These name it already.
        FileError::Io { .. } => anyhow!("{error}"),
        _ => anyhow!("{}: {error}", path.display()),
    })
}

/// Writes a profile; errors name the file.
fn write_profile(profile: &Profile, path: &Path) -> Result<()> {
    profile.write(path).map_err(|error| anyhow!("{error}"))
}
