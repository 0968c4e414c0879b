//! Sampled time, by function and by source line.

use std::collections::HashMap;

use wprof_profiler::{Callee, Interval, PlaceTime, TimeProfile, Timed};

use super::contexts::{bare, shown};
use super::numbers::{count_of, duration, grouped, percent};
use super::page::{Ink, Page, Span, plain, span};
use super::place::{Line, Place, of_blocks, place_at};
use super::style::Style;
use super::table::{Side, Table};
use super::view::View;
use crate::names;
use crate::source_line::SourceLine;
use crate::sources::Sources;

/// Returns the samples of a profile, if there are any.
pub fn sampled<'a>(view: &View<'a>) -> Option<&'a TimeProfile> {
    view.profile.time.as_ref().filter(|time| time.total().samples > 0)
}

/// Writes one line: the time and the number of samples, or why there are none.
pub fn write_brief(page: &mut Page, time: &TimeProfile) {
    let total = time.total();
    page.gap();
    if total.samples == 0 {
        page.line(&[plain("  no sample of time: the program used less processor time than one stands for")]);
        return;
    }
    let each = duration(total.time_ns / total.samples);
    let samples = count_of(total.samples, "sample");
    let lost = if time.lost > 0 { format!("; {} more were lost", grouped(time.lost)) } else { String::new() };
    page.line(&[
        span(format!("  {}", duration(total.time_ns)), Ink::Strong),
        plain(format!(" of processor time, {samples} of {each} each{lost}")),
    ]);
}

/// Returns the functions that take the most time, of the program and of the host, and the engine.
pub fn functions(view: &View<'_>, limit: usize, style: Style) -> Table {
    let mut table = Table::new(&[
        ("time", Side::Right),
        ("share", Side::Right),
        ("±", Side::Right),
        ("with callees", Side::Right),
        ("±", Side::Right),
        ("instructions", Side::Right),
        ("calls", Side::Right),
        ("index", Side::Right),
        ("place", Side::Place),
        ("function", Side::Left),
    ]);
    let Some(time) = sampled(view) else { return table };
    let all = time.basis();
    for routine in time.routines().into_iter().filter(|routine| routine.own.samples > 0).take(limit) {
        let mut row = figures(routine.own, routine.total, all);
        row.extend(details(view, routine.callee, style).map(|text| span(text, Ink::Faint)));
        row.push(span(shown(routine.callee), ink(routine.callee)));
        table.row(row);
    }
    table
}

/// Returns the colour of a callee, which distinguishes the program's own code.
fn ink(callee: &Callee) -> Ink {
    if matches!(callee, Callee::Function { .. }) { Ink::Name } else { Ink::Faint }
}

/// Formats the time, its share, the error of the share, and the share with callees and its error.
pub fn figures(own: Timed, total: Timed, all: Timed) -> Vec<Span> {
    let error = |part| span(format!("{:.1}", Interval::of_share(part, all).points()), Ink::Faint);
    vec![
        plain(duration(own.time_ns)),
        span(percent(own.time_ns, all.time_ns), Ink::of_share(own.time_ns, all.time_ns)),
        error(own),
        plain(percent(total.time_ns, all.time_ns)),
        error(total),
    ]
}

/// Returns instructions, calls, index and place of a function of the module, if there is room.
fn details(view: &View<'_>, callee: &Callee, style: Style) -> [String; 4] {
    let &Callee::Function { index, .. } = callee else { return Default::default() };
    if !style.is_wide {
        return Default::default();
    }
    let function = view.profile.function(index);
    let counted = function.map(|function| [grouped(function.ops()), grouped(function.calls())]);
    let [ops, calls] = counted.unwrap_or_default();
    let place = function.map(|function| of_blocks(view, &function.blocks)).unwrap_or_default();
    [ops, calls, index.to_string(), place]
}

