//! Interesting paths of a profile, which ran in another profile, and how compactly they are numbered.

use std::cmp::Reverse;

use wprof_profiler::{FunctionProfile, PathNumbering, PreferentialNumbering, Profile};

use super::numbers::{average, grouped, percent};
use super::page::{Ink, plain, span};
use super::table::{Side, Table};
use super::view::View;

/// A function with interesting paths.
struct Row<'a> {
    function: &'a FunctionProfile,
    numbering: PreferentialNumbering,
    /// The executions of interesting paths that ran to their end, and of all paths.
    times: (u64, u64),
}

impl<'a> Row<'a> {
    /// Returns the row of a function; `None` if none of its paths is interesting.
    fn new(function: &'a FunctionProfile, interesting: &Profile) -> Option<Self> {
        let others = interesting.function(function.index)?;
        let numbering = PathNumbering::new(&others.cfg().ok()?);
        let numbering = PreferentialNumbering::new(&numbering, &others.paths_by_count())?;
        let finished = &function.paths()?.finished;
        let sum = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0, u64::saturating_add);
        let is_interesting = |id: u64| others.path_count(id) > 0;
        let ours = sum(&mut finished.iter().filter(|path| is_interesting(path.id)).map(|path| path.count));
        let all = sum(&mut finished.iter().map(|path| path.count));
        Some(Self { function, numbering, times: (ours, all) })
    }
}

/// Returns the `limit` functions with the most interesting paths; delta is the number of path numbers per interesting
/// path.
pub fn functions(view: &View<'_>, interesting: &Profile, limit: usize) -> Table {
    let rows = view.profile.functions.iter().filter_map(|function| Row::new(function, interesting));
    let mut rows: Vec<Row<'_>> = rows.collect();
    rows.sort_by_key(|row| Reverse(row.numbering.paths().len()));
    let mut table = Table::new(&[
        ("interesting", Side::Right),
        ("of paths", Side::Right),
        ("of times", Side::Right),
        ("delta", Side::Right),
        ("Ball-Larus", Side::Right),
        ("function", Side::Left),
    ]);
    for Row { function, numbering, times } in rows.into_iter().take(limit) {
        let possible = function.paths().map_or(0, |paths| paths.possible);
        table.row(vec![
            plain(grouped(numbering.paths().len() as u64)),
            plain(grouped(possible)),
            plain(percent(times.0, times.1)),
            plain(format!("{:.2}", numbering.delta())),
            plain(average(numbering.ball_larus_delta())),
            span(view.name(function.index), Ink::Name),
        ]);
    }
    table
}

/// Returns the `limit` hottest paths, and whether they are interesting.
pub fn paths(view: &View<'_>, interesting: &Profile, limit: usize) -> Table {
    let mut table = Table::new(&[
        ("instructions", Side::Right),
        ("times", Side::Right),
        ("path", Side::Right),
        ("", Side::Left),
        ("function", Side::Left),
    ]);
    for hot in view.profile.hottest_paths().into_iter().take(limit) {
        let times = interesting.function(hot.function).map_or(0, |function| function.path_count(hot.id));
        let what = if times > 0 { "interesting" } else { "" };
        table.row(vec![
            plain(grouped(hot.ops)),
            plain(grouped(hot.count)),
            plain(hot.id.to_string()),
            plain(what),
            span(view.name(hot.function), Ink::Name),
        ]);
    }
    table
}
