//! Block graphs: the common form of all code to be compiled.
//!
//! A node is a *copy* of a CFG block; wire k of a node is its block's edge k, leading to a copy of that edge's target.
//! Probes stand on wires and at node entries. Plain code has one node per block; tail duplication, inlining and
//! unrolling add copies.

mod dispatch;
mod dump;
mod follow;
mod inline;
mod kept_path;
mod known_path;
mod landing;
mod loop_entry;
mod parts;
mod resume;
mod split_loop;
mod strip;
mod superblock;
mod unroll;
mod vectors;

use std::sync::Arc;

use smallvec::SmallVec;

use crate::cfg::{Cfg, Target};
use crate::code::Origin;
use crate::plan::{Countdown, FunctionPlan, Inner, Placement, Probe, Probes, Vectors};
pub use follow::Chases;
pub use inline::Site;
pub use landing::Handler;
pub use parts::Parts;
pub use superblock::{HotPath, Superblocks};

/// The copy of an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wire {
    /// The target node, for an exit of an inlined function the one behind the call; `None` if the wire leaves the
    /// function.
    pub to: Option<u32>,
    /// The probes that run when control crosses it.
    pub probes: Probes,
}

/// An exit taken before any instruction of a node, to another copy of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The condition under which the exit is taken.
    pub when: Lacking,
    /// The target node.
    pub to: u32,
}

/// The condition that a node's copies are guarded against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacking {
    /// A budget is smaller than the amount that the node takes in advance.
    Budget {
        /// The kind of its events.
        kind: u32,
        /// The amount that the node takes.
        most: u64,
    },
    /// It is not certain that the next tests of the loop that begins here all continue it.
    Rounds {
        /// The test of the loop.
        countdown: Countdown,
        /// The number of tests.
        tests: u32,
    },
}

/// A call whose callee's blocks are part of the caller's graph.
#[derive(Clone, Debug)]
pub struct Inlined {
    /// The callee's blocks.
    pub cfg: Arc<Cfg>,
    /// The calling frame: see [`Node::frame`].
    pub caller: u32,
    /// The block that contains the call.
    pub block: u32,
    /// The byte offset of the call in the module.
    pub call: u32,
}

/// A call that ends a node because its callee is inlined: wire 0 leads to the callee's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InlinedCall {
    /// The byte offset of the call in the module.
    pub at: u32,
    /// The inlined function of a call through a table. If another function is called, wire 1 leads to a copy of the
    /// block's rest that makes the call.
    pub guess: Option<u32>,
}

/// A copy of a block, or of a part of it before or behind an inlined call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The frame of the block: 0 is the function's own, k that of call k - 1 of [`BlockGraph::inlined`].
    pub frame: u32,
    /// The copied block, in that frame's function.
    pub block: u32,
    /// The byte offset in the module of the first instruction.
    pub start: u32,
    /// The call that ends the node; `None` if it ends with its block.
    pub call: Option<InlinedCall>,
    /// The number of executions in a profile. Code of a node that never ran is moved out of line.
    pub count: Option<u64>,
    /// The number of rounds of the enclosing loop that a frame has made at this node and that are counted only later;
    /// see [`BlockGraph::unrolled`].
    pub rounds: u32,
    /// The guard under which another copy of the block runs instead.
    pub guard: Option<Guard>,
    /// The test by which a strip-mined loop continues, at its header; see [`BlockGraph::stripped`].
    pub strip: Option<Countdown>,
    /// What the loop is expected to do at once if it can be vectorised, at its header; see [`BlockGraph::vectorized`].
    pub vectors: Option<Vectors>,
    /// The edge that the branch certainly takes, thanks to a guard: the branch is not tested.
    pub sure: Option<u32>,
    /// The node where the caller continues if an inlined frame leaves for another version at a check in this node.
    pub behind: Option<u32>,
    /// The landing of the exceptions that leave the node, if a frame around its own catches them.
    pub lands: Option<u32>,
    /// Whether the node is the landing of an inlined call that ends its block: its wires lead to the handlers.
    pub is_landing: bool,
    /// The handler of what the node throws, if it is known and in a frame around its own.
    pub caught: Option<Handler>,
    /// Where the block's code is, if not here. Such a node does nothing else, and has no wires.
    pub elsewhere: Option<Elsewhere>,
    /// The probes that run before the first instruction.
    pub probes: Probes,
    /// The probes inside the node, ascending.
    pub inner: Vec<Inner>,
    /// Copies of the block's edges, in their order; or the wires of its call.
    pub wires: SmallVec<[Wire; 2]>,
}

impl Node {
    /// Reports whether the node counts heat, as baseline code does that better code may replace.
    pub fn counts_heat(&self) -> bool {
        matches!(self.probes.first(), Some(Probe::Heat(_)))
    }

