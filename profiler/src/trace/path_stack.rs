//! A stack of the paths that are being followed, which a mapping from branches to operations drives.
//!
//! Input: the events of a run, the graphs of its functions, and a [`PathMapping`]. Output: a descriptor for each path that
//! ends, in order.
//! Invariant: operations on one branch happen in the order update, pop, push. With [`PathMapping::BALL_LARUS`] there is one
//! entry for each active function, and with [`PathMapping::WHOLE_PATH`] one for all.
//! Source: Vaswani 2007, section 5.2, tables 5.1 and 5.2. Differences: a path with too many outcomes is cut in front of the
//! branch that does not fit, as [`PathDescriptor::of_path`] does, and nothing limits the stack. Oracle: paths that are cut
//! out of the whole sequence, in `tests/it/path_stack.rs`.

use std::collections::HashMap;

use super::{FunctionTable, TraceEvent};
use crate::{BlockId, Branch, PathDescriptor};

/// A kind of branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BranchKind {
    /// A call.
    Call,
    /// A return.
    Return,
    /// A branch or a jump to a later block.
    Forward,
    /// A branch or a jump to the same block, or an earlier one.
    Backward,
    /// A branch with more than two ways.
    Indirect,
}

/// The operation on the entry on top of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathUpdate {
    /// Nothing.
    None,
    /// The branch is counted.
    Count,
    /// The branch is counted, and its outcome belongs to the path.
    Outcome,
}

/// The operations on a kind of branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathOperations {
    /// The operation on the entry on top.
    pub update: PathUpdate,
    /// Whether the entry on top ends.
    pub pop: bool,
    /// Whether an entry begins where the branch leads.
    pub push: bool,
}

/// The operations on the stack by each kind of branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathMapping {
    /// On calls.
    pub call: PathOperations,
    /// On returns.
    pub returns: PathOperations,
    /// On branches to later blocks.
    pub forward: PathOperations,
    /// On branches to the same or earlier blocks.
    pub backward: PathOperations,
    /// On branches with more than two ways.
    pub indirect: PathOperations,
}

const COUNT: PathOperations = PathOperations { update: PathUpdate::Count, pop: false, push: false };
const FOLLOW: PathOperations = PathOperations { update: PathUpdate::Outcome, pop: false, push: false };
const CUT: PathOperations = PathOperations { update: PathUpdate::Outcome, pop: true, push: true };

impl PathMapping {
    /// Paths within functions that end at branches back, table 5.1.
    pub const BALL_LARUS: Self = Self {
        call: PathOperations { push: true, ..COUNT },
        returns: PathOperations { pop: true, ..COUNT },
        forward: FOLLOW,
        backward: CUT,
        indirect: CUT,
    };

    /// Paths that end at calls and returns, too, as in a whole program path, table 5.2.
    pub const WHOLE_PATH: Self = Self {
        call: PathOperations { pop: true, push: true, ..COUNT },
        returns: PathOperations { pop: true, push: true, ..COUNT },
        ..Self::BALL_LARUS
    };

    /// Returns the operations on a kind of branch.
    pub fn operations(&self, kind: BranchKind) -> PathOperations {
        match kind {
            BranchKind::Call => self.call,
            BranchKind::Return => self.returns,
            BranchKind::Forward => self.forward,
            BranchKind::Backward => self.backward,
            BranchKind::Indirect => self.indirect,
        }
    }
}

/// A path that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StackedPath {
    /// Its start and outcomes.
    pub path: PathDescriptor,
    /// Number of branches that were counted along it.
    pub branches: u64,
}

/// The entry of a path that is being followed.
#[derive(Clone, Copy, Debug)]
struct Entry {
    found: StackedPath,
    /// The last place of control.
    here: u32,
}

impl Entry {
    fn new(start: u32) -> Self {
        let path = PathDescriptor { start, branches: 0, outcomes: 0 };
        Self { found: StackedPath { path, branches: 0 }, here: start }
    }
}

/// The stack.
#[derive(Clone, Debug)]
pub struct PathStack {
    mapping: PathMapping,
    entries: Vec<Entry>,
}

impl PathStack {
    /// Creates an empty stack.
    pub fn new(mapping: PathMapping) -> Self {
        Self { mapping, entries: Vec::new() }
    }

