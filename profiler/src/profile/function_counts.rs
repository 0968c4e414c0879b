//! The counts of a function: edges, blocks, or paths.
//!
//! Invariant: edge counts are there exactly if they are known. Paths determine the counts of edges, which are held
//! beside them, since following paths takes longer than most readers need.
//! Source: Ball & Larus 1994, section 3 (edges, vertices); Ball & Larus 1996 (paths). Oracle: `tests/it/profile.rs`.

use crate::{BlockCounts, PathProfile};

/// The counts of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionCounts {
    /// The counts of edges, by [`EdgeId`](crate::EdgeId). Counts of blocks and calls follow.
    Edges(Vec<u64>),
    /// The counts of blocks and calls. Counts of edges are unknown.
    Blocks(BlockCounts),
    /// The counts of edges as the paths cross them, by [`EdgeId`](crate::EdgeId), and the paths.
    Paths(Vec<u64>, PathProfile),
}

impl FunctionCounts {
    /// Returns the counts of edges by [`EdgeId`](crate::EdgeId), if they are known.
    pub fn edges(&self) -> Option<&[u64]> {
        match self {
            Self::Edges(edges) | Self::Paths(edges, _) => Some(edges),
            Self::Blocks(_) => None,
        }
    }

    /// Returns the counts of edges, to be changed, if they are known.
    pub fn edges_mut(&mut self) -> Option<&mut Vec<u64>> {
        match self {
            Self::Edges(edges) | Self::Paths(edges, _) => Some(edges),
            Self::Blocks(_) => None,
        }
    }

    /// Returns the counts of blocks and calls, if nothing else was counted.
    pub fn blocks(&self) -> Option<&BlockCounts> {
        match self {
            Self::Blocks(counts) => Some(counts),
            Self::Edges(_) | Self::Paths(..) => None,
        }
    }

    /// Returns the paths, if they were counted.
    pub fn paths(&self) -> Option<&PathProfile> {
        match self {
            Self::Paths(_, paths) => Some(paths),
            Self::Edges(_) | Self::Blocks(_) => None,
        }
    }

    /// Returns the paths, to be changed, if they were counted.
    pub fn paths_mut(&mut self) -> Option<&mut PathProfile> {
        match self {
            Self::Paths(_, paths) => Some(paths),
            Self::Edges(_) | Self::Blocks(_) => None,
        }
    }

    /// Leaves the counts of edges alone, if paths were counted.
    pub fn forget_paths(&mut self) {
        if let Self::Paths(edges, _) = self {
            *self = Self::Edges(std::mem::take(edges));
        }
    }
}
