//! The program `wprof`: runs WebAssembly programs with an exact profile, and shows profiles.
//!
//! Invariant: only this crate knows of terminals, colours, progress and file names; `anyhow` stops here.
#![forbid(unsafe_code)]

#[cfg(test)]
mod advice;
mod code_map;
mod commands;
mod cost_model;
mod disassembly;
mod durations;
mod html;
mod modules;
mod names;
mod output;
mod progress;
mod render;
mod sizes;
mod sources;
mod threshold;

use std::io::ErrorKind;
use std::process::ExitCode;

use clap::Parser;

use commands::Command;
use render::screen::ColorChoice;

/// Runs WebAssembly programs and tells exactly what they did
#[derive(Debug, Parser)]
#[command(version, name = "wprof", max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Colour what is shown; auto obeys NO_COLOR
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t)]
    color: ColorChoice,
    /// How many bytes a profile or the functions of a trace may unpack to, if that is more than is usual for a file of
    /// its length; for files that you trust
    #[arg(long, global = true, value_name = "SIZE", value_parser = sizes::parse, hide_short_help = true)]
    max_unpacked: Option<u64>,
}

const EXAMPLES: &str = "\
Examples:
  wprof run json.wasm 4000 150     run a program; a summary of samples follows its output
  wprof run --exact -o f.wprof json.wasm 20 2   count everything, keep the profile in a file
  wprof top json.wasm 4000 150     what it does while it runs
  wprof run --collect events=instructions,fuel json.wasm
  wprof report f.wprof             hottest functions, loops, blocks, branches
  wprof report f.wprof --html f.html   the same and more, for a browser
  wprof annotate f.wprof parse     one function, instruction by instruction
  wprof residual --tested f.wprof json.wasm   what ran that no test ran
  wprof explain json.wasm parse    how a function is compiled
  wprof trace record json.wasm     every block that runs, in order
  wprof help run                   more about one command";

fn main() -> ExitCode {
    let Cli { command, color, max_unpacked } = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(instead) => return show_instead(&instead),
    };
    if let Some(bytes) = max_unpacked {
        commands::unpack_up_to(bytes);
    }
    match command.execute(color) {
        Ok(code) => code,
        Err(error) => {
            output::tell_line(format_args!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Shows help, the version, or what is wrong with the command line.
fn show_instead(instead: &clap::Error) -> ExitCode {
    match instead.print() {
        Err(error) if error.kind() != ErrorKind::BrokenPipe && !instead.use_stderr() => {
            output::tell_line(format_args!("error: cannot write to standard output: {error}"));
            ExitCode::FAILURE
        }
        _ => ExitCode::from(u8::try_from(instead.exit_code()).unwrap_or(u8::MAX)),
    }
}
