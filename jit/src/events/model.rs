//! A kind of event, and what each opcode costs.

use wasmparser::Operator;

use super::opcode;

/// A kind of event: what an executed instruction, a function entry and a back edge count for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventModel {
    /// What it is called.
    pub name: String,
    /// Events of each function entry. Entries of host functions do not count.
    pub entry: u64,
    /// Events of each back edge taken.
    pub back_edge: u64,
    /// By opcode number. Each is at most `limits::MAX_EVENT_COST`, so that no function is long enough for a sum to
    /// overflow.
    costs: Vec<u64>,
    /// By opcode number; not zero only for bulk operations.
    per_unit: Vec<u64>,
}

impl EventModel {
    /// A model whose rules are known to be right; entries and back edges are no events.
    pub(super) fn new(
        name: &str,
        default: u64,
        rules: &[(&str, u64)],
        per_unit: &[(&str, u64)],
    ) -> EventModel {
        EventModel {
            name: name.to_string(),
            entry: 0,
            back_edge: 0,
            costs: resolve(default, rules, |name| !opcode::is_structure_name(name)),
            per_unit: resolve(0, per_unit, opcode::is_dynamic_name),
        }
    }

    /// The same with events of entries and back edges.
    pub(super) fn with_edges(self, entry: u64, back_edge: u64) -> EventModel {
        EventModel { entry, back_edge, ..self }
    }

    /// The same costs by another name.
    #[must_use]
    pub fn named(self, name: &str) -> EventModel {
        EventModel { name: name.to_string(), ..self }
    }

    /// Events of one execution of `op`, besides what its length costs.
    pub fn cost(&self, op: &Operator<'_>) -> u64 {
        opcode::number(op).and_then(|number| self.costs.get(number)).copied().unwrap_or(0)
    }

    /// Events of each unit of the length of bulk operation `op`; 0 for all other instructions. See
    /// [`length_unit`](super::length_unit).
    pub fn per_unit(&self, op: &Operator<'_>) -> u64 {
        opcode::number(op).and_then(|number| self.per_unit.get(number)).copied().unwrap_or(0)
    }

    /// As [`EventModel::cost`], by the opcode's name in the text format; `None` if the engine accepts no such opcode.
    pub fn cost_named(&self, name: &str) -> Option<u64> {
        let number = opcode::by_number().iter().position(|known| known.as_deref() == Some(name))?;
        self.costs.get(number).copied()
    }

    /// Whether lengths of bulk operations count, so that blocks alone do not determine the total.
    pub fn charges_lengths(&self) -> bool {
        self.per_unit.iter().any(|&cost| cost != 0)
    }
}

/// The cost of each opcode by number: that of the most specific rule for it, `default` without one; 0 if the opcode
/// cannot have a cost.
fn resolve(default: u64, rules: &[(&str, u64)], can_cost: fn(&str) -> bool) -> Vec<u64> {
    let cost = |name: &String| {
        let fitting = rules.iter().filter(|(pattern, _)| matches(pattern, name));
        fitting.max_by_key(|(pattern, _)| specificity(pattern)).map_or(default, |&(_, cost)| cost)
    };
    let names = opcode::by_number().iter();
    names.map(|name| name.as_ref().filter(|name| can_cost(name)).map_or(0, cost)).collect()
}

/// Whether `pattern`, a name or the start of one with a `*` behind it, fits `name`.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

/// Longer starts are more specific, and a whole name is more so than any start of it.
fn specificity(pattern: &str) -> (usize, bool) {
    match pattern.strip_suffix('*') {
        Some(start) => (start.len(), false),
        None => (pattern.len(), true),
    }
}
