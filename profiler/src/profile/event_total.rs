//! Totals of counted events.
//!
//! Input: the totals of the runtime's event counters (Ball 1994, section 3). Output: their sums.
//! Invariant: a total covers all runs of its profile, so a kind that one of the runs did not count is absent from the
//! sum; this keeps merging commutative and associative. Kinds are identified by name alone: a changed cost model
//! needs a new name.
//! Oracle: `tests/it/merge.rs`.

use serde::{Deserialize, Serialize};

use crate::FigureKind;

/// The total of one kind of event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventTotal {
    /// Name of the kind.
    pub name: String,
    /// Number of events.
    pub count: u64,
    /// The kind of the count: exact, sampled, or other.
    pub kind: FigureKind,
}

/// Sums the kinds that are in both sorted lists; saturates.
pub(super) fn merged(a: &[EventTotal], b: &[EventTotal]) -> Vec<EventTotal> {
    let in_both = a.iter().filter_map(|left| {
        let right = b.binary_search_by(|right| right.name.cmp(&left.name)).ok()?;
        Some((left, &b[right]))
    });
    let sum = |(left, right): (&EventTotal, &EventTotal)| EventTotal {
        name: left.name.clone(),
        count: left.count.saturating_add(right.count),
        kind: left.kind.merged(right.kind),
    };
    in_both.map(sum).collect()
}
