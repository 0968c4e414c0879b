//! Stacks of frames, and the segments of the stream between them.
//!
//! Invariant: frames are listed outermost first. A frame with another one above it is in [`Stage::Call`] or
//! [`Stage::Host`]; the innermost one is in any stage except [`Stage::Call`].

use serde::{Deserialize, Serialize};

use super::BitStream;
use crate::BlockId;

/// The progress of a frame within its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Stage {
    /// Before the block's call, or anywhere in a block without one.
    Body,
    /// In a call of a traced function, whose frame is the next one.
    Call,
    /// In a call of the host, which may have called back.
    Host,
    /// After the block's call.
    Returned,
}

/// One live frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// Index of the function.
    pub function: u32,
    /// Block that the frame is in; EXIT between its last edge and its return.
    pub block: BlockId,
    /// Progress of the frame within the block.
    pub stage: Stage,
}

/// A point of the run where frames ended other than by returning: a trap or an exception.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unwind {
    /// Number of bits of the segment before the point.
    pub position: u64,
    /// The frames before the point.
    pub frames: Vec<Frame>,
    /// The number of outermost frames that survive: those below the host call that survives the trap.
    pub keep: u32,
}

/// A segment of the stream between two known stacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Number of the first bit in the whole stream.
    pub first_bit: u64,
    /// The bits of the segment.
    pub bits: BitStream,
    /// The live frames at the first bit.
    pub start: Vec<Frame>,
    /// The unwindings, in the order of execution; positions count from the segment's first bit.
    pub unwinds: Vec<Unwind>,
    /// The live frames at the last bit.
    pub end: Vec<Frame>,
}
