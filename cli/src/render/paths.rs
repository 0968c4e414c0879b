//! The paths that cost the most, their blocks, and how few paths make up most of the run.

use wprof_profiler::{HotPath, PathEnd};

use super::numbers::{count_of, grouped, percent};
use super::page::{Ink, Page, Span, plain, span};
use super::path_lines::PathLines;
use super::path_text;
use super::table::{Side, Table};
use super::view::View;

/// The maximum number of source places that are shown.
const PLACES: usize = 5;

/// The share of instructions, in percent, that the summary looks for.
const MOST: u64 = 90;

/// All paths that ran to their end, hottest first.
#[derive(Debug)]
pub struct Paths<'a> {
    view: View<'a>,
    hottest: Vec<HotPath>,
}

impl<'a> Paths<'a> {
    /// Returns the paths of a profile; none if they were not counted.
    pub fn new(view: &View<'a>) -> Self {
        Self { view: *view, hottest: view.profile.hottest_paths() }
    }

    /// Returns the hottest `limit` paths.
    pub fn table(&self, limit: usize) -> Table {
        let mut table = Table::new(&[
            ("instructions", Side::Right),
            ("share", Side::Right),
            ("times", Side::Right),
            ("path in", Side::Left),
            ("path", Side::Left),
            ("places", Side::Place),
        ]);
        for hot in self.hottest.iter().take(limit) {
            let Some(description) = self.description(hot.function, hot.id) else { continue };
            table.row(self.figures(hot).into_iter().chain(description).collect());
        }
        table
    }

    /// Returns the instructions of a path, their share of all instructions, and the path's count.
    pub fn figures(&self, hot: &HotPath) -> [Span; 3] {
        let share = span(percent(hot.ops, self.view.ops), Ink::of_share(hot.ops, self.view.ops));
        [plain(grouped(hot.ops)), share, plain(grouped(hot.count))]
    }

    /// Returns the function, and the path: by its source lines or, without debug information, by its blocks and their
    /// places in the module.
    pub fn description(&self, function: u32, id: u64) -> Option<[Span; 3]> {
        let Shown { path, places } = shown(&self.view, function, id)?;
        let name = span(self.view.name(function), Ink::Name);
        Some([name, plain(path), span(places, Ink::Faint)])
    }

    /// Writes a line below the table: how few paths have most of the instructions.
    pub fn write_coverage(&self, page: &mut Page) {
        let all = self.hottest.iter().map(|hot| hot.ops).fold(0, u64::saturating_add);
        let mut sum = 0_u64;
        let few = self.hottest.iter().take_while(|hot| {
            let is_needed = u128::from(sum) * 100 < u128::from(all) * u128::from(MOST);
            sum = sum.saturating_add(hot.ops);
            is_needed
        });
        let few = few.count() as u64;
        let ran = count_of(self.hottest.len() as u64, "path");
        let line = format!("  {} of {ran} that ran have {MOST}% of their instructions", grouped(few));
        page.line(&[span(line, Ink::Faint)]);
    }
}

/// Describes a path by its source lines; `None` without debug information.
pub fn by_lines(view: &View<'_>, function: u32, id: u64) -> Option<String> {
    let function = view.profile.function(function)?;
    PathLines::new(view, function).of(&function.path_numbering()?.path(id)?)
}

/// A path as text.
struct Shown {
    path: String,
    /// The places of its blocks in the module, if the path is told by blocks.
    places: String,
}

fn shown(view: &View<'_>, function: u32, id: u64) -> Option<Shown> {
    if let Some(path) = by_lines(view, function, id) {
        return Some(Shown { path, places: String::new() });
    }
    let function = view.profile.function(function)?;
    let path = function.path_numbering()?.path(id)?;
    let blocks = path_text::blocks(function, &path, &PathEnd::Finished(id));
    let names = path_text::shown(view, function, &blocks);
    let to = path_text::target(function, function.edges[path.edges.last()?.index()].to);
    let mut places: Vec<String> =
        blocks.iter().flat_map(|&block| path_text::places(view, function, block)).collect();
    places.dedup();
    let more = if places.len() > PLACES { " …" } else { "" };
    places.truncate(PLACES);
    Some(Shown {
        path: format!("{} → {to}", path_text::shortened(&names)), places: places.join(" ") + more
    })
}
