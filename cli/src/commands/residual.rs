//! `wprof residual`: shows what ran that no test ran.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Args, ValueHint};
use wprof::{Collect, Config, Engine, Interesting, Module, ProfilingConfig};
use wprof_profiler::{Ending, Profile, Residual};
use wprof_report::page::Page;
use wprof_report::residual;
use wprof_report::{Program, View};

use super::merge;
use super::run::across::{Across, MAX_DEPTH};
use super::run::{Measurements, Outcome, ProgramArgs, RunSettings, complete, ending, program};
use crate::help;
use crate::modules::ModuleOption;
use crate::screen::{ColorChoice, screen};
use crate::{modules, output};

/// The exit code if something ran that no test ran.
pub const UNTESTED: u8 = 3;

const MODULE_HELP: &str =
    "With --run: the module that ran, for source lines [default: where it ran, or beside the profile]";

const EXAMPLES: &str = "\
Examples:
  wprof run --collect paths -o a.wprof json.wasm 20 2    a test
  wprof residual --tested a.wprof json.wasm 300 1        what it left untested
  wprof residual --tested a.wprof --run field.wprof --json";

#[derive(Debug, Args)]
#[command(
    mut_arg("command", |arg| arg.required(false).required_unless_present("run")),
    mut_arg("invoke", |arg| arg.hide_short_help(true)),
    mut_arg("timeout", |arg| arg.hide_short_help(true)),
    mut_arg("module", |arg| arg.help(MODULE_HELP).requires("run").conflicts_with("command")),
    after_help = EXAMPLES,
    after_long_help = format!("\
A path leads through a function from its entry or a loop header to the end of the iteration or an \
exit. The report shows the paths that ran but ran in none of the tests, most frequent first: where they \
are, which branches they take, and which of their edges no test took. If a path has no untested edge, \
only the combination is new, and coverage of lines, blocks or edges would not have shown it.

A call that ended in the middle of a path, by a trap, an exit or an interrupt, leaves the beginning of \
a path. It counts as tested if a test took the same path as far as that.

The profiles of the tests are added up. All must be of the module that runs, from `wprof run --collect \
paths`. The report follows the program's output on standard error; with --run it goes to standard \
output. So does the one line of --json.

Exit codes: 0 if everything that ran was tested; 3 if something was not; 130 after Ctrl-C; 1 if wprof \
itself failed. The program's own exit code is not passed on.

{EXAMPLES}

More examples:
  wprof residual --tested a.wprof --field -o new.wprof json.wasm 300 1
  wprof run --collect paths --depth 1 -o d.wprof json.wasm 20 2
  wprof residual --depth 1 --tested d.wprof json.wasm 300 1    paths across calls
  wprof merge a.wprof new.wprof -o a.wprof               now it counts as tested")
)]
pub struct ResidualArgs {
    /// A profile of tests; may be repeated
    #[arg(long, value_name = "PROFILE", required = true)]
    #[arg(value_hint = ValueHint::FilePath, help_heading = help::INPUT)]
    tested: Vec<PathBuf>,
    /// Judge the run in this profile instead of running a program
    #[arg(long, value_name = "PROFILE", conflicts_with = "command")]
    #[arg(value_hint = ValueHint::FilePath, help_heading = help::INPUT)]
    run: Option<PathBuf>,
    #[command(flatten)]
    module: ModuleOption,
    /// Write a profile of only the untested paths
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = help::OUTPUT)]
    output: Option<PathBuf>,
    /// Judge paths across calls; take the tests' profiles with the same --depth
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_DEPTH))]
    #[arg(help_heading = help::INPUT, hide_short_help = true)]
    depth: Option<u32>,
    /// Show N paths
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10, help_heading = help::OUTPUT)]
    top: usize,
    /// Print all untested paths as one line of JSON
    #[arg(long, conflicts_with = "top", help_heading = help::OUTPUT)]
    json: bool,
    /// Count untested paths only: faster, without totals; for use in production
    #[arg(long, conflicts_with = "run", help_heading = help::SPEED)]
    field: bool,
    #[command(flatten)]
    program: ProgramArgs,
}

