//! Quantities measured along paths besides their counts.
//!
//! Input: columns of figures, one figure per path. Output: the columns' names, and the columns that two profiles
//! share.
//! Invariant: metrics are ascending by name, and every path has one figure per metric. The known overhead of the
//! measurement is already subtracted.
//! Source: Ammons, Ball & Larus 1997, section 3.

use serde::{Deserialize, Serialize};

/// Name of the metric of a calling context tree that holds the instructions counted in bursts.
pub const INSTRUCTIONS: &str = "instructions";

/// A measured quantity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// Name of the metric.
    pub name: String,
    /// Total overhead of the measurement that was subtracted.
    pub taken_off: u64,
}

/// Returns the metrics that are in both sorted lists, and sums what was subtracted, saturating.
pub(crate) fn merged(a: &[Metric], b: &[Metric]) -> Vec<Metric> {
    let in_both = |ours: &Metric| {
        let theirs = &b[b.binary_search_by(|theirs| theirs.name.cmp(&ours.name)).ok()?];
        let taken_off = ours.taken_off.saturating_add(theirs.taken_off);
        Some(Metric { name: ours.name.clone(), taken_off })
    };
    a.iter().filter_map(in_both).collect()
}

/// Returns the positions in `all` of the `kept` metrics; both lists are sorted.
pub(crate) fn columns(all: &[Metric], kept: &[Metric]) -> Vec<usize> {
    let is_kept = |metric: &Metric| kept.binary_search_by(|other| other.name.cmp(&metric.name)).is_ok();
    (0..all.len()).filter(|&column| is_kept(&all[column])).collect()
}

/// Adds figures column by column; saturates.
pub(crate) fn add(sums: &mut [u64], figures: &[u64]) {
    sums.iter_mut().zip(figures).for_each(|(sum, figure)| *sum = sum.saturating_add(*figure));
}
