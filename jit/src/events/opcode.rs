//! Opcode numbers and names.
//!
//! The list is wasmparser's own, so that every opcode that wasmparser adds has a number here too. Only opcodes of
//! accepted proposals have names, since only these can have a cost. Whether an opcode only marks structure, or works on
//! a range, its [`Group`] says.

use std::sync::LazyLock;

use hashbrown::HashMap;
use wasmparser::Operator;

use crate::cfg::Group;
use crate::module::features;

/// Reports whether a proposal is accepted. A proposal that wasmparser adds has a feature of its name there.
macro_rules! is_accepted {
    ($features:ident mvp) => {
        true
    };
    ($features:ident $proposal:ident) => {
        $features.$proposal()
    };
}

macro_rules! define_opcodes {
    ($(@$proposal:ident $op:ident $({ $($arg:ident: $argty:ty),* })? => $visit:ident ($($ann:tt)*))*) => {
        /// Numbers of the opcodes, in wasmparser's order.
        enum Number { $($op),* }

        /// Returns for each opcode, by number, whether its proposal is accepted, and its visitor method.
        fn opcodes() -> Vec<(bool, &'static str)> {
            let features = features();
            vec![$((is_accepted!(features $proposal), stringify!($visit))),*]
        }

        /// Returns the number of `op`'s opcode; `None` if wasmparser does not list it.
        pub(super) fn number(op: &Operator<'_>) -> Option<usize> {
            match op {
                $(Operator::$op { .. } => Some(Number::$op as usize),)*
                _ => None,
            }
        }
    };
}
wasmparser::for_each_operator!(define_opcodes);

/// Prefixes that the text format separates with a dot.
const SPACES: &[&str] = &[
    "i32", "i64", "f32", "f64", "v128", "i8x16", "i16x8", "i32x4", "i64x2", "f32x4", "f64x2", "local",
    "global", "memory", "table", "data", "elem", "ref", "struct", "array", "i31", "any", "extern",
];

static NAMES: LazyLock<Vec<Option<String>>> = LazyLock::new(|| {
    opcodes().into_iter().map(|(is_accepted, visit)| is_accepted.then(|| text(visit))).collect()
});

/// Returns the text-format name of each opcode, by number; `None` if the engine does not accept it.
pub(super) fn by_number() -> &'static [Option<String>] {
    &NAMES
}

/// Returns the names of all accepted opcodes, in the order of the binary format. The variants of `select` share one
/// name.
pub fn names() -> impl Iterator<Item = &'static str> {
    let mut last = "";
    let names = NAMES.iter().flatten().map(String::as_str);
    names.filter(move |name| std::mem::replace(&mut last, name) != *name)
}

/// The groups of the accepted opcodes, by name.
static GROUPS: LazyLock<HashMap<&'static str, Group>> = LazyLock::new(|| {
    let grouped = NAMES.iter().zip(Group::by_number());
    grouped.filter_map(|(name, group)| Some((name.as_deref()?, group))).collect()
});

/// Reports whether the opcode called `name` only marks structure.
pub(super) fn is_structure_name(name: &str) -> bool {
    GROUPS.get(name) == Some(&Group::Marks)
}

/// Converts `visit_i32_load8_s` to `i32.load8_s`.
fn text(visit: &str) -> String {
    let name = visit.strip_prefix("visit_").unwrap_or(visit);
    if name.starts_with("typed_select") {
        return "select".to_string();
    }
    // The text format has one instruction; the type follows it.
    if let Some(name) = ["ref_test", "ref_cast"].into_iter().find(|known| name.starts_with(known)) {
        return name.replacen('_', ".", 1);
    }
    if name == "ref_i31" {
        return "ref.i31".to_string();
    }
    match name.split_once('_') {
        Some((space, rest)) if SPACES.contains(&space) => format!("{space}.{}", atomic(rest)),
        _ => atomic(name),
    }
}

/// Converts `atomic_rmw8_add_u` to `atomic.rmw8.add_u`; returns any other name unchanged.
fn atomic(name: &str) -> String {
    let Some(name) = name.strip_prefix("atomic_") else { return name.to_string() };
    match name.split_once('_') {
        Some((width, rest)) if width.starts_with("rmw") => format!("atomic.{width}.{rest}"),
        _ => format!("atomic.{name}"),
    }
}

/// The unit of a bulk operation's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Bytes of memory.
    Byte,
    /// Pages of memory.
    Page,
    /// Elements of a table or an array.
    Element,
}

/// Returns the unit of bulk operation `op`'s length; `None` for all other instructions. The length is the operand on
/// top of the stack; an i32 is unsigned.
pub fn length_unit(op: &Operator<'_>) -> Option<Unit> {
    unit_of(Group::new(op))
}

fn unit_of(group: Group) -> Option<Unit> {
    match group {
        Group::ByteRanges => Some(Unit::Byte),
        Group::PageRanges => Some(Unit::Page),
        Group::ElementRanges => Some(Unit::Element),
        Group::I32Values | Group::I64Values | Group::F32Values | Group::F64Values | Group::Vectors => None,
        Group::I32Loads | Group::I64Loads | Group::F32Loads | Group::F64Loads | Group::VectorLoads => None,
        Group::Marks | Group::Branches | Group::Calls | Group::Failures | Group::Moves => None,
        Group::Globals | Group::Tables | Group::Memories | Group::References | Group::Objects => None,
        Group::Stores | Group::Atomics | Group::Refused => None,
    }
}

/// Reports whether the work of `op` depends on an operand, that is, whether `op` has a [`length_unit`].
pub fn is_dynamic(op: &Operator<'_>) -> bool {
    length_unit(op).is_some()
}

/// Same as [`is_dynamic`], by name.
pub(super) fn is_dynamic_name(name: &str) -> bool {
    GROUPS.get(name).is_some_and(|&group| unit_of(group).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_opcodes_of_proposals_that_are_off_are_those_that_are_refused() {
        assert_eq!(NAMES.len(), Group::by_number().count());
        for ((name, group), (_, visit)) in NAMES.iter().zip(Group::by_number()).zip(opcodes()) {
            assert_eq!(name.is_none(), group == Group::Refused, "{visit}");
        }
    }
}
