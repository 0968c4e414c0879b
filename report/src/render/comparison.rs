//! Comparison of two profiles, largest changes first.

use wprof_profiler::{
    Callee, Change, Comparison, FunctionChange, PathChange, Profile, hot_coverage, overlap,
};

use super::numbers::{duration, grouped, share};
use super::page::{Ink, Page, Span, plain, span};
use super::table::{Side, Table};
use super::view::View;
use super::{contexts, paths, sample};
use crate::names;

/// Sizes of the sets of hottest items that are compared.
const TOPS: [usize; 3] = [1, 10, 100];

/// The number of innermost frames of a stack that are shown.
const FRAMES: usize = 6;

/// Writes what changed between two profiles, `top` rows in each table. Paths are named in the view of the first.
pub fn write_changes(
    page: &mut Page,
    comparison: &Comparison<'_>,
    (before, after): (&View<'_>, &Profile),
    top: usize,
) {
    write_caveats(page, comparison, (before.profile, after));
    let mut totals = table("in all");
    for found in comparison.totals() {
        let shown = if found.name == "time" { duration } else { grouped };
        let name = span(marked(found.name, found.may_be_chance), Ink::Strong);
        totals.row(row_of(found.total, name, shown));
    }
    section(page, "Totals", &totals);
    let mut by_time = table("time of");
    let times = comparison.times().into_iter().filter(|change| change.time.delta() != 0);
    times.take(top).for_each(|change| {
        let name = names::of_symbol(&change.name);
        by_time.row(row_of(change.time, span(marked(name, change.may_be_chance), Ink::Name), duration));
    });
    section(page, "By change of time", &by_time);
    let functions = comparison.functions();
    let ops = |change: &&FunctionChange| change.ops.delta() != 0;
    let mut by_ops = table("instructions of");
    functions
        .iter()
        .filter(ops)
        .take(top)
        .for_each(|f| by_ops.row(row(f.ops, function(f, f.ops_may_be_chance))));
    section(page, "Functions by change of instructions", &by_ops);
    let mut by_calls = table("calls of");
    let mut called: Vec<&FunctionChange> = functions.iter().filter(|f| f.calls.delta() != 0).collect();
    called.sort_by_key(|f| std::cmp::Reverse(f.calls.delta().unsigned_abs()));
    let called = called.into_iter().take(top);
    called.for_each(|f| by_calls.row(row(f.calls, function(f, f.calls_may_be_chance))));
    section(page, "Functions by change of calls", &by_calls);
    section(page, "Paths by change of instructions", &paths_by_change(comparison, before, top));
    let mut stacks = table("calls in context");
    let found = comparison.contexts();
    let changed = found.changes.iter().filter(|change| change.calls.delta() != 0);
    changed
        .take(top)
        .for_each(|change| stacks.row(row(change.calls, plain(stack(&found.stack(change.context))))));
    section(page, "Calling contexts by change of calls", &stacks);
}

/// Returns the paths whose instructions changed most.
fn paths_by_change(comparison: &Comparison<'_>, before: &View<'_>, top: usize) -> Table {
    let mut table = table("instructions of path");
    let changed = comparison.paths().into_iter().filter(|path| path.ops.delta() != 0);
    let changed: Vec<PathChange> = changed.take(top).collect();
    let named: Vec<_> = changed.iter().map(|path| (path.index_before, path.id)).collect();
    for (path, name) in changed.iter().zip(paths::names(before, &named)) {
        let name = format!("{}: {}", before.name(path.index_before), name.unwrap_or_default());
        table.row(row(path.ops, plain(marked(name, path.may_be_chance))));
    }
    table
}

/// Writes what is to be known of the profiles before their figures are compared.
fn write_caveats(page: &mut Page, comparison: &Comparison<'_>, (before, after): (&Profile, &Profile)) {
    if !comparison.is_of_one_module() {
        page.line(&[plain("  the modules differ: functions are matched by name and shape")]);
    }
    if !comparison.is_exact() {
        page.line(&[plain(
            "  these are samples: figures are estimates for the whole runs, and marked changes may be chance",
        )]);
    }
    for (name, profile) in [("before", before), ("after", after)] {
        if let Some(advice) = sample::advice(profile) {
            let seen = if profile.bursts == Some(0) { "nothing was seen; " } else { "" };
            page.line(&[plain(format!("  {name}: {seen}{advice}"))]);
        }
    }
    for (name, profile) in [("before", before), ("after", after)] {
        if let Some(unseen) = sample::unseen(profile) {
            page.line(&[plain(format!("  {name}: {unseen}"))]);
        }
    }
    if !comparison.has_code() {
        page.line(&[plain(
            "  the samples saw too little of the code: only time and host calls are compared",
        )]);
    }
}

fn section(page: &mut Page, title: &str, table: &Table) {
    if !table.is_empty() {
        page.heading(title);
        page.table(table);
    }
}

fn table(what: &'static str) -> Table {
    let sides = [("before", Side::Right), ("after", Side::Right), ("change", Side::Right), ("", Side::Right)];
    let titles: Vec<_> = sides.into_iter().chain([(what, Side::Left)]).collect();
    Table::new(&titles)
}

fn row(change: Change, what: Span) -> Vec<Span> {
    row_of(change, what, grouped)
}

/// Returns the row of a change whose figures `shown` formats.
fn row_of(change: Change, what: Span, shown: fn(u64) -> String) -> Vec<Span> {
    let Change { before, after } = change;
    vec![
        plain(shown(before)),
        plain(shown(after)),
        plain(delta(change, shown)),
        span(growth(change), ink(change)),
        what,
    ]
}

/// Returns the colour of a change: growth is worse.
fn ink(change: Change) -> Ink {
    match change.delta() {
        ..=0 => Ink::Faint,
        _ if change.delta() as f64 > 0.01 * change.before as f64 => Ink::Hot,
        _ => Ink::Warm,
    }
}

fn delta(change: Change, shown: fn(u64) -> String) -> String {
    let sign = match change.delta() {
        0 => "",
        1.. => "+",
        _ => "-",
    };
    format!("{sign}{}", shown(change.after.abs_diff(change.before)))
}

/// Returns the change as a share of the earlier figure.
fn growth(change: Change) -> String {
    match change {
        Change { before: 0, after: 0 } => String::new(),
        Change { before: 0, .. } => "new".to_owned(),
        Change { after: 0, .. } => "gone".to_owned(),
        Change { before, after } if before == after => "0%".to_owned(),
        Change { before, .. } => format!("{:+.2}%", 100.0 * change.delta() as f64 / before as f64),
    }
}

fn function(change: &FunctionChange, may_be_chance: bool) -> Span {
    let index = change.index_before.or(change.index_after).unwrap_or(0);
    let mark = if change.was_reshaped { ", changed" } else { "" };
    let name = format!("{}{mark}", names::shown(index, change.name.as_deref()));
    span(marked(name, may_be_chance), Ink::Name)
}

fn marked(name: String, may_be_chance: bool) -> String {
    if may_be_chance { name + ", may be chance" } else { name }
}

/// Formats a stack, innermost frame first; outer frames are cut if there is no room.
fn stack(frames: &[&Callee]) -> String {
    let hidden = frames.len().saturating_sub(FRAMES);
    let names: Vec<String> = frames[hidden..].iter().rev().map(|callee| contexts::shown(callee)).collect();
    let more = if hidden > 0 { " ← …" } else { "" };
    format!("{}{more}", names.join(" ← "))
}

/// Writes the overlap of each kind of figure, and of the hottest items.
pub fn write_overlap(page: &mut Page, comparison: &Comparison<'_>) {
    let mut table = Table::new(&[
        ("overlap", Side::Right),
        ("top 1", Side::Right),
        ("top 10", Side::Right),
        ("top 100", Side::Right),
        ("of", Side::Left),
    ]);
    for (what, items) in kinds(comparison) {
        let Some(found) = overlap(&items) else { continue };
        let tops = TOPS.map(|top| plain(hot_coverage(&items, top).map_or(String::new(), share)));
        let cells = [span(share(found), Ink::Strong)].into_iter().chain(tops);
        table.row(cells.chain([plain(what)]).collect());
    }
    page.table(&table);
}

/// Reports whether both profiles have figures of at least one common kind.
pub fn can_overlap(comparison: &Comparison<'_>) -> bool {
    kinds(comparison).iter().any(|(_, items)| overlap(items).is_some())
}

fn kinds(comparison: &Comparison<'_>) -> [(&'static str, Vec<Change>); 7] {
    let functions = comparison.functions();
    let is_of_code = |callee: &Callee| {
        !matches!(callee, Callee::Root | Callee::Beyond | Callee::Engine | Callee::Collector)
    };
    let targets = comparison.call_targets().into_iter().filter(|target| is_of_code(&target.caller));
    [
        ("functions, by instructions", functions.iter().map(|function| function.ops).collect()),
        ("functions, by calls", functions.iter().map(|function| function.calls).collect()),
        ("edges, by count", comparison.edges()),
        ("paths, by instructions", comparison.paths().iter().map(|path| path.ops).collect()),
        ("paths, by executions", comparison.paths().iter().map(|path| path.count).collect()),
        (
            "calling contexts, by calls",
            comparison.contexts().changes.iter().map(|change| change.calls).collect(),
        ),
        ("call targets, by calls", targets.map(|target| target.calls).collect()),
    ]
}
