//! Calls by caller, call site and callee: what calling contexts and the counts of code tell together.
//!
//! Input: a [`Profile`] with calling contexts. Output: as of
//! [`ContextTree::call_edges`](crate::ContextTree::call_edges).
//! Invariant: counts of code are used if they are of the same calls: exact, and in a tree that has all callers. A
//! call site at which frames ended tells nothing, since the call may not have been made.

use super::{FunctionProfile, Profile};
use crate::{CallEdge, Callee, FigureKind};

impl Profile {
    /// The calls by place, ascending by caller, site and callee; none without calling contexts.
    pub fn call_edges(&self) -> Vec<CallEdge> {
        let Some(tree) = &self.contexts else { return Vec::new() };
        let are_the_same = tree.kind == FigureKind::Exact && !tree.is_cut();
        tree.call_edges(|caller, site| match tree.routines[caller as usize].callee {
            Callee::Function { index, .. } if are_the_same => self.function(index)?.executions_of_call(site),
            _ => None,
        })
    }
}

impl FunctionProfile {
    /// How often a call was made, whichever function it called.
    fn executions_of_call(&self, site: u32) -> Option<u64> {
        let block =
            self.blocks.iter().position(|block| (block.code.start..block.code.end).contains(&site))?;
        let ended = || self.exits.iter().filter(|exit| exit.block.index() == block);
        if self.kind != FigureKind::Exact || ended().any(|exit| exit.offset == site) {
            return None;
        }
        let before = ended().filter(|exit| exit.offset < site).map(|exit| exit.count);
        Some(self.block_counts()[block].saturating_sub(before.fold(0, u64::saturating_add)))
    }
}
