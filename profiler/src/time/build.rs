//! Builds canonical trees from stacks in any order.
//!
//! Invariant: equal places on equal stacks are one node. A log of several trees is therefore their sum, whichever
//! order they are added in.

use std::collections::{BTreeMap, HashMap};

use super::{TimeNode, TimeProfile, Timed};
use crate::Callee;

/// Nodes in the order in which they are collected.
#[derive(Clone, Debug, Default)]
pub struct TimeLog {
    rate: u32,
    /// Number of lost samples.
    pub lost: u64,
    /// Sum of the squares of the times of all samples, in square microseconds: see [`TimeProfile::squares`].
    pub squares: u64,
    callees: Vec<Callee>,
    numbers: HashMap<Callee, u32>,
    nodes: Vec<TimeNode>,
    known: HashMap<Key, u32>,
}

/// The key that distinguishes the nodes of one tree.
type Key = (Option<u32>, u32, u32, bool);

fn key(node: &TimeNode) -> Key {
    (node.caller, node.callee, node.offset, node.is_inlined)
}

impl TimeLog {
    /// Creates an empty log of stacks sampled `rate` times a second.
    pub fn new(rate: u32) -> Self {
        Self { rate, ..Self::default() }
    }

    /// Adds time to a place called from the node `caller`, or from the host if there is none. Returns the place's
    /// node.
    pub fn add(&mut self, caller: Option<u32>, place: (&Callee, u32, bool), own: Timed) -> u32 {
        let (callee, offset, is_inlined) = place;
        let callee = self.callee(callee);
        let node = TimeNode { caller, callee, offset, is_inlined, own: Timed::default() };
        let at = *self.known.entry(key(&node)).or_insert_with(|| {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        });
        self.add_time(at, own);
        at
    }

    /// Adds time to a node.
    pub(crate) fn add_time(&mut self, node: u32, own: Timed) {
        let sum = &mut self.nodes[node as usize].own;
        *sum = sum.plus(own);
    }

    /// Adds a valid tree.
    pub fn add_tree(&mut self, tree: &TimeProfile) {
        self.add_tree_below(None, tree);
    }

    /// Adds a valid tree whose outermost places are called from the node `root`.
    pub(crate) fn add_tree_below(&mut self, root: Option<u32>, tree: &TimeProfile) {
        let mut numbers: Vec<u32> = Vec::with_capacity(tree.nodes.len());
        for (at, node) in tree.nodes.iter().enumerate() {
            let caller = node.caller.map(|caller| numbers[caller as usize]).or(root);
            numbers.push(self.add(caller, (tree.callee(at), node.offset, node.is_inlined), node.own));
        }
    }

    fn callee(&mut self, callee: &Callee) -> u32 {
        match self.numbers.get(callee) {
            Some(&known) => known,
            None => {
                self.callees.push(callee.clone());
                let number = self.callees.len() as u32 - 1;
                self.numbers.insert(callee.clone(), number);
                number
            }
        }
    }

    /// Builds the tree of all nodes.
    pub fn tree(&self) -> TimeProfile {
        let sorted: BTreeMap<&Callee, u32> = self.callees.iter().zip(0..).collect();
        let mut new_callee = vec![0; self.callees.len()];
        for (new, &old) in (0..).zip(sorted.values()) {
            new_callee[old as usize] = new;
        }
        let mut called: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        let mut pending: Vec<usize> = Vec::new();
        for (at, node) in self.nodes.iter().enumerate() {
            match node.caller {
                Some(caller) => called[caller as usize].push(at),
                None => pending.push(at),
            }
        }
        // In descending order, so that popping from the end takes the first one first.
        let order = |nodes: &mut Vec<usize>| {
            let key = |&at: &usize| {
                let node = &self.nodes[at];
                std::cmp::Reverse((new_callee[node.callee as usize], node.offset, node.is_inlined))
            };
            nodes.sort_by_key(key);
        };
        order(&mut pending);
        let (mut nodes, mut new_node) = (Vec::with_capacity(self.nodes.len()), vec![0; self.nodes.len()]);
        while let Some(at) = pending.pop() {
            let node = &self.nodes[at];
            new_node[at] = nodes.len() as u32;
            let caller = node.caller.map(|caller| new_node[caller as usize]);
            nodes.push(TimeNode { caller, callee: new_callee[node.callee as usize], ..*node });
            order(&mut called[at]);
            pending.append(&mut called[at]);
        }
        let callees = sorted.into_keys().cloned().collect();
        TimeProfile { callees, nodes, rate: self.rate, lost: self.lost, squares: self.squares }
    }
}
