//! Paths ranked by how well they tell failing runs from passing ones, and tests by the paths they add.

use crate::program::Program;
use wprof_profiler::{FunctionProfile, PathEnd, PathNumbering, Predictor, Profile, Suspect, TestGain};

use crate::page::{Ink, Page, Side, Table, plain, span};
use crate::render::branches::way;
use crate::render::numbers::{count_of, grouped};
use crate::render::path_text::{PathText, target};
use crate::render::place;
use crate::render::view::View;

/// Adds tests in the order in which each adds the most paths, as [`order_tests`](wprof_profiler::order_tests) found it;
/// `names` has the names of the tests.
///
/// # Panics
/// Panics if there are fewer names than tests.
pub fn tests(page: &mut Page, order: &[TestGain], names: &[String]) {
    let mut table = Table::new(&[("new paths", Side::Right), ("paths", Side::Right), ("test", Side::Left)]);
    for gain in order {
        let figures = [gain.new, gain.paths].map(|figure| plain(grouped(figure)));
        table.row(figures.into_iter().chain([plain(names[gain.test].clone())]).collect());
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
}

/// Runs of one program: those that failed, and those that passed.
#[derive(Clone, Copy, Debug)]
pub struct Runs<'a> {
    /// The profiles of runs that failed.
    pub failing: &'a [Profile],
    /// The profiles of runs that passed.
    pub passing: &'a [Profile],
    /// The code of the program, for source lines.
    pub program: Option<&'a Program>,
}

/// Adds the first `top` of the paths and edges that predict that a run fails, as
/// [`suspects`](wprof_profiler::suspects) found them in the runs.
pub fn suspects(page: &mut Page, found: &[Suspect], runs: &Runs<'_>, top: usize) {
    page.with_names(|page| write_suspects(page, found, runs, top));
}

fn write_suspects(page: &mut Page, found: &[Suspect], runs: &Runs<'_>, top: usize) {
    let Runs { failing, passing, program } = *runs;
    let runs = format!(
        "{} in {} and {}",
        count_of(found.len() as u64, "suspect"),
        count_of(failing.len() as u64, "failing run"),
        count_of(passing.len() as u64, "passing run")
    );
    page.line(&[span(runs, Ink::Strong)]);
    for suspect in found.iter().take(top) {
        // A path that leads to a stop belongs to the runs that stopped there.
        let has = |run: &&Profile| {
            let function = run.function(suspect.function);
            let is_edge = matches!(suspect.predictor, Predictor::Edge(_));
            function.is_some_and(|function| is_edge || end(function, &suspect.predictor).is_some())
        };
        let ran = failing.iter().chain(passing).find(has);
        if let Some(ran) = ran {
            page.gap();
            write_suspect(page, &View::new(ran, program), suspect);
        }
    }
    if let Some(more) = found.len().checked_sub(top).filter(|&more| more > 0) {
        page.gap();
        page.line(&[span(format!("and {} more", grouped(more as u64)), Ink::Faint)]);
    }
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
fn end(function: &FunctionProfile, predictor: &Predictor) -> Option<PathEnd> {
    match *predictor {
        Predictor::Edge(_) => None,
        Predictor::Path(id) => Some(PathEnd::Finished(id)),
        Predictor::Stopped(block, prefix) => {
            let mut stopped = function.paths().into_iter().flat_map(|paths| &paths.unfinished);
            let found = stopped.find(|path| path.exit.block == block && path.prefix == prefix)?;
            Some(PathEnd::Unfinished(found.clone()))
        }
    }
}
