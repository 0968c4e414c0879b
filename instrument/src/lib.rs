//! Modules that count for themselves: a rewriter of WebAssembly, and the reader of what its modules have counted.
//!
//! ```text
//! bytes -> module::Source          sections, types, bodies
//!       -> cfg::Cfg                one function, the blocks and edges that the engine has too
//!       -> plan::FunctionPlan      what is counted on which edge
//!       -> rewrite                 the body with code that counts between its instructions
//!       -> assemble                the module with a memory for counters, and what describes it
//! region of counters -> profile    by the same plans
//! ```
//!
//! **Invariant**: the rewritten module does what the original does. Instructions are copied as bytes; code that counts
//! stands between them and leaves the operand stack as it was; indices of what was there do not change, since
//! everything is added at the end of its index space.
//!
//! **Invariant**: the profile is the engine's exact one, also if frames end in mid-block. A rewritten module cannot
//! walk its stack, so it keeps one: the *stack of calls in flight* has an entry for each frame that has called, or done
//! what may end it, with the site and the path register of the last time; it goes when the frame returns. A frame that is left by a trap, an exception or an exit of the
//! host never takes its entry away. Whoever comes back to a frame, or catches an exception, finds such entries above
//! its own and books them ([`support`]); what lies on the stack when counters are read did not end.
//! Source: Ball & Larus 1994, section 3 (chords; early termination gets pseudo edges to EXIT), and 1996 (paths).
//! Oracle: `spec-tests/tests/instrument.rs`, which compares with the engine's profile of the same run.
#![forbid(unsafe_code)]

mod assemble;
mod calls;
pub mod cfg;
mod component;
pub mod counters;
mod descriptor;
mod error;
mod hot;
mod layout;
mod module;
mod offsets;
mod plan;
mod profile;
mod rewrite;
mod sites;
mod support;

/// What hands counters over in JavaScript hosts: a script for pages and Node.
pub const JAVASCRIPT: &str = include_str!("../js/wprof.js");

pub use assemble::Options;
pub use component::{instrument, modules};
pub use counters::RawCounters;
pub use error::Error;
pub use layout::{COUNTERS, FLUSH};
pub use module::Source;
pub use offsets::OffsetMap;
pub use plan::Collected;
pub use profile::{Read, read};
