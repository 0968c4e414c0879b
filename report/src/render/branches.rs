//! The most frequently executed branches, and their outcomes.

use std::cmp::Reverse;

use wprof_profiler::{BlockId, EdgeKind, EdgeProfile, FunctionProfile};

use super::numbers::{grouped, percent};
use super::page::{Ink, plain, span};
use super::table::{Side, Table};
use super::view::View;

/// A block that ends in a branch.
struct Branch<'a> {
    function: &'a FunctionProfile,
    block: BlockId,
    /// The number of executions of the branch.
    times: u64,
    /// The edge that was taken most often, and how often.
    favourite: (&'a EdgeProfile, u64),
}

/// Returns the `limit` branches that were executed most often.
pub fn table(view: &View<'_>, limit: usize) -> Table {
    let mut branches: Vec<Branch<'_>> = view.profile.functions.iter().flat_map(of_function).collect();
    branches.sort_by_key(|branch| Reverse(branch.times));
    let mut table = Table::new(&[
        ("decided", Side::Right),
        ("mostly", Side::Right),
        ("", Side::Left),
        ("block", Side::Left),
        ("place", Side::Place),
        ("function", Side::Left),
    ]);
    for branch in branches.iter().take(limit) {
        let code = branch.function.blocks[branch.block.index()].code;
        table.row(vec![
            plain(grouped(branch.times)),
            plain(percent(branch.favourite.1, branch.times)),
            plain(way(branch.favourite.0.kind)),
            plain(branch.block.to_string()),
            // The branch is the last instruction of the block.
            plain(view.place(code.end.saturating_sub(1).max(code.start))),
            span(view.name(branch.function.index), Ink::Name),
        ]);
    }
    table
}

fn of_function(function: &FunctionProfile) -> impl Iterator<Item = Branch<'_>> {
    ways_out(function).into_iter().enumerate().filter_map(move |(block, ways)| {
        let times = ways.iter().map(|(_, count)| *count).fold(0, u64::saturating_add);
        // `max_by_key` returns the last maximum, so this yields the first edge of maximum count.
        let favourite = *ways.iter().rev().max_by_key(|(_, count)| *count)?;
        let is_choice = ways.len() > 1 && times > 0;
        is_choice.then(|| Branch { function, block: BlockId::new(block), times, favourite })
    })
}

/// Returns the edges out of each block with their counts; none if edges were not counted.
pub fn ways_out(function: &FunctionProfile) -> Vec<Vec<(&EdgeProfile, u64)>> {
    let mut ways: Vec<Vec<(&EdgeProfile, u64)>> = vec![Vec::new(); function.blocks.len()];
    for (edge, count) in function.counted_edges() {
        ways[edge.from.index()].push((edge, count));
    }
    ways
}

/// Describes the kind of an edge.
pub fn way(kind: EdgeKind) -> String {
    match kind {
        EdgeKind::Jump => "jump".to_owned(),
        EdgeKind::Taken => "taken".to_owned(),
        EdgeKind::NotTaken => "not taken".to_owned(),
        EdgeKind::Case(case) => format!("case {case}"),
        EdgeKind::Default => "default".to_owned(),
        EdgeKind::Return => "return".to_owned(),
        EdgeKind::TailCall => "tail call".to_owned(),
        EdgeKind::Catch(tag) => format!("catch {tag}"),
        EdgeKind::CatchAll => "catch all".to_owned(),
    }
}
