//! Mispredictions of a simulated branch predictor, by branch and by line.

use std::collections::HashMap;

use wprof_profiler::BranchOutcome;

use super::numbers::{count_of, grouped, percent};
use super::page::{Ink, Page, plain, span};
use super::place::{Line, place_at};
use super::table::{Side, Table};
use super::view::View;
use crate::names;

/// Writes one summary line.
pub fn write_brief(page: &mut Page, branches: &[BranchOutcome]) {
    let all = sum(branches);
    page.gap();
    page.line(&[
        span(format!("  {}", count_of(all.mispredicted, "misprediction")), Ink::Strong),
        plain(format!(
            " of {}, {}, by a simulated predictor",
            count_of(all.executed, "conditional branch"),
            percent(all.mispredicted, all.executed)
        )),
    ]);
}

/// Returns the branches that are mispredicted most often.
pub fn branches(view: &View<'_>, limit: usize) -> Table {
    let mut table = Table::new(&[
        ("mispredicted", Side::Right),
        ("share", Side::Right),
        ("of its own", Side::Right),
        ("executed", Side::Right),
        ("taken", Side::Right),
        ("place", Side::Place),
        ("function", Side::Left),
    ]);
    let all = sum(&view.profile.branches);
    let mut rows: Vec<&BranchOutcome> = view.profile.branches.iter().collect();
    rows.sort_by_key(|branch| (std::cmp::Reverse(branch.mispredicted), branch.offset));
    for branch in rows.into_iter().filter(|branch| branch.mispredicted > 0).take(limit) {
        table.row(vec![
            plain(grouped(branch.mispredicted)),
            span(
                percent(branch.mispredicted, all.mispredicted),
                Ink::of_share(branch.mispredicted, all.mispredicted),
            ),
            plain(percent(branch.mispredicted, branch.executed)),
            plain(grouped(branch.executed)),
            plain(percent(branch.taken, branch.executed)),
            plain(view.place(branch.offset)),
            span(function(view, branch), Ink::Name),
        ]);
    }
    table
}

/// Returns the program's lines whose branches are mispredicted most often; empty if no lines are known.
pub fn lines(view: &View<'_>, limit: usize) -> Table {
    let mut table = Table::new(&[
        ("mispredicted", Side::Right),
        ("share", Side::Right),
        ("of its own", Side::Right),
        ("line", Side::Place),
    ]);
    let all = sum(&view.profile.branches);
    let mut by_line: HashMap<Line, BranchOutcome> = HashMap::new();
    for branch in &view.profile.branches {
        if let Some(line) = place_at(view, branch.offset).lines.into_iter().next() {
            let found = by_line.entry(line).or_default();
            *found = sum(&[*found, *branch]);
        }
    }
    let mut rows: Vec<(Line, BranchOutcome)> = by_line.into_iter().collect();
    rows.sort_by(|(a, ours), (b, theirs)| (theirs.mispredicted, a).cmp(&(ours.mispredicted, b)));
    for (line, found) in rows.into_iter().filter(|(_, found)| found.mispredicted > 0).take(limit) {
        table.row(vec![
            plain(grouped(found.mispredicted)),
            span(
                percent(found.mispredicted, all.mispredicted),
                Ink::of_share(found.mispredicted, all.mispredicted),
            ),
            plain(percent(found.mispredicted, found.executed)),
            span(line.to_string(), Ink::Name),
        ]);
    }
    table
}

/// Returns the sum of all branches, without a place; saturates.
fn sum(branches: &[BranchOutcome]) -> BranchOutcome {
    branches.iter().fold(BranchOutcome::default(), |sum, branch| BranchOutcome {
        executed: sum.executed.saturating_add(branch.executed),
        taken: sum.taken.saturating_add(branch.taken),
        mispredicted: sum.mispredicted.saturating_add(branch.mispredicted),
        ..sum
    })
}

fn function(view: &View<'_>, branch: &BranchOutcome) -> String {
    let index = branch.function;
    let of_module = view.program.and_then(|program| program.func_name(index));
    let of_profile = view.profile.function(index).and_then(|function| function.name.as_deref());
    names::shown(index, of_profile.or(of_module.as_deref()))
}
