//! `wprof trace phases`: shows the phases of a run, by the paths that its work was on.

use std::io;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueHint};
use wprof_profiler::{PathPhase, PathPhases, WholePath};
use wprof_report::numbers::{count_of, percent};
use wprof_report::page::{Ink, Page, plain, span};

use super::names::Names;
use crate::help;
use crate::modules::ModuleOption;
use crate::output;
use crate::screen::{ColorChoice, screen};

/// A sign for each phase; those of later phases come again.
const SIGNS: &[u8; 26] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";

const EXAMPLES: &str = "\
Examples:
  wprof trace phases json.wpp
  wprof trace phases json.wpp --windows 500 --difference 20%";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
A phase is a part of the run, not always in one piece, whose work is on the same acyclic paths. The run is cut into \
windows with the same number of instructions. A window belongs to the phase to which it is nearest: the one \
with the most instructions on the same paths, in the same shares (Sherwood, Sair and Calder 2003, with paths). \
The first line shows the windows in the order of time, with a letter for the phase of each. For each phase \
its share of the run and its most expensive paths follow, each with its share of the phase.

{EXAMPLES}"))]
pub struct PhasesArgs {
    /// The whole program path, a file from `wprof trace compress`
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Cut the run into N windows
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    #[arg(help_heading = help::VIEW)]
    windows: u64,
    /// Begin a new phase where a window differs from every earlier phase by more than this share of its work
    #[arg(long, value_name = "PERCENT", default_value = "35%", value_parser = super::percent)]
    #[arg(help_heading = help::VIEW)]
    difference: f64,
    /// Show N paths of each phase
    #[arg(short = 'n', long, value_name = "N", default_value_t = 3, help_heading = help::VIEW)]
    top: usize,
    #[command(flatten)]
    module: ModuleOption,
}

pub fn execute(args: &PhasesArgs, color: ColorChoice) -> Result<()> {
    let whole = super::whole_path(&args.file)?;
    let names = std::cell::RefCell::new(Names::new(whole.head(), &args.file, &args.module)?);
    let cost = |function, block| names.borrow_mut().cost(function, block);
    // Two windows with nothing in common differ by twice their work: in what each has and the other has not.
    let found = whole.phases(args.windows, 2.0 * args.difference, cost);
    let mut names = names.into_inner();
    let mut page = Page::new(screen(io::stdout(), color));
    write(&mut page, &whole, &found, args, &mut names);
    output::print(&page.into_text())?;
    if let Some(notice) = whole.ending().notice() {
        output::tell_line(format_args!("wprof: {notice}"));
    }
    Ok(())
}

fn write(page: &mut Page, whole: &WholePath, found: &PathPhases, args: &PhasesArgs, names: &mut Names) {
    let unit = if names.are_known() { "instruction" } else { "block" };
    let all = found.phases.iter().map(|phase| phase.cost).fold(0, u64::saturating_add);
    let phases = count_of(found.phases.len() as u64, "phase");
    let windows = count_of(found.windows.len() as u64, "window");
    let head = format!("{phases} in {windows}; the run has {}", count_of(all, unit));
    page.line(&[span(head, Ink::Strong)]);
    let signs: Vec<u8> = found.windows.iter().map(|&phase| sign(phase)).collect();
    for line in signs.chunks(100) {
        page.line(&[plain(format!("  {}", String::from_utf8_lossy(line)))]);
    }
    for (number, phase) in found.phases.iter().enumerate() {
        page.gap();
        write_phase(page, whole, (number, phase), all, args.top, names);
    }
}

fn write_phase(
    page: &mut Page,
    whole: &WholePath,
    (number, phase): (usize, &PathPhase),
    all: u64,
    top: usize,
    names: &mut Names,
) {
    page.line(&[
        span(char::from(sign(number)).to_string(), Ink::Strong),
        plain("  "),
        span(percent(phase.cost, all), Ink::of_share(phase.cost, all)),
        plain(format!("  {}", count_of(phase.windows as u64, "window"))),
    ]);
    for &(item, cost) in phase.paths.iter().take(top) {
        let Some([function, way]) = super::hot::path(whole, item, names) else { continue };
        let share = span(percent(cost, phase.cost), Ink::of_share(cost, phase.cost));
        page.line(&[plain("   "), share, plain("  "), function, way]);
    }
}

fn sign(phase: usize) -> u8 {
    SIGNS[phase % SIGNS.len()]
}
