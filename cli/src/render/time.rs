//! Sampled time: who has most of it, and on which lines.

use std::collections::HashMap;

use wprof_profiler::{Callee, Interval, PlaceTime, TimeProfile, Timed};

use super::contexts::shown;
use super::numbers::{count_of, duration, grouped, percent};
use super::page::{Ink, Page, Span, plain, span};
use super::screen::Screen;
use super::table::{Side, Table};
use super::view::View;
use crate::names;

/// What the standard libraries' files have in their paths.
const LIBRARIES: [&str; 12] = [
    "/rustc/",
    "/library/core/",
    "/library/alloc/",
    "/library/std/",
    "/.cargo/registry/",
    "/include/c++/",
    "/usr/include/",
    "/wasi-sysroot/",
    "/wasi-libc/",
    "libc-top-half/",
    "/libcxx",
    "/emscripten/",
];

/// The samples of a profile, if there are any.
pub fn of<'a>(view: &View<'a>) -> Option<&'a TimeProfile> {
    view.profile.time.as_ref().filter(|time| time.total().samples > 0)
}

/// One line: how much there is, and of how many samples; or why there is none.
pub fn write_brief(page: &mut Page, time: &TimeProfile) {
    let total = time.total();
    page.gap();
    if total.samples == 0 {
        page.line(&[plain("  no sample of time: the program took less than one stands for")]);
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

/// The functions that take most time, of the program and of the host, and the engine.
pub fn functions(view: &View<'_>, limit: usize, screen: Screen) -> Table {
    let mut table = Table::new(&[
        ("time", Side::Right),
        ("share", Side::Right),
        ("±", Side::Right),
        ("with callees", Side::Right),
        ("instructions", Side::Right),
        ("calls", Side::Right),
        ("index", Side::Right),
        ("place", Side::Left),
        ("function", Side::Left),
    ]);
    let Some(time) = of(view) else { return table };
    let all = time.total();
    for routine in time.routines().into_iter().take(limit) {
        let mut row = figures(routine.own, routine.total, all);
        row.extend(details(view, routine.callee, screen).map(|text| span(text, Ink::Faint)));
        row.push(span(shown(routine.callee), ink(routine.callee)));
        table.row(row);
    }
    table
}

/// What the program itself has is told from what others have.
fn ink(callee: &Callee) -> Ink {
    if matches!(callee, Callee::Function { .. }) { Ink::Name } else { Ink::Faint }
}

/// Time, share, how far that may be wrong, and the share with callees.
fn figures(own: Timed, total: Timed, all: Timed) -> Vec<Span> {
    let interval = Interval::of(own, all);
    vec![
        plain(duration(own.time_ns)),
        span(percent(own.time_ns, all.time_ns), Ink::of_share(own.time_ns, all.time_ns)),
        span(format!("{:.1}", interval.points()), Ink::Faint),
        plain(percent(total.time_ns, all.time_ns)),
    ]
}

/// Instructions, calls, index and place of a function of the module, where there is room.
fn details(view: &View<'_>, callee: &Callee, screen: Screen) -> [String; 4] {
    let &Callee::Function { index, .. } = callee else { return Default::default() };
    if !screen.is_wide() {
        return Default::default();
    }
    let function = view.profile.function(index);
    let counted = function.map(|function| [grouped(function.ops()), grouped(function.calls())]);
    let [ops, calls] = counted.unwrap_or_default();
    let place = function.map(|function| view.place_of(&function.blocks)).unwrap_or_default();
    [ops, calls, index.to_string(), place]
}

/// The source lines that take most time; none if there are none.
pub fn lines(view: &View<'_>, limit: usize) -> Table {
    let mut table = Table::new(&[
        ("time", Side::Right),
        ("share", Side::Right),
        ("±", Side::Right),
        ("with callees", Side::Right),
        ("line", Side::Left),
    ]);
    for LineTime { line, own, total, .. } in hottest_lines(view, limit) {
        let all = of(view).map(TimeProfile::total).unwrap_or_default();
        let mut row = figures(own, total, all);
        row.push(span(line, Ink::Name));
        table.row(row);
    }
    table
}

/// A source line and its time.
pub struct LineTime {
    /// The line, as it is shown.
    pub line: String,
    /// The time in itself.
    pub own: Timed,
    /// With all that it calls.
    pub total: Timed,
    /// Its share of all time.
    pub interval: Interval,
}

/// The source lines that take most time, the first first; none if there are none.
pub fn hottest_lines(view: &View<'_>, limit: usize) -> Vec<LineTime> {
    let Some(time) = of(view) else { return Vec::new() };
    let all = time.total();
    let mut known: HashMap<u32, Vec<Line>> = HashMap::new();
    let mut of_node = |node: usize| match time.callee(node) {
        Callee::Function { .. } => {
            let offset = time.nodes[node].offset;
            known.entry(offset).or_insert_with(|| lines_at(view, offset)).clone()
        }
        _ => Vec::new(),
    };
    let line = |found: PlaceTime<Line>| LineTime {
        line: found.place.to_string(),
        own: found.own,
        total: found.total,
        interval: Interval::of(found.own, all),
    };
    time.places(&mut of_node).into_iter().take(limit).map(line).collect()
}

/// A line of the program's own source, and what of a library is inlined there and executes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Line {
    file: String,
    line: u32,
    library: Option<String>,
}

/// `scan.cpp:47 (std::vector::operator[])`.
impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = std::path::Path::new(&self.file).file_name().map(|name| name.to_string_lossy());
        write!(f, "{}:{}", names::harmless(&name.unwrap_or_default()), self.line)?;
        self.library.as_ref().map_or(Ok(()), |library| write!(f, " ({library})"))
    }
}

/// The lines that the code at an offset comes from, the innermost of the program's own first, then those of the functions
/// that it is inlined into.
fn lines_at(view: &View<'_>, offset: u32) -> Vec<Line> {
    let Some(module) = view.module else { return Vec::new() };
    let symbols = module.symbols_at(offset);
    let place = |symbol: &wprof::FrameSymbol| {
        let line = symbol.line().filter(|&line| line > 0)?;
        Some((symbol.file()?.to_owned(), line))
    };
    let is_own = |symbol: &wprof::FrameSymbol| symbol.file().is_some_and(|file| !is_library(file));
    let first = symbols.iter().position(is_own).unwrap_or(0);
    let library = (first > 0).then(|| symbols[0].name()).flatten();
    let library = library.map(|name| names::harmless(&wprof::demangle(name)));
    let found = symbols.iter().skip(first).filter_map(place);
    found
        .enumerate()
        .map(|(at, (file, line))| Line { file, line, library: library.clone().filter(|_| at == 0) })
        .collect()
}

fn is_library(file: &str) -> bool {
    LIBRARIES.iter().any(|part| file.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_told_by_their_paths() {
        let own = ["src/main.rs", "/home/me/scan.cpp", "/home/me/library/book.c"];
        let others = [
            "/rustc/17067e9/library/core/src/num/mod.rs",
            "/home/me/.cargo/registry/src/a/b.rs",
            "/opt/wasi-sdk/share/wasi-sysroot/include/wasm32-wasi/c++/v1/vector",
        ];
        assert_eq!(own.map(is_library), [false; 3]);
        assert_eq!(others.map(is_library), [true; 3]);
    }
}
