//! Calling contexts: the calling context tree top-down, the callers of one function, and statistics of the tree.

use std::cmp::Reverse;

use wprof_profiler::{
    ALLOCATION_COLUMNS, BYTES_OF, Callee, ContextStats, ContextTree, INSTRUCTIONS, Interval, Metric, Profile,
    Shares, Timed,
};

use super::numbers::{average, count_of, duration, grouped, percent};
use super::page::{Ink, Page, Span, plain, span};
use super::sample;
use super::table::{Side, Table};
use super::view::View;
use crate::error::{Context, Result};
use crate::inlined::check_only;
use crate::names;

/// The indentation of one level of the tree.
const INDENT: &str = "  ";

/// The maximum indentation, so that names have room; deeper levels begin with their number.
const DEEPEST: u32 = 12;

/// The weights of calling contexts.
#[derive(Clone, Debug)]
pub struct Weights {
    /// The name of the weight.
    name: String,
    /// The weights of the call records.
    of_records: Vec<u64>,
    kind: Kind,
}

/// The kind of a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Calls, which the tree always shows.
    Calls,
    /// Nanoseconds, which have no counted calls.
    Time,
    /// Another counted quantity.
    Other,
}

/// Returns the name of the figures that `--collect` with this value gives.
pub fn column_of(collected: &str) -> &str {
    match collected {
        "energy" => "picojoules",
        "cache" => "cache-misses",
        "branches" => "mispredictions",
        "allocations" => "allocated-bytes",
        other => other,
    }
}

impl Weights {
    /// Weighs contexts by calls.
    pub fn calls(tree: &ContextTree) -> Self {
        Self { name: "calls".to_owned(), of_records: tree.calls(), kind: Kind::Calls }
    }

    /// Weighs contexts by instructions if they are known by context, otherwise by calls.
    pub fn usual(profile: &Profile, tree: &ContextTree) -> Self {
        let instructions = profile.instructions_in_contexts();
        instructions.map_or_else(
            || Self::calls(tree),
            |own| Self { name: INSTRUCTIONS.to_owned(), of_records: own, kind: Kind::Other },
        )
    }

    /// Weighs contexts by sampled time, for the tree built from samples.
    pub fn time(tree: &ContextTree) -> Self {
        Self { name: "time".to_owned(), of_records: tree.amounts(0), kind: Kind::Time }
    }

    /// Weighs contexts by a metric of the profile's tree, by calls, or by instructions.
    ///
    /// # Errors
    /// Returns an error if the quantity is not known by context.
    pub fn named(profile: &Profile, tree: &ContextTree, name: &str) -> Result<Self> {
        if name == "calls" {
            return Ok(Self::calls(tree));
        }
        let is_there = tree.metrics.iter().any(|metric| metric.name == name);
        let name = if is_there { name } else { column_of(name) };
        let instructions = profile.instructions_in_contexts();
        let metrics = tree.metrics.iter().enumerate().filter(|(_, metric)| metric.name != INSTRUCTIONS);
        let mut known: Vec<(&str, Vec<u64>)> =
            metrics.map(|(column, metric)| (metric.name.as_str(), tree.amounts(column))).collect();
        known.extend(instructions.map(|own| (INSTRUCTIONS, own)));
        let all = ["calls"].into_iter().chain(known.iter().map(|(name, _)| *name));
        let all = all.collect::<Vec<_>>().join(", ");
        let found = known.into_iter().find(|(metric, _)| *metric == name);
        let (_, of_records) =
            found.with_context(|| format!("calling contexts have no `{name}`, only {all}"))?;
        Ok(Self { name: names::harmless(name), of_records, kind: Kind::Other })
    }

    /// Returns the name of the weight.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the weights of the call records.
    pub fn of_records(&self) -> &[u64] {
        &self.of_records
    }

    /// Returns the sum over all records; saturates.
    pub fn total(&self) -> u64 {
        self.of_records.iter().copied().fold(0, u64::saturating_add)
    }

    /// Reports whether the weight is neither calls nor time.
    pub fn are_counted(&self) -> bool {
        self.kind == Kind::Other
    }

