//! Calling contexts: the calling context tree top-down, the callers of one function, and statistics of the tree.

use wprof_profiler::{
    ALLOCATION_COLUMNS, BYTES_OF, Callee, ContextStats, ContextTree, INSTRUCTIONS, Interval, Metric, Profile,
    TimeProfile, Timed,
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

    /// Formats the error of an amount's share of all sampled time, in percentage points; empty for what is counted.
    fn error(&self, view: &View<'_>, amount: u64) -> String {
        let Some(all) = view.profile.time.as_ref().map(TimeProfile::basis).filter(|_| self.are_time()) else {
            return String::new();
        };
        let part = Timed { time_ns: amount, samples: 0 };
        format!("{:.1}", Interval::of_share(part, all).points())
    }

    /// Formats an amount of the weight.
    pub fn amount(&self, amount: u64) -> String {
        if self.are_time() { duration(amount) } else { grouped(amount) }
    }
}

/// Returns the tree from the root down, limited to records that have at least `share` of the total with their callees.
pub fn tree(view: &View<'_>, tree: &ContextTree, weights: &Weights, share: f64) -> Table {
    let own = &weights.of_records;
    let all = tree.inclusive(own)[ContextTree::ROOT as usize];
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
    for row in tree.heaviest_first(own, least(all, share)) {
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
            span(weights.error(view, row.inclusive), Ink::Faint),
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

/// Returns the callers of some routines, which are treated as one, each below its callee; limited to callers that
/// account for at least `share` of the routines' calls, or of what the routines weigh with their callees.
pub fn callers(
    view: &View<'_>,
    tree: &ContextTree,
    weights: &Weights,
    routines: &[u32],
    share: f64,
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
    for row in tree.callers(routines, &of_records, least(all, share)) {
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
        let error = span(weights.error(view, row.weight), Ink::Faint);
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
