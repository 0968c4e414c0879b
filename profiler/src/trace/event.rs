//! The events of a regenerated run.

use crate::BlockId;

/// One event of the run. Functions are given by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceEvent {
    /// A function is entered, by the caller whose block was the last event, or by the host.
    Enter(u32),
    /// A block of the innermost frame begins.
    Block(u32, BlockId),
    /// The innermost frame returns, or is replaced by the callee of a tail call.
    Leave(u32),
    /// A block calls the host.
    HostCall(u32, BlockId),
    /// The host returns to the block that called it.
    HostReturn(u32, BlockId),
    /// A frame ends other than by returning; innermost frames come first.
    Unwound {
        /// Function of the frame.
        function: u32,
        /// Block that the frame was in.
        block: BlockId,
    },
}