pub fn execute(args: &ResidualArgs, color: ColorChoice) -> Result<ExitCode> {
    args.program.tell_misplaced::<ResidualArgs>();
    if let Some(depth) = args.depth {
        return across_calls(args, depth, color);
    }
    let tests = merge::sum(&args.tested, super::read_paths)?;
    match &args.run {
        Some(path) => of_profile(args, &tests, path, color),
        None => of_program(args, Arc::new(tests), color),
    }
}

/// Judges paths across calls.
fn across_calls(args: &ResidualArgs, depth: u32, color: ColorChoice) -> Result<ExitCode> {
    let tests = merge::sum(&args.tested, super::read_across_calls)?;
    let known = tests.across_calls();
    let known = known.context(
        "the tests mark different calls: give all the same profile with `wprof run --interesting`",
    )?;
    let found = tests.supergraphs.as_ref().map_or(0, |graphs| graphs.depth);
    ensure!(found == depth, "the tests have paths across calls to depth {found}: give --depth {found}");
    let Some(path) = &args.run else { return run_across_calls(args, &tests, &known, color) };
    let mut profile = super::read_across_calls(path)?;
    let module = args.module.at_hand(&mut profile, path)?;
    let across = profile.across_calls().context("the profile has no paths across calls")?;
    let is_alike = profile.supergraphs.as_ref().zip(tests.supergraphs.as_ref());
    ensure!(
        is_alike.is_some_and(|(field, tests)| field.are_marked_as(tests)),
        "{} marks other calls than the tests: give it one of their profiles with `wprof run --interesting`",
        path.display()
    );
    let residual = across.residual(&known).with_context(|| path.display().to_string())?;
    let text = report(args, &View::new(&across, module.as_ref()), &residual, io::stdout(), color)?;
    output::print(&text)?;
    write_untested(args, &profile.only_across_calls(&residual), &residual)
}

/// Runs the program with the calls of the tests inlined.
fn run_across_calls(
    args: &ResidualArgs,
    tests: &Profile,
    known: &Profile,
    color: ColorChoice,
) -> Result<ExitCode> {
    let depth = tests.supergraphs.as_ref().map_or(0, |graphs| graphs.depth);
    let across = Across { depth, profile: Some(Arc::new(tests.clone())) };
    let path = args.program.module();
    let graphs = across.graphs(path)?;
    let interesting = across.interesting(&graphs).filter(|_| args.field);
    let interesting = interesting.map(|paths| Interesting { counted: false, ..paths });
    let profiling = ProfilingConfig::Exact(Collect::Paths);
    let counted = Measurements { profiling, interesting, ..Measurements::default() };
    let engine = Engine::new(&config(&args.program, &counted)).map_err(modules::failure)?;
    let module = modules::load(&modules::plain_engine()?, path)?;
    check_tests(&module, tests, path)?;
    let ran = Module::new(&engine, graphs.module()).map_err(modules::failure)?;
    let (outcome, profile) = run(&args.program, &ran, &counted)?;
    let profile = graphs.restored(&profile)?;
    let across = profile.across_calls().unwrap_or_default();
    let residual = across.residual(known)?;
    let text =
        report(args, &View::new(&across, Some(&Program::from(&module))), &residual, io::stderr(), color)?;
    let _ = io::stderr().write_all(text.as_bytes());
    let code = write_untested(args, &profile.only_across_calls(&residual), &residual)?;
    ended(&outcome, code)
}

/// Checks that the tests ran a module.
fn check_tests(module: &Module, tests: &Profile, path: &Path) -> Result<()> {
    ensure!(
        module.has_hash(&tests.module_hash),
        "the tests ran another module than {}, or another build of it: give profiles of this module",
        path.display()
    );
    Ok(())
}

