//! The distribution of instructions over paths: Vaswani 2007, figures 5.2 (a) and 5.3.

use anyhow::{Context, Result};

use super::percent;
use super::runs::Runs;

/// The number of paths that ran; the shares of the hottest paths, and of those with few branches.
pub const HEAD: &[&str] = &[
    "paths",
    "hottest",
    "10 hottest",
    "100 hottest",
    "1000 hottest",
    "up to 4 branches",
    "up to 16",
    "up to 31",
];

/// Returns a program's row.
pub fn row(runs: &Runs<'_>) -> Result<Vec<String>> {
    let found = runs.counted()?.path_distribution().context("no paths")?;
    let hottest = |most: u64| {
        // If a program has fewer paths, they contain all of its instructions.
        found.of_hottest.iter().find(|&&(paths, _)| paths == most).map_or(found.ops, |&(_, ops)| ops)
    };
    let shares = [1, 10, 100, 1000].map(hottest).into_iter().chain([4, 16, 31].map(|most| found.up_to(most)));
    Ok([found.paths.to_string()].into_iter().chain(shares.map(|ops| percent(ops, found.ops))).collect())
}
