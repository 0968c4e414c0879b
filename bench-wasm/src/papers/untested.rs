//! The paths of a longer run that a test did not cover: Vaswani 2007, table 3.1.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use wprof::profiler::{Profile, Residual, UntestedPath};

use super::Runs;
use super::runs::exact_paths;
use crate::table::Table;

pub(super) const HEAD: [&str; 8] = [
    "untested paths",
    "of all paths",
    "of all executions",
    "functions with them",
    "untested edges",
    "functions with these",
    "untested paths in functions without untested edges",
    "of untested paths",
];

/// Makes the table: the test run uses the arguments for tests, the field run longer ones.
pub fn paths(runs: &Runs<'_>) -> Result<Table> {
    runs.each(&HEAD, |program| {
        let tests = exact_paths(program, &program.quick_args)?;
        let field = exact_paths(program, &runs.args_of(program))?;
        Ok(row(&field, &field.residual(&tests)?))
    })
}

/// Returns the row of a program.
pub(super) fn row(field: &Profile, residual: &Residual) -> Vec<String> {
    let untested = residual.paths.len() as u64;
    let executions = residual.paths.iter().map(|path| path.count).sum();
    let (edges, functions) = edges(&residual.paths);
    vec![
        untested.to_string(),
        percent(untested, residual.ran.unwrap_or(0)),
        percent(executions, executions_of(field)),
        residual.functions.to_string(),
        edges.to_string(),
        functions.to_string(),
        residual.beyond_edges.to_string(),
        percent(residual.beyond_edges, untested),
    ]
}

/// Returns the number of edges that no test crossed, and the number of functions with such edges.
fn edges(paths: &[UntestedPath]) -> (usize, usize) {
    let mut edges: BTreeMap<u32, BTreeSet<_>> = BTreeMap::new();
    for path in paths.iter().filter(|path| !path.new_edges.is_empty()) {
        edges.entry(path.function).or_default().extend(path.new_edges.iter().copied());
    }
    (edges.values().map(BTreeSet::len).sum(), edges.len())
}

/// Returns the number of executions of all paths.
fn executions_of(profile: &Profile) -> u64 {
    let paths = profile.functions.iter().filter_map(|function| function.paths.as_ref());
    paths.flat_map(|paths| &paths.finished).map(|path| path.count).sum()
}

pub(super) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "-".into() } else { format!("{:.1}%", 100.0 * part as f64 / whole as f64) }
}
