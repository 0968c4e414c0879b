//! x86-64 Linux.
//!
//! Wasm code passes integer arguments in rdi, rsi, rdx, rcx, r8, r9 and vectors in xmm0 to xmm7. Across calls it
//! keeps values in its frame or in the callee-saved registers of System V. It has a frame pointer: `[rbp]` is the
//! caller's frame pointer, `[rbp + 8]` the return address.

mod registers;
mod stores;
mod stubs;

pub use registers::{
    Interrupted, Registers, cycles, frame_state, pinned, prefetch, preserved_registers, redirect, registers,
    set_registers, stack_pointer,
};
pub use stores::end_of_store;
pub use stubs::{STUB_SIZE, STUBS_HEADER, lazy_stubs, raise, raise_by_call};
