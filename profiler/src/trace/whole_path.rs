//! The whole program path: all that a run did, as a sequence of acyclic paths, calls and returns, in a grammar.
//!
//! Input: the events of a trace. Output: a [`WholePath`]: the different paths, and a [`Grammar`] of their sequence; the
//! subpaths in which most of the work was done, across loops and calls; a file.
//! Invariant: the sequence tells every block that ran, in order, as the trace does.
//! Source: Larus, *Whole Program Paths*, PLDI 1999; Vaswani 2007, section 3.4.1: a **subpath** is an acyclic path that
//! ends at calls too, as well as at back edges and returns. Ours: those of the host end it as well, as the host may call
//! back. Oracle: the trace's events, in `tests/it/whole_path.rs`.

mod file;
mod numbering;
mod subpaths;
mod walk;

pub use subpaths::{Segment as PathSegment, Subpath};

use serde::{Deserialize, Serialize};

use super::{FunctionTable, TraceEnding, TraceHead};
use crate::{BlockId, Grammar};
use numbering::SubpathNumberings;

/// What the sequence consists of. Functions are named by index.
///
/// Stored by position: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PathItem {
    /// A function is entered: by the path before, which ended at a call, or by the host.
    Enter(u32),
    /// A path has run to its end.
    Path {
        /// Of which function.
        function: u32,
        /// Its number.
        id: u64,
    },
    /// The innermost frame returns, or gives its place to the callee of a tail call.
    Leave,
    /// A frame ends, or the trace does, in the middle of a path.
    Stopped {
        /// Of which function.
        function: u32,
        /// In this block.
        block: BlockId,
        /// The sum of the path up to there.
        prefix: u64,
    },
    /// A frame ends, or the trace does, in the call with which the frame's last path ended.
    Unwound,
    /// A path ends at the call of a block that can be left in several ways, as where exceptions of the callee are caught,
    /// or in none.
    Called {
        /// Of which function.
        function: u32,
        /// In this block.
        block: BlockId,
        /// The sum of the path up to there.
        prefix: u64,
    },
}

/// How a subpath ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SubpathEnd {
    /// At a call.
    Call,
    /// Back at the head of a loop, or where there would be too many paths.
    Loop,
    /// With the function.
    Return,
}

/// All that a run did.
#[derive(Clone, Debug)]
pub struct WholePath {
    head: TraceHead,
    /// The functions that ran: graphs and calls.
    tables: Vec<FunctionTable>,
    numberings: SubpathNumberings,
    /// What the items of the grammar are.
    items: Vec<PathItem>,
    grammar: Grammar,
    ending: TraceEnding,
}

impl WholePath {
    /// What was traced.
    pub fn head(&self) -> &TraceHead {
        &self.head
    }

    /// How the trace ended.
    pub fn ending(&self) -> TraceEnding {
        self.ending
    }

    /// The different items; the grammar has their numbers.
    pub fn items(&self) -> &[PathItem] {
        &self.items
    }

    /// The sequence.
    pub fn grammar(&self) -> &Grammar {
        &self.grammar
    }

    /// The blocks of a path, or of the beginning of one that was stopped; `None` of other items.
    pub fn blocks(&self, item: PathItem) -> Option<Vec<BlockId>> {
        match item {
            PathItem::Path { function, id } => self.numberings.get(function)?.blocks(id),
            PathItem::Stopped { function, block, prefix } | PathItem::Called { function, block, prefix } => {
                self.numberings.get(function)?.blocks_of_prefix(block, prefix)
            }
            _ => None,
        }
    }

    /// How a path ends; `None` of what is no path.
    pub fn end_of(&self, item: PathItem) -> Option<SubpathEnd> {
        match item {
            PathItem::Path { function, id } => self.numberings.get(function)?.end(id),
            PathItem::Called { .. } => Some(SubpathEnd::Call),
            _ => None,
        }
    }
}
