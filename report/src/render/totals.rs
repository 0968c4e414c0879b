//! Inclusive totals of functions and call sites, by any weight of calling contexts.

use wprof_profiler::{ContextTree, Total};

use super::contexts::{self, Weights};
use super::numbers::percent;
use super::page::{Ink, plain, span};
use super::table::{Side, Table};
use super::view::View;

/// Returns the `top` functions by inclusive weight, including host functions.
pub fn functions(tree: &ContextTree, weights: &Weights, top: usize) -> Table {
    let mut table = Table::new(&[
        ("with callees", Side::Right),
        ("share", Side::Right),
        ("itself", Side::Right),
        ("function", Side::Left),
    ]);
    let totals = tree.totals(weights.of_records()).into_iter().zip(0..).skip(1).collect();
    let all = weights.total();
    for (total, routine) in heaviest(totals, top) {
        let [with_callees, share] = inclusive(weights, total, all);
        let function = span(contexts::shown(&tree.routines[routine].callee), Ink::Name);
        table.row(vec![with_callees, share, plain(weights.amount(total.own)), function]);
    }
    table
}

/// Returns the `top` call sites by the inclusive weight of their callees.
pub fn call_sites(view: &View<'_>, tree: &ContextTree, weights: &Weights, top: usize) -> Table {
    let mut table = Table::new(&[
        ("with callees", Side::Right),
        ("share", Side::Right),
        ("itself", Side::Right),
        ("called at", Side::Place),
        ("call", Side::Left),
    ]);
    let callee = |routine: u32| &tree.routines[routine as usize].callee;
    let totals = tree.site_totals(weights.of_records());
    let totals =
        totals.into_iter().filter(|((caller, ..), _)| *caller != 0).map(|(place, total)| (total, place));
    let all = weights.total();
    for (total, (from, site, to)) in heaviest(totals.collect(), top) {
        let [with_callees, share] = inclusive(weights, total, all);
        let call = format!("{} to {}", contexts::shown(callee(from)), contexts::shown(callee(to)));
        let place = plain(contexts::place(view, callee(from), site));
        table.row(vec![with_callees, share, plain(weights.amount(total.own)), place, span(call, Ink::Name)]);
    }
    table
}

/// Returns the totals that are not zero, the heaviest first.
fn heaviest<T>(mut totals: Vec<(Total, T)>, top: usize) -> Vec<(Total, T)> {
    totals.retain(|(total, _)| total.inclusive > 0);
    totals.sort_by_key(|(total, _)| std::cmp::Reverse((total.inclusive, total.own)));
    totals.truncate(top);
    totals
}

/// Formats the inclusive weight, and its share of the whole.
fn inclusive(weights: &Weights, total: Total, all: u64) -> [super::page::Span; 2] {
    let least = if total.is_whole { "" } else { "at least " };
    let share = span(percent(total.inclusive, all), Ink::of_share(total.inclusive, all));
    [plain(format!("{least}{}", weights.amount(total.inclusive))), share]
}
