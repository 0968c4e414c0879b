//! Dense numbers of blocks, edges and loops.
//!
//! Invariant: ids of one kind in one graph run from 0 without holes, so they index plain vectors.

use serde::{Deserialize, Serialize};

/// Defines one dense id type.
macro_rules! dense_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub u32);

        impl $name {
            /// Creates the id of position `index`, which must fit 32 bits (graphs check that when they are built).
            pub fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("dense ids fit 32 bits"))
            }

            /// Returns the id as a vector index.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(out, "{}{}", $prefix, self.0)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(out, "{self}")
            }
        }
    };
}

dense_id! {
    /// A vertex of a [`Cfg`](crate::Cfg): a basic block, or EXIT.
    BlockId, "b"
}
dense_id! {
    /// An edge of a [`Cfg`](crate::Cfg): a transfer of control, or the closing edge.
    EdgeId, "e"
}
dense_id! {
    /// A loop of a [`Loops`](crate::Loops) forest, numbered parents first.
    LoopId, "l"
}

impl BlockId {
    /// The block where every execution of a function begins.
    pub const ENTRY: Self = Self(0);
}
