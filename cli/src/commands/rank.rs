//! `wprof rank`: shows which paths tell failing runs from passing ones, and which tests add paths.

use std::io;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueHint};
use wprof_profiler::{Profile, order_tests, suspects};
use wprof_report::page::Page;
use wprof_report::rank::{self, Runs};

use crate::help;
use crate::modules::ModuleOption;
use crate::output;
use crate::screen::{ColorChoice, screen};

const EXAMPLES: &str = "\
Examples:
  wprof run --collect paths -o bad.wprof json.wasm 300 1
  wprof rank --failing bad.wprof --passing a.wprof --passing b.wprof
  wprof rank --tests a.wprof b.wprof c.wprof";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
With --failing and --passing: shows the paths and edges that predict that a run fails, best first. A path is \
suspect if it ran in many failing runs and few passing ones, and if runs in which its function ran fail less \
often. `importance` is the harmonic mean of two figures: how much likelier failure is when the path runs \
(increase), and how many of the failing runs it explains. A path is shown only if it predicts more than each \
of its edges does: then the combination is what fails. The path that leads to a trap counts, so traps come \
first; if runs fail by wrong results, the suspects behind them say more (Chilimbi et al., HOLMES, 2009).

With --tests: shows the tests in the order in which each adds the most paths. Tests that add none are not \
needed to run all paths that the tests run.

All profiles must be of one module, from `wprof run --collect paths`, one for each run. Each option takes \
several files.

{EXAMPLES}"))]
pub struct RankArgs {
    /// Profiles of runs that failed
    #[arg(long, value_name = "PROFILE", num_args = 1.., requires = "passing", required_unless_present = "tests")]
    #[arg(value_hint = ValueHint::FilePath, help_heading = help::INPUT)]
    failing: Vec<PathBuf>,
    /// Profiles of runs that passed
    #[arg(long, value_name = "PROFILE", num_args = 1.., requires = "failing")]
    #[arg(value_hint = ValueHint::FilePath, help_heading = help::INPUT)]
    passing: Vec<PathBuf>,
    /// Profiles of tests, to rank by the paths they add
    #[arg(long, value_name = "PROFILE", num_args = 1.., conflicts_with_all = ["failing", "passing", "top", "module"])]
    #[arg(value_hint = ValueHint::FilePath, help_heading = help::INPUT)]
    tests: Vec<PathBuf>,
    /// Show N suspects
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10, help_heading = help::VIEW)]
    top: usize,
    #[command(flatten)]
    module: ModuleOption,
}

pub fn execute(args: &RankArgs, color: ColorChoice) -> Result<()> {
    let mut page = Page::new(screen(io::stdout(), color));
    if args.tests.is_empty() {
        write_suspects(args, &mut page)?;
    } else {
        write_tests(&args.tests, &mut page)?;
    }
    output::print(&page.into_text())
}

fn read(paths: &[PathBuf]) -> Result<Vec<Profile>> {
    paths.iter().map(|path| super::read_paths(path)).collect()
}

/// Demands that all profiles are of one build of one module; errors name two files that are not.
fn check_module<'a>(mut all: impl Iterator<Item = (&'a PathBuf, &'a Profile)>) -> Result<()> {
    let Some((first_path, first)) = all.next() else { return Ok(()) };
    let other = all.find(|(_, profile)| profile.module_hash != first.module_hash);
    other.map_or(Ok(()), |(path, _)| {
        bail!(
            "{} and {} are profiles of different modules, or of different builds of one: give profiles of one build",
            first_path.display(),
            path.display()
        )
    })
}

fn write_tests(paths: &[PathBuf], page: &mut Page) -> Result<()> {
    let profiles = read(paths)?;
    check_module(paths.iter().zip(&profiles))?;
    let order = order_tests(&profiles).context("cannot rank these tests")?;
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    rank::tests(page, &order, &names);
    Ok(())
}

fn write_suspects(args: &RankArgs, page: &mut Page) -> Result<()> {
    let (mut failing, mut passing) = (read(&args.failing)?, read(&args.passing)?);
    check_module(args.failing.iter().zip(&failing).chain(args.passing.iter().zip(&passing)))?;
    let found = suspects(&failing, &passing).context("cannot rank these runs")?;
    let module = args.module.at_hand(&mut failing[0], &args.failing[0])?;
    if let Some(module) = &module {
        failing.iter_mut().chain(&mut passing).for_each(|profile| module.name_functions(profile));
    }
    let runs = Runs { failing: &failing, passing: &passing, program: module.as_ref() };
    rank::suspects(page, &found, &runs, args.top);
    Ok(())
}