    /// Returns the title of a column of weights of a function, and these weights by record: its calls, or else what it
    /// weighs with its callees.
    fn of_routines(&self, tree: &ContextTree, routines: &[u32]) -> (&'static str, Vec<u64>) {
        match self.kind {
            Kind::Calls => ("calls", self.of_records.clone()),
            Kind::Time | Kind::Other => ("with callees", tree.outermost(routines, &self.of_records)),
        }
    }

    /// Reports whether the weight is sampled time.
    pub fn are_time(&self) -> bool {
        self.kind == Kind::Time
    }

    /// Returns the errors of shares of the run.
    fn errors(&self, view: &View<'_>, tree: &ContextTree) -> Errors {
        let time = view.profile.time.as_ref().filter(|_| self.are_time());
        let is_sampled = self.name == INSTRUCTIONS && tree.kind.rate().is_some();
        match time {
            Some(time) => Errors::OfTime(time.basis()),
            None if is_sampled => Errors::OfInstructions(Box::new(Shares::new(view.profile))),
            None => Errors::None,
        }
    }

    /// Formats an amount of the weight.
    pub fn amount(&self, amount: u64) -> String {
        if self.are_time() { duration(amount) } else { grouped(amount) }
    }
}

/// How the errors of sampled shares are computed.
enum Errors {
    /// The time of the whole run.
    OfTime(Timed),
    OfInstructions(Box<Shares>),
    /// Weights are counted, or nothing tells how well they are known.
    None,
}

impl Errors {
    /// Formats the error of each record's share with its callees, in percentage points; `inclusive` has their weights.
    fn of_records(&self, tree: &ContextTree, inclusive: &[u64]) -> Vec<String> {
        let shares = match self {
            Self::OfTime(all) => return inclusive.iter().map(|&ns| points_of_time(ns, *all)).collect(),
            Self::OfInstructions(shares) => shares.with_callees(tree),
            Self::None => None,
        };
        let texts = shares.map(|shares| shares.iter().map(|share| points(share.points())).collect());
        texts.unwrap_or_else(|| vec![String::new(); inclusive.len()])
    }

    /// Formats the error of a part of what some routines have with their callees.
    fn of_part(&self, tree: &ContextTree, routines: &[u32], (part, all): (u64, u64)) -> String {
        match self {
            Self::OfTime(total) => points_of_time(part, *total),
            Self::OfInstructions(shares) => {
                let fraction = part as f64 / all.max(1) as f64;
                let share = shares.fraction_of(below(tree, routines), fraction);
                share.map_or_else(String::new, |share| points(share.points()))
            }
            Self::None => String::new(),
        }
    }
}

fn points_of_time(time_ns: u64, all: Timed) -> String {
    points(Interval::of_share(Timed { time_ns, samples: 0 }, all).points())
}

fn points(points: f64) -> String {
    format!("{points:.1}")
}

/// Returns the records of some routines, and all below them.
fn below(tree: &ContextTree, routines: &[u32]) -> Vec<u32> {
    let mut is_below = vec![false; tree.records.len()];
    for (at, record) in tree.records.iter().enumerate().skip(1) {
        is_below[at] = routines.contains(&record.routine) || is_below[record.parent as usize];
    }
    (0..).zip(is_below).filter_map(|(record, is_below)| is_below.then_some(record)).collect()
}

/// The contexts that are shown.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The share of the weight, from 0 to 1, that a context has at least.
    pub share: f64,
    /// The most contexts, the heaviest; without it all that have the share.
    pub rows: Option<usize>,
}

impl Limits {
    /// Keeps the heaviest rows, in their order. A row follows the one that it belongs to, which weighs at least as much and so
    /// is kept too.
    fn keep<R>(self, rows: Vec<R>, weight: impl Fn(&R) -> u64) -> Vec<R> {
        let Some(most) = self.rows.filter(|&most| most < rows.len()) else { return rows };
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|&at| (Reverse(weight(&rows[at])), at));
        let mut is_kept = vec![false; rows.len()];
        order.into_iter().take(most).for_each(|at| is_kept[at] = true);
        rows.into_iter().zip(is_kept).filter_map(|(row, is_kept)| is_kept.then_some(row)).collect()
    }
}

