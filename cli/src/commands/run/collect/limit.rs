//! What `--budget` limits: the events of a kind, or what bursts cost.

use anyhow::{Result, bail};
use wprof::EventModel;
use wprof_profiler::Overhead;

use crate::cost_model;

/// How many events of a kind may happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// A kind that is counted, or what `events=` would take.
    pub kind: String,
    /// Number of events.
    pub limit: u64,
}

impl Budget {
    /// `KIND=N`.
    ///
    /// # Errors
    /// If it is no such thing.
    pub fn parse(text: &str) -> Result<Budget, String> {
        let example = || "give KIND=N such as instructions=1000000".to_owned();
        let (kind, limit) = text.rsplit_once('=').ok_or_else(example)?;
        let limit: u64 = limit.replace('_', "").parse().map_err(|_| example())?;
        // The engine's counters are signed.
        if kind.is_empty() || limit > i64::MAX as u64 {
            return Err(example());
        }
        Ok(Budget { kind: kind.to_owned(), limit })
    }
}

/// What `--budget` limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The events that may happen.
    Events(Budget),
    /// What bursts may cost.
    Bursts(Overhead),
}

impl Limit {
    /// `KIND=N`, or a share of the time such as `2%`.
    ///
    /// # Errors
    /// If it is no such thing.
    pub fn parse(text: &str) -> Result<Limit, String> {
        match text.ends_with('%') {
            true => text.parse().map(Limit::Bursts),
            false => Budget::parse(text).map(Limit::Events),
        }
    }

    /// The budget of events, if it is one.
    pub fn events(&self) -> Option<&Budget> {
        match self {
            Limit::Events(budget) => Some(budget),
            Limit::Bursts(_) => None,
        }
    }
}

/// The budget, of a kind that is among `events` now.
///
/// # Errors
/// If it is of no one kind.
pub fn resolve(budget: &Budget, events: &mut Vec<EventModel>) -> Result<Budget> {
    if events.iter().any(|known| known.name == budget.kind) {
        return Ok(budget.clone());
    }
    let [kind] = &cost_model::parse_kinds(&budget.kind)?[..] else {
        bail!("a budget takes one event kind, not `{}`: give one such as instructions", budget.kind);
    };
    if events.iter().all(|known| known.name != kind.name) {
        events.push(kind.clone());
    }
    Ok(Budget { kind: kind.name.clone(), limit: budget.limit })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_a_kind_and_a_number() {
        let found = Budget::parse("fuel=1_000");
        assert_eq!(found, Ok(Budget { kind: "fuel".to_owned(), limit: 1000 }));
        for text in ["fuel", "fuel=", "fuel=-1", "=5", "fuel=1e9", "fuel=9223372036854775808"] {
            assert!(Budget::parse(text).is_err(), "{text}");
        }
    }
}
