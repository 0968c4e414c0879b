//! Loop unrolling: copies small loops several times, so that per-round work runs once per several rounds.
//!
//! Input: a graph that contains each block to unroll at most once, with its probes, and the [`SmallLoop`]s to unroll.
//! Output: the same graph with the loops' blocks copied; the last copy leads back to the first. Polls stay in the first
//! copy. The latch's counter updates move to the latch of the last copy, for all rounds, and to the wires out of the
//! loop, for the rounds made so far: inside the loop a round costs nothing. A frame that stops in copy k owes k rounds,
//! a constant of the place ([`Node::rounds`]), as with the queries of Ball, *Efficiently Counting Program Events*,
//! TOPLAS 1994. Path counts are deferred likewise if all rounds are one path ([`RoundPath`](crate::plan::RoundPath)):
//! the first round of a frame, which begins with another path, has a copy of its own.
//! A counted loop ([`Countdown`](crate::plan::Countdown)) makes its first rounds in copies that test. They lead to a
//! test for several rounds ([`Lacking::Rounds`]) and to copies for these rounds, all but the last without tests of
//! their own. If too few rounds are left, the copies that test make them, so an inexact bound does no harm.
//! A budget is checked in the first copy only, ahead of time for the rounds of all copies ([`Lacking::Budget`]): if it
//! might run out in them, the loop continues in a plain copy, which checks in each round. The program therefore stops
//! exactly where plain code would stop.
//! Burst code copies the same loops, so that it encounters as many checks as checking code does: otherwise bursts would
//! undersample these loops relative to their time between bursts. Nothing is deferred there.
//! Invariant: nothing inside an unrolled loop can read a counter, except for frames that stop.
//! Oracle: exact profiles of programs under unrolled code, `spec-tests/tests/oracle.rs`.
//!
//! Example: a loop of one block `b`, whose latch counts, becomes `b0 b1 b2 b3`; the wire `b3 -> b0` counts 4, a wire
//! from `b2` out of the loop counts 2.

use super::{BlockGraph, Guard, Lacking, Node, Wire};
use crate::cfg::Cfg;
use crate::plan::{Probe, Probes, SmallLoop};

/// Minimum number of passes over all copies for which the copies without tests are entered: most loops make few rounds,
/// and a test whose outcome varies costs a mispredicted jump.
const LEAST_PASSES: u32 = 4;

impl SmallLoop {
    /// Reports whether the loop is in the graph, and its rounds only count, which can be deferred, and poll.
    fn fits(&self, graph: &BlockGraph, node_of: &[Option<u32>]) -> bool {
        self.blocks.iter().all(|&block| {
            let node = node_of[block as usize].map(|node| &graph.nodes[node as usize]);
            node.is_some_and(|node| {
                let can_wait = |probe: &Probe| match probe {
                    Probe::Count { .. } | Probe::CountInRecord { .. } | Probe::Event { .. } => true,
                    Probe::Poll | Probe::Check | Probe::CountOps(_) => true,
                    Probe::Budget(kind) => self.metered.is_some_and(|(metered, _)| metered == *kind),
                    Probe::PathStart(_)
                    | Probe::PathAdd(_)
                    | Probe::PathEnd { .. }
                    | Probe::PreferentialEnd { .. } => self.path.is_some(),
                    Probe::Follow(_) | Probe::Heat(_) | Probe::Emit { .. } => false,
                    Probe::FindRecord { .. } | Probe::PassSlot(_) | Probe::CountTarget(_) => false,
                    Probe::RecordEntry | Probe::RecordPath { .. } => false,
                    Probe::EnterAllocator(_) | Probe::LeaveAllocator(_) => false,
                    Probe::StartMetrics | Probe::StopMetrics | Probe::ChargeRecord => false,
                };
                let probes = node.wires.iter().map(|wire| &wire.probes).chain([&node.probes]);
                node.inner.is_empty() && probes.flatten().all(can_wait)
            })
        })
    }

