//! Placements: which probes stand where in a function.
//!
//! Each plan places its own probes, one after the other, and what is placed later may stand before or behind what is
//! there. A block graph has the probes of a placement in all copies of a block.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::{Probe, Probes};
use crate::cfg::Cfg;

/// Probes around an instruction in the middle of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inner {
    /// Byte offset in the module of the instruction.
    pub offset: u32,
    /// What is done before it.
    pub before: Probes,
    /// What is done after it, if it does not trap.
    pub after: Probes,
}

/// The probes of one block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// What entering it does, before its first instruction.
    pub entry: Probes,
    /// What is done inside it, ascending.
    pub inner: Vec<Inner>,
    /// What crossing each of its edges does.
    pub edges: SmallVec<[Probes; 2]>,
}

impl Placed {
    /// The probes around the instruction at byte `offset` of the module, none at first.
    pub fn around(&mut self, offset: u32) -> &mut Inner {
        let at = self.inner.partition_point(|inner| inner.offset < offset);
        if self.inner.get(at).is_none_or(|inner| inner.offset != offset) {
            self.inner.insert(at, Inner { offset, before: Probes::new(), after: Probes::new() });
        }
        &mut self.inner[at]
    }
}

/// The probes of one function.
#[derive(Clone, Debug)]
pub struct Placement {
    /// By block.
    pub blocks: Vec<Placed>,
    /// What the path register is when the function is called, if there is one.
    pub path_register: Option<i64>,
    /// The Ball-Larus numbers of interesting paths, if they are told from others: see
    /// [`wprof_profiler::PreferentialPlan::cells`].
    pub cells: Option<Arc<[u32]>>,
    /// Whether it is code for bursts.
    pub in_bursts: bool,
}

impl Placement {
    /// No probes yet.
    pub fn new(cfg: &Cfg) -> Placement {
        let none = |edges: usize| Placed { edges: smallvec![Probes::new(); edges], ..Placed::default() };
        Placement {
            blocks: cfg.blocks.iter().map(|block| none(block.edges.len())).collect(),
            path_register: None,
            cells: None,
            in_bursts: false,
        }
    }

    /// What is done at the entry of the function, which nothing else leads to.
    pub fn entry(&mut self) -> &mut Probes {
        &mut self.blocks[0].entry
    }

    /// What crossing an edge of a block does, by its number there.
    pub fn edge(&mut self, block: u32, edge: u32) -> &mut Probes {
        &mut self.blocks[block as usize].edges[edge as usize]
    }

    /// What crossing each edge of the function does, in the order of its edges.
    pub fn edges(&mut self) -> impl Iterator<Item = &mut Probes> {
        self.blocks.iter_mut().flat_map(|block| &mut block.edges)
    }

    /// The probes around the instruction at byte `offset` of a block.
    pub fn around(&mut self, block: u32, offset: u32) -> &mut Inner {
        self.blocks[block as usize].around(offset)
    }

    /// Counts the instructions of each block in the frame's call record, but for boring ones.
    pub(super) fn count_ops(&mut self, cfg: &Cfg, boring: &[u32]) {
        for ((placed, block), index) in self.blocks.iter_mut().zip(&cfg.blocks).zip(0..) {
            if boring.binary_search(&index).is_err() {
                placed.entry.push(Probe::CountOps(block.ops));
            }
        }
    }

    /// Records entries, and paths where they are counted.
    pub(super) fn record_bursts(&mut self) {
        self.entry().push(Probe::RecordEntry);
        for probes in self.edges() {
            let end = probes.iter().position(|probe| matches!(probe, Probe::PathEnd { .. }));
            if let Some((at, &Probe::PathEnd { amount, .. })) = end.map(|at| (at, &probes[at])) {
                let leaves = !probes.iter().any(|probe| matches!(probe, Probe::PathStart(_)));
                probes.insert(at, Probe::RecordPath { amount, leaves });
            }
        }
    }

    /// Adds checks of the budget of events of `kind` wherever code may be stopped, and after the calls at the given
    /// bytes of the given blocks: a frame that goes on after a call may have been kept from its next check by any
    /// number of others that did the same.
    pub fn add_budget(&mut self, cfg: &Cfg, kind: u32, calls: impl Iterator<Item = (u32, u32)>) {
        self.at_stops(cfg, Probe::Budget(kind));
        for (block, call) in calls {
            self.around(block, call).after.insert(0, Probe::Budget(kind));
        }
    }

    /// Adds a poll wherever code may be stopped.
    pub fn add_polls(&mut self, cfg: &Cfg) {
        self.at_stops(cfg, Probe::Poll);
    }

    fn at_stops(&mut self, cfg: &Cfg, probe: Probe) {
        for (block, index) in self.blocks.iter_mut().zip(0..) {
            if cfg.is_stop(index as usize, index) {
                block.entry.push(probe);
            }
        }
    }

    /// Adds heat probes at the function's entry and at every loop header. They stand first.
    pub fn add_heat(&mut self, cfg: &Cfg, counter: u32) {
        for (index, (placed, block)) in self.blocks.iter_mut().zip(&cfg.blocks).enumerate() {
            if index == 0 || block.is_loop_header {
                placed.entry.insert(0, Probe::Heat(counter));
            }
        }
    }
}
