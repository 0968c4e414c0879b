//! Groups calling contexts by call stack, without regard to call sites: the frames of a flame graph.
//!
//! Input: trees, and the labels that identify their callees. Output: the distinct stacks of all trees, and the stack
//! of each record.
//! Invariant: a stack comes after its caller's, so one backward pass computes inclusive sums.
//! Oracle: `tests/it/contexts.rs`, which counts the stacks of all calls.

use std::collections::HashMap;

use super::{Callee, ContextTree};

/// The stacks of one tree or of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stacks {
    /// The distinct callees.
    pub callees: Vec<Callee>,
    /// The stacks.
    pub stacks: Vec<Stack>,
    numbers: HashMap<Callee, u32>,
    known: HashMap<(Option<u32>, u32), u32>,
}

/// A stack: the callee on top, and the stack of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// The caller's stack; `None` if the host is the caller.
    pub caller: Option<u32>,
    /// The callee on top, as a position in the list of callees.
    pub callee: u32,
}

impl Stacks {
    /// Adds the contexts of a tree and returns the stack of each of its records; the root has none. Callees that
    /// `label` maps to the same value are treated as one.
    pub fn add(&mut self, tree: &ContextTree, label: impl Fn(&Callee) -> Callee) -> Vec<Option<u32>> {
        let callees = tree.routines.iter().map(|routine| self.number(label(&routine.callee)));
        let callees: Vec<u32> = callees.collect();
        let mut found: Vec<Option<u32>> = vec![None; tree.records.len()];
        for (index, record) in tree.records.iter().enumerate().skip(1) {
            let caller = found[record.parent as usize];
            found[index] = Some(self.stack(Stack { caller, callee: callees[record.routine as usize] }));
        }
        found
    }

    /// Returns the callees on a stack, outermost first.
    ///
    /// # Panics
    /// Panics if there is no such stack.
    pub fn frames(&self, stack: usize) -> Vec<&Callee> {
        let mut frames = Vec::new();
        let mut at = Some(stack as u32);
        while let Some(stack) = at {
            let Stack { caller, callee } = self.stacks[stack as usize];
            frames.push(&self.callees[callee as usize]);
            at = caller;
        }
        frames.reverse();
        frames
    }

    /// Returns by stack the sum of the weights of its records. `stack_of` is a result of [`add`](Self::add). Sums
    /// saturate.
    pub fn sums(&self, stack_of: &[Option<u32>], weights: &[u64]) -> Vec<u64> {
        let mut sums = vec![0_u64; self.stacks.len()];
        for (stack, weight) in stack_of.iter().zip(weights) {
            if let Some(stack) = stack {
                let sum = &mut sums[*stack as usize];
                *sum = sum.saturating_add(*weight);
            }
        }
        sums
    }

    /// Returns by stack its weight plus the weights of all stacks that it calls. Sums saturate.
    pub fn inclusive(&self, own: &[u64]) -> Vec<u64> {
        let mut sums = own.to_vec();
        for (index, stack) in self.stacks.iter().enumerate().rev() {
            if let Some(caller) = stack.caller {
                sums[caller as usize] = sums[caller as usize].saturating_add(sums[index]);
            }
        }
        sums
    }

    fn number(&mut self, callee: Callee) -> u32 {
        *self.numbers.entry(callee).or_insert_with_key(|callee| {
            self.callees.push(callee.clone());
            self.callees.len() as u32 - 1
        })
    }

    fn stack(&mut self, stack: Stack) -> u32 {
        *self.known.entry((stack.caller, stack.callee)).or_insert_with(|| {
            self.stacks.push(stack);
            self.stacks.len() as u32 - 1
        })
    }
}
