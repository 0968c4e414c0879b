//! The program `wprof`: runs WebAssembly programs with an exact profile, and shows profiles.
//!
//! Invariant: only this crate deals with arguments, terminals and progress, and writes files; reports are made by
//! `wprof-report`. `anyhow` is not used elsewhere.
#![forbid(unsafe_code)]

#[cfg(test)]
mod advice;
mod commands;
mod core_module;
mod cost_model;
mod durations;
mod help;
mod modules;
mod output;
mod ownership;
mod progress;
#[cfg(test)]
mod reference;
mod screen;
mod sizes;
mod termination;
mod wave;

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::error::{ContextKind, ContextValue, ErrorKind as UsageError};
use clap::{CommandFactory, Parser};
use signal_hook::consts::SIGXFSZ;
use wprof_report::names;

use commands::Command;
use screen::ColorChoice;

#[global_allocator]
static ALLOCATOR: wprof::ProcessAllocator = wprof::ProcessAllocator;

/// Runs WebAssembly programs and shows where their time goes
#[derive(Debug, Parser)]
#[command(version, name = "wprof", max_term_width = 100, after_help = EXAMPLES, after_long_help = MORE_EXAMPLES)]
#[command(override_usage = "wprof <COMMAND>\n       wprof <MODULE> [ARG]...")]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Use colours; auto means on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t, hide_short_help = true)]
    color: ColorChoice,
    /// Raise the limit on the unpacked size of profiles and traces
    ///
    /// Use it only for files you trust.
    #[arg(long, global = true, value_name = "SIZE", value_parser = sizes::parse, help_heading = help::LIMITS, hide_short_help = true)]
    max_unpacked: Option<u64>,
    /// Show full names, with return types, default template arguments and all else that short names leave out
    #[arg(long, global = true, help_heading = help::OUTPUT, hide_short_help = true)]
    full_names: bool,
}

const EXAMPLES: &str = "\
Examples:
  wprof json.wasm 4000 150              run a program; a summary follows its output
  wprof run -o f.wprof json.wasm 4000 150   the same, and keep the profile
  wprof view f.wprof                    look at the profile in the browser";

const MORE_EXAMPLES: &str = "\
Examples:
  wprof json.wasm 4000 150              run a program; a summary follows its output
  wprof run -o f.wprof json.wasm 4000 150   the same, and keep the profile
  wprof run --exact -o f.wprof json.wasm 20 2   count everything
  wprof view f.wprof                    look at the profile in the browser
  wprof report f.wprof                  or in the terminal
  wprof annotate f.wprof parse          one function, instruction by instruction
  wprof diff before.wprof after.wprof   compare two builds
  wprof export --to flamegraph -o f.svg f.wprof
  wprof top json.wasm 4000 150          watch a program while it runs
  wprof residual --tested f.wprof json.wasm   what no test covered
  wprof explain json.wasm parse         how a function is compiled
  wprof trace record json.wasm          every block that runs, in order
  wprof help run                        all options of one command";

fn main() -> ExitCode {
    // A write beyond the file size limit then returns an error, as on a full disk, and does not end the process. If the
    // system does not allow that, the default action remains.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    let Cli { command, color, max_unpacked, full_names } = match parse(std::env::args_os().collect()) {
        Ok(cli) => cli,
        Err(instead) => return show_instead(&instead),
    };
    if let Some(bytes) = max_unpacked {
        commands::unpack_up_to(bytes);
    }
    screen::show_full_names(full_names);
    match names::shown_in_full(full_names, || command.execute(color)) {
        Ok(code) => code,
        Err(error) => {
            output::tell_line(format_args!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Parses the command line. A file in place of a subcommand is a program to run; `serve` with a folder serves web
/// pages.
fn parse(mut args: Vec<OsString>) -> Result<Cli, clap::Error> {
    let serves_folder =
        args.len() > 2 && args[1] == "serve" && args.last().is_some_and(|last| Path::new(last).is_dir());
    if serves_folder {
        args[1] = "serve-pages".into();
    }
    let error = match try_parse(&args) {
        Err(error) if error.kind() == UsageError::InvalidSubcommand => error,
        parsed => return parsed,
    };
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else {
        return Err(error);
    };
    if !is_program(Path::new(name)) {
        return Err(neither_command_nor_file(name, &error));
    }
    let at = args.iter().position(|arg| arg == name.as_str()).unwrap_or(1);
    let (before, program) = args.split_at(at);
    try_parse(&[before, &["run".into()], program].concat())
}

/// Parses arguments; help that is to be shown is laid out for the terminal.
fn try_parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    let is_help = |error: &clap::Error| {
        matches!(error.kind(), UsageError::DisplayHelp | UsageError::DisplayHelpOnMissingArgumentOrSubcommand)
    };
    Cli::try_parse_from(args).map_err(|error| match is_help(&error) {
        true => help::layout::laid_out(Cli::command()).try_get_matches_from(args).err().unwrap_or(error),
        false => error,
    })
}

/// Reports whether a name looks like a program's: if the file is missing, the error then says so.
fn is_program(path: &Path) -> bool {
    path.is_file() || path.extension().is_some_and(|kind| kind == "wasm" || kind == "wat")
}

/// Returns the error for a name that is neither command nor file, with the subcommand that was probably meant.
fn neither_command_nor_file(name: &str, error: &clap::Error) -> clap::Error {
    let meant = match error.get(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::Strings(similar)) if !similar.is_empty() => {
            format!("; did you mean `{}`?", similar.join("` or `"))
        }
        _ => ": `wprof help` lists the commands".to_owned(),
    };
    let message = format!("`{name}` is neither a command nor a file{meant}");
    Cli::command().error(UsageError::InvalidSubcommand, message)
}

/// Shows help, the version, or the error in the command line.
fn show_instead(instead: &clap::Error) -> ExitCode {
    match instead.print() {
        Err(error) if error.kind() != ErrorKind::BrokenPipe && !instead.use_stderr() => {
            output::tell_line(format_args!("error: cannot write to standard output: {error}"));
            ExitCode::FAILURE
        }
        _ => ExitCode::from(u8::try_from(instead.exit_code()).unwrap_or(u8::MAX)),
    }
}