    /// Returns the copy at which the loop is entered.
    fn first_copy(&self) -> Copy {
        match self.countdown {
            Some(_) => Copy::Tested(0),
            None if self.path.is_some() => Copy::Entered,
            None => Copy::Round(0),
        }
    }

    /// Returns the other copies, in layout order.
    fn other_copies(&self) -> impl Iterator<Item = Copy> {
        let tested = self.countdown.map_or(0..0, |_| 0..self.copies).map(Copy::Tested);
        let all = tested.chain((0..self.copies).map(Copy::Round));
        all.filter(|copy| *copy != self.first_copy()).chain(self.metered.map(|_| Copy::Plain))
    }

    /// Returns the edge that a block's branch certainly takes in a copy.
    fn sure_edge(&self, block: u32, copy: Copy) -> Option<u32> {
        let is_sure = matches!(copy, Copy::Round(round) if round + 1 < self.copies);
        let countdown = self.countdown.filter(|countdown| is_sure && countdown.block == block)?;
        Some(countdown.edge)
    }
}

impl BlockGraph {
    /// Unrolls those of `loops` whose blocks the graph contains once. `first` is the function's first counter.
    #[must_use]
    pub fn unrolled(self, cfg: &Cfg, loops: &[SmallLoop], first: u32) -> BlockGraph {
        let mut node_of = vec![None; cfg.blocks.len()];
        let mut is_copied = vec![false; cfg.blocks.len()];
        for (node, index) in self.nodes.iter().zip(0..).filter(|(node, _)| node.frame == 0) {
            let block = node.block as usize;
            is_copied[block] |= node_of[block].is_some() || !self.is_whole(cfg, node);
            node_of[block] = Some(index).filter(|_| !is_copied[block]);
        }
        let puts_off = !self.in_bursts;
        let fits = |found: &&SmallLoop| match puts_off {
            true => found.fits(&self, &node_of),
            false => found.blocks.iter().all(|&block| node_of[block as usize].is_some()),
        };
        let is_scalar = |found: &&SmallLoop| !self.has_vectors(found.blocks[0]);
        let loops = affordable(cfg, loops.iter().filter(fits).filter(is_scalar));
        if loops.is_empty() {
            return self;
        }
        let mut unrolling = Unrolling::new(&self, &node_of, &loops, first);
        for (node, index) in self.nodes.iter().zip(0..) {
            unrolling.copy_rounds(index, node);
        }
        let graph = BlockGraph { nodes: unrolling.nodes, ..self };
        debug_assert_eq!(graph.verify(cfg), Ok(()));
        graph
    }
}

/// Leaves out loops whose copies, with those of the loops before, would make optimising take too long: where hundreds of
/// locals are alive in thousands of loops, it took ten times as long and as much memory as without copies.
fn affordable<'a>(cfg: &Cfg, loops: impl Iterator<Item = &'a SmallLoop>) -> Vec<&'a SmallLoop> {
    let mut loops = loops.peekable();
    if loops.peek().is_none() {
        return Vec::new();
    }
    let mut room = cfg.room_for_copies();
    let mut fits = |found: &&SmallLoop| {
        let work = cfg.work_of(&found.blocks).saturating_mul(found.other_copies().count());
        let left = room.checked_sub(work);
        room = left.unwrap_or(room);
        left.is_some()
    };
    loops.filter(|found| fits(found)).collect()
}

/// The layout of a loop's copies.
struct Copies<'a> {
    found: &'a SmallLoop,
    /// Old indices of the loop's nodes, ascending.
    nodes: Vec<u32>,
    /// The counter updates per round.
    added: Probes,
    /// The latch's update of the path register in each round, if other wires change the register.
    restart: Option<Probe>,
    /// New index of the first node of the second copy. The copies are contiguous, each in the old order.
    second: u32,
}

