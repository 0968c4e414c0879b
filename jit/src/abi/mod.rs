//! The contract between machine code and the runtime: layouts, calling convention, trap codes, builtins.
//!
//! This module defines the contract once. The translator emits accesses at these offsets; `vm` declares `#[repr(C)]`
//! structures and tests each field with `offset_of!` against the same constants.
//!
//! **Calls.** Every wasm function has the `tail` convention and the parameters `(vmctx, caller_vmctx, wasm params…)`.
//! `vmctx` belongs to the callee's instance. Code calls a function of the same module through its code slot, whose
//! address is a constant in the code, and any other function through a [`func_ref`].
//!
//! **Traps.** Every trap is a hardware trap at a recorded pc, including the traps that the host raises: a builtin or
//! host function that fails stores its reason in the store and reports failure, and its caller executes a trap
//! instruction with the code [`TrapCode::Host`].
//!
//! **Values in memory** (globals, host calls) take 16 bytes, little endian, in the low bytes.
//! A `funcref` is a pointer to a [`func_ref`] or null; an `externref` is a 64-bit handle, 0 for null.

mod builtin;
mod layout;
pub mod object;
mod signature;
mod trap;

pub use builtin::{Builtin, GROW_TRAPS};
pub use layout::{
    VmLayout, activation, call_record, check, code_slots, dispatch_cell, display, exception, func_import,
    func_ref, global, heat, host_context, memory, path_row, reference, simulation_log, store_context, stream,
    table, trace_word, trial, value, vmctx,
};
pub(crate) use signature::returns_in_memory;
pub use signature::{
    array_call_signature, check_pinned_signature, check_signature, clif_type, find_record_signature,
    host_call_signature, leave_signature, read_metrics_signature, resume_signature, wasm_signature,
};
pub use trap::TrapCode;

/// The first of the numbers that replace the caller's vmctx, an address, when a frame enters code at a loop header by
/// OSR: the loop entry's number counts from here; see `graph::loop_entry`.
pub const LOOP_ENTRY: i64 = 1;
/// Maximum number of loop entries of a function. These numbers are never addresses of a vmctx.
pub const MOST_LOOP_ENTRIES: usize = 64;
