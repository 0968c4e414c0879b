//! What a block calls.

use serde::{Deserialize, Serialize};

/// The token of an indirect call whose callee is a host function or a function that is not traced.
pub const HOST_CALLEE: u32 = u32::MAX;

/// The one call of a block, its last act before its only out-edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Call {
    /// A traced function, always the same.
    Direct(u32),
    /// A function that the stream names.
    Indirect,
    /// A function that the stream names and that takes the place of this frame; the edge goes to EXIT.
    /// If it is a host function the frame stays, as in [`Call::Indirect`], and returns after it.
    Tail,
    /// A host function, or one that is not traced: it may call back any number of times.
    Host,
}
