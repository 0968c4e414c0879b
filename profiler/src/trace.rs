//! Tracing: regenerates the exact sequence of executed blocks from very few recorded bits.
//!
//! Input: graphs, calls and weights; later one bit stream and a few stacks of frames. Output: what to emit on which
//! edge; later every event of the run in order.
//! Invariant: what was recorded is regenerated exactly, wherever the recording stops. Damaged input is an error with
//! a bit position, never a panic.
//! Source: Ball & Larus 1994, section 4 (witnesses, diamonds, blocking, regeneration) and section 6.2
//! (bit tracing). Oracle: `tests/it/trace*.rs`, which compare with a complete log.
//!
//! # The encoding
//!
//! All traced functions of a thread share one bit stream, in which the least significant bit of a value comes first.
//! The run appends, in the order of execution:
//!
//! | when | bits |
//! |---|---|
//! | control crosses an edge with an [`Emit`] | the emit's |
//! | the host enters a function | `1`, then its index (32 bits) |
//! | [`Call::Indirect`], before the callee is entered | the callee's index (32), or [`HOST_CALLEE`] |
//! | [`Call::Tail`], before its edge to EXIT | the callee's index (32), or [`HOST_CALLEE`] |
//! | a host call returns to [`Call::Host`], or to one of the others with [`HOST_CALLEE`] | `0` |
//!
//! A direct call writes nothing. A callee counts as entered, in its block 0, as soon as its token is written.
//!
//! The bits alone do not show where a run stops, so the places where frames end other than by returning are kept
//! beside the stream: an [`Unwind`] for each exception and each trap, whether or not the host survives the trap, and
//! the live frames at the end. Between two such places the stream is regenerated until the frames are exactly those
//! recorded there. That place is unique: every directed cycle of a graph writes at least one bit, a call back and a
//! tail call write some too, and from one block to another there is at most one path without bits.
//!
//! # What the runtime must guarantee
//!
//! An inspection of the stack (at a trap, at the end, at a flush that ends a [`Segment`]) finds each frame in a known
//! block and [`Stage`], in agreement with the bits written so far:
//!
//! * The bits of an edge and the move from its source to its target are one step. A flush on an edge names the source
//!   if it comes before the bits, and the target (EXIT too) if it comes after them.
//! * The token of an indirect call and the entry of its callee are one step: the token is written after the last
//!   check that may trap in the caller. If the stack has no room for the callee, the callee is named, in its block 0.
//!   For a tail call the edge to EXIT belongs to the same step. A direct callee that has no room may be named, or
//!   left out with its caller in [`Stage::Body`].
//! * The marker and index of a root are one step with its entry. A host call is in [`Stage::Host`] from the moment at
//!   which it counts as made until its `0` is written.
//! * Every frame with one above it is in [`Stage::Call`], or in [`Stage::Host`] if the host lies between.
//! * A trap is recorded before any later bit is written, with the frames that survive it: those up to the host call
//!   that catches it. A trap that passes through several host calls may be recorded once or step by step.
//! * An exception is recorded in the same way. The frame that catches it, in [`Stage::Call`], continues behind its
//!   call. An exception that the frame itself threw (which is a host call), or received from the host, arrives as
//!   that host call returns.
//! * All code of a function, in every tier, follows one plan.
//!
//! # Data references
//!
//! Optionally the run writes each load and store into a second stream ([`References`]), immediately before the
//! access, so an access that traps is included. A frame at a call has made all accesses of its block. Where a frame
//! stops in the middle of a block, at a trap or at the end of a chunk, the number of references up to there
//! determines how many of the block's accesses it made.

mod access;
mod bit_tracing;
mod bits;
mod blocking;
mod branches;
mod burst_file;
mod call;
mod code;
mod color;
mod counts;
mod decoding;
mod error;
mod event;
mod file;
mod frame;
mod function;
mod functions;
mod graph;
mod packing;
mod path_stack;
mod plan;
mod regenerate;
mod silent;
mod steps;
mod whole_path;
mod witness;

pub use access::{Access, AccessKind, DataReference};
pub use bits::BitStream;
pub use burst_file::{BurstEvent, BurstReader, BurstWriter};
pub use call::{Call, HOST_CALLEE};
pub use counts::TraceCounts;
pub use error::TraceError;
pub use event::TraceEvent;
pub use file::*;
pub use frame::{Frame, Segment, Stage, Unwind};
pub use function::TracedFunction;
pub use functions::TracedFunctions;
pub use packing::{PackSummary, unpack_trace};
pub use path_stack::{
    BranchKind, PathDetector, PathMapping, PathOperations, PathStack, PathUpdate, StackedPath,
};
pub use plan::{Emit, TraceMethod, TracePlan};
pub use regenerate::Regenerator;
pub use steps::{TraceStep, TraceSteps};
pub use whole_path::{
    PathItem, PathPhase, PathPhases, PathSegment, SegmentResidual, Subpath, SubpathEnd, UntestedSegment,
    WholePath,
};
