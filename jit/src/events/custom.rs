//! User-defined event kinds: rules that map patterns of opcode names to costs.

use hashbrown::HashSet;

use super::model::{EventModel, matches};
use super::{BUILT_IN, opcode};
use crate::limits::{MAX_EVENT_COST, MAX_EVENT_RULES};

/// A user's definition of an event kind.
///
/// A pattern is an opcode's name in the text format (`i32.load8_s`), or a prefix followed by `*` (`i32.load*`, `f64.*`,
/// `*`). If several patterns match, the most specific decides: the whole name, else the longest prefix. Patterns that
/// match only structure (`block`, `loop`, `else`, `end`) are rejected, since it is never executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CustomModel {
    /// The kind's name: letters, digits, `_` and `-`, at most 64; not the name of a built-in kind.
    pub name: String,
    /// Events of an instruction that no rule matches.
    pub default: u64,
    /// Events of each function entry.
    pub entry: u64,
    /// Events of each back edge taken.
    pub back_edge: u64,
    /// Events of instructions, by pattern.
    pub cost: Vec<(String, u64)>,
    /// Events per unit of a bulk operation's length, by pattern; each pattern must match a bulk operation.
    pub per_unit: Vec<(String, u64)>,
}

/// An error in a definition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The name is malformed.
    #[error("bad name `{0}`: give letters, digits, `_` or `-`, at most 64")]
    BadName(String),
    /// The name belongs to a built-in kind.
    #[error("`{0}` is a built-in kind: choose another name")]
    BuiltIn(String),
    /// No opcode matches the pattern.
    #[error("no instruction is called `{pattern}`{}", hint(near))]
    Unknown {
        /// The pattern.
        pattern: String,
        /// Similar names.
        near: Vec<String>,
    },
    /// The pattern has a `*` before its end.
    #[error("bad pattern `{0}`: `*` can only be at the end")]
    BadPattern(String),
    /// The pattern matches only instructions that are never executed.
    #[error("`{0}` only marks structure and is never executed: it can have no cost")]
    Structure(String),
    /// The rule charges by length, but its instructions have none.
    #[error(
        "`{0}` has no length: only copy, fill, init and grow of memories and tables, and new, fill, copy and init of arrays, can cost by unit"
    )]
    NoLength(String),
    /// Two rules have the same pattern.
    #[error("`{0}` has two costs: keep one")]
    Duplicate(String),
    /// A cost exceeds the limit.
    #[error("the cost of `{0}` is too large: give at most {MAX_EVENT_COST}")]
    TooLarge(String),
    /// The number of rules exceeds the limit.
    #[error("{0} rules are too many: give at most {MAX_EVENT_RULES}")]
    TooMany(usize),
}

fn hint(near: &[String]) -> String {
    match near {
        [] => String::new(),
        near => format!(": did you mean `{}`?", near.join("`, `")),
    }
}

impl EventModel {
    /// Creates the event kind of a user's definition.
    ///
    /// # Errors
    /// Returns the first error in the definition.
    pub fn custom(definition: &CustomModel) -> Result<EventModel, ModelError> {
        let CustomModel { name, default, entry, back_edge, cost, per_unit } = definition;
        check_name(name)?;
        for (what, value) in [("default", default), ("entry", entry), ("back_edge", back_edge)] {
            check_cost(what, *value)?;
        }
        check_rules(cost, |name| !opcode::is_structure_name(name), ModelError::Structure)?;
        check_rules(per_unit, opcode::is_dynamic_name, ModelError::NoLength)?;
        let model = EventModel::new(name, *default, &borrowed(cost), &borrowed(per_unit));
        Ok(model.with_edges(*entry, *back_edge))
    }
}

fn borrowed(rules: &[(String, u64)]) -> Vec<(&str, u64)> {
    rules.iter().map(|(pattern, cost)| (pattern.as_str(), *cost)).collect()
}

fn check_name(name: &str) -> Result<(), ModelError> {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(good) {
        return Err(ModelError::BadName(name.chars().take(64).collect()));
    }
    if BUILT_IN.contains(&name) { Err(ModelError::BuiltIn(name.to_string())) } else { Ok(()) }
}

fn check_cost(what: &str, cost: u64) -> Result<(), ModelError> {
    if cost > MAX_EVENT_COST { Err(ModelError::TooLarge(what.to_string())) } else { Ok(()) }
}

/// Checks that each pattern matches some opcode that can have such a cost; otherwise `unfit` creates the error.
fn check_rules(
    rules: &[(String, u64)],
    can_cost: fn(&str) -> bool,
    unfit: fn(String) -> ModelError,
) -> Result<(), ModelError> {
    if rules.len() > MAX_EVENT_RULES {
        return Err(ModelError::TooMany(rules.len()));
    }
    let mut seen = HashSet::new();
    for (pattern, cost) in rules {
        if !seen.insert(pattern) {
            return Err(ModelError::Duplicate(pattern.clone()));
        }
        check_cost(pattern, *cost)?;
        check_pattern(pattern, can_cost, unfit)?;
    }
    Ok(())
}

fn check_pattern(
    pattern: &str,
    can_cost: fn(&str) -> bool,
    unfit: fn(String) -> ModelError,
) -> Result<(), ModelError> {
    if pattern.strip_suffix('*').unwrap_or(pattern).contains('*') {
        return Err(ModelError::BadPattern(pattern.to_string()));
    }
    let mut fitting = opcode::names().filter(|name| matches(pattern, name)).peekable();
    if fitting.peek().is_none() {
        return Err(ModelError::Unknown { pattern: pattern.to_string(), near: near(pattern) });
    }
    if fitting.any(can_cost) { Ok(()) } else { Err(unfit(pattern.to_string())) }
}

/// Maximum number of names that an error suggests.
const HINTS: usize = 3;

/// Returns the names within a small edit distance of `pattern`, closest first.
fn near(pattern: &str) -> Vec<String> {
    let wanted = pattern.trim_end_matches('*');
    if wanted.len() > 64 {
        return Vec::new();
    }
    let most = 1 + wanted.len() / 4;
    let distances = opcode::names().map(|name| (distance(wanted, name), name));
    let mut close: Vec<_> = distances.filter(|&(distance, _)| distance <= most).collect();
    close.sort();
    close.into_iter().take(HINTS).map(|(_, name)| name.to_string()).collect()
}

/// Returns the edit distance: insertions, deletions, replacements, and swaps of neighbours.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
