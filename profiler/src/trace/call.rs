//! The calls of blocks.

use serde::{Deserialize, Serialize};

/// The token of an indirect call whose callee is a host function or a function that is not traced.
pub const HOST_CALLEE: u32 = u32::MAX;

/// The call of a block, at its end before its only out-edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Call {
    /// A call of a fixed traced function.
    Direct(u32),
    /// A call of the function that the stream names.
    Indirect,
    /// A tail call of the function that the stream names, which replaces this frame; the edge goes to EXIT. If the
    /// callee is a host function, the frame stays, as in [`Call::Indirect`], and returns after it.
    Tail,
    /// A call of a host function, or of one that is not traced; it may call back any number of times.
    Host,
}
