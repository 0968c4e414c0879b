//! The basic blocks that cost the most.

use super::numbers::grouped;
use super::page::{Ink, plain, span};
use super::place;
use super::run_shares::RunShares;
use super::table::{Side, Table};
use super::view::View;

/// Returns the hottest `limit` blocks.
pub fn table(view: &View<'_>, limit: usize) -> Table {
    let mut table = Table::new(&[
        ("instructions", Side::Right),
        ("share", Side::Right),
        ("times", Side::Right),
        ("paths", Side::Right),
        ("block", Side::Left),
        ("place", Side::Place),
        ("function", Side::Left),
    ]);
    let shares = RunShares::new(view);
    for hot in view.profile.hottest_blocks(limit) {
        let found = view.profile.function(hot.function).and_then(|f| f.blocks.get(hot.block.index()));
        table.row(vec![
            plain(grouped(hot.ops)),
            shares.span(hot.function, hot.ops),
            plain(grouped(hot.count)),
            plain(hot.paths.map(grouped).unwrap_or_default()),
            plain(hot.block.to_string()),
            plain(place::of_blocks(view, found)),
            span(view.name(hot.function), Ink::Name),
        ]);
    }
    table
}
