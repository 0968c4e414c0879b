//! Loops that may be vectorised, in a graph.
//!
//! Input: a graph with its probes, and [`VectorLoop`]s of its function. Output: the same graph, in which these loops are
//! marked where they are one node that leads back to itself: the translator tells `passes/vectors` of them. If such a
//! loop has a check it becomes a strip, which has none in its rounds. Loops that do more in their rounds stay as they are.

use super::{BlockGraph, Node};
use crate::cfg::Cfg;
use crate::plan::{Probe, VectorLoop};

impl BlockGraph {
    /// Returns the graph in which `loops` are marked, except those that cannot be vectorised.
    #[must_use]
    pub fn vectorized(mut self, cfg: &Cfg, loops: &[VectorLoop]) -> BlockGraph {
        let loops: Vec<&VectorLoop> = loops.iter().filter(|found| found.refused.is_none()).collect();
        for (node, index) in self.nodes.iter_mut().zip(0..) {
            let is_whole = node.frame == 0 && node.start == cfg.blocks[node.block as usize].start;
            let Some(found) = loops.iter().find(|found| is_whole && found.header == node.block) else {
                continue;
            };
            let is_back = |wire: &super::Wire| wire.to == Some(index) && wire.probes.is_empty();
            let is_only_checked = node.probes.iter().all(|probe| *probe == Probe::Check);
            let is_plain = is_only_checked && node.guard.is_none() && node.inner.is_empty();
            if is_plain && node.wires.iter().any(is_back) {
                let is_checked = node.probes.contains(&Probe::Check);
                node.strip = Some(found.countdown).filter(|_| is_checked);
                node.vectors = Some(found.vectors);
            }
        }
        self
    }

    /// Reports whether a loop with this header may be vectorised.
    pub fn has_vectors(&self, header: u32) -> bool {
        let is_it = |node: &Node| node.frame == 0 && node.block == header && node.vectors.is_some();
        self.nodes.iter().any(is_it)
    }
}
