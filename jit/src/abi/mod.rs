//! The contract between machine code and the runtime: layouts, calling convention, trap codes, builtins.
//!
//! Defined once, here. The translator emits accesses at these offsets; `vm` declares `#[repr(C)]` structures and
//! tests each field with `offset_of!` against the same constants.
//!
//! **Calls.** Every wasm function has the `tail` convention and the parameters
//! `(vmctx, caller_vmctx, wasm params…)`. `vmctx` is the callee's instance. A function of the same module is called
//! through its code slot, whose address is a constant in the code; any other through a [`func_ref`].
//!
//! **Traps.** Every trap is a hardware trap at a recorded pc, also the ones the host raises: a builtin or host
//! function that fails leaves its reason in the store and reports failure, and the code that called it executes a
//! trap instruction with the code [`TrapCode::Host`].
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
    func_ref, global, heat, host_context, memory, path_row, reference, store_context, table, trace_word,
    trial, value, vmctx,
};
pub(crate) use signature::returns_in_memory;
pub use signature::{
    array_call_signature, check_pinned_signature, check_signature, clif_type, find_record_signature,
    host_call_signature, leave_signature, read_metrics_signature, resume_signature, see_branch_signature,
    touch_lines_signature, wasm_signature,
};
pub use trap::TrapCode;

/// What code is given for its caller's vmctx, which is an address, by frames that enter it at a loop header: the number
/// of that, from here on; see `graph::loop_entry`.
pub const LOOP_ENTRY: i64 = 1;
/// How many loops of a function frames can enter, which are no addresses of a vmctx.
pub const MOST_LOOP_ENTRIES: usize = 64;
