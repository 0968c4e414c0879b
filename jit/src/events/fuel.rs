//! Fuel as Wasmtime counts it, version 48 with its default costs.
//!
//! Source: Wasmtime 48.0.8, `wasmtime-internal-cranelift`: `func_environ.rs` (`fuel_function_entry`, `fuel_before_op`,
//! `fuel_after_op`, `fuel_check`, `pre_translate_bulk_op`, `before_unconditionally_trapping_memory_access`,
//! `translate_module_startup` and what it calls); `wasmtime-environ`: `tunables.rs` (`default_operator_cost`,
//! `VariableOperatorCost`); `wasmtime`: `runtime/instances/store.rs` (`get_fuel`, `set_fuel`, `refuel`).
//! Oracle: `bench-wasm/peers/tests/fuel.rs` states these rules as numbers and asks Wasmtime;
//! `expected/fuel.tsv` beside the programs has Wasmtime's fuel of whole runs, which `spec-tests` compares.
//!
//! # What is charged
//!
//! * Each entry of a wasm function: 1, called by whomever. Host functions and the stubs between host and wasm: nothing.
//! * `nop`, `drop`, `unreachable`, `return`, and structure (`block`, `loop`, `else`, `end`): 0. Every other
//!   instruction that is executed: 1, be it a call, tail call, `if`, constant, SIMD operation or `memory.grow`.
//!   Falling off the end of a function costs nothing. Neither does a back edge, nor dead code.
//! * Bulk operations, besides their 1: their length operand, unsigned; for `memory.copy`, `memory.fill` and
//!   `memory.init` in bytes, for `table.copy`, `table.fill`, `table.init` and `table.grow` in elements, and so for
//!   operations on arrays, but for `array.new_fixed`. The charge
//!   comes before the bounds check, so an operation that traps has been charged, and so has a `table.grow` that fails.
//!   `memory.grow` costs nothing by page. The charge is at most `i64::MAX`, should a 64-bit length be larger.
//! * Calls between instances of one store are calls; the store has one tank.
//!
//! # When it can be seen
//!
//! A function keeps the fuel in a local. Where straight-line code ends (a branch, `if`, `loop`, `else`, `end`) the
//! costs so far are added to it. The store sees the local only where it is written back: before each call and tail
//! call, at `return`, at the function's end, at `unreachable`, at an access whose constant offset alone is outside
//! the memory's greatest size, and when fuel has run out (asked at entries, loop headers and bulk operations, short
//! constant lengths excepted). After a call that returns the local is read again.
//!
//! * In a host function, `Store::get_fuel` is exact: all up to and including the `call` instruction. What the host
//!   sets there counts from then on.
//! * After a normal end it is exact.
//! * After an error of a host function (`proc_exit` in WASI) it is what the host function saw: exact.
//! * After `unreachable`, an access that always traps, or a `call_indirect` that finds no function of its type: exact,
//!   that instruction included.
//! * After any other trap (division, bounds, conversion, stack) it is what was last written back, by whichever
//!   function: the costs since the last call, return or end are missing, the entry of a function that trapped before
//!   its first call among them. No count of blocks tells which those were. **This model gives the cost of what was
//!   executed instead**, which is never less. Where the stack overflows, the callee is not charged for its entry.
//!
//! # Instantiation
//!
//! Free where nothing is left to be done at run time: functions in element segments at constant offsets, data at
//! constant offsets where the host maps it, globals that are constants. Otherwise Wasmtime compiles a function that
//! starts the module: 1 for its entry, 1 for each instruction of the constant expressions that it evaluates, lengths
//! of segments and tables that it fills, 1 for the call of the start function, which is charged as any other. A
//! `start` function alone so costs 2 more than its own code and entry: see [`START`]. The other charges depend on
//! what Wasmtime happens to leave for run time and are not modelled.

/// Charge of each function entry.
pub const ENTRY: u64 = 1;

/// Charge for running a module's start function, besides what the function itself costs; once per instantiation, if
/// nothing else is left to do at instantiation.
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
