//! Instrumentation of WebAssembly modules: a rewriter that makes modules count, and a reader of their counters.
//!
//! ```text
//! bytes -> module::Source          sections, types, bodies
//!       -> cfg::Cfg                the blocks and edges of one function, as in the engine
//!       -> plan::FunctionPlan      what is counted on which edge
//!       -> rewrite                 the body with counting code between its instructions
//!       -> assemble                the module with a memory for counters, and its description
//! region of counters -> profile    with the same plans
//! ```
//!
//! **Invariant**: the rewritten module behaves as the original does. Instructions are copied as bytes. Counting code
//! stands between them and leaves the operand stack unchanged. Original indices do not change, since every addition
//! comes at the end of its index space.
//!
//! **Invariant**: the profile equals the engine's exact one, even if frames end in mid-block. A rewritten module cannot
//! walk its stack, so it keeps its own, the *stack of calls in flight*. A frame gets an entry when it first makes a
//! call or executes another instruction that may end it; the entry holds the latest such site and the path register
//! there. The entry is removed when the frame returns. A frame that a trap, an exception or an exit of the host unwinds
//! never removes its entry. Code that continues in a frame after a call, or catches an exception, finds such entries
//! above its own and books them (`support`). Entries on the stack when counters are read belong to frames that did
//! not end.
//!
//! **Calling contexts** are counted in call records, which the module makes for itself (`support`): a caller leaves the
//! slot of a call in a global, and the callee finds its record there.
//!
//! **Traces** are the engine's, bit by bit, except that the module notes its stack instead of the host (`support`).
//! Source: Ball & Larus 1994, section 3 (chords; early termination gets pseudo edges to EXIT), and 1996 (paths);
//! Ammons, Ball & Larus 1997, section 4 (contexts); Ball 1994 (events).
//! Oracle: `spec-tests/tests/instrument.rs`, `rewritten_contexts.rs` and `rewritten_traces.rs`, which compare with the engine's profile of the
//! same run.
#![forbid(unsafe_code)]

mod assemble;
mod calls;
pub mod cfg;
mod checks;
mod component;
pub mod counters;
mod descriptor;
mod error;
mod event_kind;
mod events;
mod hot;
mod javascript;
mod layout;
mod module;
mod offsets;
mod plan;
mod profile;
mod rewrite;
mod shims;
mod sites;
mod split;
mod supergraph;
mod support;
mod trace;
mod traced;

pub use assemble::Options;
pub use component::{instrument, modules, with_module};
pub use counters::RawCounters;
pub use error::Error;
pub use event_kind::{EventKind, bulk_operations};
pub use javascript::javascript;
pub use layout::{COUNTERS, CURRENT, FLUSH, SLOT};
pub use module::Source;
pub use offsets::OffsetMap;
pub use plan::Collected;
pub use profile::{Read, read};
pub use supergraph::{Marks, Supergraphs};
pub use traced::{TraceRead, read_trace};
