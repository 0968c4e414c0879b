//! Path segments across calls that tests did not cover, by whole program paths: Vaswani 2007, section 3.5.2.

use anyhow::{Context, Result};
use wprof::Tracing;
use wprof::profiler::WholePath;

use super::hot_paths::ITEMS;
use super::traces::recorded;
use super::{Runs, untested::percent};
use crate::programs::Program;
use crate::table::Table;

/// The number of calls that a segment spans at most.
const DEPTH: usize = 1;

/// Makes the table: the tests' run uses the arguments for tests, the field's run longer ones.
pub fn untested(runs: &Runs<'_>) -> Result<Table> {
    let head = [
        "untested segments",
        "of all segments",
        "of all executions",
        "untested segments of tested paths",
        "of untested segments",
    ];
    runs.each(&head, |program| {
        let [tests, field] = [&program.quick_args, &runs.args_of(program)].map(|args| whole(program, args));
        let residual = field?.untested_segments(&[tests?], DEPTH, |_, _| 0)?;
        let (untested, combined) = (residual.untested.len() as u64, residual.beyond_paths());
        Ok(vec![
            untested.to_string(),
            percent(untested, residual.ran),
            percent(residual.untested_executions(), residual.executions),
            combined.to_string(),
            percent(combined, untested),
        ])
    })
}

fn whole(program: &Program, args: &[String]) -> Result<WholePath> {
    let mut reader = recorded(program, args, Tracing::Best, false)?;
    WholePath::of_trace(&mut reader, ITEMS).context("the trace is damaged")
}
