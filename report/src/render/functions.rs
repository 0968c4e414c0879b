//! The functions that cost the most.

use wprof_profiler::{FunctionProfile, Share, Shares, Unseen};

use super::numbers::{average, count_of, grouped, percent, share};
use super::page::{Ink, Page, Span, plain, span};
use super::place;
use super::style::Style;
use super::table::{Side, Table};
use super::time;
use super::view::View;

/// The order of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// Time of the processor, in the function itself.
    Time,
    /// Instructions executed in the function itself.
    Instructions,
    /// The number of calls.
    Calls,
}

/// Returns the first `limit` functions.
pub fn table(view: &View<'_>, order: Order, limit: usize, style: Style) -> Table {
    let sorted = match order {
        Order::Time => return time::functions(view, limit, style),
        Order::Instructions => view.profile.functions_by_ops(),
        Order::Calls => view.profile.functions_by_calls(),
    };
    let is_sampled = view.profile.sampled().is_some();
    let between = is_sampled.then_some(("95% within", Side::Right));
    let columns = [("instructions", Side::Right), ("share", Side::Right)].into_iter().chain(between).chain([
        ("calls", Side::Right),
        ("per call", Side::Right),
        ("index", Side::Right),
        ("place", Side::Place),
        ("function", Side::Left),
    ]);
    let mut table = Table::new(&columns.collect::<Vec<_>>());
    let shares = is_sampled.then(|| Shares::new(view.profile));
    for (function, _) in sorted.into_iter().take(limit) {
        let sampled = shares.as_ref().map(|shares| shares.function(function.index));
        let mut row = figures(view, function, sampled);
        // Looking up a line takes milliseconds.
        let details = match style.is_wide {
            true => {
                [per_call(function), function.index.to_string(), place::of_blocks(view, &function.blocks)]
            }
            false => Default::default(),
        };
        row.extend(details.map(|text| span(text, Ink::Faint)));
        row.push(span(view.name(function.index), Ink::Name));
        table.row(row);
    }
    table
}

/// Writes the greatest possible share of the functions that no burst saw, which are not in the table.
pub fn write_unseen(page: &mut Page, view: &View<'_>) {
    if let Some(unseen) = view.profile.sampled().and_then(|_| Shares::new(view.profile).unseen()) {
        page.line(&[plain("  "), span(most_of(unseen), Ink::Faint)]);
    }
}

fn most_of(Unseen { functions, each, together }: Unseen) -> String {
    let (functions, most) =
        (count_of(functions, "function"), |share: f64| format!("{:.1}%", (1000.0 * share).ceil() / 10.0));
    match most(each) == most(together) {
        true => format!("{functions} ran, but in no burst: at most {} of the run", most(together)),
        false => format!(
            "{functions} ran, but in no burst: at most {} of the run each, {} together",
            most(each),
            most(together)
        ),
    }
}

/// Returns the figures of a function; the share of a sample is that of the run, and its interval follows it.
fn figures(view: &View<'_>, function: &FunctionProfile, sampled: Option<Share>) -> Vec<Span> {
    let ops = function.ops();
    let shown = sampled.map_or_else(|| percent(ops, view.ops), |sampled| share(sampled.share));
    let interval = sampled.map(|sampled| span(within(sampled), Ink::Faint));
    let mut row = vec![plain(grouped(ops)), span(shown, Ink::of_share(ops, view.ops))];
    row.extend(interval);
    row.push(plain(grouped(function.calls())));
    row
}

/// Formats the interval that contains the share of the whole run in nineteen of twenty samples, in percent.
fn within(share: Share) -> String {
    format!("{:.0} to {:.0}%", (100.0 * share.low).floor(), (100.0 * share.high).ceil())
}

fn per_call(function: &FunctionProfile) -> String {
    match function.calls() {
        0 => String::new(),
        calls => average(function.ops() as f64 / calls as f64),
    }
}
