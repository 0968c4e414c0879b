//! Allocations: their totals, and the lines of the program that made them.

use std::collections::HashMap;

use wprof_profiler::{
    ALLOCATION_COLUMNS, AllocationProfile, Blocks, Callee, ContextTree, MemorySize, ObjectCount,
};

use super::contexts::shown;
use super::numbers::{average, count_of, duration, grouped, percent};
use super::page::{Ink, Page, plain, span};
use super::place::{Line, place_at};
use super::table::{Side, Table};
use super::view::View;
use crate::names;

/// The number of steps of memory growth that are listed.
const STEPS: usize = 8;

/// Writes a few summary lines.
pub fn write_brief(page: &mut Page, all: &AllocationProfile) {
    page.gap();
    let of =
        |Blocks { blocks, bytes }| format!("{} in {}", count_of(bytes, "byte"), count_of(blocks, "block"));
    line(page, of(all.allocated), " allocated");
    line(page, of(all.peak), " live at the peak");
    line(page, of(all.live), " never freed");
    let objects = all.objects();
    if objects.blocks > 0 {
        line(page, count_of(objects.bytes, "byte"), &format!(" in {}", count_of(objects.blocks, "object")));
    }
    if all.unknown_frees > 0 {
        let calls = count_of(all.unknown_frees, "call");
        line(
            page,
            calls,
            " freed blocks of an unknown allocator: name it, as in `wprof run --collect allocations --allocator NAME`",
        );
    }
    if all.untracked > 0 {
        line(
            page,
            count_of(all.untracked, "block"),
            " not tracked, as too many were live: counted as allocated only",
        );
    }
}

fn line(page: &mut Page, figure: String, what: &str) {
    page.line(&[span(format!("  {figure}"), Ink::Strong), plain(what.to_owned())]);
}

/// The allocations of one line of the program.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    allocated: Blocks,
    freed: u64,
    lifetime: u64,
    live: u64,
    peak: u64,
}

/// The site of an allocation: the line if known, its function, and the allocator.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Site {
    line: Option<Line>,
    function: String,
    allocator: String,
}

/// Returns the places that allocate the most bytes; empty if allocations were not counted.
pub fn places(view: &View<'_>, limit: usize) -> Table {
    let mut table = Table::new(&[
        ("bytes", Side::Right),
        ("share", Side::Right),
        ("blocks", Side::Right),
        ("peak", Side::Right),
        ("kept", Side::Right),
        ("life", Side::Right),
        ("place", Side::Place),
        ("function, allocator", Side::Left),
    ]);
    let (Some(all), Some(tree)) = (&view.profile.allocations, &view.profile.contexts) else { return table };
    let bytes = all.allocated.bytes.saturating_add(all.objects().bytes);
    let mut rows: Vec<(Site, Figures)> = by_site(view, all, tree).into_iter().collect();
    rows.sort_by(|(a, ours), (b, theirs)| (theirs.allocated.bytes, a).cmp(&(ours.allocated.bytes, b)));
    for (site, found) in rows.into_iter().take(limit) {
        let life = match found.freed {
            0 => String::new(),
            freed => average(found.lifetime as f64 / freed as f64),
        };
        table.row(vec![
            plain(grouped(found.allocated.bytes)),
            span(percent(found.allocated.bytes, bytes), Ink::of_share(found.allocated.bytes, bytes)),
            plain(grouped(found.allocated.blocks)),
            plain(grouped(found.peak)),
            plain(grouped(found.live)),
            plain(life),
            plain(site.line.map(|line| line.to_string()).unwrap_or_default()),
            span(format!("{}, {}", site.function, site.allocator), Ink::Name),
        ]);
    }
    table
}

fn by_site(view: &View<'_>, all: &AllocationProfile, tree: &ContextTree) -> HashMap<Site, Figures> {
    let column = |name: &str| tree.metrics.iter().position(|metric| metric.name == name);
    let columns: Vec<usize> = ALLOCATION_COLUMNS.iter().filter_map(|name| column(name)).collect();
    let mut found: HashMap<Site, Figures> = HashMap::new();
    let &[bytes, blocks, freed, lifetime, _, live, _, peak] = columns.as_slice() else { return found };
    for (record, number) in tree.records.iter().zip(0..) {
        let figure = |column: usize| record.metrics[column];
        if figure(blocks) == 0 {
            continue;
        }
        let sum = found.entry(site(view, all, tree, number)).or_default();
        sum.allocated = sum.allocated.plus(Blocks { blocks: figure(blocks), bytes: figure(bytes) });
        sum.freed = sum.freed.saturating_add(figure(freed));
        sum.lifetime = sum.lifetime.saturating_add(figure(lifetime));
        sum.live = sum.live.saturating_add(figure(live));
        sum.peak = sum.peak.saturating_add(figure(peak));
    }
    found
}

