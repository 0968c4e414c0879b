//! The most frequent extended paths in bursts: paths that cross back edges or calls, one row per path.

use wprof_profiler::{ExtendedPath, ExtendedProfile};

use super::numbers::{grouped, percent};
use super::page::plain;
use super::paths::Paths;
use super::table::{Side, Table};
use super::view::View;

/// Returns the first `limit` extended paths, each with its count and its share of all those counted; empty if none
/// were counted.
pub fn table(view: &View<'_>, limit: usize) -> Table {
    let mut table = Table::new(&[
        ("times", Side::Right),
        ("share", Side::Right),
        ("extended path in", Side::Left),
        ("path", Side::Left),
        ("places", Side::Place),
    ]);
    let by_count = view.profile.extended.iter().flat_map(ExtendedProfile::by_count);
    let all = by_count.clone().fold(0, |sum: u64, path| sum.saturating_add(path.count));
    let paths = Paths::new(view);
    for ExtendedPath { pieces, count } in by_count.take(limit) {
        let figures = [plain(grouped(*count)), plain(percent(*count, all))];
        let others = std::iter::repeat_with(|| [plain(""), plain("")]);
        for (&(function, id), figures) in pieces.iter().zip(std::iter::once(figures).chain(others)) {
            let Some(description) = paths.description(function, id) else { continue };
            table.row(figures.into_iter().chain(description).collect());
        }
    }
    table
}