    /// Returns all successors of the node, by its wires and otherwise.
    pub fn targets(&self) -> impl Iterator<Item = u32> {
        let others = self.guard.map(|guard| guard.to).into_iter().chain(self.behind).chain(self.lands);
        let others = others.chain(self.caught.and_then(|handler| handler.to));
        self.wires.iter().filter_map(|wire| wire.to).chain(others)
    }

    /// Returns all successors of the node, as mutable references.
    fn targets_mut(&mut self) -> impl Iterator<Item = &mut u32> {
        let others = self.guard.as_mut().map(|guard| &mut guard.to).into_iter().chain(self.behind.as_mut());
        let caught = self.caught.as_mut().and_then(|handler| handler.to.as_mut());
        let others = others.chain(self.lands.as_mut()).chain(caught);
        self.wires.iter_mut().filter_map(|wire| wire.to.as_mut()).chain(others)
    }
}

/// A graph of copies of one function's blocks. Node 0 is the entry.
///
/// **Invariant**: every node can be reached from node 0; only of a graph that resumes may node 0 have predecessors.
#[derive(Clone, Debug)]
pub struct BlockGraph {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The inlined calls, callers before callees.
    pub inlined: Vec<Inlined>,
    /// Whether the graph is entered in the middle of the function by on-stack replacement, with locals and operands
    /// from the OSR buffer, rather than by a call.
    pub resumes: bool,
    /// Whether frames that resume bring along a path register and sums from code that counts the same. Frames that
    /// resume in burst code mostly come from code that counts nothing.
    pub is_continued: bool,
    /// The loop headers at which frames can also enter a graph that is entered by calls, with locals and operands from
    /// the OSR buffer; outer loops first.
    pub loop_entries: Vec<u32>,
    /// The initial value of the path register, if there is one, when the function is called, or in a burst when a frame
    /// resumes; see [`BlockGraph::is_continued`].
    pub path_register: Option<i64>,
    /// The Ball-Larus numbers of interesting paths, if these are distinguished: see
    /// [`wprof_profiler::PreferentialPlan::cells`]. Their address is a constant in the code, so the owner of the code
    /// keeps them alive.
    pub cells: Option<Arc<[u32]>>,
    /// Whether this is burst code: it calls other burst code, counts the checks of the burst, and has its own path
    /// register wherever it is entered.
    pub in_bursts: bool,
}

impl BlockGraph {
    /// Returns the graph with each block once, without probes.
    pub fn plain(cfg: &Cfg) -> BlockGraph {
        let node = |(block, index): (&crate::cfg::Block, u32)| Node {
            frame: 0,
            block: index,
            start: block.start,
            call: None,
            count: None,
            rounds: 0,
            guard: None,
            strip: None,
            vectors: None,
            sure: None,
            behind: None,
            lands: None,
            is_landing: false,
            caught: None,
            elsewhere: None,
            probes: Probes::new(),
            inner: Vec::new(),
            wires: block
                .edges
                .iter()
                .map(|edge| match edge.target {
                    Target::Block(to) => Wire { to: Some(to), probes: Probes::new() },
                    Target::Exit => Wire { to: None, probes: Probes::new() },
                })
                .collect(),
        };
        BlockGraph {
            nodes: cfg.blocks.iter().zip(0..).map(node).collect(),
            inlined: Vec::new(),
            resumes: false,
            is_continued: false,
            loop_entries: Vec::new(),
            path_register: None,
            cells: None,
            in_bursts: false,
        }
    }

    /// Returns the graph with each block once, with the probes of a placement.
    pub fn placed(cfg: &Cfg, placement: Placement) -> BlockGraph {
        let mut graph = BlockGraph::plain(cfg);
        for (node, placed) in graph.nodes.iter_mut().zip(placement.blocks) {
            (node.probes, node.inner) = (placed.entry, placed.inner);
            for (wire, probes) in node.wires.iter_mut().zip(placed.edges) {
                wire.probes = probes;
            }
        }
        let Placement { path_register, cells, in_bursts, .. } = placement;
        BlockGraph { path_register, cells, in_bursts, ..graph }
    }

    /// Returns the graph with each block once, with the probes of a function's plan.
    pub fn new(plan: &FunctionPlan) -> BlockGraph {
        BlockGraph::placed(&plan.cfg, plan.placement())
    }

    /// Returns a graph with the same attributes and no nodes.
    fn clone_without_nodes(&self) -> BlockGraph {
        let (inlined, cells) = (self.inlined.clone(), self.cells.clone());
        BlockGraph { nodes: Vec::new(), loop_entries: Vec::new(), inlined, cells, ..*self }
    }

