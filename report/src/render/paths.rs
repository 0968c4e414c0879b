//! The paths that cost the most, their blocks, and how few paths make up most of the run.

use std::collections::HashMap;

use wprof_profiler::export::LineRow;
use wprof_profiler::{HotPath, PathEnd};

use super::numbers::{count_of, grouped};
use super::page::{Ink, Page, Span, plain, span};
use super::path_lines::PathLines;
use super::path_text;
use super::run_shares::RunShares;
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
    shares: RunShares<'a>,
    hottest: Vec<HotPath>,
}

impl<'a> Paths<'a> {
    /// Returns the paths of a profile; none if they were not counted.
    pub fn new(view: &View<'a>) -> Self {
        Self { view: *view, shares: RunShares::new(view), hottest: view.profile.hottest_paths() }
    }

    /// Returns the hottest `limit` paths. Where several run the same lines, blocks tell them apart.
    pub fn table(&self, limit: usize) -> Table {
        let mut table = Table::new(&[
            ("instructions", Side::Right),
            ("share", Side::Right),
            ("times", Side::Right),
            ("path in", Side::Left),
            ("path", Side::Left),
            ("places", Side::Place),
        ]);
        let hottest = self.hottest.iter().take(limit);
        let wanted: Vec<_> = hottest.clone().map(|hot| (hot.function, hot.id)).collect();
        for (hot, found) in hottest.zip(told_apart(&self.view, &wanted)) {
            let Some(PathColumns { path, places }) = found else { continue };
            let name = span(self.view.name(hot.function), Ink::Name);
            let description = [name, plain(path), span(places, Ink::Faint)];
            table.row(self.figures(hot).into_iter().chain(description).collect());
        }
        table
    }

    /// Returns the instructions of a path, their share of the run, and the path's count.
    pub fn figures(&self, hot: &HotPath) -> [Span; 3] {
        [plain(grouped(hot.ops)), self.shares.span(hot.function, hot.ops), plain(grouped(hot.count))]
    }

    /// Returns the function, and the path: by its source lines or, without debug information, by its blocks and their
    /// places in the module.
    pub fn description(&self, function: u32, id: u64) -> Option<[Span; 3]> {
        let PathColumns { path, places } = shown(&self.view, function, id)?;
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

/// Describes a path by its source lines; `None` without debug information. The rows of the module's line table make
/// that faster.
pub fn by_lines(view: &View<'_>, function: u32, id: u64, rows: Option<&[LineRow]>) -> Option<String> {
    let function = view.profile.function(function)?;
    PathLines::new(view, function, rows).name(&function.path_numbering()?.path(id)?)
}

/// Describes paths, each by its function and its number, in one line each: by source lines or, without debug information,
/// by blocks. Where several run the same lines, blocks tell them apart. `None` for what is no path.
pub fn names(view: &View<'_>, paths: &[(u32, u64)]) -> Vec<Option<String>> {
    told_apart(view, paths).into_iter().map(|found| found.map(|shown| shown.path)).collect()
}

/// Describes paths, and adds the blocks of those that run the same lines as others.
fn told_apart(view: &View<'_>, paths: &[(u32, u64)]) -> Vec<Option<PathColumns>> {
    let mut found: Vec<_> = paths.iter().map(|&(function, id)| shown(view, function, id)).collect();
    let mut alike: HashMap<(u32, String), u32> = HashMap::new();
    for (&(function, _), shown) in paths.iter().zip(&found) {
        if let Some(shown) = shown {
            *alike.entry((function, shown.path.clone())).or_default() += 1;
        }
    }
    for (&(function, id), shown) in paths.iter().zip(&mut found) {
        let Some(shown) = shown else { continue };
        if alike[&(function, shown.path.clone())] > 1
            && let Some(blocks) = by_blocks(view, function, id)
        {
            shown.path += &format!(" ({blocks})");
        }
    }
    found
}

/// The columns of a path.
struct PathColumns {
    path: String,
    /// The places of its blocks in the module, if the path is told by blocks.
    places: String,
}

fn shown(view: &View<'_>, function: u32, id: u64) -> Option<PathColumns> {
    if let Some(path) = by_lines(view, function, id, None) {
        return Some(PathColumns { path, places: String::new() });
    }
    let path = by_blocks(view, function, id)?;
    let function = view.profile.function(function)?;
    let blocks = path_text::blocks(function, &function.path_numbering()?.path(id)?, &PathEnd::Finished(id));
    let mut places: Vec<String> =
        blocks.iter().flat_map(|&block| path_text::places(view, function, block)).collect();
    places.dedup();
    let more = if places.len() > PLACES { " …" } else { "" };
    places.truncate(PLACES);
    Some(PathColumns { path, places: places.join(" ") + more })
}

/// Describes a path by its blocks.
fn by_blocks(view: &View<'_>, function: u32, id: u64) -> Option<String> {
    let function = view.profile.function(function)?;
    let path = function.path_numbering()?.path(id)?;
    let names = path_text::shown(view, function, &path_text::blocks(function, &path, &PathEnd::Finished(id)));
    let to = path_text::target(function, function.edges[path.edges.last()?.index()].to);
    Some(format!("{} → {to}", path_text::shortened(&names)))
}
