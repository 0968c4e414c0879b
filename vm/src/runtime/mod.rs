//! Execution of machine code: everything that needs `unsafe`. The items exported to the rest of the crate are
//! safe to call unless they are marked otherwise.
//!
//! # The boundary
//!
//! Nothing here imports a layer above, so that this folder and `arch` can be audited by themselves. Below are
//! `error`, `trap`, `types`, `limits`, `config`, `externref` and `arch`. Above are engines and modules, which
//! compile, then profiles, stores and the rest of the API; in a few places it calls functions that are `unsafe`
//! here, with arguments that it has checked.
//!
//! **Offered**: memory for code, and the metadata of a pc (`code`); stores, which consist of
//! [parts](instances::store_opaque), and instances; entering wasm code and returning (`enter`); stopping it
//! (`interrupt`, `signals`, `forced_check`); frames and their positions in wasm (`walk`, `frames`); raw counters, rows,
//! call records and recordings, to be read while the host runs. The layer of profiles interprets them.
//!
//! **Required of the layers above**:
//! * [`LoadedModule`](instances::loaded::LoadedModule): the parsed module, and its code, by addresses that
//!   [`CodeArena`](code::CodeArena) returned.
//! * [`OnRound`](burst::store_bursts::OnRound) and [`Snapshots`](burst::store_bursts::Snapshots): what is done with completed
//!   bursts. They get the store while machine code waits at a check.
//! * [`HostCode`](control::host_calls::HostCode): host functions, with the store and the calling instance.
//! * [`OnOutOfBudget`](counts::event_counts::OnOutOfBudget): whether the program continues. It is passed the address of
//!   a [`StoreWith`](instances::store_opaque::StoreWith) and must know its type. So are
//!   [`Hooks`](control::call_hooks::Hooks): the embedder's callbacks at deadlines, when something grows, and when
//!   control passes between the host and wasm code.
//!
//! The values that a call from above passes must belong to the store: arguments of the function's types,
//! references of this store. So the API checks types and stores before it enters; functions here that rely on it
//! are `unsafe` and say so.
//!
//! # Invariants
//!
//! **Invariant**: handles (`Func`, `Memory`, …) carry the id of their store, and every access checks it. Their
//! targets live until the store is dropped.
//! **Invariant**: while wasm code runs, the store is reachable through `VmStoreContext::store`, a pointer derived
//! from the exclusive reference with which the host entered wasm. Host functions and builtins borrow it from
//! there and return it before they return.
//! **Invariant**: signal handlers run no code of the embedder and have no reference to a store (`signals`).
//! **Invariant**: no Rust frame lies between a trap, or a throw, and the activation it unwinds to: the host
//! reports failure by a status, and machine code traps or throws.
//! **Invariant**: code that is on a stack is not freed: its module is kept alive by an instance of a store that
//! is lent, and code is freed with its module. Data whose address machine code has neither moves nor is freed
//! before that.
//! **Invariant**: no panic unwinds through machine code: where machine code waits, the host's actions and the
//! compiler run under `catch_unwind`, and builtins are `extern "C"`, so that any other panic ends the process.
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
