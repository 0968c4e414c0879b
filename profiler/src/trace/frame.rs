//! Stacks of frames, and the stretches of the stream between them.
//!
//! Invariant: frames are listed outermost first. A frame with another one above it is in
//! [`Stage::Call`] or [`Stage::Host`]; the innermost one is in any other stage than [`Stage::Call`].

use serde::{Deserialize, Serialize};

use super::BitStream;
use crate::BlockId;

/// How far a frame is in its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Stage {
    /// Before the block's call, or anywhere in a block without one.
    Body,
    /// In a call of a traced function, whose frame is the next one.
    Call,
    /// In a call of the host, from which it may have called back.
    Host,
    /// After the block's call.
    Returned,
}

/// One live frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// The function's index.
    pub function: u32,
    /// The block it is in; EXIT between its last edge and its return.
    pub block: BlockId,
    /// How far it is there.
    pub stage: Stage,
}

/// A point of the run where frames ended otherwise than by returning: a trap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unwind {
    /// Bits of the segment before it.
    pub position: u64,
    /// The frames before it.
    pub frames: Vec<Frame>,
    /// How many of them live on, the outermost: those below the host call that survives the trap.
    pub keep: u32,
}

/// A stretch of the stream between two known stacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Number of the first bit in the whole stream.
    pub first_bit: u64,
    /// The stretch itself.
    pub bits: BitStream,
    /// The live frames at its first bit.
    pub start: Vec<Frame>,
    /// In the order of execution; positions count from the segment's first bit.
    pub unwinds: Vec<Unwind>,
    /// The live frames at its last bit.
    pub end: Vec<Frame>,
}
