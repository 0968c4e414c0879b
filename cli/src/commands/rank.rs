//! `wprof rank`: shows which paths tell failing runs from passing ones, and which tests add paths.

use std::io;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, ValueHint};
use wprof_profiler::{PathEnd, PathNumbering, Predictor, Profile, Suspect, order_tests, suspects};
use wprof_report::names;
use wprof_report::render::branches::way;
use wprof_report::render::numbers::{count_of, grouped};
use wprof_report::render::page::{Ink, Page, plain, span};
use wprof_report::render::path_text::{PathText, target};
use wprof_report::render::place;
use wprof_report::render::table::{Side, Table};
use wprof_report::render::view::View;

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
With --failing and --passing: the paths and edges that predict that a run fails, best first. One that ran in \
many failing runs and few passing ones is suspect, if runs in which its function ran fail less often. \
`importance` is the harmonic mean of how much likelier failure is (increase) and of how many of the failing \
runs it explains. A path is shown only if it tells more than each of its edges: then the combination is what \
fails. The way to a trap counts as a path, so traps come first; what stands behind them is more telling if \
runs fail by wrong results (Chilimbi et al., HOLMES, 2009).

With --tests: the tests in the order in which each adds the most paths. Those that add none are not needed to \
run all paths that the tests run.

All profiles must be of one module, from `wprof run --collect paths`, one for each run. Several files may \
stand behind each option.

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
    /// Profiles of tests, to be put in order
    #[arg(long, value_name = "PROFILE", num_args = 1.., conflicts_with_all = ["failing", "passing"])]
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

fn write_tests(paths: &[PathBuf], page: &mut Page) -> Result<()> {
    let order = order_tests(&read(paths)?).context("the tests do not fit together")?;
    let mut table = Table::new(&[("new paths", Side::Right), ("paths", Side::Right), ("test", Side::Left)]);
    for gain in &order {
        let figures = [gain.new, gain.paths].map(|figure| plain(grouped(figure)));
        let test = plain(paths[gain.test].display().to_string());
        table.row(figures.into_iter().chain([test]).collect());
    }
    page.table(&table);
    let needed = order.iter().filter(|gain| gain.new > 0);
    let all: u64 = needed.clone().map(|gain| gain.new).sum();
    let line = format!(
        "{} of {} run all {}",
        grouped(needed.count() as u64),
        count_of(order.len() as u64, "test"),
        count_of(all, "path")
    );
    page.gap();
    page.line(&[span(line, Ink::Strong)]);
    Ok(())
}

fn write_suspects(args: &RankArgs, page: &mut Page) -> Result<()> {
    let (mut failing, mut passing) = (read(&args.failing)?, read(&args.passing)?);
    let found = suspects(&failing, &passing).context("the runs do not fit together")?;
    let runs = format!(
        "{} in {} and {}",
        count_of(found.len() as u64, "suspect"),
        count_of(failing.len() as u64, "failing run"),
        count_of(passing.len() as u64, "passing run")
    );
    page.line(&[span(runs, Ink::Strong)]);
    let module = args.module.at_hand(&mut failing[0], &args.failing[0])?;
    if let Some(module) = &module {
        failing.iter_mut().chain(&mut passing).for_each(|profile| names::adopt(profile, module));
    }
    for suspect in found.iter().take(args.top) {
        // A path that leads to a stop belongs to the runs that stopped there.
        let has = |run: &&Profile| {
            let function = run.function(suspect.function);
            let is_edge = matches!(suspect.predictor, Predictor::Edge(_));
            function.is_some_and(|function| is_edge || end(function, &suspect.predictor).is_some())
        };
        let ran = failing.iter().chain(&passing).find(has);
        if let Some(ran) = ran {
            page.gap();
            write_suspect(page, &View::new(ran, module.as_ref()), suspect);
        }
    }
    if let Some(more) = found.len().checked_sub(args.top).filter(|&more| more > 0) {
        page.gap();
        page.line(&[span(format!("and {} more", grouped(more as u64)), Ink::Faint)]);
    }
    Ok(())
}

fn write_suspect(page: &mut Page, view: &View<'_>, suspect: &Suspect) {
    let Some(function) = view.profile.function(suspect.function) else { return };
    let figures = format!(
        ": in {} and {}, increase {:.2}, importance {:.2}",
        count_of(suspect.failing, "failing run"),
        count_of(suspect.passing, "passing run"),
        suspect.increase,
        suspect.importance
    );
    let what = match suspect.predictor {
        Predictor::Edge(_) => "edge in ",
        Predictor::Path(_) => "path in ",
        Predictor::Stopped(..) => "stop in ",
    };
    page.line(&[plain(what), span(view.name(suspect.function), Ink::Name), plain(figures)]);
    let lines = match &suspect.predictor {
        Predictor::Edge(edge) => {
            let edge = &function.edges[edge.index()];
            let place = place::of_blocks(view, [&function.blocks[edge.from.index()]]);
            let text = format!("{} → {} ({})", edge.from, target(function, edge.to), way(edge.kind));
            vec![("edge", text), ("lines", place)]
        }
        predictor => {
            let numbering = function.cfg().ok().map(|cfg| PathNumbering::new(&cfg));
            let path = numbering.and_then(|numbering| predictor.path(&numbering));
            let Some((path, end)) = path.zip(end(function, predictor)) else { return };
            let text = PathText::new(view, function, &path, &end);
            vec![("blocks", text.blocks), ("lines", text.places), ("branches", text.branches)]
        }
    };
    for (label, text) in lines.into_iter().filter(|(_, text)| !text.is_empty()) {
        page.line(&[span(format!("    {label:<10}"), Ink::Faint), plain(text)]);
    }
}

/// Returns how a path ended.
fn end(function: &wprof_profiler::FunctionProfile, predictor: &Predictor) -> Option<PathEnd> {
    match *predictor {
        Predictor::Edge(_) => None,
        Predictor::Path(id) => Some(PathEnd::Finished(id)),
        Predictor::Stopped(block, prefix) => {
            let mut stopped = function.paths.iter().flat_map(|paths| &paths.unfinished);
            let found = stopped.find(|path| path.exit.block == block && path.prefix == prefix)?;
            Some(PathEnd::Unfinished(found.clone()))
        }
    }
}