/// Returns the tree from the root down, within limits; records are weighed with their callees.
pub fn tree(view: &View<'_>, tree: &ContextTree, weights: &Weights, limits: Limits) -> Table {
    let own = &weights.of_records;
    let inclusive = tree.inclusive(own);
    let all = inclusive[ContextTree::ROOT as usize];
    let errors = weights.errors(view, tree).of_records(tree, &inclusive);
    let mut table = Table::new(&[
        ("with callees", Side::Right),
        ("share", Side::Right),
        ("±", Side::Right),
        ("itself", Side::Right),
        ("calls", Side::Right),
        ("called at", Side::Place),
        ("context", Side::Left),
    ]);
    let is_recursive = recursive(tree);
    let rows = tree.heaviest_first(own, least(all, limits.share));
    for row in limits.keep(rows, |row| row.inclusive) {
        let itself = match weights.kind {
            Kind::Calls => String::new(),
            Kind::Time | Kind::Other => weights.amount(own[row.record as usize]),
        };
        let record = &tree.records[row.record as usize];
        let is_inlined = matches!(tree.callee(row.record), Callee::Inlined { .. });
        let mark = if is_recursive[row.record as usize] { ", recursive" } else { "" };
        table.row(vec![
            plain(weights.amount(row.inclusive)),
            span(percent(row.inclusive, all), Ink::of_share(row.inclusive, all)),
            span(errors[row.record as usize].clone(), Ink::Faint),
            plain(itself),
            plain(if weights.are_time() || is_inlined { String::new() } else { grouped(record.calls) }),
            plain(if is_inlined {
                "inlined".to_owned()
            } else if tree.merges_sites {
                String::new()
            } else {
                place(view, tree.callee(record.parent), record.site)
            }),
            name(tree.callee(row.record), row.depth, mark),
        ]);
    }
    table
}

/// Returns the callers of some routines, which are treated as one, each below its callee, within limits; callers are weighed by
/// their part of the routines' calls, or of what the routines weigh with their callees.
pub fn callers(
    view: &View<'_>,
    tree: &ContextTree,
    weights: &Weights,
    routines: &[u32],
    limits: Limits,
) -> Table {
    let (title, of_records) = weights.of_routines(tree, routines);
    let of_routine = tree.records.iter().zip(&of_records);
    let of_routine = of_routine.filter(|(record, _)| routines.contains(&record.routine));
    let all = of_routine.map(|(_, weight)| *weight).fold(0, u64::saturating_add);
    let mut table = Table::new(&[
        (title, Side::Right),
        ("share", Side::Right),
        ("± of all", Side::Right),
        ("calls at", Side::Place),
        ("called by", Side::Left),
    ]);
    let errors = weights.errors(view, tree);
    let rows = tree.callers(routines, &of_records, least(all, limits.share));
    for row in limits.keep(rows, |row| row.weight) {
        let callee = &tree.routines[row.routine as usize].callee;
        let at = match row.depth {
            0 => String::new(),
            // A call has a site; a function without one is inlined code.
            _ if tree.merges_sites => String::new(),
            _ if row.site == 0 && matches!(callee, Callee::Function { .. } | Callee::Inlined { .. }) => {
                "inlined".to_owned()
            }
            _ => place(view, callee, row.site),
        };
        let share = span(percent(row.weight, all), Ink::of_share(row.weight, all));
        let error = span(errors.of_part(tree, routines, (row.weight, all)), Ink::Faint);
        let amount = plain(weights.amount(row.weight));
        table.row(vec![amount, share, error, plain(at), name(callee, row.depth, "")]);
    }
    table
}

/// Returns the size and the shape of the tree.
pub fn stats(tree: &ContextTree) -> Table {
    let found = tree.stats();
    let mut table = Table::new(&[("", Side::Right), ("", Side::Left)]);
    let mut row = |figure: String, what: String| table.row(vec![plain(figure), plain(what)]);
    row(grouped(found.records), "call records".to_owned());
    row(grouped(found.bytes), format!("bytes of memory, {} a record", average(found.record_bytes())));
    row(average(found.out_degree), "callees of a record that has any, on average".to_owned());
    let height = format!("calls down to a leaf on average, {} at most", grouped(found.height));
    row(average(found.average_height), height);
    let most = shown(&tree.routines[found.replicated_routine as usize].callee);
    row(grouped(found.most_replicated), format!("records of one function, {most}"));
    if tree.merges_sites {
        row(grouped(found.sites), "callee slots in all records; call sites are merged".to_owned());
        row(grouped(found.back_edges), "recursive calls, by record and callee".to_owned());
        return table;
    }
    let used = format!("call sites in all records, {} of them used", grouped(found.used_sites));
    row(grouped(found.sites), used);
    row(grouped(found.back_edges), "recursive calls, by record and call site".to_owned());
    table
}