/// Returns the source lines that take the most time; empty if none is known.
pub fn lines(view: &View<'_>, limit: usize) -> Table {
    let mut table = Table::new(&[
        ("time", Side::Right),
        ("share", Side::Right),
        ("±", Side::Right),
        ("with callees", Side::Right),
        ("±", Side::Right),
        ("line", Side::Place),
        ("", Side::Left),
    ]);
    let mut sources = view.path.map(Sources::next_to);
    for LineTime { line, source, own, total, .. } in hottest_lines(view, limit) {
        let all = sampled(view).map(TimeProfile::basis).unwrap_or_default();
        let mut row = figures(own, total, all);
        row.push(span(line, Ink::Name));
        let text = sources.as_mut().and_then(|sources| sources.text(&source)).map(str::trim);
        row.push(span(names::harmless(&text.unwrap_or_default().replace('\t', " ")), Ink::Faint));
        table.row(row);
    }
    table
}

/// A source line and its time.
pub struct LineTime {
    /// The display text of the line.
    pub line: String,
    /// The line itself.
    pub source: SourceLine,
    /// The time of the line itself.
    pub own: Timed,
    /// The time with all callees.
    pub total: Timed,
}

/// Returns the source lines that take the most time, in order; none if none is known. Time in a library or in the host
/// counts for the innermost line of the program's own source on the stack.
pub fn hottest_lines(view: &View<'_>, limit: usize) -> Vec<LineTime> {
    let Some(time) = sampled(view) else { return Vec::new() };
    let all = time.basis();
    let nodes = lines_of_nodes(view, time);
    let mut libraries: HashMap<&Line, HashMap<&str, u64>> = HashMap::new();
    for (place, node) in nodes.iter().zip(&time.nodes) {
        if let (Some(line), Some(library)) = (place.lines.first(), &place.library) {
            *libraries.entry(line).or_default().entry(library).or_default() += node.own.time_ns;
        }
    }
    let line = |found: PlaceTime<Line>| {
        let most = libraries
            .get(&found.place)
            .and_then(|all| all.iter().max_by_key(|(name, time)| (**time, **name)));
        // A library is named if it takes more than half of the line's own time.
        let library = most.filter(|(_, time)| 2 * **time > found.own.time_ns);
        let library = library.map(|(name, _)| format!(" ({name})")).unwrap_or_default();
        LineTime {
            line: format!("{}{library}", found.place),
            source: found.place.in_source(),
            own: found.own,
            total: found.total,
        }
    };
    let is_of_library = |found: &PlaceTime<Line>| view.ownership.is_library(found.place.file());
    let mut rows = time.places(|node| nodes[node].lines.clone());
    // A library's line that only calls others says nothing.
    rows.retain(|row| row.own.samples > 0 || !is_of_library(row));
    let known: u64 = rows.iter().map(|row| row.own.time_ns).sum();
    // All time may be the engine's, in a run that is over before its code is compiled; its callers would say nothing. Nor
    // do the lines of a C library say where a program spends its time that is built without lines itself.
    let is_own = rows.iter().any(|row| !is_of_library(row));
    if known == 0 || !is_own && known < all.time_ns / 2 {
        return Vec::new();
    }
    rows.into_iter().take(limit).map(line).collect()
}

/// Returns the place of each node. Callers come first, so a library's function can take its caller's line.
fn lines_of_nodes(view: &View<'_>, time: &TimeProfile) -> Vec<Place> {
    let mut known: HashMap<u32, Place> = HashMap::new();
    let mut places: Vec<Place> = Vec::with_capacity(time.nodes.len());
    for (at, node) in time.nodes.iter().enumerate() {
        let callee = time.callee(at);
        let found = match callee {
            Callee::Function { .. } => {
                known.entry(node.offset).or_insert_with(|| place_at(view, node.offset)).clone()
            }
            _ => Place::default(),
        };
        let caller = node.caller.map(|caller| &places[caller as usize]).filter(|caller| caller.is_own);
        let is_elsewhere = matches!(callee, Callee::Engine | Callee::Collector | Callee::Beyond);
        places.push(match caller {
            Some(caller) if !found.is_own && !is_elsewhere => {
                Place { library: Some(found.library.unwrap_or_else(|| bare(callee))), ..caller.clone() }
            }
            _ => found,
        });
    }
    places
}
