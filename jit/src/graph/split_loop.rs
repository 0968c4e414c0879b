//! Loop splitting: copies the blocks of a small loop by the value of the path register.
//!
//! Input: a graph whose probes compute path numbers. Output: the same graph, in which an innermost loop that is not too
//! large and calls no function by its index has its blocks twice: unchanged for the first round of a frame, whose path
//! begins before the loop; and for the other rounds one node for each value that the register can have in a block.
//! These rounds begin with the same value, so the register is known in all of their nodes (`known_path`): no additions
//! remain, nothing has to be kept, and the counter at the end of a path is a constant. The rounds are copied several
//! times on top, as only the first copy needs a poll. If an earlier run tells how often each value occurred, only
//! values that occurred have their own nodes, the most frequent ones if there are too many; the others share nodes in
//! which the register is not known, until the next round begins. Nothing else changes: each copy does the same as its
//! node. Source: path splitting, tail duplication by what is known (Poletto 1997; Bodík, Gupta & Soffa 1998), along
//! frequent paths only (Ammons & Larus 1998), here for a register that is ours.
//!
//! Example: `h -> a +1 | b; a -> b; b -> h count path, path=5 | exit` becomes, behind the same blocks for the first
//! round, `h5 -> a6 | b5; a6 -> b6; b5 -> h5 count 5 | exit; b6 -> h5 count 6 | exit`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::HashMap;

use super::{BlockGraph, Node, Wire};
use crate::cfg::Cfg;
use crate::plan::PrefixCounts;
use crate::plan::Probe;

/// The maximum number of copied rounds, and of instructions in all these copies together.
const MOST_ROUNDS: u32 = 4;
const MOST_INSTRUCTIONS: u32 = 160;
/// The maximum number of instructions for one round that is not copied on top, to bound code growth.
const MOST_IN_ROUND: u32 = 512;
/// The maximum ratio of a round's instructions to the loop's.
const MOST_COPIES: u32 = 4;

/// A copy of a node: its round, its node, and the path register there; `None` if the register may be anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Place {
    round: u32,
    node: u32,
    path: Option<i64>,
}

/// The copies for one round, and their number of instructions.
#[derive(Default)]
struct Round {
    places: Vec<Place>,
    ops: u32,
}

impl Round {
    fn add(&mut self, place: Place, ops: u32) {
        self.places.push(place);
        self.ops += ops;
    }

    fn has(&self, place: Place) -> bool {
        self.places.contains(&place)
    }
}

/// A loop of a graph.
struct Body {
    /// Its nodes, ascending. The first one is its entry.
    nodes: Vec<u32>,
    /// The block of its header. Dispatch replication may copy it to several nodes; all but one are for later rounds.
    header: u32,
}

impl BlockGraph {
    /// Returns the graph with small loops split, if it has a path register that frames take along; restricted to the
    /// prefixes that ran, if known.
    #[must_use]
    pub fn split_loops(mut self, cfg: &Cfg, prefixes: Option<&PrefixCounts>) -> BlockGraph {
        let has_loops = cfg.blocks.iter().any(|block| block.is_loop_header);
        if self.path_register.is_none() || self.in_bursts || !has_loops {
            return self;
        }
        let loops = cfg.loops();
        let unknown = self.blocks_of_unknown_paths();
        for (id, found) in loops.iter().filter(|(id, found)| !found.irreducible && loops.is_innermost(*id)) {
            let is_inside = |block: u32| loops.blocks(id).iter().any(|inner| inner.0 == block);
            if !unknown.iter().any(|&block| is_inside(block)) {
                continue;
            }
            // Such a loop often has few rounds, and values that are live across the call would be moved wherever copies
            // meet.
            if cfg.calls.iter().any(|call| is_inside(call.block)) {
                continue;
            }
            if let Some(body) = Body::new(&self, cfg, found.header.0, is_inside)
                && let Some(places) = body.places(&self, cfg, prefixes)
            {
                self = body.split(self, &places);
            }
        }
        debug_assert_eq!(self.verify(cfg), Ok(()));
        self
    }

    /// Returns the blocks, possibly repeated, in which the path register is not known.
    fn blocks_of_unknown_paths(&self) -> Vec<u32> {
        let known = self.known_paths();
        self.nodes
            .iter()
            .zip(known)
            .filter(|(_, known)| known.is_none())
            .map(|(node, _)| node.block)
            .collect()
    }

