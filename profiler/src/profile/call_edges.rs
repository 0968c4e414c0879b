//! Counts calls by caller, call site and callee, from calling contexts together with the counts of code.
//!
//! Input: a [`Profile`] with calling contexts. Output: the call edges of
//! [`ContextTree::call_edges`](crate::ContextTree::call_edges).
//! Invariant: counts of code are used only if they cover the same calls: if they are exact, and the tree has all
//! callers. A call site at which frames ended is not used, since the call may not have been made.

use super::{FunctionProfile, Profile};
use crate::{CallEdge, Callee, FigureKind};

impl Profile {
    /// Returns the calls by place, ascending by caller, site and callee; none without calling contexts.
    pub fn call_edges(&self) -> Vec<CallEdge> {
        let Some(tree) = &self.contexts else { return Vec::new() };
        let are_the_same = tree.kind == FigureKind::Exact && !tree.is_cut() && !tree.merges_sites;
        tree.call_edges(|caller, site| match tree.routines[caller as usize].callee {
            Callee::Function { index, .. } if are_the_same => self.function(index)?.executions_of_call(site),
            _ => None,
        })
    }
}

impl FunctionProfile {
    /// Returns how often a call was executed, whichever function it called.
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
