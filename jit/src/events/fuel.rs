//! Fuel as Wasmtime 48 counts it, with default costs.
//!
//! Source: Wasmtime 48.0.8, `wasmtime-internal-cranelift`: `func_environ.rs` (`fuel_function_entry`, `fuel_before_op`,
//! `fuel_after_op`, `fuel_check`, `pre_translate_bulk_op`, `before_unconditionally_trapping_memory_access`,
//! `translate_module_startup` and what it calls); `wasmtime-environ`: `tunables.rs` (`default_operator_cost`,
//! `VariableOperatorCost`); `wasmtime`: `runtime/store.rs` (`get_fuel`, `set_fuel`, `refuel`).
//! Oracle: `bench-wasm/peers/tests/fuel.rs` states these rules as numbers and asks Wasmtime;
//! `expected/fuel.tsv` beside the programs has Wasmtime's fuel of whole runs, which `spec-tests` compares.
//!
//! # What is charged
//!
//! * Each entry of a wasm function costs 1, whoever the caller. Host functions and the stubs between host and wasm are
//!   free.
//! * `nop`, `drop`, `unreachable`, `return`, and structure (`block`, `loop`, `else`, `end`) cost 0. Every other
//!   executed instruction costs 1, whether call, tail call, `if`, constant, SIMD operation or `memory.grow`. Falling
//!   off the end of a function costs nothing; neither does a back edge nor dead code.
//! * A bulk operation additionally costs its length operand, unsigned: for `memory.copy`, `memory.fill` and
//!   `memory.init` in bytes; for `table.copy`, `table.fill`, `table.init` and `table.grow`, and for operations on
//!   arrays except `array.new_fixed`, in elements. The charge comes before the bounds check, so an operation that
//!   traps, and a `table.grow` that fails, have been charged. `memory.grow` costs nothing per page. The charge is at
//!   most `i64::MAX`, even if a 64-bit length is larger.
//! * Calls between instances of one store are calls; the store has one tank.
//!
//! # When the count is visible
//!
//! A function keeps the fuel in a local and adds the accumulated costs to it where straight-line code ends (a branch,
//! `if`, `loop`, `else`, `end`). The store sees the local only where the function writes it back: before each call and
//! tail call, at `return`, at the function's end, at `unreachable`, at an access whose constant offset alone is outside
//! the memory's maximum size, and when fuel has run out (tested at entries, loop headers and bulk operations, except
//! those with short constant lengths). After a call that returns, the function reloads the local.
//!
//! * In a host function, `Store::get_fuel` is exact: it includes everything up to and including the `call` instruction.
//!   A value that the host sets there takes effect immediately.
//! * After a normal end the count is exact.
//! * After an error of a host function (`proc_exit` in WASI) the count is the exact one that the host function saw.
//! * After `unreachable`, an access that always traps, or a `call_indirect` that finds no function of its type, the
//!   count is exact and includes that instruction.
//! * After any other trap (division, bounds, conversion, stack) the count is the most recently written-back value, from
//!   whichever function: it lacks the costs since the last call, return or end, including the entry of a function that
//!   trapped before its first call. Block counts do not determine this value. **This model gives the cost of the
//!   executed instructions instead**, which is never less. On stack overflow, the callee's entry is not charged.
//!
//! # Instantiation
//!
//! Instantiation is free if nothing is left to do at run time: functions in element segments at constant offsets, data
//! at constant offsets that the host maps, constant globals. Otherwise Wasmtime compiles a function that starts the
//! module. It costs 1 for its entry, 1 for each instruction of the constant expressions that it evaluates, the lengths
//! of the segments and tables that it fills, and 1 for the call of the start function, which is charged like any other.
//! A `start` function alone therefore costs 2 more than its own code and entry: see [`START`]. The other charges depend
//! on what Wasmtime leaves for run time and are not modelled.

/// Charge of each function entry.
pub const ENTRY: u64 = 1;

/// Charge for running a module's start function, on top of the function's own cost; once per instantiation, if
/// instantiation has nothing else left to do.
pub const START: u64 = 2;

/// Executed instructions that cost nothing. All others cost 1.
pub(super) const FREE: &[(&str, u64)] = &[("nop", 0), ("drop", 0), ("unreachable", 0), ("return", 0)];

/// Charge of each unit of length.
pub(super) const PER_UNIT: &[(&str, u64)] = &[
    ("memory.copy", 1),
    ("memory.fill", 1),
    ("memory.init", 1),
    ("table.copy", 1),
    ("table.fill", 1),
    ("table.init", 1),
    ("table.grow", 1),
    ("array.copy", 1),
    ("array.fill", 1),
    ("array.init_data", 1),
    ("array.init_elem", 1),
    ("array.new", 1),
    ("array.new_data", 1),
    ("array.new_default", 1),
    ("array.new_elem", 1),
];