    /// Returns the graph without unreachable nodes.
    pub(super) fn without_unreachable(self) -> BlockGraph {
        let mut reached = self.reachable();
        reached.sort_unstable();
        let new_index = |old: u32| reached.binary_search(&old).expect("it is reached") as u32;
        let node = |&old: &u32| {
            let mut node = self.nodes[old as usize].clone();
            node.targets_mut().for_each(|to| *to = new_index(*to));
            node
        };
        let nodes = reached.iter().map(node).collect();
        BlockGraph { nodes, ..self }
    }
}

impl Body {
    /// Returns the nodes of a loop; `None` if it is already unrolled.
    fn new(graph: &BlockGraph, cfg: &Cfg, header: u32, is_inside: impl Fn(u32) -> bool) -> Option<Body> {
        let all = graph.nodes.iter().zip(0..);
        let nodes: Vec<u32> = all.filter(|(node, _)| is_inside(node.block)).map(|(_, index)| index).collect();
        let is_plain = |&node: &u32| {
            let of = &graph.nodes[node as usize];
            graph.is_whole(cfg, of) && of.rounds == 0 && of.guard.is_none()
        };
        let is_entered = graph.nodes[*nodes.first()? as usize].block == header;
        (is_entered && nodes.iter().all(is_plain)).then_some(Body { nodes, header })
    }

    fn contains(&self, node: u32) -> bool {
        self.nodes.binary_search(&node).is_ok()
    }

    /// Reports whether a wire to `to`, a node of the loop, begins another round.
    fn begins_round(&self, graph: &BlockGraph, to: u32) -> bool {
        graph.nodes[to as usize].block == self.header
    }

    /// Returns the first copy of the rounds behind a frame's first; `None` if the register is not known there.
    fn first_place(&self, graph: &BlockGraph) -> Option<Place> {
        let inside = self.nodes.iter().flat_map(|&node| &graph.nodes[node as usize].wires);
        let goes_back = |to: u32| self.contains(to) && self.begins_round(graph, to);
        let mut starts = inside.filter(|wire| wire.to.is_some_and(goes_back)).map(|wire| behind(wire, None));
        let path = starts.next()??;
        let place = Place { round: 0, node: self.nodes[0], path: Some(path) };
        starts.all(|start| start == Some(path)).then_some(place)
    }

    /// Returns the successors of a place inside the loop.
    fn behind(&self, graph: &BlockGraph, place: Place) -> impl Iterator<Item = Place> {
        graph.nodes[place.node as usize].wires.iter().filter_map(move |wire| {
            let node = wire.to.filter(|&to| self.contains(to))?;
            Some(Place { node, path: behind(wire, place.path), ..place })
        })
    }

    /// Returns the copies for all rounds but a frame's first, ascending; `None` if there are too many, or no round ran.
    fn places(&self, graph: &BlockGraph, cfg: &Cfg, prefixes: Option<&PrefixCounts>) -> Option<Vec<Place>> {
        let block = |place: Place| graph.nodes[place.node as usize].block;
        let ops = |place: Place| cfg.blocks[block(place) as usize].ops.max(1);
        let first = self.first_place(graph)?;
        let once = self.nodes.iter().map(|&node| ops(Place { node, ..first })).sum::<u32>();
        let most = MOST_IN_ROUND.min(MOST_COPIES * once);
        let round = match prefixes {
            None => self.whole_round(graph, first, most, ops)?,
            Some(prefixes) => {
                let count = |place: Place| place.path.map_or(0, |path| prefixes.get(block(place), path));
                // The remaining values may need one whole copy of the loop.
                self.frequent_round(graph, first, most.saturating_sub(once), (count, ops))?
            }
        };
        let rounds = (MOST_INSTRUCTIONS / round.ops).clamp(1, MOST_ROUNDS);
        let copied = (0..rounds).flat_map(|number| round.places.iter().map(move |&place| (number, place)));
        let mut all: Vec<Place> = copied.map(|(round, place)| Place { round, ..place }).collect();
        all.sort_unstable();
        Some(all)
    }

    /// Returns all places of a round; `None` if they have more than `most` instructions, or the register is not known
    /// in one.
    fn whole_round(
        &self,
        graph: &BlockGraph,
        first: Place,
        most: u32,
        ops: impl Fn(Place) -> u32,
    ) -> Option<Round> {
        let mut round = Round::default();
        round.add(first, ops(first));
        let mut next = 0;
        while let Some(&place) = round.places.get(next) {
            next += 1;
            for behind in self.behind(graph, place) {
                behind.path?;
                if !round.has(behind) {
                    round.add(behind, ops(behind));
                }
            }
            if round.ops > most {
                return None;
            }
        }
        Some(round)
    }

