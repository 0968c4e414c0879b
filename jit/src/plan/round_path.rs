//! Round paths: loops in which every round but a frame's first is the same path.
//!
//! Input: a [`SmallLoop`] and the numbered paths of its function. Output: the number of that path. Behind the back edge
//! the path register is a constant until the loop is left, so the path needs neither register nor index: it is counted
//! like an edge, once for several rounds (see `unroll`).

use hashbrown::HashMap;
use wprof_profiler::{BlockId, EdgeId, PathNumbering};

use super::{Probe, Probes, SmallLoop};
use crate::cfg::{Cfg, Target};

/// The path of the rounds of a loop whose only branches are exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundPath {
    /// The number of the path.
    pub id: u64,
    /// The place where the path is counted.
    pub cell: RoundCell,
}

/// The place where a round path is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundCell {
    /// This one of the function's counters.
    Counter(u32),
    /// The cell at this byte offset in the frame's call record.
    Record(u32),
}

impl SmallLoop {
    /// Returns the number of the path from the header around to it; `None` if there are several, or the path is cut.
    /// `starts` has the edges with which paths start, by their block: all loops of a function share it.
    pub(crate) fn round_path(
        &self,
        cfg: &Cfg,
        shape: &wprof_profiler::Cfg,
        numbering: &PathNumbering,
        starts: &HashMap<BlockId, EdgeId>,
    ) -> Option<u64> {
        let header = self.blocks[0];
        let start = starts.get(&BlockId(header))?;
        let (mut at, mut id) = (header, numbering.values()[start.index()]);
        loop {
            let (to, edge) = self.only_way(cfg, at)?;
            let edge: EdgeId = shape.out_edges(BlockId(at))[edge];
            id += numbering.values()[edge.index()];
            match (edge == self.latch_id, numbering.ends_path(edge)) {
                (true, true) => return Some(id),
                (false, false) => at = to,
                _ => return None,
            }
        }
    }

    /// Returns the only edge of a block that stays in the loop, with the block to which it leads.
    fn only_way(&self, cfg: &Cfg, block: u32) -> Option<(u32, usize)> {
        let mut inside = cfg.blocks[block as usize].edges.iter().zip(0..).filter_map(|(edge, index)| {
            let Target::Block(to) = edge.target else { return None };
            self.blocks.contains(&to).then_some((to, index))
        });
        inside.next().filter(|_| inside.next().is_none())
    }

    /// Returns the probes that account for a round made in copies, given the probes `latch` of the loop's latch;
    /// `first` is the function's first counter.
    pub(crate) fn added_by_round(&self, latch: &Probes, first: u32) -> Probes {
        let added = |probe: &Probe| match *probe {
            Probe::PathEnd { .. } | Probe::PreferentialEnd { .. } => self.path.map(|path| match path.cell {
                RoundCell::Counter(counter) => Probe::count(first + counter),
                RoundCell::Record(offset) => Probe::CountInRecord { offset, by: 1 },
            }),
            Probe::PathStart(_) => None,
            other => Some(other),
        };
        latch.iter().filter_map(added).collect()
    }
}
