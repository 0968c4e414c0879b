//! The cost of counting, compared with simpler placements of counters.

use wprof_profiler::{CounterCost, Profile};

use super::numbers::grouped;
use super::page::{Ink, plain, span};
use super::table::{Side, Table};

/// Returns the placed counters and executed increments; empty if no function ran, if only events were counted, or if
/// counting was limited to bursts.
pub fn table(profile: &Profile) -> Table {
    let costs = profile.counter_costs();
    let mut table = Table::new(&[
        ("counters", Side::Left),
        ("placed", Side::Right),
        ("increments", Side::Right),
        ("", Side::Left),
    ]);
    if profile.functions.is_empty() || profile.sampled().is_some() {
        return table;
    }
    let mut row = |name: &str, cost: CounterCost, remark: String| {
        let figures = [cost.counters, cost.increments].map(|figure| plain(grouped(figure)));
        let [placed, increments] = figures;
        table.row(vec![plain(name), placed, increments, span(remark, Ink::Faint)]);
    };
    row("this profile", costs.chords, String::new());
    row("one per block", costs.per_block, times(costs.per_block, costs.chords));
    row("one per edge", costs.per_edge, times(costs.per_edge, costs.chords));
    table
}

/// Returns the ratio of increments as text.
fn times(other: CounterCost, ours: CounterCost) -> String {
    match ours.increments {
        0 => String::new(),
        own => format!("{:.1} times as many", other.increments as f64 / own as f64),
    }
}
