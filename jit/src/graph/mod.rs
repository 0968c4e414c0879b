//! Block graphs: the one form of everything that is compiled.
//!
//! A node is a *copy* of a CFG block; wire k of a node is its block's edge k, leading to a copy of that edge's target.
//! Probes stand on wires and at node entries. Plain code has one node a block; tail duplication, inlining and
//! unrolling copy more.

mod dispatch;
mod dump;
mod inline;
mod kept_path;
mod known_path;
mod loop_entry;
mod parts;
mod resume;
mod split_loop;
mod strip;
mod superblock;
mod unroll;

use std::sync::Arc;

use smallvec::SmallVec;

use crate::cfg::{Cfg, Target};
use crate::code::Origin;
use crate::plan::{Countdown, FunctionPlan, Inner, Placement, Probe, Probes};
pub use inline::Site;
pub use parts::Parts;
pub use superblock::{HotPath, Superblocks};

/// The copy of an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wire {
    /// The node it leads to, from the end of an inlined function the one behind the call; `None` if it leaves the
    /// function.
    pub to: Option<u32>,
    /// What crossing it does.
    pub probes: Probes,
}

/// A way out of a node before anything of it is done, to another copy of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// When it is taken.
    pub when: Lacking,
    /// The node it leads to.
    pub to: u32,
}

/// What a node's copies are guarded against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacking {
    /// Not so much is left of a budget as the node takes ahead.
    Budget {
        /// The kind of its events.
        kind: u32,
        /// How much is taken.
        most: u64,
    },
    /// It is not sure that so many tests of the loop that begins here go on.
    Rounds {
        /// What is tested.
        countdown: Countdown,
        /// How many tests.
        tests: u32,
    },
}

/// A call whose callee's blocks are in the graph of its caller.
#[derive(Clone, Debug)]
pub struct Inlined {
    /// The callee's blocks.
    pub cfg: Arc<Cfg>,
    /// The frame that calls: see [`Node::frame`].
    pub caller: u32,
    /// The block that the call is in.
    pub block: u32,
    /// Byte offset in the module of the call.
    pub call: u32,
}

/// A call at which a node ends, as its callee is inlined: wire 0 leads to the callee's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InlinedCall {
    /// Byte offset in the module of the call.
    pub at: u32,
    /// Of a call through a table: the function that is inlined. If another is to be called, wire 1 leads to a copy of
    /// the block's rest that does the call.
    pub guess: Option<u32>,
}

/// A copy of a block, or of a part of it before or behind a call that is inlined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The frame that it belongs to: 0 is the function's own, k that of call k - 1 of [`BlockGraph::inlined`].
    pub frame: u32,
    /// The block it copies, of that frame's function.
    pub block: u32,
    /// Byte offset in the module of its first instruction.
    pub start: u32,
    /// The call at which it ends; `None` if it ends with its block.
    pub call: Option<InlinedCall>,
    /// How often it ran, as far as a profile tells. The code of one that never did is put out of the way.
    pub count: Option<u64>,
    /// How many rounds of the loop around it a frame has made here that are counted only when it goes on; see
    /// [`BlockGraph::unrolled`].
    pub rounds: u32,
    /// When to go on in another copy of the block instead.
    pub guard: Option<Guard>,
    /// Of the header of a loop that is checked once in several rounds: by which test it goes on; see
    /// [`BlockGraph::stripped`].
    pub strip: Option<Countdown>,
    /// The edge that its branch goes along, if a guard has made that sure: it is not tested.
    pub sure: Option<u32>,
    /// Of an inlined frame's node that is checked: where its caller goes on, if the frame leaves for another version.
    pub behind: Option<u32>,
    /// Of a block whose code is elsewhere: where. Nothing else is done here, and there are no wires.
    pub elsewhere: Option<Elsewhere>,
    /// What entering it does, before its first instruction.
    pub probes: Probes,
    /// What is done inside it, ascending.
    pub inner: Vec<Inner>,
    /// Copies of the block's edges, in their order; or those of its call.
    pub wires: SmallVec<[Wire; 2]>,
}

impl Node {
    /// Whether it counts heat, as baseline code does that may be left for better.
    pub fn counts_heat(&self) -> bool {
        matches!(self.probes.first(), Some(Probe::Heat(_)))
    }

    /// All nodes that it leads to, by its wires and otherwise.
    pub fn targets(&self) -> impl Iterator<Item = u32> {
        let others = self.guard.map(|guard| guard.to).into_iter().chain(self.behind);
        self.wires.iter().filter_map(|wire| wire.to).chain(others)
    }

    /// The same, to be changed.
    fn targets_mut(&mut self) -> impl Iterator<Item = &mut u32> {
        let others = self.guard.as_mut().map(|guard| &mut guard.to).into_iter().chain(self.behind.as_mut());
        self.wires.iter_mut().filter_map(|wire| wire.to.as_mut()).chain(others)
    }
}

