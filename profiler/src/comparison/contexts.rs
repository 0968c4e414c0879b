//! Calling contexts side by side.
//!
//! Invariant: contexts are told apart by the functions on the stack, not by call sites, which move when a module is built
//! anew; the calls of all of them add up to those of the trees.

use std::collections::HashMap;

use super::Change;
use crate::{Callee, ContextTree};

/// The calling contexts of both trees, those whose calls changed most first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextChanges {
    /// What changed.
    pub changes: Vec<ContextChange>,
    nodes: Vec<Node>,
}

/// A calling context of one tree at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextChange {
    /// Which one: see [`ContextChanges::stack`].
    pub context: usize,
    /// Calls in this very context.
    pub calls: Change,
}

impl ContextChanges {
    /// What is on the stack in a context, outermost first.
    ///
    /// # Panics
    /// If there is no such context.
    pub fn stack(&self, context: usize) -> Vec<&Callee> {
        let mut stack = Vec::new();
        let mut at = Some(context);
        while let Some(node) = at {
            stack.push(&self.nodes[node].callee);
            at = self.nodes[node].parent;
        }
        stack.reverse();
        stack
    }
}

/// A function in the tree of both.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    parent: Option<usize>,
    callee: Callee,
    calls: Change,
}

/// The tree of both, by function.
#[derive(Default)]
struct Union {
    nodes: Vec<Node>,
    known: HashMap<(Option<usize>, Callee), usize>,
}

pub(super) fn changes(trees: (&ContextTree, &ContextTree), is_one_module: bool) -> ContextChanges {
    let mut union = Union::default();
    union.add(trees.0, is_one_module, |change, calls| change.before = change.before.saturating_add(calls));
    union.add(trees.1, is_one_module, |change, calls| change.after = change.after.saturating_add(calls));
    let nodes = union.nodes.iter().enumerate();
    let mut changes: Vec<ContextChange> =
        nodes.map(|(context, node)| ContextChange { context, calls: node.calls }).collect();
    changes.sort_by_key(|change| change.calls.rank());
    ContextChanges { changes, nodes: union.nodes }
}

impl Union {
    fn add(&mut self, tree: &ContextTree, is_one_module: bool, add: impl Fn(&mut Change, u64)) {
        let mut node_of: Vec<Option<usize>> = vec![None; tree.records.len()];
        for (record, index) in tree.records.iter().zip(0..).skip(1) {
            let parent = node_of[record.parent as usize];
            let node = self.node(parent, label(tree.callee(index), is_one_module));
            add(&mut self.nodes[node].calls, record.calls);
            node_of[index as usize] = Some(node);
        }
    }

    fn node(&mut self, parent: Option<usize>, callee: Callee) -> usize {
        *self.known.entry((parent, callee)).or_insert_with_key(|(parent, callee)| {
            self.nodes.push(Node { parent: *parent, callee: callee.clone(), calls: Change::default() });
            self.nodes.len() - 1
        })
    }
}

/// What tells a function in both modules: its index, or in another build its name if it has one.
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