    /// Lets the stack see a branch; `found` is called with each path that ends.
    pub fn branch(&mut self, kind: BranchKind, branch: Branch, mut found: impl FnMut(StackedPath)) {
        let PathOperations { update, pop, push } = self.mapping.operations(kind);
        if let Some(top) = self.entries.last_mut().filter(|_| update != PathUpdate::None) {
            if update == PathUpdate::Outcome {
                if top.found.path.branches + branch.bits > PathDescriptor::MOST_BRANCHES {
                    found(std::mem::replace(top, Entry::new(top.here)).found);
                }
                top.found.path.outcomes |= branch.outcome << top.found.path.branches;
                top.found.path.branches += branch.bits;
                top.here = branch.to;
            }
            top.found.branches += 1;
        }
        if pop {
            self.entries.pop().into_iter().for_each(|entry| found(entry.found));
        }
        if push {
            self.entries.push(Entry::new(branch.to));
        }
    }

    /// Drops the entry on top, as the handler of an exception has to.
    pub fn drop_top(&mut self) {
        self.entries.pop();
    }
}

/// Finds paths in the events of a run.
#[derive(Clone, Debug)]
pub struct PathDetector {
    stack: PathStack,
    /// The innermost frame last: its function, and the block that it is in, once one has begun.
    frames: Vec<(u32, Option<BlockId>)>,
    /// By function and block: its successors, ascending, each once.
    successors: HashMap<u32, Vec<Vec<BlockId>>>,
}

impl PathDetector {
    /// Creates a detector for a run of these functions.
    pub fn new(mapping: PathMapping, tables: &[FunctionTable]) -> Self {
        let of_table = |table: &FunctionTable| {
            let mut successors = vec![Vec::new(); table.calls.len()];
            for (from, to) in &table.edges {
                successors[from.index()].push(*to);
            }
            successors.iter_mut().for_each(|to: &mut Vec<BlockId>| {
                to.sort_unstable();
                to.dedup();
            });
            (table.function, successors)
        };
        Self {
            stack: PathStack::new(mapping),
            frames: Vec::new(),
            successors: tables.iter().map(of_table).collect(),
        }
    }

    /// Returns the name of a place in descriptors.
    pub fn place(function: u32, block: BlockId) -> u32 {
        (function << 12) ^ (block.0 << 2)
    }

    /// Lets the detector see the next event; `found` is called with each path that ends.
    pub fn event(&mut self, event: TraceEvent, found: impl FnMut(StackedPath)) {
        let to = |(function, block): (u32, Option<BlockId>)| {
            let to = Self::place(function, block.unwrap_or(BlockId::ENTRY));
            Branch { outcome: 0, bits: 0, to }
        };
        match event {
            TraceEvent::Enter(function) => {
                self.frames.push((function, None));
                self.stack.branch(BranchKind::Call, to((function, None)), found);
            }
            TraceEvent::Leave(function) => {
                self.frames.pop();
                let back = self.frames.last().copied();
                self.stack.branch(BranchKind::Return, to(back.unwrap_or((function, None))), found);
                // Calls of the host are on no path.
                self.stack.entries.truncate(if back.is_some() { usize::MAX } else { 0 });
            }
            TraceEvent::Block(function, block) => {
                let Some(frame) = self.frames.last_mut() else { return };
                let from = std::mem::replace(frame, (function, Some(block))).1;
                let branch = from.and_then(|from| self.classified(function, (from, block)));
                if let Some((kind, branch)) = branch {
                    self.stack.branch(kind, branch, found);
                }
            }
            TraceEvent::Unwound { .. } => {
                self.frames.pop();
                self.stack.drop_top();
            }
            TraceEvent::HostCall(..) | TraceEvent::HostReturn(..) => {}
        }
    }

    /// Returns the branch from one block to another, if there is one: falling through is none.
    fn classified(&self, function: u32, (from, block): (BlockId, BlockId)) -> Option<(BranchKind, Branch)> {
        let ways = self.successors.get(&function)?.get(from.index())?;
        let outcome = ways.binary_search(&block).ok()? as u32;
        let bits = ways.len().next_power_of_two().trailing_zeros() as u8;
        let kind = match ways.len() {
            3.. => BranchKind::Indirect,
            _ if block <= from => BranchKind::Backward,
            2 => BranchKind::Forward,
            _ => return None,
        };
        Some((kind, Branch { outcome, bits, to: Self::place(function, block) }))
    }
}
