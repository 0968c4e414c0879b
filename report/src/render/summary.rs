//! The summary that `wprof run` prints when the program has ended.

use wprof_profiler::{FigureKind, Profile};

use super::functions::{self, Order};
use super::numbers::{count_of, grouped};
use super::page::{Ink, Page, plain, span};
use super::paths::Paths;
use super::table::Table;
use super::view::View;
use super::{
    allocations, blocks, contexts, counters, events, extended_paths, flow, host_calls, lines, loops, metrics,
    predicted, sample, threads, time,
};

/// The number of functions that are listed.
const FUNCTIONS: usize = 8;

/// The number of functions and of lines that are listed by time.
const TIMED: usize = 8;

/// The number of allocating places that are listed.
const ALLOCATED: usize = 8;

/// The number of mispredicted branches that are listed.
const MISPREDICTED: usize = 4;

/// The number of loops that are listed, or of blocks if the trips of loops are unknown.
const LOOPS: usize = 4;

/// The share of a metric from which on a path is hot.
const HOT: f64 = 0.01;

/// The number of paths that are listed.
const PATHS: usize = 4;

/// Writes the summary; `title` says how the run ended.
pub fn write(page: &mut Page, view: &View<'_>, title: &str) {
    write_title(page, title);
    write_time(page, view);
    write_tables(page, &[threads::table(view.profile)]);
    write_totals(page, view);
    threads::write_collector(page, view.profile);
    if let Some(tree) = view.profile.contexts.as_ref().filter(|tree| tree.records.len() > 1) {
        contexts::write_brief(page, tree);
    }
    if let Some(all) = &view.profile.allocations {
        allocations::write_brief(page, all);
        write_tables(
            page,
            &[allocations::places(view, ALLOCATED), allocations::objects(view, all, ALLOCATED)],
        );
    }
    if !view.profile.branches.is_empty() {
        predicted::write_brief(page, &view.profile.branches);
        write_tables(page, &[predicted::branches(view, MISPREDICTED)]);
    }
    metrics::write_brief(page, view, HOT);
    host_calls::write_brief(page, view.profile);
    let functions = functions::table(view, Order::Instructions, FUNCTIONS, page.style());
    write_tables(page, &[functions]);
    functions::write_unseen(page, view);
    write_tables(page, &[lines::table(view, FUNCTIONS)]);
    match sample::why_no_places(view.profile) {
        None => write_places(page, view),
        Some(why) => {
            page.gap();
            write_detail(page, why);
        }
    }
    write_tables(page, &[counters::table(view.profile), events::table(&view.profile.events)]);
}

/// Writes where the time went.
fn write_time(page: &mut Page, view: &View<'_>) {
    let Some(time) = &view.profile.time else { return };
    time::write_brief(page, time);
    write_tables(page, &[time::functions(view, TIMED, page.style()), time::lines(view, TIMED)]);
}

/// Writes where in the functions the program was.
fn write_places(page: &mut Page, view: &View<'_>) {
    let loops = match view.is_of_edges() {
        true => loops::table(view, LOOPS, page.style()),
        false => blocks::table(view, LOOPS),
    };
    let across = view.profile.across_calls();
    let profile = across.as_ref().unwrap_or(view.profile);
    let paths = Paths::new(&View { profile, ..*view }).table(PATHS);
    write_tables(page, &[loops, paths, flow::table(view, PATHS), extended_paths::table(view, PATHS)]);
}

/// Writes the tables that have rows.
fn write_tables(page: &mut Page, tables: &[Table]) {
    for table in tables.iter().filter(|table| !table.is_empty()) {
        page.gap();
        page.table(table);
    }
}

/// Writes how the run ended.
pub fn write_title(page: &mut Page, title: &str) {
    page.gap();
    page.line(&[span("wprof: ", Ink::Faint), span(title, Ink::Strong)]);
}

/// Writes a line of additional detail.
pub fn write_detail(page: &mut Page, text: &str) {
    page.line(&[plain("  "), span(text, Ink::Faint)]);
}

/// Writes one line of figures for the whole run, unless only events were counted.
pub fn write_totals(page: &mut Page, view: &View<'_>) {
    if !view.is_of_code() {
        return;
    }
    page.gap();
    let (number, what) = totals(view);
    page.line(&[span(format!("  {}", grouped(number)), Ink::Strong), plain(what)]);
    if let Some(unseen) = sample::unseen(view.profile) {
        page.line(&[plain("  "), span(unseen, Ink::Name)]);
    }
    if let Some(advice) = sample::advice(view.profile) {
        page.line(&[plain("  "), span(advice, Ink::Name)]);
    }
    if let Some(accuracy) = sample::accuracy(view.profile) {
        write_detail(page, &accuracy);
    }
}

/// Returns the executed instructions, or the number of functions that ran if nothing more is known; and the unit of the number.
fn totals(view: &View<'_>) -> (u64, String) {
    let profile = view.profile;
    // A function is compiled when it is called, and is then counted unless there are only bursts.
    if profile.functions.is_empty() && profile.code.compiled > 0 {
        return sample::without_samples(profile);
    }
    (view.ops, instructions(profile, if view.ops == 1 { "instruction" } else { "instructions" }))
}

/// Says what is known of the instructions of a profile, which are called `noun`.
fn instructions(profile: &Profile, noun: &str) -> String {
    if let Some(rate) = profile.sampled() {
        return format!(" {noun} seen in bursts: {}", sample::size(rate));
    }
    let are_all = |kind| profile.functions.iter().all(|function| function.kind == kind);
    if !profile.functions.is_empty() && are_all(FigureKind::Selected) {
        return format!(" {noun} on paths that no test ran; nothing else is in this profile");
    }
    if !are_all(FigureKind::Exact) {
        return format!(" {noun}, added up from runs that were counted in different ways");
    }
    let ran = profile.functions.iter().filter(|function| function.calls() > 0).count() as u64;
    let calls = count_of(profile.calls(), "call");
    let functions = count_of(profile.code.functions, "function");
    format!(" {noun} in {calls}; {} of {functions} ran", grouped(ran))
}
