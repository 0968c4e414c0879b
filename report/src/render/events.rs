//! Totals of events.

use wprof_profiler::EventTotal;

use super::numbers::grouped;
use super::page::{Ink, plain, span};
use super::table::{Side, Table};
use crate::names;

/// Returns the number of events of each kind.
pub fn table(totals: &[EventTotal]) -> Table {
    let mut table = Table::new(&[("total", Side::Right), ("events", Side::Left)]);
    for total in totals {
        table.row(vec![plain(grouped(total.count)), span(names::harmless(&total.name), Ink::Name)]);
    }
    table
}
