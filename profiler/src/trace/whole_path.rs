//! Whole program paths: a complete run as a sequence of acyclic paths, calls and returns, in a grammar.
//!
//! Input: the events of a trace. Output: a [`WholePath`], which has the different paths and a [`Grammar`] of their
//! sequence; the subpaths in which most of the work was done, across loops and calls; a file.
//! Invariant: the sequence determines every block that ran, in order, as the trace does.
//! Source: Larus, *Whole Program Paths*, PLDI 1999; Vaswani 2007, section 3.4.1: a **subpath** is an acyclic path
//! that ends at calls as well as at back edges and returns. Ours: calls of the host end it as well, as the host may
//! call back. Oracle: the trace's events, in `tests/it/whole_path.rs`.

mod file;
mod numbering;
mod phases;
mod subpaths;
mod untested;
mod walk;

pub use phases::{PathPhase, PathPhases};
pub use subpaths::{Segment as PathSegment, Subpath};
pub use untested::{SegmentResidual, UntestedSegment};

use serde::{Deserialize, Serialize};

use super::{FunctionTable, TraceEnding, TraceHead};
use crate::{BlockId, Grammar};
use numbering::SubpathNumberings;

/// An item of the sequence. Functions are given by index.
///
/// Stored by position: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PathItem {
    /// A function is entered, by the previous path, which ended at a call, or by the host.
    Enter(u32),
    /// A path has finished.
    Path {
        /// Index of the function.
        function: u32,
        /// Number of the path.
        id: u64,
    },
    /// The innermost frame returns, or is replaced by the callee of a tail call.
    Leave,
    /// A frame ends, or the trace does, within a path.
    Stopped {
        /// Index of the function.
        function: u32,
        /// Block in which the path stopped.
        block: BlockId,
        /// Path sum of the prefix.
        prefix: u64,
    },
    /// A frame ends, or the trace does, in the call at which the frame's last path ended.
    Unwound,
    /// A path ends at the call of a block that has several out-edges (where exceptions of the callee are caught, for
    /// example) or none.
    Called {
        /// Index of the function.
        function: u32,
        /// Block that makes the call.
        block: BlockId,
        /// Path sum of the prefix.
        prefix: u64,
    },
}

/// The end of a subpath.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SubpathEnd {
    /// At a call.
    Call,
    /// At the back edge of a loop, or at a cut where there would be too many paths.
    Loop,
    /// At the return of the function.
    Return,
}

/// The whole program path of a run.
#[derive(Clone, Debug)]
pub struct WholePath {
    head: TraceHead,
    /// The functions that ran, with their graphs and calls.
    tables: Vec<FunctionTable>,
    numberings: SubpathNumberings,
    /// The different items; an item of the grammar is a position in this list.
    items: Vec<PathItem>,
    grammar: Grammar,
    ending: TraceEnding,
}

impl WholePath {
    /// Returns the head, which names the traced program.
    pub fn head(&self) -> &TraceHead {
        &self.head
    }

    /// Returns how the trace ended.
    pub fn ending(&self) -> TraceEnding {
        self.ending
    }

    /// Returns the different items; an item of the grammar is a position among them.
    pub fn items(&self) -> &[PathItem] {
        &self.items
    }

    /// Returns the grammar of the sequence.
    pub fn grammar(&self) -> &Grammar {
        &self.grammar
    }

    /// Returns the blocks of a path, or of the prefix of one that was stopped or made a call; `None` for other items.
    pub fn blocks(&self, item: PathItem) -> Option<Vec<BlockId>> {
        match item {
            PathItem::Path { function, id } => self.numberings.get(function)?.blocks(id),
            PathItem::Stopped { function, block, prefix } | PathItem::Called { function, block, prefix } => {
                self.numberings.get(function)?.blocks_of_prefix(block, prefix)
            }
            _ => None,
        }
    }

    /// Returns how a path ends; `None` for items that are not paths.
    pub fn end_of(&self, item: PathItem) -> Option<SubpathEnd> {
        match item {
            PathItem::Path { function, id } => self.numberings.get(function)?.end(id),
            PathItem::Called { .. } => Some(SubpathEnd::Call),
            _ => None,
        }
    }
}
