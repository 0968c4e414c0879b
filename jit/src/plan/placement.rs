//! Placements: the probes at each place of a function.
//!
//! Each plan places its own probes, one plan after the other, and later ones may go before or behind those already
//! there. A block graph has the probes of a placement in all copies of a block.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::{Probe, Probes};
use crate::cfg::Cfg;

/// Probes around an instruction in the middle of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inner {
    /// The byte offset in the module of the instruction.
    pub offset: u32,
    /// The probes before it.
    pub before: Probes,
    /// The probes behind it, which run if it does not trap.
    pub after: Probes,
}

/// The probes of one block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// The probes that run on entry, before the first instruction.
    pub entry: Probes,
    /// The probes inside the block, ascending.
    pub inner: Vec<Inner>,
    /// The probes on each of its edges.
    pub edges: SmallVec<[Probes; 2]>,
}

impl Placed {
    /// Returns the probes around the instruction at byte `offset` of the module, none at first.
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
    /// The probes of each block.
    pub blocks: Vec<Placed>,
    /// The value of the path register when the function is called, if there is one.
    pub path_register: Option<i64>,
    /// The Ball-Larus numbers of interesting paths, if these are distinguished: see
    /// [`wprof_profiler::PreferentialPlan::cells`].
    pub cells: Option<Arc<[u32]>>,
    /// Whether this is burst code.
    pub in_bursts: bool,
}

impl Placement {
    /// Creates a placement without probes.
    pub fn new(cfg: &Cfg) -> Placement {
        let none = |edges: usize| Placed { edges: smallvec![Probes::new(); edges], ..Placed::default() };
        Placement {
            blocks: cfg.blocks.iter().map(|block| none(block.edges.len())).collect(),
            path_register: None,
            cells: None,
            in_bursts: false,
        }
    }

    /// Returns the probes at the entry of the function, which no edge leads to.
    pub fn entry(&mut self) -> &mut Probes {
        &mut self.blocks[0].entry
    }

    /// Returns the probes on an edge of a block, by its number there.
    pub fn edge(&mut self, block: u32, edge: u32) -> &mut Probes {
        &mut self.blocks[block as usize].edges[edge as usize]
    }

    /// Returns the probes on each edge of the function, in the order of its edges.
    pub fn edges(&mut self) -> impl Iterator<Item = &mut Probes> {
        self.blocks.iter_mut().flat_map(|block| &mut block.edges)
    }

    /// Returns the probes around the instruction at byte `offset` of a block.
    pub fn around(&mut self, block: u32, offset: u32) -> &mut Inner {
        self.blocks[block as usize].around(offset)
    }

    /// Counts the instructions of each block, except boring ones, in the frame's call record.
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
    /// bytes of the given blocks: any number of frames that continue after a call may delay a frame's next check.
    /// With `checks_leaves`, also at the entry of a function that calls none.
    pub fn add_budget(
        &mut self,
        cfg: &Cfg,
        (kind, checks_leaves): (u32, bool),
        calls: impl Iterator<Item = (u32, u32)>,
    ) {
        self.at_stops(cfg, Probe::Budget(kind));
        if checks_leaves && !cfg.is_stop(0, 0) {
            self.entry().push(Probe::Budget(kind));
        }
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

    /// Adds heat probes in front of all others at the function's entry and at every loop header.
    pub fn add_heat(&mut self, cfg: &Cfg, counter: u32) {
        for (index, (placed, block)) in self.blocks.iter_mut().zip(&cfg.blocks).enumerate() {
            if index == 0 || block.is_loop_header {
                placed.entry.insert(0, Probe::Heat(counter));
            }
        }
    }
}
