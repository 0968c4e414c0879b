//! Dispatch replication: the switch of a small interpreter's loop is copied behind each of its cases.
//!
//! Input: a graph. Output: the same graph, in which each edge back to a loop's switch has its own copy of the switch,
//! and of the block before it in which the edges join. Each copy jumps from its own address, so that the processor
//! learns which case follows which, and two jumps a round are gone. Probes are copied with their nodes and wires.
//! Source: Ertl & Gregg, *The Structure and Performance of Efficient Interpreters*, JILP 2003.
//!
//! Example: `switch -> a | b; a -> join; b -> join; join -> switch` becomes, as `a` keeps the old ones, `b -> join' ->
//! switch'; switch' -> a | b`.

use super::BlockGraph;
use crate::cfg::{Block, Cfg, End};

/// A switch with fewer targets is predicted well enough.
const LEAST_WAYS: usize = 4;
/// The total number of wires of all copies of a switch: each costs the code generator as much as a branch.
const MOST_WIRES: usize = 512;
/// The number of instructions of the copied blocks.
const MOST_INSTRUCTIONS: u32 = 32;

impl BlockGraph {
    /// Returns the graph with switches in loops copied into their predecessors.
    #[must_use]
    pub fn dispatched(mut self, cfg: &Cfg) -> BlockGraph {
        let switches: Vec<u32> =
            (0..self.nodes.len() as u32).filter(|&node| self.is_dispatch(cfg, node)).collect();
        if switches.is_empty() {
            return self;
        }
        let mut copies = vec![0_u32; cfg.blocks.len()];
        let own = self.nodes.iter().filter(|node| node.frame == 0);
        own.for_each(|node| copies[node.block as usize] += 1);
        let sources = self.sources();
        for switch in switches {
            if copies[self.nodes[switch as usize].block as usize] == 1 {
                self.copy_dispatch(cfg, switch, &sources);
            }
        }
        debug_assert_eq!(self.verify(cfg), Ok(()));
        self
    }

    /// Reports whether a node is a loop header that ends with a switch.
    fn is_dispatch(&self, cfg: &Cfg, node: u32) -> bool {
        let node = &self.nodes[node as usize];
        let switches = |block: &Block| matches!(block.how, End::Switch(_)) && block.edges.len() >= LEAST_WAYS;
        let is_header = |block: &Block| block.is_loop_header && switches(block);
        self.is_whole(cfg, node) && is_header(&cfg.blocks[node.block as usize])
    }

    /// Reports whether a node is a whole block of the function with a single successor.
    fn is_join(&self, cfg: &Cfg, node: u32) -> bool {
        let node = &self.nodes[node as usize];
        node.wires.len() == 1 && self.is_whole(cfg, node)
    }

    /// Copies a switch, given the predecessors of each node. Copies of other switches still lead to the original.
    fn copy_dispatch(&mut self, cfg: &Cfg, switch: u32, sources: &[Vec<u32>]) {
        let header = self.own_block(switch);
        let is_back = |graph: &BlockGraph, from: u32| graph.own_block(from) >= header;
        // The join of the back edges, if there is one.
        let into: Vec<u32> =
            sources[switch as usize].iter().copied().filter(|&from| is_back(self, from)).collect();
        let join = match into[..] {
            [join] if self.is_join(cfg, join) && join != switch => Some(join),
            _ => None,
        };
        let ops = |node: u32| cfg.blocks[self.nodes[node as usize].block as usize].ops;
        let ways = sources[join.unwrap_or(switch) as usize].iter().copied();
        let ways: Vec<u32> = ways.filter(|&from| is_back(self, from)).collect();
        let wires = ways.len() * self.nodes[switch as usize].wires.len();
        if wires > MOST_WIRES || ops(switch) + join.map_or(0, ops) > MOST_INSTRUCTIONS {
            return;
        }
        for &from in ways.iter().skip(1) {
            let copy = self.nodes.len() as u32;
            self.nodes.push(self.nodes[switch as usize].clone());
            let entry = match join {
                None => copy,
                Some(join) => {
                    let mut meet = self.nodes[join as usize].clone();
                    meet.wires[0].to = Some(copy);
                    self.nodes.push(meet);
                    copy + 1
                }
            };
            for wire in &mut self.nodes[from as usize].wires {
                if wire.to == Some(join.unwrap_or(switch)) {
                    wire.to = Some(entry);
                }
            }
        }
    }

    /// Returns the distinct predecessors of each node.
    fn sources(&self) -> Vec<Vec<u32>> {
        let mut sources: Vec<Vec<u32>> = vec![Vec::new(); self.nodes.len()];
        for (node, from) in self.nodes.iter().zip(0..) {
            for to in node.wires.iter().filter_map(|wire| wire.to) {
                let of = &mut sources[to as usize];
                if of.last() != Some(&from) {
                    of.push(from);
                }
            }
        }
        sources
    }
}
