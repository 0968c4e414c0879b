//! Tracing: the exact sequence of executed blocks from very few recorded bits.
//!
//! Input: graphs, calls and weights; later one bit stream and a few stacks of frames. Output: what to
//! emit on which edge; later every event of the run in order.
//! Invariant: what was recorded is regenerated exactly, wherever the recording stops; damaged input is an
//! error with a bit position, never a panic.
//! Source: Ball & Larus 1994, section 4 (witnesses, diamonds, blocking, regeneration) and section 6.2
//! (bit tracing). Oracle: `tests/it/trace*.rs`, which compare with a complete log.
//!
//! # The encoding
//!
//! All traced functions of a thread share one stream of bits, the least significant bit of a value first.
//! The run appends, in the order of execution:
//!
//! | when | bits |
//! |---|---|
//! | control crosses an edge with an [`Emit`] | the emit's |
//! | the host enters a function | `1`, then its index (32 bits) |
//! | [`Call::Indirect`], before the callee is entered | the callee's index (32), or [`HOST_CALLEE`] |
//! | [`Call::Tail`], after its edge to EXIT | the callee's index (32), or [`HOST_CALLEE`] |
//! | a host call returns to [`Call::Host`], or to [`Call::Indirect`] with [`HOST_CALLEE`] | `0` |
//!
//! A direct call writes nothing. A callee counts as entered, in its block 0, once its token is written.
//!
//! Bits alone do not tell where a run stops, so the places where frames end otherwise than by returning are
//! kept beside the stream: an [`Unwind`] for each trap, whether the host survives it or not, and the live
//! frames at the end. Between two such places the stream is regenerated until the frames are exactly those
//! recorded there. That place is unique, because every directed cycle of a graph crosses at least one bit,
//! and from one block to another there is at most one path without bits.

mod bit_tracing;
mod bits;
mod blocking;
mod branches;
mod call;
mod code;
mod color;
mod counts;
mod error;
mod event;
mod file;
mod frame;
mod function;
mod graph;
mod plan;
mod regenerate;
mod silent;
mod witness;

pub use bits::BitStream;
pub use call::{Call, HOST_CALLEE};
pub use counts::TraceCounts;
pub use error::TraceError;
pub use event::TraceEvent;
pub use file::*;
pub use frame::{Frame, Segment, Stage, Unwind};
pub use function::{TracedFunction, TracedFunctions};
pub use plan::{Emit, TraceMethod, TracePlan};
pub use regenerate::Regenerator;
