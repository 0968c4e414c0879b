//! The cost of each kind of profile as instructions of machine code relative to plain code, from the committed
//! baseline of `instructions`, which was counted under valgrind.

use anyhow::{Context, Result};

use super::Runs;
use crate::baseline::Baseline;
use crate::instructions::FILE;
use crate::table::Table;

/// Returns the ratios of instructions of each of `kinds` to plain code, for the programs in the baseline.
pub fn over_plain(runs: &Runs<'_>, kinds: &[&str]) -> Result<Table> {
    let baseline = Baseline::committed(FILE)?;
    let count = |program: &str, kind: &str| baseline.counts.get(&(program.to_owned(), kind.to_owned()));
    let mut table = Table::new(kinds.iter().copied());
    for program in runs.names().filter(|program| count(program, "off").is_some()) {
        let off = *count(program, "off").context("it was there")? as f64;
        let cell = |kind: &&str| count(program, kind).map(|&count| format!("{:.3}", count as f64 / off));
        table.row(program, kinds.iter().map(|kind| cell(kind).unwrap_or_else(|| "-".to_owned())));
    }
    Ok(table)
}