fn of_profile(args: &ResidualArgs, tests: &Profile, path: &Path, color: ColorChoice) -> Result<ExitCode> {
    let mut profile = super::read_profile(path)?;
    let residual = profile.residual(tests).with_context(|| path.display().to_string())?;
    let module = args.module.at_hand(&mut profile, path)?;
    let text = report(args, &View::new(&profile, module.as_ref()), &residual, io::stdout(), color)?;
    output::print(&text)?;
    keep(args, &profile, &residual)
}

fn of_program(args: &ResidualArgs, tests: Arc<Profile>, color: ColorChoice) -> Result<ExitCode> {
    let interesting = args.field.then(|| Interesting::uncounted(tests.clone()));
    let profiling = ProfilingConfig::Exact(Collect::Paths);
    let counted = Measurements { profiling, interesting, ..Measurements::default() };
    let engine = Engine::new(&config(&args.program, &counted)).map_err(modules::failure)?;
    let module = modules::load(&engine, args.program.module())?;
    check_tests(&module, &tests, args.program.module())?;
    let (outcome, profile) = run(&args.program, &module, &counted)?;
    let residual = profile.residual(&tests)?;
    let text =
        report(args, &View::new(&profile, Some(&Program::from(&module))), &residual, io::stderr(), color)?;
    // If standard error is gone, there is nobody to tell.
    let _ = io::stderr().write_all(text.as_bytes());
    let code = keep(args, &profile, &residual)?;
    ended(&outcome, code)
}

/// Returns the exit code of a run that left `code` as the verdict.
fn ended(outcome: &Outcome, code: ExitCode) -> Result<ExitCode> {
    match (&outcome.ending, &outcome.error) {
        (Ending::Interrupted, _) => Ok(ending::exit_code(outcome)),
        (_, Some(error)) if ending::is_ours(error) => bail!("{error}"),
        _ => Ok(code),
    }
}

fn config(program: &ProgramArgs, counted: &Measurements) -> Config {
    let mut config = Config::new();
    counted.configure(program.configure(&mut config));
    if let Some(folder) = Config::default_code_cache() {
        config.code_cache(folder);
    }
    config
}

fn run(args: &ProgramArgs, module: &Module, counted: &Measurements) -> Result<(Outcome, Profile)> {
    let mut outcome = program::run(args, module, RunSettings::profile(counted))?;
    ending::report(&outcome, counted);
    let profile = outcome.profile.take();
    let mut profile = profile.ok_or_else(|| anyhow!("there is no profile: the program ended too early"))?;
    complete(&mut profile, args, &outcome);
    Ok((outcome, profile))
}

/// Formats the residual, as text or JSON.
fn report(
    args: &ResidualArgs,
    view: &View<'_>,
    residual: &Residual,
    stream: impl AsFd + IsTerminal,
    color: ColorChoice,
) -> Result<String> {
    if args.json {
        let mut line = Vec::new();
        view.profile().write_residual_json(residual, &mut line)?;
        line.push(b'\n');
        return Ok(String::from_utf8(line)?);
    }
    let mut page = Page::new(screen(stream, color));
    residual::untested(&mut page, view, residual, args.top);
    Ok(page.into_text())
}

/// Writes the untested paths if requested; returns the exit code, which tells whether there are any.
fn keep(args: &ResidualArgs, profile: &Profile, residual: &Residual) -> Result<ExitCode> {
    write_untested(args, &profile.only(residual), residual)
}

/// Writes the profile of the untested paths if requested; returns the exit code, which tells whether there are any.
fn write_untested(args: &ResidualArgs, untested: &Profile, residual: &Residual) -> Result<ExitCode> {
    if let Some(path) = &args.output {
        super::write_profile(untested, path)?;
    }
    Ok(if residual.paths.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(UNTESTED) })
}
