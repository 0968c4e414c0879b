//! Opcode numbers and names.
//!
//! The list is wasmparser's own, so that every opcode that wasmparser adds has a number here too. Only opcodes of
//! accepted proposals have names, since only these can have a cost.

use std::sync::LazyLock;

use wasmparser::Operator;

use crate::module::features;

macro_rules! define_opcodes {
    ($(@$proposal:ident $op:ident $({ $($arg:ident: $argty:ty),* })? => $visit:ident ($($ann:tt)*))*) => {
        /// Numbers of the opcodes, in wasmparser's order.
        enum Number { $($op),* }

        /// Proposal and visitor method of each opcode, by number.
        const OPCODES: &[(&str, &str)] = &[$((stringify!($proposal), stringify!($visit))),*];

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
    OPCODES.iter().map(|(proposal, visit)| accepted(proposal).then(|| text(visit))).collect()
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

/// Reports whether the opcode called `name` only marks structure.
pub(super) fn is_structure_name(name: &str) -> bool {
    matches!(
        name,
        "block" | "loop" | "else" | "end" | "try_table" | "try" | "catch" | "catch_all" | "delegate"
    )
}

fn accepted(proposal: &str) -> bool {
    let features = features();
    match proposal {
        "mvp" => true,
        "sign_extension" => features.sign_extension(),
        "saturating_float_to_int" => features.saturating_float_to_int(),
        "bulk_memory" => features.bulk_memory(),
        "function_references" => features.function_references(),
        "reference_types" => features.reference_types(),
        "simd" => features.simd(),
        "relaxed_simd" => features.relaxed_simd(),
        "tail_call" => features.tail_call(),
        "exceptions" => features.exceptions(),
        "legacy_exceptions" => features.legacy_exceptions(),
        "threads" => features.threads(),
        "gc" => features.gc(),
        _ => false,
    }
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
    match op {
        Operator::MemoryCopy { .. } | Operator::MemoryFill { .. } | Operator::MemoryInit { .. } => {
            Some(Unit::Byte)
        }
        Operator::MemoryGrow { .. } => Some(Unit::Page),
        Operator::TableCopy { .. }
        | Operator::TableFill { .. }
        | Operator::TableInit { .. }
        | Operator::TableGrow { .. }
        | Operator::ArrayNew { .. }
        | Operator::ArrayNewDefault { .. }
        | Operator::ArrayNewData { .. }
        | Operator::ArrayNewElem { .. }
        | Operator::ArrayFill { .. }
        | Operator::ArrayCopy { .. }
        | Operator::ArrayInitData { .. }
        | Operator::ArrayInitElem { .. } => Some(Unit::Element),
        _ => None,
    }
}

/// Reports whether the work of `op` depends on an operand, that is, whether `op` has a [`length_unit`].
pub fn is_dynamic(op: &Operator<'_>) -> bool {
    length_unit(op).is_some()
}

/// Same as [`is_dynamic`], by name.
pub(super) fn is_dynamic_name(name: &str) -> bool {
    match name.split_once('.') {
        Some(("memory" | "table", operation)) => matches!(operation, "copy" | "fill" | "init" | "grow"),
        Some(("array", operation)) => matches!(
            operation,
            "new" | "new_default" | "new_data" | "new_elem" | "fill" | "copy" | "init_data" | "init_elem"
        ),
        _ => false,
    }
}
