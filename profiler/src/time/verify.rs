//! What a tree of sampled time promises.

use super::{TimeNode, TimeProfile, Timed};
use crate::Callee;

/// Why a tree is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTime {
    /// Callees are not ascending, or the root is among them.
    #[error("what runs is not in order")]
    Callees,
    /// A node refers to nothing that comes before it.
    #[error("node {0} of the sampled stacks refers to nothing")]
    Dangling(usize),
    /// Nodes are not in order, or there are two of one place.
    #[error("node {0} of the sampled stacks is not in order")]
    Unordered(usize),
    /// There is time without samples.
    #[error("node {0} of the sampled stacks has time without samples")]
    Unsampled(usize),
}

impl TimeProfile {
    /// That it is a canonical tree.
    ///
    /// # Errors
    /// If it is not.
    pub fn verify(&self) -> Result<(), InvalidTime> {
        let is_root = self.callees.contains(&Callee::Root);
        if is_root || !self.callees.is_sorted_by(|a, b| a < b) {
            return Err(InvalidTime::Callees);
        }
        // The last node seen of each caller, to compare the next one with: those of one caller need not be in a row.
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