/// Writes one summary line.
pub fn write_brief(page: &mut Page, tree: &ContextTree) {
    let ContextStats { records, height, .. } = tree.stats();
    let calls = tree.calls().into_iter().fold(0, u64::saturating_add);
    let contexts = count_of(records, "calling context");
    let calls = format!("  {}", count_of(calls, "call"));
    let cut = if tree.is_cut() { "; some callers are unknown" } else { "" };
    page.gap();
    page.line(&[
        span(calls, Ink::Strong),
        plain(format!(" in {contexts}, at most {} deep{cut}", grouped(height))),
    ]);
    if let Some(rate) = tree.kind.rate() {
        page.line(&[plain(format!("  seen in bursts: {}", sample::size(rate)))]);
    }
    // Allocations have their own section.
    let is_told = |name: &str| !ALLOCATION_COLUMNS.contains(&name) && !name.starts_with(BYTES_OF);
    let metrics = tree.metrics.iter().enumerate().filter(|(_, metric)| is_told(&metric.name));
    for (column, metric) in metrics {
        let amount = tree.amounts(column).into_iter().fold(0, u64::saturating_add);
        let name = names::harmless(&metric.name);
        page.line(&[
            span(format!("  {}", grouped(amount)), Ink::Strong),
            plain(format!(" {name} in them{}", from_measuring(amount, metric.taken_off))),
        ]);
    }
    if let Some(text) = beside_simulation(&tree.metrics) {
        page.line(&[plain(format!("  {text}"))]);
    }
}

/// Says of cycles that were measured beside a simulation that they are too many.
pub fn beside_simulation(metrics: &[Metric]) -> Option<&'static str> {
    let has = |names: &[&str]| metrics.iter().any(|metric| names.contains(&metric.name.as_str()));
    (has(&["cycles"]) && has(&["cache-misses", "mispredictions"])).then_some(
        "cycles are up to about twice too many: simulations slow the program; collect cycles without them",
    )
}

/// Describes how much of a measured amount was caused by the measurement.
pub fn from_measuring(amount: u64, taken_off: u64) -> String {
    match taken_off {
        0 => String::new(),
        _ => {
            let share = percent(taken_off, amount.saturating_add(taken_off));
            format!("; measuring added {} ({share} of the reading)", grouped(taken_off))
        }
    }
}

/// Finds the routines that `asked` names: a host function by its whole name, or a function by the usual rules. A
/// function of the source matches all routines with its name, inlined or not.
///
/// # Errors
/// Returns an error if no name or several names match.
pub fn find(tree: &ContextTree, asked: &str) -> Result<Vec<u32>> {
    let callees = || (0..).zip(tree.routines.iter().map(|routine| &routine.callee));
    let is_asked = |callee: &Callee| matches!(callee, Callee::Host { .. }) && shown(callee) == asked;
    if let Some((routine, _)) = callees().find(|(_, callee)| is_asked(callee)) {
        return Ok(vec![routine]);
    }
    let function = |callee: &Callee| match callee {
        Callee::Function { index, name } => Some(names::Named { index: *index, raw: name.clone() }),
        _ => None,
    };
    let functions: Vec<names::Named> = callees().filter_map(|(_, callee)| function(callee)).collect();
    let inlined = callees().filter(|(_, callee)| matches!(callee, Callee::Inlined { .. }));
    let inlined: Vec<(u32, String)> = inlined.map(|(routine, callee)| (routine, shown(callee))).collect();
    // A match of the last component is closer than a match of some other part of a name.
    let is_called = |name: &str| name == asked || name.ends_with(&format!("::{asked}"));
    let is_only_inlined = !functions.iter().any(|function| is_called(&function.shown()));
    if is_only_inlined && inlined.iter().any(|(_, name)| is_called(name)) {
        let called: Vec<(u32, String)> = inlined.into_iter().filter(|(_, name)| is_called(name)).collect();
        return names::find_inlined(&called, asked).with_context(|| {
            format!("`{asked}` matches several inlined functions: give the whole name of one")
        });
    }
    let is_whole = |function: &names::Named| function.is_called(asked) || is_called(&function.shown());
    if !functions.iter().any(is_whole) && asked.parse::<u32>().is_err() {
        let own: Vec<String> =
            functions.iter().map(names::Named::shown).filter(|name| name.contains(asked)).collect();
        let parts = inlined.iter().map(|(_, name)| name).filter(|name| name.contains(asked));
        if !own.is_empty() && parts.clone().next().is_some() {
            check_only(own.iter().chain(parts), asked)?;
        }
    }
    let found = match names::find(&functions, asked) {
        Ok(found) => found,
        Err(error) => return names::find_inlined(&inlined, asked).ok_or(error),
    };
    let is_found = |callee: &Callee| function(callee).is_some_and(|function| function == found);
    let name = found.shown();
    let same = callees().filter(|(_, callee)| is_found(callee)).map(|(routine, _)| routine);
    Ok(same.chain(inlined.iter().filter(|(_, shown)| *shown == name).map(|(routine, _)| *routine)).collect())
}