/// Finds the innermost call in the program's own source that leads to an allocator; otherwise the innermost call.
fn site(view: &View<'_>, all: &AllocationProfile, tree: &ContextTree, record: u32) -> Site {
    let callee = tree.callee(record);
    if let Callee::Function { index, .. } = callee
        && all.objects.iter().any(|object| object.function == *index)
    {
        return Site { line: None, function: shown(callee), allocator: "objects".to_owned() };
    }
    let allocator = shown(callee);
    let (mut at, mut first) = (record, None);
    while at != ContextTree::ROOT {
        let caller = tree.records[at as usize].parent;
        if matches!(tree.callee(caller), Callee::Function { .. }) {
            let found = place_at(view, tree.records[at as usize].site);
            let site = (found.lines.first().cloned(), shown(tree.callee(caller)));
            if found.is_own {
                return Site { line: site.0, function: site.1, allocator };
            }
            first.get_or_insert(site);
        }
        at = caller;
    }
    let (line, function) =
        first.unwrap_or_else(|| (None, shown(tree.callee(tree.records[record as usize].parent))));
    Site { line, function, allocator }
}

/// Returns the lifetimes of freed blocks; empty if none was freed.
pub fn lives(all: &AllocationProfile) -> Table {
    let mut table = Table::new(&[
        ("freed blocks", Side::Right),
        ("share", Side::Right),
        ("bytes allocated while they lived", Side::Left),
    ]);
    for (kind, &blocks) in all.lives.iter().enumerate().filter(|(_, blocks)| **blocks > 0) {
        let what = match kind {
            0 => "none".to_owned(),
            _ => format!("{} to {}", grouped(1 << (kind - 1)), grouped((1 << kind) - 1)),
        };
        let share = percent(blocks, all.freed.blocks);
        table.row(vec![plain(grouped(blocks)), plain(share), plain(what)]);
    }
    table
}

/// Returns the sizes of memories over time: a selection of the steps, always including the last one.
pub fn memories(all: &AllocationProfile) -> Table {
    let mut table = Table::new(&[
        ("pages", Side::Right),
        ("memory", Side::Right),
        ("after", Side::Right),
        ("bytes allocated before", Side::Right),
    ]);
    let steps = &all.memories;
    let every = steps.len().div_ceil(STEPS).max(1);
    let shown = steps.iter().enumerate().filter(|(at, _)| (steps.len() - 1 - at).is_multiple_of(every));
    for (_, MemorySize { at_ns, allocated, memory, pages }) in shown {
        let after = if *at_ns > 0 { duration(*at_ns) } else { String::new() };
        table.row(vec![
            plain(grouped(*pages)),
            plain(memory.to_string()),
            plain(after),
            plain(grouped(*allocated)),
        ]);
    }
    table
}

/// Returns the objects of the garbage collector by type and function, ordered by bytes.
pub fn objects(view: &View<'_>, all: &AllocationProfile, limit: usize) -> Table {
    let mut table = Table::new(&[
        ("bytes", Side::Right),
        ("share", Side::Right),
        ("objects", Side::Right),
        ("type", Side::Right),
        ("function", Side::Left),
    ]);
    let whole = all.objects().bytes;
    let mut rows: Vec<&ObjectCount> = all.objects.iter().collect();
    rows.sort_by_key(|object| std::cmp::Reverse(object.bytes));
    for object in rows.into_iter().take(limit) {
        table.row(vec![
            plain(grouped(object.bytes)),
            span(percent(object.bytes, whole), Ink::of_share(object.bytes, whole)),
            plain(grouped(object.count)),
            plain(type_name(view, (object.function, object.ty))),
            span(name(view, object.function), Ink::Name),
        ]);
    }
    table
}

/// Returns the name of a type of a function's module, or its index.
fn type_name(view: &View<'_>, (function, index): (u32, u32)) -> String {
    let named = view.program.and_then(|program| program.type_name(function, index));
    named.map_or_else(|| index.to_string(), names::harmless)
}

/// Returns the name of a function, which need not have counts.
fn name(view: &View<'_>, index: u32) -> String {
    let routines = view.profile.contexts.iter().flat_map(|tree| &tree.routines);
    let is_it = |callee: &&Callee| matches!(callee, Callee::Function { index: found, .. } if *found == index);
    let found = routines.map(|routine| &routine.callee).find(is_it);
    found.map_or_else(|| view.name(index), shown)
}
