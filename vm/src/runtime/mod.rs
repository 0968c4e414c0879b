//! Running machine code: everything that needs `unsafe`. What is exported to the rest of the crate is safe to call
//! unless it says otherwise.
//!
//! **Invariant**: handles (`Func`, `Memory`, …) carry the id of their store, and every access checks it. What they
//! point to lives until the store is dropped.
//! **Invariant**: while wasm code runs, the store is reachable through `VmStoreContext::store`, a pointer derived
//! from the exclusive reference with which the host entered wasm. Host functions and builtins borrow it from there
//! and give it back before they return.
//! **Invariant**: signal handlers run no code of the embedder's and have no reference to a store (`signals`).
//! **Invariant**: no Rust frame lies between a trap and the activation it unwinds to: the host reports failure by a
//! status, and machine code traps.
#![allow(unsafe_code, reason = "runs machine code and touches the memory it works on")]

pub mod abi;
pub mod activation;
pub mod alt_stack;
pub mod atomics;
pub mod build_id;
pub mod builtins;
pub mod bulk;
pub mod burst_contexts;
pub mod burst_spans;
pub mod burst_time;
pub mod bursts;
pub mod call_records;
pub mod call_targets;
pub mod code;
pub mod const_eval;
pub mod contexts;
pub mod demand;
pub mod enter;
pub mod events;
pub mod exclusive;
pub mod externs;
pub mod fire;
pub mod fork;
pub mod frames;
pub mod guarded_stack;
pub mod host;
pub mod host_clock;
pub mod image;
pub mod instance;
pub mod instantiate;
pub mod interrupt;
pub mod lazy;
pub mod many_frames;
pub mod memory;
pub mod metrics;
pub mod pace;
pub mod pages;
pub mod parking;
pub mod paths;
pub(crate) mod perf;
pub mod resume;
pub mod rlimits;
pub mod shared_memory;
pub mod signals;
pub mod stack;
pub mod store;
pub mod store_memory;
pub mod store_ptr;
pub mod system_counter;
pub mod table;
pub mod trace;
pub mod transfer;
pub mod trials;
pub mod types;
pub mod unfinished;
pub mod vmctx;
pub mod wake;
pub mod walk;
pub mod watch;
