//! The distribution of a run's instructions over its paths.

use wprof_profiler::PathDistribution;

use super::numbers::{count_of, grouped, percent};
use super::page::{Ink, Page, plain, span};
use super::table::{Side, Table};

/// The lengths that are shown, in branches.
const LENGTHS: [usize; 8] = [0, 1, 2, 4, 8, 16, 31, PathDistribution::LONGEST];

/// Writes the share of the hottest paths, and of paths up to certain lengths.
pub fn write(page: &mut Page, found: &PathDistribution) {
    let head = format!("{} of {}", count_of(found.ops, "instruction"), count_of(found.paths, "path"));
    page.line(&[span(head, Ink::Strong)]);
    page.heading("By path, those with the most instructions first");
    let mut table =
        Table::new(&[("paths", Side::Right), ("instructions", Side::Right), ("share", Side::Right)]);
    for &(paths, ops) in &found.of_hottest {
        table.row([grouped(paths), grouped(ops), percent(ops, found.ops)].map(plain).to_vec());
    }
    page.table(&table);
    page.heading("By length");
    let mut table =
        Table::new(&[("branches", Side::Right), ("instructions", Side::Right), ("share", Side::Right)]);
    for most in LENGTHS {
        let name = if most == PathDistribution::LONGEST { "any".to_owned() } else { format!("up to {most}") };
        let ops = found.up_to(most);
        table.row([name, grouped(ops), percent(ops, found.ops)].map(plain).to_vec());
    }
    page.table(&table);
}
