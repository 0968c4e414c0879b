//! Paths in calling contexts: hot paths through several functions.

use wprof_profiler::ContextTree;

use super::contexts;
use super::page::{Ink, span};
use super::paths::Paths;
use super::table::{Side, Table};
use super::view::View;

/// The maximum number of callers that are shown, the nearest first.
const CALLERS: usize = 4;

/// Returns the hottest `limit` paths; empty if paths were not counted in contexts.
pub fn table(view: &View<'_>, limit: usize) -> Table {
    let mut table = Table::new(&[
        ("instructions", Side::Right),
        ("share", Side::Right),
        ("times", Side::Right),
        ("path in", Side::Left),
        ("path", Side::Left),
        ("called by", Side::Left),
    ]);
    let Some(tree) = &view.profile.contexts else { return table };
    let paths = Paths::new(view);
    for (record, hot) in view.profile.hottest_paths_in_contexts().into_iter().take(limit) {
        let Some([name, path, _]) = paths.description(hot.function, hot.id) else { continue };
        let way = [name, path, span(callers(tree, record), Ink::Faint)];
        table.row(paths.figures(&hot).into_iter().chain(way).collect());
    }
    table
}

/// Formats the chain of a record's callers.
fn callers(tree: &ContextTree, record: u32) -> String {
    let parent = |&record: &u32| Some(tree.records[record as usize].parent);
    let above = std::iter::successors(Some(record), parent).skip(1);
    let above = above.take_while(|&record| record != ContextTree::ROOT);
    let mut names: Vec<String> = above.map(|record| contexts::shown(tree.callee(record))).collect();
    let more = names.len().saturating_sub(CALLERS);
    names.truncate(CALLERS);
    if more > 0 {
        names.push(format!("…{more} more"));
    }
    names.join(" < ")
}
