//! The built-in kinds of events, in the same language as kinds defined in files.

use super::fuel;
use super::model::EventModel;

/// The names of the built-in kinds.
pub const BUILT_IN: &[&str] = &[
    "instructions",
    "loads",
    "stores",
    "calls",
    "indirect_calls",
    "branches",
    "float_ops",
    "memory_bytes",
    "back_edges_and_calls",
    "fuel",
];

impl EventModel {
    /// The built-in kind called `name`, one of [`BUILT_IN`]:
    ///
    /// * `instructions`: all that [`Block::ops`](crate::cfg::Block::ops) counts.
    /// * `loads`, `stores`: accesses to memory of a fixed width; bulk operations are neither, and atomic instructions
    ///   that read and write are both.
    /// * `calls`: direct and indirect, tail calls included, calls from the host not.
    /// * `indirect_calls`: those of `calls` that go through a table or a reference.
    /// * `branches`: conditional branches and switches: `if`, `br_if`, `br_on_null`, `br_on_non_null`,
    ///   `br_on_cast`, `br_on_cast_fail`, `br_table`.
    /// * `float_ops`: arithmetic, rounding, comparisons and conversions of floating point numbers; a vector operation
    ///   is one. Moving them (constants, loads, stores, lanes, splats, reinterpretation) is none.
    /// * `memory_bytes`: bytes that `loads` and `stores` access. Lengths of bulk operations are not in it.
    /// * `back_edges_and_calls`: the *software instruction counter*, which with an address names an instant of a run.
    /// * `fuel`: see [`fuel`].
    pub fn built_in(name: &str) -> Option<EventModel> {
        let rules = |rules: &[(&str, u64)]| EventModel::new(name, 0, rules, &[]);
        Some(match name {
            "instructions" => EventModel::new(name, 1, &[], &[]),
            "loads" => rules(LOADS),
            "stores" => rules(STORES),
            "calls" => rules(CALLS),
            "indirect_calls" => rules(INDIRECT_CALLS),
            "branches" => rules(BRANCHES),
            "float_ops" => rules(FLOAT_OPS),
            "memory_bytes" => rules(MEMORY_BYTES),
            "back_edges_and_calls" => rules(CALLS).with_edges(0, 1),
            "fuel" => EventModel::new(name, 1, fuel::FREE, fuel::PER_UNIT).with_edges(fuel::ENTRY, 0),
            _ => return None,
        })
    }
}

const LOADS: &[(&str, u64)] = &[
    ("i32.load*", 1),
    ("i64.load*", 1),
    ("f32.load", 1),
    ("f64.load", 1),
    ("v128.load*", 1),
    ("i32.atomic.load*", 1),
    ("i64.atomic.load*", 1),
    ("i32.atomic.rmw*", 1),
    ("i64.atomic.rmw*", 1),
    ("memory.atomic.wait*", 1),
];

const STORES: &[(&str, u64)] = &[
    ("i32.store*", 1),
    ("i64.store*", 1),
    ("f32.store", 1),
    ("f64.store", 1),
    ("v128.store*", 1),
    ("i32.atomic.store*", 1),
    ("i64.atomic.store*", 1),
    ("i32.atomic.rmw*", 1),
    ("i64.atomic.rmw*", 1),
];

const CALLS: &[(&str, u64)] = &[
    ("call", 1),
    ("call_indirect", 1),
    ("call_ref", 1),
    ("return_call", 1),
    ("return_call_indirect", 1),
    ("return_call_ref", 1),
];

const INDIRECT_CALLS: &[(&str, u64)] =
    &[("call_indirect", 1), ("call_ref", 1), ("return_call_indirect", 1), ("return_call_ref", 1)];

const BRANCHES: &[(&str, u64)] = &[("if", 1), ("br_if", 1), ("br_on_*", 1), ("br_table", 1)];

const FLOAT_OPS: &[(&str, u64)] = &[
    ("f32.*", 1),
    ("f32.const", 0),
    ("f32.load", 0),
    ("f32.store", 0),
    ("f32.reinterpret*", 0),
    ("f64.*", 1),
    ("f64.const", 0),
    ("f64.load", 0),
    ("f64.store", 0),
    ("f64.reinterpret*", 0),
    ("f32x4.*", 1),
    ("f32x4.splat", 0),
    ("f32x4.extract_lane", 0),
    ("f32x4.replace_lane", 0),
    ("f64x2.*", 1),
    ("f64x2.splat", 0),
    ("f64x2.extract_lane", 0),
    ("f64x2.replace_lane", 0),
    ("i32.trunc*", 1),
    ("i64.trunc*", 1),
    ("i32x4.trunc*", 1),
    ("i32x4.relaxed_trunc*", 1),
];

const MEMORY_BYTES: &[(&str, u64)] = &[
    ("i32.load", 4),
    ("i32.load8*", 1),
    ("i32.load16*", 2),
    ("i64.load", 8),
    ("i64.load8*", 1),
    ("i64.load16*", 2),
    ("i64.load32*", 4),
    ("f32.load", 4),
    ("f64.load", 8),
    ("v128.load", 16),
    ("v128.load8*", 1),
    ("v128.load16*", 2),
    ("v128.load32*", 4),
    ("v128.load64*", 8),
    ("v128.load8x8*", 8),
    ("v128.load16x4*", 8),
    ("v128.load32x2*", 8),
    ("i32.store", 4),
    ("i32.store8", 1),
    ("i32.store16", 2),
    ("i64.store", 8),
    ("i64.store8", 1),
    ("i64.store16", 2),
    ("i64.store32", 4),
    ("f32.store", 4),
    ("f64.store", 8),
    ("v128.store", 16),
    ("v128.store8*", 1),
    ("v128.store16*", 2),
    ("v128.store32*", 4),
    ("v128.store64*", 8),
    ("i32.atomic.load", 4),
    ("i32.atomic.load8*", 1),
    ("i32.atomic.load16*", 2),
    ("i64.atomic.load", 8),
    ("i64.atomic.load8*", 1),
    ("i64.atomic.load16*", 2),
    ("i64.atomic.load32*", 4),
    ("i32.atomic.store", 4),
    ("i32.atomic.store8", 1),
    ("i32.atomic.store16", 2),
    ("i64.atomic.store", 8),
    ("i64.atomic.store8", 1),
    ("i64.atomic.store16", 2),
    ("i64.atomic.store32", 4),
    // The bytes read, and the bytes written.
    ("i32.atomic.rmw.*", 8),
    ("i32.atomic.rmw8.*", 2),
    ("i32.atomic.rmw16.*", 4),
    ("i64.atomic.rmw.*", 16),
    ("i64.atomic.rmw8.*", 2),
    ("i64.atomic.rmw16.*", 4),
    ("i64.atomic.rmw32.*", 8),
    ("memory.atomic.wait32", 4),
    ("memory.atomic.wait64", 8),
];
