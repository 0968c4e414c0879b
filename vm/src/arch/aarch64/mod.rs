//! AArch64 Linux.
//!
//! Wasm code (Cranelift's `tail` convention) passes integer arguments in x2 to x7 and vectors in v0 to v7; x8 holds the
//! address for results in memory. Cranelift keeps no value in x16 and x17 from one instruction to the next. Across calls
//! wasm code keeps values in its frame or in the callee-saved registers of AAPCS64. It has a frame pointer: `[x29]` is
//! the caller's frame pointer, `[x29 + 8]` the return address. Functions store x29 and x30 first.

mod registers;
mod stubs;

pub use registers::{
    Interrupted, Registers, cycles, end_of_store, frame_state, pinned, prefetch, preserved_registers,
    redirect, registers, set_registers, stack_pointer,
};
pub use stubs::{STUB_SIZE, STUBS_HEADER, lazy_stubs, raise, raise_by_call};
