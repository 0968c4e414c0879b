//! The calling context tree: Ammons, Ball & Larus 1997, table 3.

use anyhow::{Context, Error, Result};
use wprof::profiler::Profile;

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
    "one path",
    "recursive calls",
    "records by callee",
    "KiB by callee",
    "by site over by callee",
];

/// Returns a program's row.
pub fn row(runs: &Runs<'_>) -> Result<Vec<String>> {
    let of_tree =
        |profile: &Profile| Ok::<_, Error>(profile.contexts.as_ref().context("no contexts")?.stats());
    let (stats, by_callee) = (of_tree(runs.counted()?)?, of_tree(&runs.by_callee()?)?);
    let one_path = runs.counted()?.one_path_sites().context("no paths in contexts")?;
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
        one_path.to_string(),
        stats.back_edges.to_string(),
        by_callee.records.to_string(),
        format!("{:.1}", by_callee.bytes as f64 / 1024.0),
        format!("{:.2}", stats.bytes as f64 / by_callee.bytes as f64),
    ])
}
