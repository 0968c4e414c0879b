//! The paths of a longer run that tests did not cover: Vaswani 2007, tables 3.1 and 3.3.

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

/// The sizes of further tests, in parts of that of the first one.
const SIZES: [(u64, u64); 4] = [(1, 1), (2, 3), (3, 4), (3, 2)];
/// The numbers of tests that are compared.
const TESTS: [usize; 3] = [1, 2, 4];

/// Makes the table of what is untested as there are more tests: the first one has the arguments for tests, the others those
/// with another first number.
pub fn with_more_tests(runs: &Runs<'_>) -> Result<Table> {
    let names = TESTS.iter().flat_map(|tests| {
        let test = if *tests == 1 { "test" } else { "tests" };
        ["untested paths", "of all executions", "untested edges"]
            .map(|what| format!("{what}, {tests} {test}"))
    });
    let names: Vec<String> = names.collect();
    let head: Vec<&str> = names.iter().map(String::as_str).collect();
    runs.each(&head, |program| {
        let field = exact_paths(program, &runs.args_of(program))?;
        let executions = executions_of(&field);
        let (mut tests, mut cells): (Option<Profile>, _) = (None, Vec::new());
        for (size, number) in SIZES.into_iter().zip(1..) {
            let test = exact_paths(program, &sized(&program.quick_args, size))?;
            match &mut tests {
                Some(tests) => tests.merge(&test)?,
                none => *none = Some(test),
            }
            if let Some(tests) = tests.as_ref().filter(|_| TESTS.contains(&number)) {
                let residual = field.residual(tests)?;
                let untested = residual.paths.iter().map(|path| path.count).sum();
                let figures = [residual.paths.len().to_string(), percent(untested, executions)];
                cells.extend(figures.into_iter().chain([edges(&residual.paths).0.to_string()]));
            }
        }
        Ok(cells)
    })
}

/// Returns these arguments with another first number.
fn sized(args: &[String], (times, over): (u64, u64)) -> Vec<String> {
    let mut args = args.to_vec();
    let number = args.iter_mut().find_map(|arg| Some((arg.parse::<u64>().ok()?, arg)));
    if let Some((number, arg)) = number {
        *arg = (number * times / over).max(1).to_string();
    }
    args
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
    let paths = profile.functions.iter().filter_map(|function| function.paths());
    paths.flat_map(|paths| &paths.finished).map(|path| path.count).sum()
}

pub(super) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "-".into() } else { format!("{:.1}%", 100.0 * part as f64 / whole as f64) }
}
