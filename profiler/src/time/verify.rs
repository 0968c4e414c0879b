//! Validates trees of sampled time.

use super::{TimeNode, TimeProfile, Timed};
use crate::Callee;

/// A defect of a tree of sampled time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTime {
    /// The callees are not ascending, or the root is among them.
    #[error("what runs is not in order")]
    Callees,
    /// A node refers to a callee that does not exist, or to a caller that is not before it.
    #[error("node {0} of the sampled stacks refers to nothing")]
    Dangling(usize),
    /// Nodes are out of order, or two have the same place.
    #[error("node {0} of the sampled stacks is not in order")]
    Unordered(usize),
    /// A node has time without samples.
    #[error("node {0} of the sampled stacks has time without samples")]
    Unsampled(usize),
}

impl TimeProfile {
    /// Checks that the tree is canonical.
    ///
    /// # Errors
    /// Returns the first defect found.
    pub fn verify(&self) -> Result<(), InvalidTime> {
        let is_root = self.callees.contains(&Callee::Root);
        if is_root || !self.callees.is_sorted_by(|a, b| a < b) {
            return Err(InvalidTime::Callees);
        }
        // The last child seen of each caller, for comparison with the next: children of one caller need not be
        // adjacent.
        let mut last: Vec<Option<(u32, u32, bool)>> = vec![None; self.nodes.len() + 1];
        let mut open: Vec<usize> = Vec::new();
        for (at, node) in self.nodes.iter().enumerate() {
            let caller = node.caller.map(|caller| caller as usize);
            if node.callee as usize >= self.callees.len() || caller.is_some_and(|caller| caller >= at) {
                return Err(InvalidTime::Dangling(at));
            }
            while open.last().is_some_and(|&open| Some(open) != caller) {
                open.pop();
            }
            let before = &mut last[caller.map_or(0, |caller| caller + 1)];
            let is_in_depth = open.last().copied() == caller;
            if !is_in_depth || before.is_some_and(|before| before >= place(node)) {
                return Err(InvalidTime::Unordered(at));
            }
            *before = Some(place(node));
            open.push(at);
            if node.own.samples == 0 && node.own != Timed::default() {
                return Err(InvalidTime::Unsampled(at));
            }
        }
        Ok(())
    }
}

fn place(node: &TimeNode) -> (u32, u32, bool) {
    (node.callee, node.offset, node.is_inlined)
}
