//! What a regenerated run consists of.

use crate::BlockId;

/// One step of the run. Functions are named by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceEvent {
    /// A function is entered: by the caller whose block came last, or by the host.
    Enter(u32),
    /// A block of the innermost frame begins.
    Block(u32, BlockId),
    /// The innermost frame returns, or gives its place to the callee of a tail call.
    Leave(u32),
    /// A block calls the host.
    HostCall(u32, BlockId),
    /// The host returns to that block.
    HostReturn(u32, BlockId),
    /// A frame ends otherwise than by returning; innermost frames first.
    Unwound {
        /// The frame's function.
        function: u32,
        /// The block it was in.
        block: BlockId,
    },
}
