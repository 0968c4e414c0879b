//! The calling context tree: Ammons, Ball & Larus 1997, table 3.

use anyhow::{Context, Result};

use super::runs::Runs;

/// The columns.
pub const HEAD: &[&str] = &[
    "records",
    "KiB",
    "bytes a record",
    "out-degree",
    "height, average",
    "height, most",
    "most replicated",
    "call sites",
    "used",
    "recursive calls",
];

/// Returns a program's row.
pub fn row(runs: &Runs<'_>) -> Result<Vec<String>> {
    let stats = runs.counted()?.contexts.as_ref().context("no contexts")?.stats();
    Ok(vec![
        stats.records.to_string(),
        format!("{:.1}", stats.bytes as f64 / 1024.0),
        format!("{:.1}", stats.record_bytes()),
        format!("{:.2}", stats.out_degree),
        format!("{:.1}", stats.average_height),
        stats.height.to_string(),
        stats.most_replicated.to_string(),
        stats.sites.to_string(),
        stats.used_sites.to_string(),
        stats.back_edges.to_string(),
    ])
}