/// Returns the smallest weight that reaches a share of the total.
fn least(all: u64, share: f64) -> u64 {
    (all as f64 * share).ceil() as u64
}

/// For each record, reports whether a recursive call leads to it.
fn recursive(tree: &ContextTree) -> Vec<bool> {
    let mut found = vec![false; tree.records.len()];
    for edge in tree.records.iter().flat_map(|record| &record.back_edges) {
        found[edge.to as usize] = true;
    }
    found
}

fn name(callee: &Callee, depth: u32, mark: &str) -> Span {
    let ink = if matches!(callee, Callee::Function { .. } | Callee::Inlined { .. }) {
        Ink::Name
    } else {
        Ink::Faint
    };
    let indentation = INDENT.repeat(depth.min(DEEPEST) as usize);
    let number = if depth > DEEPEST { format!("{depth}: ") } else { String::new() };
    span(format!("{indentation}{number}{}{mark}", shown(callee)), ink)
}

/// Returns the display name of a callee.
pub fn shown(callee: &Callee) -> String {
    with_names(callee, names::of_symbol)
}

/// Returns the display name of a callee without any arguments, for use in a remark.
pub fn bare(callee: &Callee) -> String {
    with_names(callee, names::bare)
}

/// Returns the full name of a callee.
pub fn full(callee: &Callee) -> String {
    with_names(callee, names::full_of_symbol)
}

fn with_names(callee: &Callee, readable_name: fn(&str) -> String) -> String {
    let readable = |name: &Option<String>| name.as_deref().map(readable_name);
    let named = match callee {
        Callee::Function { index, name } => Callee::Function { index: *index, name: readable(name) },
        Callee::Elsewhere { instance, index, name } => {
            Callee::Elsewhere { instance: *instance, index: *index, name: readable(name) }
        }
        Callee::Inlined { name } => Callee::Inlined { name: readable_name(name) },
        other => other.clone(),
    };
    names::harmless(&named.to_string())
}

/// Returns the place of a call in its caller; empty if the caller is not a function of the module.
pub fn place(view: &View<'_>, caller: &Callee, site: u32) -> String {
    match caller {
        Callee::Function { .. } | Callee::Inlined { .. } => view.place(site),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heaviest_rows_stay_in_their_order() {
        let rows = vec![(9, "main"), (4, "a"), (4, "below a"), (1, "c"), (5, "b")];
        let kept = |rows: Vec<(u64, &'static str)>, most| {
            let limits = Limits { share: 0.0, rows: most };
            limits.keep(rows, |row| row.0).into_iter().map(|(_, name)| name).collect::<Vec<_>>()
        };
        assert_eq!(kept(rows.clone(), Some(3)), ["main", "a", "b"]);
        assert_eq!(kept(rows.clone(), None).len(), 5);
        assert_eq!(kept(rows, Some(9)).len(), 5);
    }
}