/// A graph of copies of one function's blocks. Node 0 is where it is entered.
///
/// **Invariant**: every node can be reached from node 0; only of a graph that resumes may node 0 have predecessors.
#[derive(Clone, Debug)]
pub struct BlockGraph {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// Calls that are not made, since the callee's blocks are here; callers before callees.
    pub inlined: Vec<Inlined>,
    /// Whether it is entered in the middle of the function, with locals and operands from the transfer buffer (on-stack
    /// replacement), rather than by a call.
    pub resumes: bool,
    /// Whether frames that resume bring along what they have counted so far, a path register and sums, from code that
    /// counts the same. To code for bursts most come from code that counts nothing.
    pub is_continued: bool,
    /// The nodes that frames can enter as well, with locals and operands from the transfer buffer, of a graph that is
    /// entered by calls: those of loop headers, outer loops first.
    pub loop_entries: Vec<u32>,
    /// What the path register is when the function is called, if there is one, or in a burst when a frame resumes; see
    /// [`BlockGraph::is_continued`].
    pub path_register: Option<i64>,
    /// The Ball-Larus numbers of interesting paths, if they are told from others: see
    /// [`wprof_profiler::PreferentialPlan::cells`]. Their address is a constant in the code, so whoever keeps the code
    /// keeps them.
    pub cells: Option<Arc<[u32]>>,
    /// Whether it is code for bursts: it calls others of that kind, counts the checks of the burst, and has a path
    /// register of its own wherever it is entered.
    pub in_bursts: bool,
}

impl BlockGraph {
    /// Each block once, without probes.
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
            sure: None,
            behind: None,
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

    /// Each block once, with the probes of a placement.
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

    /// Each block once, with the probes of a function's plan.
    pub fn of(plan: &FunctionPlan) -> BlockGraph {
        BlockGraph::placed(&plan.cfg, plan.placement())
    }

    /// What it says of all its nodes.
    fn clone_without_nodes(&self) -> BlockGraph {
        let (inlined, cells) = (self.inlined.clone(), self.cells.clone());
        BlockGraph { nodes: Vec::new(), loop_entries: Vec::new(), inlined, cells, ..*self }
    }

    /// Checks the invariant, and that each node has its block's wires.
    ///
    /// # Errors
    /// The first violation.
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
            is_right.or_else(|what| wrong(&what))?;
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

    /// Whether a node's wires are copies of its block's edges.
    fn verify_wires(&self, cfg: &Cfg, node: &Node) -> Result<(), String> {
        let block = &self.cfg_of(cfg, node.frame).blocks[node.block as usize];
        if node.wires.len() != block.edges.len() {
            return Err(format!("{} wires for {} edges", node.wires.len(), block.edges.len()));
        }
        for (wire, edge) in node.wires.iter().zip(&block.edges) {
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

    /// Whether a node's wires are those of its call.
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

    /// The graph that the nodes of a frame copy, given the function's own.
    pub fn cfg_of<'a>(&'a self, own: &'a Cfg, frame: u32) -> &'a Cfg {
        self.call_of(frame).map_or(own, |call| &call.cfg)
    }

    /// The inlined call that made a frame; `None` if it is the function's own.
    pub fn call_of(&self, frame: u32) -> Option<&Inlined> {
        self.inlined.get((frame as usize).checked_sub(1)?)
    }

    /// Where the inlined calls are.
    pub(crate) fn inlined_at(&self, own: &Cfg) -> Vec<Origin> {
        let origin = |call: &Inlined| {
            let (frame, func) = (call.caller, self.cfg_of(own, call.caller).func);
            Origin { func, frame, block: call.block, rounds: 0, path: None, offset: call.call }
        };
        self.inlined.iter().map(origin).collect()
    }

    /// The functions that are inlined, ascending.
    pub(crate) fn inlined_funcs(&self) -> Vec<u32> {
        let mut funcs: Vec<u32> = self.inlined.iter().map(|call| call.cfg.func).collect();
        funcs.sort_unstable();
        funcs.dedup();
        funcs
    }

    /// The block of the function itself that a node is part of, perhaps in a call.
    pub fn own_block(&self, node: u32) -> u32 {
        let Node { mut frame, mut block, .. } = self.nodes[node as usize];
        while let Some(call) = self.call_of(frame) {
            (frame, block) = (call.caller, call.block);
        }
        block
    }

    /// Whether a node is a whole copy of a block of the function itself.
    fn is_whole(&self, cfg: &Cfg, node: &Node) -> bool {
        node.frame == 0 && node.call.is_none() && node.start == cfg.blocks[node.block as usize].start
    }
}

/// Where code is that a frame goes on in, as one does that goes on in another version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// In another part, which is entered through this row of the code slots.
    Part(u32),
    /// At this address.
    Version(u64),
}
