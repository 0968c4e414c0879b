//! Running machine code: everything that needs `unsafe`. What is exported to the rest of the crate is safe to call
//! unless it says otherwise.
//!
//! # The boundary
//!
//! Nothing here imports a layer above, so that this folder and `arch` can be audited by themselves. Below are `error`,
//! `trap`, `types`, `limits`, `config`, `externref` and `arch`; above are engines and modules, which compile, then profiles,
//! stores and the rest of the API, which calls functions that are `unsafe` here in a few places, with what it has checked.
//!
//! **Offered**: memory for code, and what lies at a pc (`code`); instances and what they consist of (`store`, `instance`,
//! `memory`, `table`); entering wasm code and coming back (`enter`); stopping it (`interrupt`, `signals`, `forced_check`); frames
//! and their places in wasm (`walk`, `frames`); raw counters, rows, call records and recordings, to be read while the host
//! runs. What they mean is said above, by profiles.
//!
//! **Asked of the layers above**:
//! * [`LoadedModule`](instances::loaded::LoadedModule): what was parsed, and code, by addresses that
//!   [`CodeArena`](code::CodeArena) gave.
//! * [`OnRound`](burst::bursts::OnRound) and [`Snapshots`](burst::bursts::Snapshots): what is done with bursts that are over. They get the
//!   store while machine code waits at a check.
//! * [`HostCode`](control::host::HostCode): host functions, with the store and the instance that calls.
//! * [`OnOutOfBudget`](counts::events::OnOutOfBudget): whether the program goes on. It is given the address of a
//!   [`StoreWith`](instances::store::StoreWith) and must know its type. So are [`Hooks`](control::hooks::Hooks): what the embedder is asked at
//!   deadlines, when something grows, and when control passes between the host and wasm code.
//!
//! What a call from above hands down must be the store's own: arguments of the function's types, references of this store.
//! So the API checks types and stores before it enters; functions here that rely on it are `unsafe` and say so.
//!
//! # Invariants
//!
//! **Invariant**: handles (`Func`, `Memory`, …) carry the id of their store, and every access checks it. What they
//! point to lives until the store is dropped.
//! **Invariant**: while wasm code runs, the store is reachable through `VmStoreContext::store`, a pointer derived
//! from the exclusive reference with which the host entered wasm. Host functions and builtins borrow it from there
//! and give it back before they return.
//! **Invariant**: signal handlers run no code of the embedder's and have no reference to a store (`signals`).
//! **Invariant**: no Rust frame lies between a trap, or a throw, and the activation it unwinds to: the host reports failure
//! by a status, and machine code traps or throws.
//! **Invariant**: code that is on a stack is not freed: its module is kept by an instance of a store that is lent, and code
//! goes with its module. Data that machine code has the address of neither moves nor goes before that.
//! **Invariant**: no panic unwinds through machine code: what the host does, and the compiler, is called under `catch_unwind`
//! where machine code waits, and builtins are `extern "C"`, so that any other panic ends the process.
#![allow(unsafe_code, reason = "runs machine code and touches the memory it works on")]

pub mod burst;
pub mod code;
pub mod control;
pub mod counts;
pub mod entries;
pub mod gc;
pub mod instances;
pub mod interruption;
pub mod linear_memory;
pub mod samples;
pub mod stacks;
pub mod values;
