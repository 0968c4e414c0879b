//! An event kind, and the cost of each opcode.

use wasmparser::Operator;

use super::opcode;

/// An event kind: the number of events per executed instruction, function entry and back edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventModel {
    /// The name of the kind.
    pub name: String,
    /// Events of each function entry. Entries of host functions do not count.
    pub entry: u64,
    /// Events of each back edge taken.
    pub back_edge: u64,
    /// By opcode number. Each cost is at most `limits::MAX_EVENT_COST`, so that no function is long enough for a sum to
    /// overflow.
    costs: Vec<u64>,
    /// By opcode number; nonzero only for bulk operations.
    per_unit: Vec<u64>,
}

impl EventModel {
    /// Creates a model from valid rules; entries and back edges cause no events.
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

    /// Sets the events of entries and back edges.
    pub(super) fn with_edges(self, entry: u64, back_edge: u64) -> EventModel {
        EventModel { entry, back_edge, ..self }
    }

    /// Renames the model.
    #[must_use]
    pub fn named(self, name: &str) -> EventModel {
        EventModel { name: name.to_string(), ..self }
    }

    /// Returns the events of one execution of `op`, without the charge for its length.
    #[doc(hidden)]
    pub fn cost(&self, op: &Operator<'_>) -> u64 {
        opcode::number(op).and_then(|number| self.costs.get(number)).copied().unwrap_or(0)
    }

    /// Returns [`EventModel::cost`] by the opcode's number in the order of `wasmparser`.
    pub fn costs(&self) -> &[u64] {
        &self.costs
    }

    /// Returns the events per unit of the length of bulk operation `op`; 0 for all other instructions. See
    /// [`length_unit`](super::length_unit).
    pub fn per_unit(&self, op: &Operator<'_>) -> u64 {
        opcode::number(op).and_then(|number| self.per_unit.get(number)).copied().unwrap_or(0)
    }

    /// Returns [`EventModel::cost`] by the opcode's text-format name; `None` if the engine accepts no such opcode.
    pub fn cost_named(&self, name: &str) -> Option<u64> {
        let number = opcode::by_number().iter().position(|known| known.as_deref() == Some(name))?;
        self.costs.get(number).copied()
    }

    /// Reports whether lengths of bulk operations count, so that block counts alone do not determine the total.
    pub fn charges_lengths(&self) -> bool {
        self.per_unit.iter().any(|&cost| cost != 0)
    }
}

/// Returns the cost of each opcode by number: that of the most specific matching rule, or `default`; 0 if the opcode
/// cannot have a cost.
fn resolve(default: u64, rules: &[(&str, u64)], can_cost: fn(&str) -> bool) -> Vec<u64> {
    let cost = |name: &String| {
        let fitting = rules.iter().filter(|(pattern, _)| matches(pattern, name));
        fitting.max_by_key(|(pattern, _)| specificity(pattern)).map_or(default, |&(_, cost)| cost)
    };
    let names = opcode::by_number().iter();
    names.map(|name| name.as_ref().filter(|name| can_cost(name)).map_or(0, cost)).collect()
}

/// Reports whether `pattern`, a name or a prefix followed by `*`, matches `name`.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

/// Orders patterns: a longer prefix is more specific, and a whole name is more specific than any prefix of it.
fn specificity(pattern: &str) -> (usize, bool) {
    match pattern.strip_suffix('*') {
        Some(start) => (start.len(), false),
        None => (pattern.len(), true),
    }
}
