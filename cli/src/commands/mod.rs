//! The subcommands, one file each.

mod annotate;
mod collect;
mod compile;
mod completions;
mod diff;
mod explain;
mod export;
mod hints;
mod import;
mod instrument;
mod man;
mod merge;
mod overlap;
mod passes;
mod rank;
mod report;
mod residual;
mod run;
mod serve;
mod serve_pages;
mod top;
mod trace;
mod view;
mod web;

use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;

use anyhow::{Result, anyhow, ensure};
use clap::Subcommand;
use wprof_profiler::{FileError, Profile, ReadLimits};

use crate::progress;
use crate::screen::ColorChoice;

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program and profile it
    Run(run::RunArgs),
    /// Serve HTTP requests with a component and profile it. Given a folder, serve its web pages instead
    Serve(serve::ServeArgs),
    /// Show live where a running program spends its time
    Top(top::TopArgs),
    /// Show where a program spent its time and its instructions
    Report(report::ReportArgs),
    /// Show a profile in the browser
    View(view::ViewArgs),
    /// Show one function with the counts of its blocks and branches
    Annotate(annotate::AnnotateArgs),
    /// Show how a function is compiled, and where its counters are
    Explain(explain::ExplainArgs),
    /// Add up profiles of one module
    Merge(merge::MergeArgs),
    /// Show what changed between two profiles, of one build or of two
    Diff(diff::DiffArgs),
    /// Measure how similar two profiles are
    Overlap(overlap::OverlapArgs),
    /// Write a profile into its module as hints for compilers
    Hints(hints::HintsArgs),
    /// Show the paths that ran but that no test covered
    Residual(residual::ResidualArgs),
    /// Compile a module ahead of time, guided by an earlier profile
    Compile(compile::CompileArgs),
    /// Rank paths by how well they predict that a run fails, and tests by the paths they add
    Rank(rank::RankArgs),
    /// Convert a profile for other tools: flame graphs, pprof, coverage, …
    Export(export::ExportArgs),
    /// Write a module that counts its own execution, in browsers and any other engine
    Instrument(instrument::InstrumentArgs),
    /// Profile a Node program or a web page, or read the counters of instrumented modules
    Collect(collect::CollectArgs),
    /// Serve a folder of web pages, and profile what they run
    ServePages(serve_pages::ServePagesArgs),
    /// Import time into a profile from V8's samples, as Node and Chromium write them
    Import(import::ImportArgs),
    /// Record a trace of everything that a program executes, in order, and read traces
    #[command(subcommand, after_help = trace::EXAMPLES)]
    Trace(trace::TraceCommand),
    /// List the passes of the compiler, which --passes turns on and off
    Passes(passes::PassesArgs),
    /// Print a script with which a shell completes commands and options
    Completions(completions::CompletionsArgs),
    /// Write manual pages
    Man(man::ManArgs),
}

impl Command {
    /// Executes the command. The exit code is 0, except for `run`, `serve`, `top`, `collect` and `trace record`, which
    /// return the program's, and for `residual` and `diff`.
    pub fn execute(self, color: ColorChoice) -> Result<ExitCode> {
        match self {
            Command::Run(args) => return run::execute(args, color),
            Command::Serve(args) => return serve::execute(args, color),
            Command::Top(args) => return top::execute(&args, color),
            Command::Residual(args) => return residual::execute(&args, color),
            Command::Trace(command) => return command.execute(color),
            Command::Diff(args) => return diff::execute(&args, color),
            Command::Collect(args) => return collect::execute(&args, color),
            Command::ServePages(args) => serve_pages::execute(&args, color)?,
            Command::Import(args) => import::execute(&args)?,
            Command::Compile(args) => compile::execute(&args)?,
            Command::Instrument(args) => instrument::execute(&args)?,
            Command::Overlap(args) => overlap::execute(&args, color)?,
            Command::Report(args) => report::execute(&args, color)?,
            Command::View(args) => view::execute(&args)?,
            Command::Annotate(args) => annotate::execute(&args, color)?,
            Command::Explain(args) => explain::execute(&args)?,
            Command::Merge(args) => merge::execute(&args)?,
            Command::Rank(args) => rank::execute(&args, color)?,
            Command::Export(args) => export::execute(&args)?,
            Command::Hints(args) => hints::execute(&args)?,
            Command::Passes(args) => passes::execute(&args)?,
            Command::Completions(args) => completions::execute(&args)?,
            Command::Man(args) => man::execute(&args)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The limits for reading files, if the user has set them.
static LIMITS: OnceLock<ReadLimits> = OnceLock::new();

/// Sets the maximum size to which a file may unpack, however short the file is.
pub fn unpack_up_to(bytes: u64) {
    let limits = ReadLimits { unpacked_bytes: bytes, expansion: u64::MAX, ..ReadLimits::default() };
    LIMITS.get_or_init(|| limits);
}

/// Returns the limits for reading files.
fn limits() -> ReadLimits {
    LIMITS.get().copied().unwrap_or_default()
}

/// The advice for a file that exceeds the limits.
const TRUST: &str = "raise the limit as in `wprof report --max-unpacked 2G`; every command has this option";

/// Reads a profile; errors name the file.
fn read_profile(path: &Path) -> Result<Profile> {
    let reading = format!("reading {}", path.display());
    progress::during(&reading, || Profile::read_within(path, &limits())).map_err(|error| match error {
        // These errors name the file already.
        FileError::Io { .. } => anyhow!("{error}"),
        FileError::Expands { .. } => anyhow!("{}: {error}: {TRUST}", path.display()),
        _ => anyhow!("{}: {error}", path.display()),
    })
}

/// Reads a profile with paths; errors name the file.
fn read_paths(path: &Path) -> Result<Profile> {
    let profile = read_profile(path)?;
    let shown = path.display();
    ensure!(
        profile.has_paths(),
        "{shown} has no paths: record it with `wprof run --collect paths` or `wprof collect --collect paths`"
    );
    Ok(profile)
}

/// Reads a profile with paths across calls; errors name the file.
fn read_across_calls(path: &Path) -> Result<Profile> {
    let profile = read_profile(path)?;
    let shown = path.display();
    ensure!(
        profile.supergraphs.is_some(),
        "{shown} has no paths across calls: record it with `wprof run --collect paths --depth 1`"
    );
    Ok(profile)
}

/// Writes a profile; errors name the file.
fn write_profile(profile: &Profile, path: &Path) -> Result<()> {
    profile.write(path).map_err(|error| anyhow!("{error}"))
}
