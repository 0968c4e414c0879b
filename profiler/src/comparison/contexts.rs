//! Compares calling contexts.
//!
//! Invariant: contexts are identified by the functions on the stack, not by call sites, which move when a module is
//! rebuilt. The calls of all contexts add up to the calls of the trees.

use super::Change;
use crate::{Callee, ContextTree, Stacks};

/// The calling contexts of both trees, largest change of calls first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextChanges {
    /// The change of each context.
    pub changes: Vec<ContextChange>,
    stacks: Stacks,
}

/// A calling context of at least one tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextChange {
    /// Number of the context, for [`ContextChanges::stack`].
    pub context: usize,
    /// Calls in this very context.
    pub calls: Change,
}

impl ContextChanges {
    /// Returns the functions on the stack of a context, outermost first.
    ///
    /// # Panics
    /// Panics if there is no such context.
    pub fn stack(&self, context: usize) -> Vec<&Callee> {
        self.stacks.frames(context)
    }
}

/// The stacks of both trees, and the stack of each call record.
#[derive(Clone, Debug, Default)]
pub struct CommonStacks {
    /// The stacks of both trees.
    pub stacks: Stacks,
    /// By record of the first tree: its stack.
    pub before: Vec<Option<u32>>,
    /// By record of the second tree: its stack.
    pub after: Vec<Option<u32>>,
}

pub(super) fn common_stacks(trees: (&ContextTree, &ContextTree), is_one_module: bool) -> CommonStacks {
    let mut stacks = Stacks::default();
    let before = stacks.add(trees.0, |callee| label(callee, is_one_module));
    let after = stacks.add(trees.1, |callee| label(callee, is_one_module));
    CommonStacks { stacks, before, after }
}

pub(super) fn changes(trees: (&ContextTree, &ContextTree), is_one_module: bool) -> ContextChanges {
    let CommonStacks { stacks, before, after } = common_stacks(trees, is_one_module);
    let before = stacks.sums(&before, &calls(trees.0));
    let after = stacks.sums(&after, &calls(trees.1));
    let calls = before.into_iter().zip(after).map(|(before, after)| Change { before, after });
    let mut changes: Vec<ContextChange> =
        calls.enumerate().map(|(context, calls)| ContextChange { context, calls }).collect();
    changes.sort_by_key(|change| change.calls.rank());
    ContextChanges { changes, stacks }
}

/// Returns the estimated calls of the whole run, by call record.
fn calls(tree: &ContextTree) -> Vec<u64> {
    tree.records.iter().map(|record| tree.kind.scaled_up(record.calls)).collect()
}

/// Returns what identifies a function in both modules: its index, or between builds its name if it has one.
fn label(callee: &Callee, is_one_module: bool) -> Callee {
    match callee {
        Callee::Function { name: Some(name), .. } if !is_one_module => {
            Callee::Function { index: 0, name: Some(name.clone()) }
        }
        Callee::Elsewhere { instance, name: Some(name), .. } if !is_one_module => {
            Callee::Elsewhere { instance: *instance, index: 0, name: Some(name.clone()) }
        }
        other => other.clone(),
    }
}
