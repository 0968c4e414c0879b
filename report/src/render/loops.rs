//! The loops that cost the most.

use super::numbers::{average, grouped};
use super::page::{Ink, plain, span};
use super::place;
use super::run_shares::RunShares;
use super::style::Style;
use super::table::{Side, Table};
use super::view::View;

/// Returns the hottest `limit` loops. Trips are iterations per entry; instructions exclude those of called functions.
pub fn table(view: &View<'_>, limit: usize, style: Style) -> Table {
    let mut table = Table::new(&[
        ("instructions", Side::Right),
        ("share", Side::Right),
        ("entries", Side::Right),
        ("trips", Side::Right),
        ("depth", Side::Right),
        ("place", Side::Place),
        ("loop in", Side::Left),
    ]);
    let shares = RunShares::new(view);
    for hot in view.profile.hottest_loops(limit) {
        let found = &hot.found;
        let blocks = view.profile.function(hot.function).map_or(&[][..], |function| &function.blocks);
        let in_loop = found.blocks.iter().filter_map(|block| blocks.get(block.index()));
        let depth = if style.is_wide { found.depth.to_string() } else { String::new() };
        table.row(vec![
            plain(grouped(found.ops)),
            shares.span(hot.function, found.ops),
            plain(found.entries.map(grouped).unwrap_or_default()),
            plain(found.average_trips().map(average).unwrap_or_default()),
            span(depth, Ink::Faint),
            plain(place::of_blocks(view, in_loop)),
            span(view.name(hot.function), Ink::Name),
        ]);
    }
    table
}
