//! Resuming: a graph that a frame enters at a loop header by OSR.
//!
//! Input: a graph of a whole function. Output: a graph whose node 0 is the header. If the same graph were entered
//! there, the enclosing loops would be entered in their middle, and the code generator would not recognise them as
//! loops. So the code that runs until the header of the next enclosing loop is reached is a separate copy, and so on
//! outwards: every loop is entered at its header only, and its code equals that of a called version. A loop that is too
//! large for that is entered in its middle, and so are those around it: its inner loops, in which it spends its time,
//! stay intact.
//!
//! Example: `a -> b; b -> c; c -> c | d; d -> b | e`, resumed in the inner loop `c`, becomes `c' -> c' | d'; d' -> b |
//! e; b -> c; c -> c | d; d -> b | e`.

use hashbrown::{HashMap, HashSet};
use wprof_profiler::{BlockId, LoopId, Loops};

use super::{BlockGraph, Node};
use crate::cfg::Cfg;
use crate::plan::Probe;

/// The number of nested loops that get separate copies, inner ones first; more would only cost time.
const MOST_LEVELS: usize = 4;
/// The number of instructions that may be copied in a function of any size, and the share of a large one.
const COPIES: u32 = 200;
const SHARE: u32 = 4;

impl BlockGraph {
    /// Returns the graph entered at the loop header `block`, with all nodes that are reachable from there.
    #[must_use]
    pub fn resumed_at(&self, cfg: &Cfg, block: u32) -> BlockGraph {
        let is_start = |node: &Node| (node.frame, node.block) == (0, block);
        let start = self.nodes.iter().zip(0..).find(|(node, _)| is_start(node));
        let start = start.map_or(0, |(_, index)| index);
        let (levels, order) = self.levels(cfg, cfg.loops(), block, start);
        let index_of: HashMap<Place, u32> = order.iter().copied().zip(0..).collect();
        let node = |&(level, old): &Place| -> Node {
            let mut node = self.nodes[old as usize].clone();
            let index = |to: u32| index_of[&levels.place(self.own_block(to), to, level)];
            node.targets_mut().for_each(|to| *to = index(*to));
            node
        };
        let nodes = order.iter().map(node).collect();
        let (path_register, cells) = (self.register_at(block), self.cells.clone());
        let (inlined, is_continued) = (self.inlined.clone(), !self.in_bursts);
        let graph = BlockGraph {
            nodes,
            inlined,
            resumes: true,
            is_continued,
            loop_entries: Vec::new(),
            path_register,
            cells,
            ..*self
        };
        debug_assert_eq!(graph.verify(cfg), Ok(()));
        graph
    }

    /// Returns the path register of a frame that resumes at `block`: in a burst a path begins there, as behind a back
    /// edge.
    fn register_at(&self, block: u32) -> Option<i64> {
        if !self.in_bursts {
            return self.path_register;
        }
        self.path_from(block).or(self.path_register)
    }

    /// Returns the path register behind a back edge to `block`.
    pub(crate) fn path_from(&self, block: u32) -> Option<i64> {
        let wires = self.nodes.iter().flat_map(|node| &node.wires);
        let mut into = wires.filter(|wire| wire.to.is_some_and(|to| self.nodes[to as usize].block == block));
        into.find_map(|wire| {
            wire.probes.iter().find_map(|probe| match probe {
                Probe::PathStart(first) => Some(*first),
                _ => None,
            })
        })
    }

    /// Returns the loops around `block` that get separate copies, and the places reachable from `start`: see
    /// [`BlockGraph::reached`].
    fn levels<'a>(&self, cfg: &Cfg, loops: &'a Loops, block: u32, start: u32) -> (Levels<'a>, Vec<Place>) {
        let ops_of = |&(_, old): &Place| {
            let node = &self.nodes[old as usize];
            self.cfg_of(cfg, node.frame).blocks[node.block as usize].ops
        };
        let around = |most: usize| {
            let levels = Levels::around(loops, block, most);
            let order = self.reached(&levels, start);
            let ops: u32 = order.iter().map(ops_of).sum();
            (levels, order, ops)
        };
        let (mut levels, mut order, without) = around(1);
        for most in 2..=MOST_LEVELS {
            let (more, places, ops) = around(most);
            if ops - without > COPIES.max(without / SHARE) {
                break;
            }
            (levels, order) = (more, places);
        }
        (levels, order)
    }

    /// Returns all reachable places, the first one first, the others by level and in the old order, so that loops are
    /// sealed as early as possible.
    fn reached(&self, levels: &Levels<'_>, start: u32) -> Vec<Place> {
        let first = (0, start);
        let mut order = vec![first];
        let mut seen: HashSet<Place> = [first].into();
        let mut next = 0;
        while let Some(&(level, old)) = order.get(next) {
            next += 1;
            let node = &self.nodes[old as usize];
            for to in node.targets() {
                let place = levels.place(self.own_block(to), to, level);
                if seen.insert(place) {
                    order.push(place);
                }
            }
        }
        order[1..].sort_unstable();
        order
    }
}

/// A copy of an old node: its level, and the old index.
type Place = (usize, u32);

/// Nested loops. The level of a copy is the number of the loop through whose header it was entered, counted from the
/// innermost, 0. A node outside all of them has one copy, in the last level.
struct Levels<'a> {
    loops: &'a Loops,
    around: Vec<LoopId>,
}

impl<'a> Levels<'a> {
    /// Returns the loop that `block` heads, and those around it, at most `most`.
    fn around(loops: &'a Loops, block: u32, most: usize) -> Levels<'a> {
        let outward = std::iter::successors(loops.headed_by(BlockId(block)), |&id| loops.get(id).parent);
        Levels { loops, around: outward.take(most).collect() }
    }

    /// Returns the copy of node `to`, of the given block, to which a wire from `level` leads.
    fn place(&self, block: u32, to: u32, level: usize) -> Place {
        let block = BlockId(block);
        let outside = self.around.len();
        let is_inside = self.around.last().is_some_and(|&id| self.loops.contains(id, block));
        if !is_inside {
            return (outside, to);
        }
        let entered = self.around.iter().position(|&id| self.loops.get(id).header == block);
        let level = level.min(outside - 1);
        (entered.map_or(level, |entered| level.max(entered)), to)
    }
}
