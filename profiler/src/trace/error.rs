//! Why a run cannot be regenerated.

use crate::{BlockId, EdgeId};

/// A trace that contradicts its plans, or the other way round. Positions are bits of the whole stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// A plan has an emit that its graph has no edge for, or twice, or of 0 or more than 32 bits.
    #[error("the plan emits at {0}, which is no edge of the graph or has another emit")]
    BadPlan(EdgeId),
    /// Two tokens of a plan cannot be told apart.
    #[error("the plan's tokens cannot be told apart: that of {0} begins like another one")]
    Ambiguous(EdgeId),
    /// A cycle of the graph writes nothing, so its rounds cannot be told.
    #[error("the plan lets the cycle through {0} run without a bit")]
    SilentCycle(EdgeId),
    /// A function has no plan.
    #[error("bit {position}: function {function} is not in the trace")]
    UnknownFunction {
        /// Where.
        position: u64,
        /// Its index.
        function: u32,
    },
    /// A recorded stack has frames that cannot be.
    #[error("bit {position}: the recorded stack is impossible at its frame {frame}")]
    BadStack {
        /// Where.
        position: u64,
        /// Counted from the outermost.
        frame: usize,
    },
    /// The stream goes on, or stops, where the frames are not those recorded.
    #[error("bit {position}: the run does not lead to the recorded stack")]
    Lost {
        /// Where.
        position: u64,
    },
    /// A token is read that no branch of the block writes.
    #[error("bit {position}: no branch of {block} of function {function} writes this")]
    BadToken {
        /// Where.
        position: u64,
        /// The function.
        function: u32,
        /// The block.
        block: BlockId,
    },
    /// The data references are not those of the blocks.
    #[error("bit {position}: data reference {number} of the chunk is not of the block that runs")]
    WrongReference {
        /// Where.
        position: u64,
        /// Counted from 0.
        number: u64,
    },
    /// A function has an access in a block that it does not have, or out of order.
    #[error("the access at byte {site:#x} of the module is in no block, or in one before")]
    BadAccess {
        /// Its place.
        site: u32,
    },
    /// More frames than any run can have.
    #[error("bit {position}: the run has more frames than a stack can hold")]
    TooDeep {
        /// Where.
        position: u64,
    },
}