    /// Returns the most frequent places, with at most `most` instructions, and the shared places that they lead to;
    /// `None` if no round ran.
    fn frequent_round(
        &self,
        graph: &BlockGraph,
        first: Place,
        most: u32,
        (count, ops): (impl Fn(Place) -> u64, impl Fn(Place) -> u32),
    ) -> Option<Round> {
        let mut round = Round::default();
        let mut next = BinaryHeap::from([(count(first), Reverse(first))]);
        while let Some((times, Reverse(place))) = next.pop() {
            if times == 0 || round.ops + ops(place) > most {
                break;
            }
            if !round.has(place) {
                round.add(place, ops(place));
                next.extend(self.behind(graph, place).map(|place| (count(place), Reverse(place))));
            }
        }
        let mut next = 0;
        while let Some(&place) = round.places.get(next) {
            next += 1;
            for behind in self.behind(graph, place) {
                let shared = Place { path: None, ..behind };
                if !round.has(behind) && !round.has(shared) {
                    round.add(shared, ops(shared));
                }
            }
        }
        round.has(first).then_some(round)
    }

    /// Returns the graph with these copies behind the loop's last node.
    fn split(&self, graph: BlockGraph, places: &[Place]) -> BlockGraph {
        let behind_loop = self.nodes.last().map_or(0, |last| last + 1);
        let splitting = Splitting {
            body: self,
            graph: &graph,
            behind_loop,
            copies: places.iter().copied().zip(behind_loop..).collect(),
            first: behind_loop,
            rounds: places.last().map_or(1, |place| place.round + 1),
        };
        let old = |index: u32| splitting.old(index);
        let copies = places.iter().map(|place| splitting.copy(place));
        let all = graph.nodes.len() as u32;
        let nodes = (0..behind_loop).map(old).chain(copies).chain((behind_loop..all).map(old)).collect();
        BlockGraph { nodes, ..graph }.without_unreachable()
    }
}

/// A loop that is being split.
struct Splitting<'a> {
    body: &'a Body,
    graph: &'a BlockGraph,
    /// The old index of the first node behind the loop.
    behind_loop: u32,
    /// The new indices of the copies.
    copies: HashMap<Place, u32>,
    /// The new index of the first copy.
    first: u32,
    rounds: u32,
}

impl Splitting<'_> {
    /// Returns the new index of an old node.
    fn moved(&self, node: u32) -> u32 {
        if node < self.behind_loop { node } else { node + self.copies.len() as u32 }
    }

    /// Returns an original node: rounds after a frame's first run in the copies.
    fn old(&self, index: u32) -> Node {
        let mut node = self.graph.nodes[index as usize].clone();
        let is_inside = self.body.contains(index);
        node.targets_mut().for_each(|to| {
            let goes_back = is_inside && self.body.contains(*to) && self.body.begins_round(self.graph, *to);
            *to = if goes_back { self.first } else { self.moved(*to) };
        });
        node
    }

    fn copy(&self, place: &Place) -> Node {
        let mut node = self.graph.nodes[place.node as usize].clone();
        node.probes.retain(|probe| place.round == 0 || !matches!(probe, Probe::Poll));
        for wire in &mut node.wires {
            let path = behind(wire, place.path);
            let Some(to) = &mut wire.to else { continue };
            if !self.body.contains(*to) {
                *to = self.moved(*to);
                continue;
            }
            let begun = u32::from(self.body.begins_round(self.graph, *to));
            let place = Place { round: (place.round + begun) % self.rounds, node: *to, path };
            let copy = self.copies.get(&place).or_else(|| self.copies.get(&Place { path: None, ..place }));
            *to = *copy.expect("it is there for this value, or for all others");
        }
        node
    }
}

/// Returns the path register behind a wire, given its value before.
fn behind(wire: &Wire, path: Option<i64>) -> Option<i64> {
    wire.probes.iter().fold(path, |path, probe| match probe {
        Probe::PathStart(first) => Some(*first),
        Probe::PathAdd(amount) => path.map(|path| path.wrapping_add(*amount)),
        _ => path,
    })
}
