//! What was measured along paths besides how often they ran.
//!
//! Input: columns of figures, one for each path. Output: their names; columns that two profiles have both.
//! Invariant: metrics are ascending by name, and every path has one figure for each. What measuring is known to add
//! has been taken off.
//! Source: Ammons, Ball & Larus 1997, section 3.

use serde::{Deserialize, Serialize};

/// What the metric of a calling context tree is called that has the instructions which bursts have counted.
pub const INSTRUCTIONS: &str = "instructions";

/// Something that was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// What it is called.
    pub name: String,
    /// How much of it was taken off in all, since measuring itself had added it.
    pub taken_off: u64,
}

/// The metrics that are in both sorted lists, with the sums of what was taken off, which saturate.
pub(crate) fn merged(a: &[Metric], b: &[Metric]) -> Vec<Metric> {
    let in_both = |ours: &Metric| {
        let theirs = &b[b.binary_search_by(|theirs| theirs.name.cmp(&ours.name)).ok()?];
        let taken_off = ours.taken_off.saturating_add(theirs.taken_off);
        Some(Metric { name: ours.name.clone(), taken_off })
    };
    a.iter().filter_map(in_both).collect()
}

/// The positions in `all` of those that are `kept`; both are sorted.
pub(crate) fn columns(all: &[Metric], kept: &[Metric]) -> Vec<usize> {
    let is_kept = |metric: &Metric| kept.binary_search_by(|other| other.name.cmp(&metric.name)).is_ok();
    (0..all.len()).filter(|&column| is_kept(&all[column])).collect()
}

/// Adds figures column by column; saturates.
pub(crate) fn add(sums: &mut [u64], figures: &[u64]) {
    sums.iter_mut().zip(figures).for_each(|(sum, figure)| *sum = sum.saturating_add(*figure));
}