impl<'a> Copies<'a> {
    /// Creates the copies of a loop, without a layout. `first` is the function's first counter.
    fn new(old: &BlockGraph, found: &'a SmallLoop, first: u32, node_of: impl Fn(u32) -> u32) -> Copies<'a> {
        let wires = |block: u32| &old.nodes[node_of(block) as usize].wires;
        let (block, edge) = found.latch;
        let latch = &wires(block)[edge as usize].probes;
        let is_inner = |to: u32| found.blocks.binary_search(&old.nodes[to as usize].block).is_ok();
        let inner =
            found.blocks.iter().flat_map(|&block| wires(block)).filter(|w| w.to.is_some_and(is_inner));
        let is_changed = inner.flat_map(|wire| &wire.probes).any(|probe| matches!(probe, Probe::PathAdd(_)));
        let restart = latch.iter().copied().find(|probe| is_changed && matches!(probe, Probe::PathStart(_)));
        let added = found.added_by_round(latch, first);
        Copies { found, nodes: Vec::new(), added, restart, second: 0 }
    }
}

/// A copy of a loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copy {
    /// The copy for the first round of a frame, if its path differs from that of the next rounds.
    Entered,
    /// The copy for a round, from 0 on.
    Round(u32),
    /// The copy for a round, from 0 on, that tests whether there is one.
    Tested(u32),
    /// The copy that does everything in each round.
    Plain,
}

impl Copy {
    /// Returns the number of previous rounds whose counts are deferred.
    fn rounds(self) -> u32 {
        match self {
            Copy::Round(round) | Copy::Tested(round) => round,
            Copy::Entered | Copy::Plain => 0,
        }
    }

    /// Returns the copy for the next round, given the number of copies.
    fn next(self, copies: u32) -> Copy {
        match self {
            Copy::Entered => Copy::Round(0),
            Copy::Round(round) => Copy::Round((round + 1) % copies),
            Copy::Tested(round) if round + 1 == copies => Copy::Round(0),
            Copy::Tested(round) => Copy::Tested(round + 1),
            Copy::Plain => Copy::Plain,
        }
    }
}

/// A graph under construction.
struct Unrolling<'a> {
    old: &'a BlockGraph,
    loops: Vec<Copies<'a>>,
    /// By old index, the loop that contains the node.
    loop_of: Vec<Option<usize>>,
    /// By old index, the new index of the first copy.
    first: Vec<u32>,
    nodes: Vec<Node>,
}

impl<'a> Unrolling<'a> {
    /// Computes the places of all copies: behind the last node of their loop, so that its header is sealed early.
    fn new(
        old: &'a BlockGraph,
        node_of: &[Option<u32>],
        loops: &[&'a SmallLoop],
        first_counter: u32,
    ) -> Unrolling<'a> {
        let node_of = |block: u32| node_of[block as usize].expect("the loop is in the graph");
        let mut loop_of = vec![None; old.nodes.len()];
        let mut all: Vec<Copies<'a>> = Vec::with_capacity(loops.len());
        for (&found, index) in loops.iter().zip(0..) {
            found.blocks.iter().for_each(|&block| loop_of[node_of(block) as usize] = Some(index));
            all.push(Copies::new(old, found, first_counter, node_of));
        }
        let (mut first, mut next) = (Vec::with_capacity(old.nodes.len()), 0);
        for (found, index) in loop_of.iter().zip(0..) {
            first.push(next);
            next += 1;
            let Some(copies) = found.map(|found| &mut all[found]) else { continue };
            copies.nodes.push(index);
            if copies.nodes.len() == copies.found.blocks.len() {
                copies.second = next;
                next += (copies.found.other_copies().count() * copies.nodes.len()) as u32;
            }
        }
        Unrolling { old, loops: all, loop_of, first, nodes: Vec::with_capacity(next as usize) }
    }

