//! Superblocks: hot paths without joins.
//!
//! Input: a graph that has each block once, and the hot paths of its function. Output: the same graph in which the hot
//! paths from one start form a tree: behind the first join each block on them is a copy with a single predecessor, so
//! that facts known on the path hold in it. Edges that leave a hot path continue in the ordinary blocks (tail
//! duplication: Hwu et al., *The Superblock*, J. Supercomputing 1993). Loops keep their single header, at which paths
//! end.
//!
//! Example: `a -> b | c; b -> d; c -> d; d -> e | a` with the hot paths `a b d a` and `a c d a` becomes `a -> b | c; b
//! -> d; c -> d'; d -> e | a; d' -> e | a`.

use super::{BlockGraph, Node};
use crate::cfg::Cfg;

/// A path that ran often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HotPath {
    /// Its first block: the entry, or a loop header.
    pub start: u32,
    /// The edges it takes, one for each of its blocks.
    pub edges: Vec<u32>,
    /// The number of times it ran.
    pub count: u64,
}

impl HotPath {
    /// Returns the identity of the path within its function.
    pub fn place(&self) -> (u32, &[u32]) {
        (self.start, &self.edges)
    }
}

impl BlockGraph {
    /// Returns a builder that adds superblocks as long as copies have at most `room` instructions together. `counts`
    /// holds the number of executions of each block.
    pub fn superblocks<'a>(mut self, cfg: &'a Cfg, counts: &[u64], room: u32) -> Superblocks<'a> {
        for node in &mut self.nodes {
            node.count = Some(counts[node.block as usize]);
        }
        Superblocks { cfg, ways_into: self.ways_into(), plain: self.nodes.clone(), graph: self, room }
    }

    /// Returns the number of wires to each node.
    pub(crate) fn ways_into(&self) -> Vec<u32> {
        let mut ways = vec![0; self.nodes.len()];
        self.nodes.iter().flat_map(Node::targets).for_each(|to| ways[to as usize] += 1);
        ways
    }

    /// Returns the graph without unreachable nodes, in the order of the function's own blocks, so that all copies of a
    /// loop's blocks lie together and its header is sealed soon.
    #[must_use]
    pub(crate) fn ordered(mut self) -> BlockGraph {
        let mut order: Vec<u32> = self.reachable();
        order[1..].sort_by_key(|&node| (self.own_block(node), node));
        let mut place = vec![u32::MAX; self.nodes.len()];
        order.iter().zip(0..).for_each(|(&old, new)| place[old as usize] = new);
        let mut nodes: Vec<Option<Node>> = self.nodes.drain(..).map(Some).collect();
        for old in order {
            let mut node = nodes[old as usize].take().expect("each once");
            node.targets_mut().for_each(|to| *to = place[*to as usize]);
            self.nodes.push(node);
        }
        self
    }

    /// Returns the nodes reachable from node 0, which comes first.
    pub(super) fn reachable(&self) -> Vec<u32> {
        let mut seen = vec![false; self.nodes.len()];
        seen[0] = true;
        let mut found = vec![0];
        let mut next = 0;
        while let Some(&node) = found.get(next) {
            next += 1;
            for to in self.nodes[node as usize].targets() {
                if !std::mem::replace(&mut seen[to as usize], true) {
                    found.push(to);
                }
            }
        }
        found
    }
}

/// A graph under construction, with superblocks.
#[derive(Debug)]
pub struct Superblocks<'a> {
    cfg: &'a Cfg,
    graph: BlockGraph,
    /// The nodes of the old graph.
    plain: Vec<Node>,
    /// The number of wires to each node of the old graph.
    ways_into: Vec<u32>,
    /// The number of instructions that may still be copied.
    room: u32,
}

impl Superblocks<'_> {
    /// Adds one path to the tree of its start, as far as there is room. Returns the number of blocks copied.
    pub fn add(&mut self, path: &HotPath) -> u32 {
        let before = self.graph.nodes.len();
        self.follow(path);
        (self.graph.nodes.len() - before) as u32
    }

    /// Returns the graph with the paths added so far.
    pub fn so_far(&self) -> BlockGraph {
        self.graph.clone().ordered()
    }

    /// Returns the finished graph.
    pub fn finish(self) -> BlockGraph {
        let graph = self.graph.ordered();
        debug_assert_eq!(graph.verify(self.cfg), Ok(()));
        graph
    }

    fn follow(&mut self, path: &HotPath) {
        let mut node = path.start;
        for &edge in &path.edges {
            let wire = self.graph.nodes[node as usize].wires.get(edge as usize);
            let Some(to) = wire.and_then(|wire| wire.to) else { return };
            if self.cfg.blocks[self.graph.nodes[to as usize].block as usize].is_loop_header {
                return;
            }
            let is_own = to as usize >= self.ways_into.len();
            let is_only_way = !self.is_copy(node) && self.ways_into.get(to as usize) == Some(&1);
            node = match is_own || is_only_way {
                true => to,
                false => match self.copy(node, edge, to) {
                    Some(copy) => copy,
                    None => return,
                },
            };
            if self.is_copy(node) {
                self.count(node, path.count);
            }
        }
    }

    fn is_copy(&self, node: u32) -> bool {
        node as usize >= self.ways_into.len()
    }

    /// Copies node `to` for a wire that leads there, if there is room.
    fn copy(&mut self, from: u32, edge: u32, to: u32) -> Option<u32> {
        let block = self.graph.nodes[to as usize].block;
        self.room = self.room.checked_sub(self.cfg.blocks[block as usize].ops + 1)?;
        let copy = self.graph.nodes.len() as u32;
        let node = Node { count: Some(0), ..self.plain[to as usize].clone() };
        self.graph.nodes.push(node);
        self.graph.nodes[from as usize].wires[edge as usize].to = Some(copy);
        Some(copy)
    }

    /// Moves executions from the ordinary block to the copy.
    fn count(&mut self, copy: u32, count: u64) {
        let block = self.graph.nodes[copy as usize].block;
        let add = |node: &mut Node, change: &dyn Fn(u64, u64) -> u64| {
            node.count = node.count.map(|before| change(before, count));
        };
        add(&mut self.graph.nodes[copy as usize], &u64::saturating_add);
        add(&mut self.graph.nodes[block as usize], &u64::saturating_sub);
    }
}
