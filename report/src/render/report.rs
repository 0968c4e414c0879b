//! The whole profile on one page.

use wprof_profiler::{ContextTree, Profile};

use super::contexts::{Limits, Weights};
use super::functions::{self, Order};
use super::metrics::Metered;
use super::page::Page;
use super::paths::Paths;
use super::table::Table;
use super::view::View;
use super::{
    allocations, blocks, branches, call_targets, contexts, counters, events, extended_paths, flow,
    host_calls, interesting, lines, loops, predicted, runs, sample, summary, threads, time, time_loops,
    totals, tries,
};

/// Writes the report, `top` rows in each table; functions in the given order, or in both orders. A path is hot if it
/// has at least `share` of a metric.
pub fn write(page: &mut Page, view: &View<'_>, top: usize, order: Option<Order>, share: f64) {
    let style = page.style();
    runs::write(page, view);
    if let Some(time) = &view.profile.time {
        time::write_brief(page, time);
    }
    summary::write_totals(page, view);
    threads::write_collector(page, view.profile);
    section(page, "Threads", &threads::table(view.profile));
    for shown in [Order::Time, Order::Instructions, Order::Calls]
        .into_iter()
        .filter(|&o| order.is_none_or(|only| only == o))
    {
        let table = functions::table(view, shown, top, style);
        match shown {
            Order::Time => section(page, title(shown), &table),
            Order::Instructions => {
                sampled_section(page, view, title(shown), &table);
                functions::write_unseen(page, view);
            }
            Order::Calls => sampled_section(page, view, title(shown), &table),
        }
    }
    section(page, "Lines by time", &time::lines(view, top));
    section(page, "Loops by time", &time_loops::table(view, top, style));
    write_allocations(page, view, top);
    section(page, "Mispredicted branches", &predicted::branches(view, top));
    section(page, "Lines by instructions", &lines::table(view, top));
    section(page, "Lines by mispredictions", &predicted::lines(view, top));
    sampled_section(page, view, "Hottest loops", &loops::table(view, top, style));
    write_paths(page, view, top);
    section(page, "Hottest paths in calling contexts", &flow::table(view, top));
    sampled_section(page, view, "Hottest extended paths", &extended_paths::table(view, top));
    write_metrics(page, view, top, share);
    sampled_section(page, view, "Hottest blocks", &blocks::table(view, top));
    sampled_section(page, view, "Most frequent branches", &branches::table(view, top));
    sampled_section(page, view, "Most frequent targets of indirect calls", &call_targets::table(view, top));
    sampled_section(page, view, "Where exceptions are caught", &tries::table(view, top));
    section(page, "Calls to the host", &host_calls::table(&view.profile.host_calls, top));
    if let Some(tree) = &view.profile.contexts {
        let title = format!("Calling contexts{}", sample::mark(tree.kind.rate()));
        section(page, &title, &contexts::stats(tree));
    }
    section(page, "Events", &events::table(&view.profile.events));
    section(page, "What counting cost", &counters::table(view.profile));
}

/// Writes the calling contexts within limits: top-down, with `top` functions and call sites by inclusive weight; or bottom-up
/// from `callees`. Statistics are those of the `counted` tree,
/// since inlined functions have no call records.
pub fn write_contexts(
    page: &mut Page,
    view: &View<'_>,
    (tree, counted): (&ContextTree, Option<&ContextTree>),
    weights: &Weights,
    (callees, limits, top): (Option<&[u32]>, Limits, usize),
) {
    match weights.are_time() {
        true => view.profile.time.iter().for_each(|time| time::write_brief(page, time)),
        false => contexts::write_brief(page, counted.unwrap_or(tree)),
    }
    match callees {
        Some(routines) => {
            section(
                page,
                &format!("Callers by {}", weights.name()),
                &contexts::callers(view, tree, weights, routines, limits),
            );
        }
        None => {
            let title = format!("Calling contexts by {}", weights.name());
            section(page, &title, &contexts::tree(view, tree, weights, limits));
            // Bursts see the callees of calls that began before, so the weight below a record is not a total.
            if weights.are_counted() && tree.kind.rate().is_none() {
                let of = weights.name();
                section(page, &format!("Functions by {of}"), &totals::functions(tree, weights, top));
                section(page, &format!("Call sites by {of}"), &totals::call_sites(view, tree, weights, top));
            }
        }
    }
    if !weights.are_time() {
        section(page, "The tree", &contexts::stats(counted.unwrap_or(tree)));
    }
}

fn write_allocations(page: &mut Page, view: &View<'_>, top: usize) {
    let Some(all) = &view.profile.allocations else { return };
    allocations::write_brief(page, all);
    section(page, "Places that allocate", &allocations::places(view, top));
    section(page, "Objects of garbage collection", &allocations::objects(view, all, top));
    section(page, "How long blocks lived", &allocations::lives(all));
    section(page, "Memories", &allocations::memories(all));
}

/// Writes which paths are interesting.
pub fn write_interesting(page: &mut Page, view: &View<'_>, interesting: &Profile, top: usize) {
    section(page, "Interesting paths", &interesting::functions(view, interesting, top));
    section(page, "Hottest paths, interesting or not", &interesting::paths(view, interesting, top));
}

fn title(order: Order) -> &'static str {
    match order {
        Order::Time => "Functions by time",
        Order::Instructions => "Functions by instructions executed",
        Order::Calls => "Functions by calls",
    }
}

fn section(page: &mut Page, title: &str, table: &Table) {
    if !table.is_empty() {
        page.heading(title);
        page.table(table);
    }
}

/// Writes a section whose title says whether its figures are sampled.
fn sampled_section(page: &mut Page, view: &View<'_>, title: &str, table: &Table) {
    section(page, &format!("{title}{}", sample::mark(view.sampled())), table);
}

fn write_paths(page: &mut Page, view: &View<'_>, top: usize) {
    let across = view.profile.across_calls();
    if let Some(across) = &across {
        let paths = Paths::new(&View { profile: across, ..*view });
        section(page, "Hottest paths across calls", &paths.table(top));
        paths.write_coverage(page);
    }
    let paths = Paths::new(view);
    let table = paths.table(top);
    if !table.is_empty() {
        sampled_section(page, view, "Hottest paths", &table);
        paths.write_coverage(page);
    }
}

fn write_metrics(page: &mut Page, view: &View<'_>, top: usize, share: f64) {
    for metered in Metered::all(view, share) {
        let name = metered.name();
        let title = format!("Hot paths by {name}, per 1000 instructions");
        sampled_section(page, view, &title, &metered.hot_paths(top));
        metered.write_total(page);
        sampled_section(page, view, &format!("Who has the {name}"), &metered.spread());
    }
}
