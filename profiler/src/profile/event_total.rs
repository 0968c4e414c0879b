//! How many events of a kind happened.
//!
//! Input: the totals that the runtime's event counters give (Ball 1994, section 3). Output: themselves, summed.
//! Invariant: a total is of all runs of its profile, so a kind that one of the runs did not count has none in
//! the sum; that keeps merging commutative and associative. Kinds are told apart by name alone: who changes
//! a cost model gives it another name.
//! Oracle: `tests/it/merge.rs`.

use serde::{Deserialize, Serialize};

use crate::FigureKind;

/// The events of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventTotal {
    /// What the kind is called.
    pub name: String,
    /// Number of events.
    pub count: u64,
    /// How the number was come by.
    pub kind: FigureKind,
}

/// The sums of the kinds that are in both sorted lists; saturates.
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
