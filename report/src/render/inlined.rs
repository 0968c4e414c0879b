//! A source function that is inlined, at all its places.

use std::collections::{BTreeMap, HashMap};

use wprof_profiler::export::{CodeMap, executions};
use wprof_profiler::{Callee, FunctionProfile, Interval, Profile, TimeProfile, Timed};

use super::annotation::{self, Annotated};
use super::contexts::Limits;
use super::numbers::{count_of, duration, grouped, percent};
use super::page::{Ink, Page, plain, span};
use super::table::{Side, Table};
use super::view::View;
use crate::disassembly::Line;
use crate::inlined::{Inlined, Place};
use crate::sources::Sources;

/// Returns the executed instructions of each place; `code` has the instructions of the functions that contain them.
pub fn ops(profile: &Profile, code: &CodeMap, places: &[Place]) -> Vec<u64> {
    let mut executed: HashMap<u32, HashMap<u32, u64>> = HashMap::new();
    let by_offset = |index: u32| -> HashMap<u32, u64> {
        let rows = profile.function(index).map(|function| executions(function, code));
        rows.into_iter().flatten().map(|row| (row.offset, row.ops)).collect()
    };
    let mut ops = |place: &Place| {
        let executed = executed.entry(place.function).or_insert_with(|| by_offset(place.function));
        let found = place.offsets.iter().filter_map(|offset| executed.get(offset));
        found.copied().fold(0, u64::saturating_add)
    };
    places.iter().map(&mut ops).collect()
}

/// Returns the sampled time of each place itself; `None` if no time was sampled.
pub fn times(profile: &Profile, places: &[Place]) -> Option<Vec<Timed>> {
    let time = profile.time.as_ref().filter(|time| time.total().samples > 0)?;
    let at = |node: usize| match time.callee(node) {
        &Callee::Function { index, .. } => vec![(index, time.nodes[node].offset)],
        _ => Vec::new(),
    };
    let known: HashMap<(u32, u32), Timed> =
        time.places(at).into_iter().map(|found| (found.place, found.own)).collect();
    let sum = |place: &Place| {
        let found = place.offsets.iter().filter_map(|&offset| known.get(&(place.function, offset)));
        found.copied().fold(Timed::default(), Timed::plus)
    };
    Some(places.iter().map(sum).collect())
}

/// Returns the places within limits, those with most instructions first.
pub fn callers(view: &View<'_>, inlined: &Inlined, ops: &[u64], limits: Limits) -> Table {
    let mut table = Table::new(&[
        ("instructions", Side::Right),
        ("share", Side::Right),
        ("called at", Side::Place),
        ("called by", Side::Left),
        ("in the code of", Side::Left),
    ]);
    let mut order: Vec<usize> = (0..inlined.places.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(ops[at]));
    let all = ops.iter().copied().fold(0, u64::saturating_add);
    order.retain(|&at| ops[at] as f64 >= limits.share * all as f64);
    order.truncate(limits.rows.unwrap_or(usize::MAX));
    for (place, ops) in order.into_iter().map(|at| (&inlined.places[at], ops[at])) {
        table.row(vec![
            plain(grouped(ops)),
            span(percent(ops, view.ops), Ink::of_share(ops, view.ops)),
            plain(site(place)),
            span(place.caller.clone(), Ink::Name),
            plain(view.name(place.function)),
        ]);
    }
    table
}

/// Writes how often the function is inlined, and its time and instructions.
pub fn write_head(page: &mut Page, view: &View<'_>, inlined: &Inlined, ops: &[u64]) {
    let places = count_of(inlined.places.len() as u64, "place");
    page.line(&[span(inlined.name.clone(), Ink::Name), plain(format!("  inlined at {places}"))]);
    if let Some(times) = times(view.profile, &inlined.places) {
        let all = times.into_iter().fold(Timed::default(), Timed::plus);
        write_time(page, view.profile, all, " there");
    }
    let is_counted = inlined.places.iter().any(|place| view.profile.function(place.function).is_some());
    if !is_counted {
        return write_uncounted(page);
    }
    let all = ops.iter().copied().fold(0, u64::saturating_add);
    let instructions = count_of(all, "instruction");
    page.line(&[plain(format!("  {instructions} there, {} of all", percent(all, view.ops)))]);
}

/// Writes a part of the sampled time, with its interval.
fn write_time(page: &mut Page, profile: &Profile, part: Timed, what: &str) {
    let all = profile.time.as_ref().map(TimeProfile::basis).unwrap_or_default();
    page.line(&[plain(format!(
        "  {}{what}, {} ± {:.1} of all, in {}",
        duration(part.time_ns),
        percent(part.time_ns, all.time_ns),
        Interval::of_share(part, all).points(),
        count_of(part.samples, "sample"),
    ))]);
}

/// Says that nothing is known of how often code ran.
fn write_uncounted(page: &mut Page) {
    let text = "  not counted: no burst saw it; `wprof run --exact` counts everything";
    page.line(&[span(text, Ink::Faint)]);
}

/// Writes the code of all places, by function. Of functions without counts `idle` has the code.
pub fn write(
    page: &mut Page,
    view: View<'_>,
    inlined: &Inlined,
    (ops, idle): (&[u64], &BTreeMap<u32, FunctionProfile>),
    (code, mut sources): (HashMap<u32, Vec<Line>>, Sources),
) {
    write_head(page, &view, inlined, ops);
    let times = times(view.profile, &inlined.places);
    for (at, (place, ops)) in inlined.places.iter().zip(ops).enumerate() {
        let counted = view.profile.function(place.function);
        let Some(function) = counted.or_else(|| idle.get(&place.function)) else { continue };
        page.gap();
        let name = view.name(place.function);
        let through = if name == place.caller { String::new() } else { format!(", by {}", place.caller) };
        page.line(&[
            plain("in "),
            span(name, Ink::Name),
            plain(format!("  (function {}), called at {}{through}", place.function, site(place))),
        ]);
        if let Some(times) = &times {
            write_time(page, view.profile, times[at], "");
        }
        match counted {
            Some(_) => page.line(&[plain(format!(
                "  {}, {} of all",
                count_of(*ops, "instruction"),
                percent(*ops, view.ops)
            ))]),
            None => write_uncounted(page),
        }
        let code = code.get(&place.function).cloned().unwrap_or_default();
        let all = Annotated { view, function, is_counted: counted.is_some(), code, sources };
        sources = annotation::write_part(page, all, (&inlined.name, &place.offsets));
    }
}

/// Formats the place of the call.
fn site(place: &Place) -> String {
    let known = place.site.as_ref().map(ToString::to_string);
    known.unwrap_or_else(|| format!("{:#x}", place.offsets.first().copied().unwrap_or(0)))
}