    /// Adds the first copy of a node and, behind the last node of a loop, the loop's other copies.
    fn copy_rounds(&mut self, index: u32, node: &Node) {
        let Some(found) = self.loop_of[index as usize] else { return self.copy_outside(node) };
        let small = self.loops[found].found;
        self.copy(index, found, small.first_copy());
        if self.loops[found].nodes.last() == Some(&index) {
            for copy in small.other_copies() {
                for old in self.loops[found].nodes.clone() {
                    self.copy(old, found, copy);
                }
            }
        }
    }

    fn copy_outside(&mut self, node: &Node) {
        let mut node = node.clone();
        node.targets_mut().for_each(|to| *to = self.first[*to as usize]);
        self.nodes.push(node);
    }

    fn copy(&mut self, index: u32, found: usize, copy: Copy) {
        let (mut node, small) = (self.old.nodes[index as usize].clone(), self.loops[found].found);
        let puts_off = !self.old.in_bursts;
        if matches!(copy, Copy::Round(_) | Copy::Tested(_)) {
            node.rounds = if puts_off { copy.rounds() } else { 0 };
            node.probes.retain(|probe| match probe {
                Probe::Budget(_) => !puts_off,
                Probe::Poll | Probe::Check => copy.rounds() == 0,
                _ => true,
            });
        }
        if node.block == small.blocks[0] && copy == Copy::Round(0) {
            node.guard = self.guard(index, found);
        }
        node.sure = small.sure_edge(node.block, copy);
        for (wire, edge) in node.wires.iter_mut().zip(0..) {
            let is_latch = small.latch == (node.block, edge);
            if matches!(copy, Copy::Round(_) | Copy::Tested(_)) && puts_off {
                self.put_off(found, wire, copy, is_latch);
            }
            let Some(to) = &mut wire.to else { continue };
            let next = if is_latch { copy.next(small.copies) } else { copy };
            *to = match self.loop_of[*to as usize] == Some(found) {
                true => self.copy_of(*to, found, next),
                false => self.first[*to as usize],
            };
        }
        self.nodes.push(node);
    }

    /// Returns the guard at the header of the first copy for a round.
    fn guard(&self, header: u32, found: usize) -> Option<Guard> {
        let small = self.loops[found].found;
        let budget = |(kind, most)| {
            let to = self.copy_of(header, found, Copy::Plain);
            Guard { when: Lacking::Budget { kind, most }, to }
        };
        let rounds = |countdown| {
            let to = self.copy_of(header, found, Copy::Tested(0));
            Guard { when: Lacking::Rounds { countdown, tests: LEAST_PASSES * small.copies - 1 }, to }
        };
        small.metered.map(budget).or(small.countdown.map(rounds))
    }

    /// Moves the latch's updates from the wire of a node in `copy` to the wires where they are added for several
    /// rounds.
    fn put_off(&self, found: usize, wire: &mut Wire, copy: Copy, is_latch: bool) {
        let Copies { found: small, added, restart, .. } = &self.loops[found];
        let leaves = wire.to.is_none_or(|to| self.loop_of[to as usize] != Some(found));
        let rounds = copy.rounds() + u32::from(is_latch);
        let begins_anew = is_latch && copy.next(small.copies).rounds() == 0;
        if is_latch {
            wire.probes = restart.iter().copied().collect();
        }
        if rounds > 0 && (leaves || begins_anew) {
            for probe in added {
                probe.times(rounds).merge_into(&mut wire.probes);
            }
        }
    }

    /// Returns the new index of a copy of an old node.
    fn copy_of(&self, node: u32, found: usize, copy: Copy) -> u32 {
        let copies = &self.loops[found];
        let Some(before) = copies.found.other_copies().position(|other| other == copy) else {
            return self.first[node as usize];
        };
        let place = copies.nodes.binary_search(&node).expect("it is in the loop");
        copies.second + (before * copies.nodes.len() + place) as u32
    }
}
