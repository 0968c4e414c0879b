//! Limits: `--budget`, for the events of a kind or the cost of bursts, and the instant that `--until` names.

use std::fmt;

use crate::cost_model;
use anyhow::{Result, bail};
use wprof::{Counting, EventModel};
use wprof_profiler::Overhead;
use wprof_report::numbers::grouped;

/// The maximum number of events of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// A counted kind of event, or a kind that `events=` accepts.
    pub kind: String,
    /// The maximum number of events.
    pub limit: u64,
}

impl Budget {
    /// Parses `KIND=N`.
    ///
    /// # Errors
    /// Returns an error if the text has another form.
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

/// The instant at which `--until` stops a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// At the instruction with this number; the first is 1.
    Instruction(u64),
    /// When control reaches the instruction at this byte of the module after this many events of a kind.
    Place(Budget, u32),
}

impl Until {
    /// Parses `N`, or `KIND=N@BYTE`.
    ///
    /// # Errors
    /// Returns an error if the text has neither form.
    pub fn parse(text: &str) -> Result<Until, String> {
        let example = || {
            "give a number from 1 on, such as 1_000_000, or KIND=N@BYTE such as back_edges_and_calls=7@0x1f3"
                .to_owned()
        };
        if let Some((budget, at)) = text.rsplit_once('@') {
            let at = match at.strip_prefix("0x") {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => at.parse(),
            };
            let budget = Budget::parse(budget).map_err(|_| example())?;
            // No instruction is at byte 0 of a module.
            return at.ok().filter(|at| *at > 0).map(|at| Until::Place(budget, at)).ok_or_else(example);
        }
        let number = text.replace('_', "").parse().ok();
        let fits = |number: &u64| (1..=i64::MAX as u64).contains(number);
        number.filter(fits).map(Until::Instruction).ok_or_else(example)
    }

    /// Returns the budget that is used up at the instant.
    pub fn budget(&self) -> Budget {
        match self {
            Until::Instruction(number) => Budget { kind: "instructions".to_owned(), limit: number - 1 },
            Until::Place(budget, _) => budget.clone(),
        }
    }

    /// Returns how events are counted to find the instant.
    pub fn counting(&self) -> Counting {
        match self {
            Until::Instruction(_) => Counting::PerInstruction,
            Until::Place(_, at) => Counting::Before(*at),
        }
    }
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Until::Instruction(number) => write!(f, "instruction {}", grouped(*number)),
            Until::Place(Budget { kind, limit }, at) => {
                write!(f, "{kind} {} at byte {at:#x}", grouped(*limit))
            }
        }
    }
}

/// The limit that `--budget` sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The maximum number of events.
    Events(Budget),
    /// The maximum cost of bursts.
    Bursts(Overhead),
}

impl Limit {
    /// Parses `KIND=N`, or a share of the time such as `2%`.
    ///
    /// # Errors
    /// Returns an error if the text has neither form.
    pub fn parse(text: &str) -> Result<Limit, String> {
        match text.ends_with('%') {
            true => text.parse().map(Limit::Bursts),
            false => Budget::parse(text).map(Limit::Events),
        }
    }

    /// Returns the budget of events, if the limit is one.
    pub fn events(&self) -> Option<&Budget> {
        match self {
            Limit::Events(budget) => Some(budget),
            Limit::Bursts(_) => None,
        }
    }
}

/// Returns the budget for one kind of event, which is added to `events` if necessary.
///
/// # Errors
/// Returns an error if the name does not denote a single kind.
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
    fn instants_are_numbers_of_instructions_or_places_after_so_many_events() {
        assert_eq!(Until::parse("7_000"), Ok(Until::Instruction(7000)));
        let sic = |limit| Budget { kind: "back_edges_and_calls".to_owned(), limit };
        for text in ["back_edges_and_calls=3@0x1f", "back_edges_and_calls=3@31"] {
            assert_eq!(Until::parse(text), Ok(Until::Place(sic(3), 31)), "{text}");
        }
        for text in ["0", "-1", "x", "loads=3", "loads@3", "loads=3@", "loads=3@0", "loads=3@0xg", "=3@4"] {
            assert!(Until::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn budgets_are_a_kind_and_a_number() {
        let found = Budget::parse("fuel=1_000");
        assert_eq!(found, Ok(Budget { kind: "fuel".to_owned(), limit: 1000 }));
        for text in ["fuel", "fuel=", "fuel=-1", "=5", "fuel=1e9", "fuel=9223372036854775808"] {
            assert!(Budget::parse(text).is_err(), "{text}");
        }
    }
}
