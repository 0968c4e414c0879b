//! Compilation priorities: the order in which functions are compiled, and in which they are optimised.
//!
//! Source: compilation-hints, `compilation_priority`: two numbers at offset 0, the lower the earlier; an optimisation
//! priority of 127 says that the function runs once. Functions that ran have compilation priority 0, and are optimised
//! in the order of the instructions that they executed; the others have no hint.

use super::section::write_u32;
use super::{MetadataSection, Profiled};

/// The optimisation priority of functions that run once.
const RUNS_ONCE: u32 = 127;

pub(super) fn section(functions: &[Profiled<'_>]) -> MetadataSection {
    let mut section = MetadataSection::new("metadata.code.compilation_priority");
    let mut hottest: Vec<&Profiled<'_>> = functions.iter().collect();
    hottest.sort_by_key(|function| std::cmp::Reverse(function.profile.ops()));
    let ranks = (0..).filter(|&rank| rank != RUNS_ONCE);
    for (function, rank) in hottest.into_iter().zip(ranks) {
        let mut payload = Vec::new();
        write_u32(&mut payload, 0);
        write_u32(&mut payload, if runs_once(function) { RUNS_ONCE } else { rank });
        section.add(function.profile.index, 0, payload);
    }
    section
}

/// Reports whether the function was called once and made no loop round.
fn runs_once(function: &Profiled<'_>) -> bool {
    function.profile.calls() == 1 && function.profile.block_counts().into_iter().all(|count| count <= 1)
}
