//! Errors of regeneration.

use crate::{BlockId, EdgeId};

/// A trace that contradicts its plans. Positions are bits of the whole stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// A plan emits on an edge that the graph does not have, twice on one edge, or 0 or more than 32 bits.
    #[error("the plan emits at {0}, which is no edge of the graph or has another emit")]
    BadPlan(EdgeId),
    /// Two tokens of a plan cannot be distinguished.
    #[error("the plan's tokens cannot be told apart: that of {0} begins like another one")]
    Ambiguous(EdgeId),
    /// A cycle of the graph writes nothing, so its iterations cannot be counted.
    #[error("the plan lets the cycle through {0} run without a bit")]
    SilentCycle(EdgeId),
    /// A function has no plan.
    #[error("bit {position}: function {function} is not in the trace")]
    UnknownFunction {
        /// Bit position.
        position: u64,
        /// Index of the function.
        function: u32,
    },
    /// A recorded stack has impossible frames.
    #[error("bit {position}: the recorded stack is impossible at its frame {frame}")]
    BadStack {
        /// Bit position.
        position: u64,
        /// Position of the frame, counted from the outermost.
        frame: usize,
    },
    /// The stream continues, or stops, where the frames are not the recorded ones.
    #[error("bit {position}: the run does not lead to the recorded stack")]
    Lost {
        /// Bit position.
        position: u64,
    },
    /// A token is read that no branch of the block writes.
    #[error("bit {position}: no branch of {block} of function {function} writes this")]
    BadToken {
        /// Bit position.
        position: u64,
        /// Index of the function.
        function: u32,
        /// The block.
        block: BlockId,
    },
    /// The data references do not match the blocks.
    #[error("bit {position}: data reference {number} of the chunk is not of the block that runs")]
    WrongReference {
        /// Bit position.
        position: u64,
        /// Number of the reference, counted from 0.
        number: u64,
    },
    /// A function has an access in a block that does not exist, or out of order.
    #[error("the access at byte {site:#x} of the module is in no block, or in one before")]
    BadAccess {
        /// Byte offset of the access in the module.
        site: u32,
    },
    /// The run has more frames than any stack can hold.
    #[error("bit {position}: the run has more frames than a stack can hold")]
    TooDeep {
        /// Bit position.
        position: u64,
    },
}
