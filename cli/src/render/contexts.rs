//! Calling contexts: the tree from the top down, the callers of one function, and the figures of the tree.

use anyhow::Context;
use wprof_profiler::{ALLOCATION_COLUMNS, Callee, ContextStats, ContextTree, INSTRUCTIONS, Profile};

use super::numbers::{average, count_of, duration, grouped, percent};
use super::page::{Ink, Page, Span, plain, span};
use super::sample;
use super::table::{Side, Table};
use super::view::View;
use crate::names;

/// What one level of the tree is indented by.
const INDENT: &str = "  ";

/// Deeper levels are not indented further, or there would be no room for names: they have their number in front.
const DEEPEST: u32 = 12;

/// What contexts are weighed by.
#[derive(Clone, Debug)]
pub struct Weights {
    /// What it is called.
    name: String,
    /// By record.
    of_records: Vec<u64>,
    kind: Kind,
}

/// What kind of weight it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Calls, which the tree shows anyway.
    Calls,
    /// Nanoseconds, of which nobody has counted calls.
    Time,
    /// Something else that is counted.
    Other,
}

impl Weights {
    /// Calls.
    pub fn calls(tree: &ContextTree) -> Self {
        Self { name: "calls".to_owned(), of_records: tree.calls(), kind: Kind::Calls }
    }

    /// Instructions if they are known by context, else calls.
    pub fn usual(profile: &Profile, tree: &ContextTree) -> Self {
        let instructions = profile.instructions_in_contexts();
        instructions.map_or_else(
            || Self::calls(tree),
            |own| Self { name: INSTRUCTIONS.to_owned(), of_records: own, kind: Kind::Other },
        )
    }

    /// Sampled time, of the tree that that makes.
    pub fn time(tree: &ContextTree) -> Self {
        Self { name: "time".to_owned(), of_records: tree.amounts(0), kind: Kind::Time }
    }

    /// A metric of the profile's tree, or calls, or instructions.
    ///
    /// # Errors
    /// If they are not known by context.
    pub fn named(profile: &Profile, tree: &ContextTree, name: &str) -> anyhow::Result<Self> {
        if name == "calls" {
            return Ok(Self::calls(tree));
        }
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

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// By record.
    pub fn of_records(&self) -> &[u64] {
        &self.of_records
    }

    /// Of all records together; saturates.
    pub fn total(&self) -> u64 {
        self.of_records.iter().copied().fold(0, u64::saturating_add)
    }

    /// Whether it is neither calls nor time.
    pub fn are_counted(&self) -> bool {
        self.kind == Kind::Other
    }

    /// The title of a column of it.
    fn title(&self) -> &'static str {
        match self.kind {
            Kind::Calls => "calls",
            Kind::Time => "time",
            Kind::Other => "amount",
        }
    }

    /// Whether it is sampled time.
    pub fn are_time(&self) -> bool {
        self.kind == Kind::Time
    }

    /// So much of it, as text.
    pub fn amount(&self, amount: u64) -> String {
        if self.are_time() { duration(amount) } else { grouped(amount) }
    }
}

/// The tree from the root down: what accounts, with all that it calls, for at least this share of the whole.
pub fn tree(view: &View<'_>, tree: &ContextTree, weights: &Weights, share: f64) -> Table {
    let own = &weights.of_records;
    let all = tree.inclusive(own)[ContextTree::ROOT as usize];
    let mut table = Table::new(&[
        ("with callees", Side::Right),
        ("share", Side::Right),
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
            plain(itself),
            plain(if weights.are_time() || is_inlined { String::new() } else { grouped(record.calls) }),
            plain(if is_inlined {
                "inlined".to_owned()
            } else {
                place(view, tree.callee(record.parent), record.site)
            }),
            name(tree.callee(row.record), row.depth, mark),
        ]);
    }
    table
}

