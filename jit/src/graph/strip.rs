//! Strip-mined checks: loops that are checked once every several rounds.
//!
//! Input: a graph with its probes, and the [`Strip`]s of its function. Output: the same graph, in which the headers of
//! these loops are marked; `translate/strip.rs` translates such a loop. Invariant: a latch belongs to a strip only if
//! all paths to it from entries, and from other copies of the header, run through the strip's header: rounds that begin
//! elsewhere are not those that it counted, and would run past the stop. A graph that is entered in the middle, or that
//! has copies of a loop's blocks, may have other latches; these lead to the check each time.

use super::{BlockGraph, Node};
use crate::cfg::Cfg;
use crate::plan::{Probe, Strip};

impl BlockGraph {
    /// Returns the graph in which the loops of `strips` are checked once every several rounds where possible.
    #[must_use]
    pub fn stripped(mut self, cfg: &Cfg, strips: &[Strip]) -> BlockGraph {
        for node in &mut self.nodes {
            let is_whole = node.frame == 0 && node.start == cfg.blocks[node.block as usize].start;
            let is_checked = node.guard.is_none() && node.probes.contains(&Probe::Check);
            if is_whole && is_checked && node.strip.is_none() {
                let strip = strips.iter().find(|strip| strip.header == node.block);
                node.strip = strip.map(|strip| strip.countdown);
            }
        }
        self
    }

    /// Returns the latches of the strip that begins at node `header`, ascending.
    pub fn latches_of_strip(&self, header: u32) -> Vec<u32> {
        let Some(countdown) = self.nodes[header as usize].strip else { return Vec::new() };
        let frame = self.nodes[header as usize].frame;
        let is_plain = |node: &Node| node.frame == frame && node.call.is_none() && node.sure.is_none();
        let is_latch = |node: &Node| {
            let wire = node.wires.get(countdown.edge as usize).filter(|_| node.block == countdown.block);
            is_plain(node) && wire.is_some_and(|wire| wire.to == Some(header) && wire.probes.is_empty())
        };
        let all = self.nodes.iter().zip(0..).filter(|(node, _)| is_latch(node)).map(|(_, index)| index);
        let mut latches: Vec<u32> = all.collect();
        if !latches.is_empty() {
            let beside = self.reached_beside(header);
            latches.retain(|&latch| !beside[latch as usize]);
        }
        latches
    }

    /// Reports for each node whether it can be reached from entries or from other copies of the header `avoided` without
    /// running through it.
    fn reached_beside(&self, avoided: u32) -> Vec<bool> {
        let mut reached = vec![false; self.nodes.len()];
        let mut pending: Vec<u32> = self.loop_entries.iter().copied().chain([0]).collect();
        let Node { frame, block, .. } = self.nodes[avoided as usize];
        let copies =
            self.nodes.iter().zip(0..).filter(|(node, _)| (node.frame, node.block) == (frame, block));
        pending.extend(copies.map(|(_, index)| index));
        while let Some(node) = pending.pop() {
            if node != avoided && !std::mem::replace(&mut reached[node as usize], true) {
                pending.extend(self.nodes[node as usize].targets());
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::Wire;
    use super::*;
    use crate::module;
    use crate::plan::{Bound, Collection, Countdown, FunctionPlan, GoesOn};

    /// Returns the graph of a loop with several blocks that is a strip, its header and its latch.
    fn counted() -> (BlockGraph, u32, u32) {
        let wat = "(module (func (param $some i32) (local $i i32)
            (loop $again
                (if (local.get $some) (then (local.set $some (i32.const 0))))
                (br_if $again (i32.ne
                    (local.tee $i (i32.add (local.get $i) (i32.const 1)))
                    (i32.const 100))))))";
        let bytes: Arc<[u8]> = wat::parse_str(wat).expect("valid text").into();
        let info = module::parse(bytes).expect("valid module");
        let plan = FunctionPlan::new(&info, 0, &Collection::default(), 0).expect("within limits");
        let mut graph = BlockGraph::plain(&plan.cfg);
        // Only the loop's edge leads back.
        let back = graph.nodes.iter().zip(0..).find_map(|(node, latch)| {
            let is_back = |wire: &Wire| wire.to.is_some_and(|to| to <= latch);
            let edge = node.wires.iter().position(is_back)?;
            Some((latch, edge as u32, node.wires[edge].to?))
        });
        let (latch, edge, header) = back.expect("the function has a loop");
        graph.nodes[header as usize].strip = Some(Countdown {
            block: graph.nodes[latch as usize].block,
            edge,
            local: 1,
            plus: 1,
            step: 1,
            bound: Bound::Constant(100),
            is_64: false,
            goes_on: GoesOn::Until,
        });
        (graph, header, latch)
    }

    #[test]
    fn a_latch_is_of_a_strip_if_all_rounds_that_reach_it_begin_there() {
        let (mut graph, header, latch) = counted();
        assert!(header < latch);
        assert_eq!(graph.latches_of_strip(header), [latch]);
        // Another copy of the header leads to the same latch.
        let copy = graph.nodes[header as usize].clone();
        graph.nodes.push(Node { strip: None, ..copy });
        assert!(graph.latches_of_strip(header).is_empty());
    }

    #[test]
    fn frames_that_enter_within_the_loop_have_no_strip() {
        let (mut graph, header, latch) = counted();
        graph.loop_entries.push(latch);
        assert!(graph.latches_of_strip(header).is_empty());
    }
}
