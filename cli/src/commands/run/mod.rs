//! `wprof run`: a program in place of any other runtime, and its profile.
//!
//! Invariant: the program's own input, output and exit code are untouched; what we say goes to standard error,
//! after the program.

mod args;
pub mod ending;
mod host;
mod interruption;
mod invoke;
pub mod program;

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::UNIX_EPOCH;

use anyhow::{Result, bail};
use wprof::{Config, Engine, Module};
use wprof_profiler::{Profile, Run};

pub use args::{ProfileArgs, ProgramArgs, RunArgs};
pub use program::{Kept, Outcome, TraceTarget};

use crate::render::numbers::{count_of, duration};
use crate::render::page::Page;
use crate::render::screen::{ColorChoice, Screen};
use crate::render::view::View;
use crate::render::{runs, summary};
use crate::{modules, names};

pub fn execute(args: RunArgs, color: ColorChoice) -> Result<ExitCode> {
    if let Some(path) = &args.output {
        check_output(path, &args)?;
    }
    let engine = Engine::new(&config(&args)).map_err(modules::failure)?;
    let module = modules::load(&engine, args.program.module())?;
    let kept = Kept { polls: args.profile.is_on(), profile: args.profile.is_complete(), trace: None };
    let mut outcome = program::run(&args.program, &module, kept)?;
    ending::report(&outcome);
    let mut profile = outcome.profile.take();
    if let Some(profile) = &mut profile {
        complete(profile, &args, &outcome);
    }
    if !args.quiet {
        let mut page = Page::new(Screen::of(io::stderr(), color));
        summarize(&mut page, &args, &module, &outcome, profile.as_ref());
        eprint!("{}", page.into_text());
    }
    match (&args.output, &profile) {
        (Some(path), Some(profile)) => super::write_profile(profile, path)?,
        (Some(path), None) => eprintln!("wprof: nothing to write to {}: it ended too early", path.display()),
        (None, _) => {}
    }
    if let Err(error) = module.update_code_cache()
        && args.verbose
    {
        eprintln!("wprof: {error}");
    }
    Ok(ending::exit_code(&outcome))
}

/// Finds out before a long run that its profile could not be written after it.
fn check_output(path: &Path, args: &RunArgs) -> Result<()> {
    if !args.profile.is_complete() {
        bail!(
            "there is no profile to write to {}: leave out -o, --profile off and --collect",
            path.display()
        );
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if path.is_dir() || folder.is_some_and(|folder| !folder.is_dir()) {
        bail!("cannot write a profile to {}: give a file in a folder that exists", path.display());
    }
    Ok(())
}

fn config(args: &RunArgs) -> Config {
    let mut config = Config::new();
    config.profiling(args.profile.profiling()).limits(args.program.limits());
    if let Some(folder) = Config::default_code_cache().filter(|_| !args.no_code_cache) {
        config.code_cache(folder);
    }
    config
}

/// Adds to a profile what only we know.
fn complete(profile: &mut Profile, args: &RunArgs, outcome: &Outcome) {
    profile.program = args.program.module().display().to_string();
    profile.runs = vec![Run {
        started: outcome.started.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        tool: concat!("wprof ", env!("CARGO_PKG_VERSION")).to_owned(),
        machine: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        args: args.program.program_args(),
        ending: outcome.ending.clone(),
        wall_ns: Some(nanoseconds(outcome.wall)),
    }];
}

fn nanoseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// What ran and what it did.
fn summarize(page: &mut Page, args: &RunArgs, module: &Module, outcome: &Outcome, profile: Option<&Profile>) {
    let name = args.program.module().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let wall = duration(nanoseconds(outcome.wall));
    let title = format!("{} {} after {wall}", names::harmless(&name), runs::ending(&outcome.ending));
    match profile {
        Some(profile) => summary::write(page, &View::new(profile, Some(module)), &title),
        // Who turned the profile off wants a program and nothing else.
        None if args.verbose || args.profile.is_on() => summary::write_title(page, &title),
        None => {}
    }
    if args.profile.is_on() && !args.profile.is_complete() {
        summary::write_detail(
            page,
            "a counter in every block makes no profile: leave out --collect to see one",
        );
    }
    if args.verbose {
        let (functions, bytes) = module.compiled();
        let (functions, bytes) = (count_of(functions as u64, "function"), count_of(bytes as u64, "byte"));
        summary::write_detail(page, &format!("{functions} compiled to {bytes}"));
    }
}