/// The callers of some routines, taken for one, each below the one that it calls: those that account for at least this share of its
/// weight.
pub fn callers(
    view: &View<'_>,
    tree: &ContextTree,
    weights: &Weights,
    routines: &[u32],
    share: f64,
) -> Table {
    let own = &weights.of_records;
    let of_routine = tree.records.iter().zip(own).filter(|(record, _)| routines.contains(&record.routine));
    let all = of_routine.map(|(_, weight)| *weight).fold(0, u64::saturating_add);
    let mut table = Table::new(&[
        (weights.title(), Side::Right),
        ("share", Side::Right),
        ("calls at", Side::Place),
        ("called by", Side::Left),
    ]);
    for row in tree.callers(routines, own, least(all, share)) {
        let callee = &tree.routines[row.routine as usize].callee;
        let at = match row.depth {
            0 => String::new(),
            // A call has a site; what has none is a part of the code.
            _ if row.site == 0 && matches!(callee, Callee::Function { .. } | Callee::Inlined { .. }) => {
                "inlined".to_owned()
            }
            _ => place(view, callee, row.site),
        };
        let share = span(percent(row.weight, all), Ink::of_share(row.weight, all));
        table.row(vec![plain(weights.amount(row.weight)), share, plain(at), name(callee, row.depth, "")]);
    }
    table
}

/// How large the tree is, and of what shape.
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
    row(
        grouped(found.sites),
        format!("call sites in all records, {} of them used", grouped(found.used_sites)),
    );
    row(grouped(found.back_edges), "recursive calls, by record and call site".to_owned());
    table
}

/// One line for those who only want to know how much there is.
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
    // What was allocated is told apart.
    let is_told = |name: &str| !ALLOCATION_COLUMNS.contains(&name);
    let metrics = tree.metrics.iter().enumerate().filter(|(_, metric)| is_told(&metric.name));
    for (column, metric) in metrics {
        let amount = tree.amounts(column).into_iter().fold(0, u64::saturating_add);
        let name = names::harmless(&metric.name);
        page.line(&[
            span(format!("  {}", grouped(amount)), Ink::Strong),
            plain(format!(" {name} in them{}", from_measuring(amount, metric.taken_off))),
        ]);
    }
}

/// How much of what was measured was the measuring.
pub fn from_measuring(amount: u64, taken_off: u64) -> String {
    match taken_off {
        0 => String::new(),
        _ => {
            let share = percent(taken_off, amount.saturating_add(taken_off));
            format!("; {} more ({share} of what was measured) came from measuring", grouped(taken_off))
        }
    }
}

/// The routines that `asked` means: a host function by its whole name, or a function as elsewhere. A function of the
/// source is all that its name is of, inlined or not.
///
/// # Errors
/// If none or several names fit.
pub fn find(tree: &ContextTree, asked: &str) -> anyhow::Result<Vec<u32>> {
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
    // Its last part is what a function is called: that is closer than some part of another name.
    let is_called = |name: &str| name == asked || name.ends_with(&format!("::{asked}"));
    let is_only_inlined = !functions.iter().any(|function| is_called(&function.shown()));
    if is_only_inlined && inlined.iter().any(|(_, name)| is_called(name)) {
        let called: Vec<(u32, String)> = inlined.into_iter().filter(|(_, name)| is_called(name)).collect();
        return names::find_inlined(&called, asked).with_context(|| {
            format!("`{asked}` matches several inlined functions: give the whole name of one")
        });
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

/// The least weight that is a share of the whole.
fn least(all: u64, share: f64) -> u64 {
    (all as f64 * share).ceil() as u64
}

/// By record: whether a recursive call leads to it.
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

/// What is called, as it is shown.
pub fn shown(callee: &Callee) -> String {
    with_names(callee, names::of_symbol)
}

/// What is called, with its name in full.
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

/// Where a caller makes a call; nothing if the caller is not of the module.
pub fn place(view: &View<'_>, caller: &Callee, site: u32) -> String {
    match caller {
        Callee::Function { .. } | Callee::Inlined { .. } => view.place(site),
        _ => String::new(),
    }
}