    /// Checks the invariant, and that each node has its block's wires.
    ///
    /// # Errors
    /// Returns a description of the first violation.
    pub fn verify(&self, cfg: &Cfg) -> Result<(), String> {
        let mut reached = vec![false; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            let wrong = |what: &str| Err(format!("node {index}: {what}"));
            let block_of = |to: u32| self.nodes.get(to as usize).map(|to| to.block);
            if node.guard.is_some_and(|guard| block_of(guard.to) != Some(node.block)) {
                return wrong("the guard leads to another block");
            }
            if node.sure.is_some_and(|edge| edge as usize >= node.wires.len()) {
                return wrong("no edge is sure that it does not have");
            }
            let is_right = match node.call {
                _ if node.elsewhere.is_some() => match node.wires.is_empty() {
                    true => Ok(()),
                    false => Err("wires of a node that is elsewhere".into()),
                },
                Some(call) => self.verify_call(node, call),
                None => self.verify_wires(cfg, node),
            };
            is_right.and_then(|()| self.verify_landing(cfg, node)).or_else(|what| wrong(&what))?;
            node.targets().for_each(|to| reached[to as usize] = true);
        }
        if reached.first() == Some(&true) && !self.resumes {
            return Err("the entry has predecessors".into());
        }
        if let Some(index) = reached.iter().skip(1).position(|r| !r) {
            return Err(format!("node {} is unreachable", index + 1));
        }
        Ok(())
    }

    /// Checks that a node's wires are copies of its block's edges.
    fn verify_wires(&self, cfg: &Cfg, node: &Node) -> Result<(), String> {
        let edges = node.edges(self.cfg_of(cfg, node.frame));
        if node.wires.len() != edges.len() {
            return Err(format!("{} wires for {} edges", node.wires.len(), edges.len()));
        }
        for (wire, edge) in node.wires.iter().zip(edges) {
            let to =
                wire.to.map(|to| self.nodes.get(to as usize).ok_or("a wire leads nowhere")).transpose()?;
            let is_right = match (to, edge.target) {
                (Some(to), Target::Block(block)) => {
                    (to.frame, to.block) == (node.frame, block)
                        && to.start == self.cfg_of(cfg, to.frame).blocks[block as usize].start
                }
                (None, Target::Exit) => node.frame == 0,
                (None, Target::Block(_)) => false,
                (Some(to), Target::Exit) => self.call_of(node.frame).is_some_and(|call| {
                    (to.frame, to.block) == (call.caller, call.block) && to.start > call.call
                }),
            };
            if !is_right {
                return Err(format!("a wire leads to {to:?}, its edge to {}", edge.target));
            }
        }
        Ok(())
    }

    /// Checks that a node's wires are those of its call.
    fn verify_call(&self, node: &Node, call: InlinedCall) -> Result<(), String> {
        if node.wires.len() != 1 + usize::from(call.guess.is_some()) {
            return Err("not the wires of a call".into());
        }
        let to = |wire: usize| self.nodes.get(node.wires[wire].to? as usize);
        let is_entry = |to: &Node| {
            let inlined = self.call_of(to.frame);
            to.block == 0 && inlined.is_some_and(|of| (of.caller, of.call) == (node.frame, call.at))
        };
        let does_call = |to: &Node| (to.frame, to.block, to.start) == (node.frame, node.block, call.at);
        if !to(0).is_some_and(is_entry) || (call.guess.is_some() && !to(1).is_some_and(does_call)) {
            return Err("a call leads elsewhere".into());
        }
        Ok(())
    }

    /// Returns the blocks that the nodes of a frame copy, given the function's own.
    pub fn cfg_of<'a>(&'a self, own: &'a Cfg, frame: u32) -> &'a Cfg {
        self.call_of(frame).map_or(own, |call| &call.cfg)
    }

    /// Returns the inlined call that made a frame; `None` if it is the function's own.
    pub fn call_of(&self, frame: u32) -> Option<&Inlined> {
        self.inlined.get((frame as usize).checked_sub(1)?)
    }

    /// Returns the origins of the inlined calls.
    pub(crate) fn inlined_at(&self, own: &Cfg) -> Vec<Origin> {
        let origin = |call: &Inlined| {
            let (frame, func) = (call.caller, self.cfg_of(own, call.caller).func);
            Origin { func, frame, block: call.block, rounds: 0, path: None, offset: call.call }
        };
        self.inlined.iter().map(origin).collect()
    }

    /// Returns the inlined functions, ascending.
    pub(crate) fn inlined_funcs(&self) -> Vec<u32> {
        let mut funcs: Vec<u32> = self.inlined.iter().map(|call| call.cfg.func).collect();
        funcs.sort_unstable();
        funcs.dedup();
        funcs
    }

    /// Returns the function's own block that contains a node, possibly through an inlined call.
    pub fn own_block(&self, node: u32) -> u32 {
        let Node { mut frame, mut block, .. } = self.nodes[node as usize];
        while let Some(call) = self.call_of(frame) {
            (frame, block) = (call.caller, call.block);
        }
        block
    }

    /// Reports whether a node is a whole copy of a block of the function itself.
    fn is_whole(&self, cfg: &Cfg, node: &Node) -> bool {
        node.frame == 0 && node.call.is_none() && node.start == cfg.blocks[node.block as usize].start
    }
}

/// The place of code that a frame continues in, as by OSR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// Another part, which is entered through this row of the code slots.
    Part(u32),
    /// Code at this address.
    Version(u64),
}
