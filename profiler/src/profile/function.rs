//! The profile of one function.
//!
//! Input: its blocks, its edges with counts, and the frames that ended in mid-block. Output: calls, block
//! counts, executed instructions, branch probabilities.
//! Invariant: what can be derived is not stored. Where only blocks were counted, the counts of edges are not
//! known; nothing is made up for them. Everything here is total: on counts that contradict each
//! other the derived figures saturate instead of panicking.
//! Source: Ball & Larus 1994, section 3.2. Oracle: `tests/it/profile.rs`.

use serde::{Deserialize, Serialize};

use crate::counts::path_counts::{are_normal_exits, normalize_exits};
use crate::{
    BlockCounts, BlockId, Cfg, CfgError, CounterCost, CounterCosts, EdgeCounts, EdgeId, EdgeWeights,
    FigureKind, PathProfile, PlacementCosts, UnfinishedExit,
};

/// One function that ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionProfile {
    /// Index in the module.
    pub index: u32,
    /// Its name, if the module tells.
    pub name: Option<String>,
    /// Where its code is.
    pub code: CodeRange,
    /// [`Cfg::fingerprint`] of its graph.
    pub fingerprint: u64,
    /// How all counts of this function were come by.
    pub kind: FigureKind,
    /// Its basic blocks; position is the [`BlockId`].
    pub blocks: Vec<BlockProfile>,
    /// The edges of its graph; position is the [`EdgeId`].
    pub edges: Vec<EdgeProfile>,
    /// Frames that ended, or stood, in the middle of a block; ascending by block, offset and ops.
    pub exits: Vec<UnfinishedExit>,
    /// Counters placed in it, and how often they were incremented.
    pub cost: CounterCost,
    /// The counts, if only blocks were counted: those of `edges` are then 0 and say nothing. Stored apart.
    #[serde(skip)]
    pub only_blocks: Option<BlockCounts>,
    /// Its paths, if they were counted; the counts of edges then follow from them. Stored apart.
    #[serde(skip)]
    pub paths: Option<PathProfile>,
}

/// One basic block. Its count follows from the edges, if they were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockProfile {
    /// Where its code is.
    pub code: CodeRange,
    /// Number of instructions in it.
    pub ops: u32,
}

/// One edge and its count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeProfile {
    /// The block that control leaves.
    pub from: BlockId,
    /// The block that it enters; one past the last block for EXIT.
    pub to: BlockId,
    /// Why control goes this way.
    pub kind: EdgeKind,
    /// How often it did.
    pub count: u64,
}

/// A range of code offsets, end excluded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CodeRange {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

/// Why control takes an edge.
///
/// Stored by position: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum EdgeKind {
    /// The only way on.
    Jump,
    /// The condition held.
    Taken,
    /// The condition did not hold.
    NotTaken,
    /// A switch chose this case.
    Case(u32),
    /// A switch chose none of its cases.
    Default,
    /// The function returned.
    Return,
    /// The function left by a tail call.
    TailCall,
    /// An exception with this tag was caught, which the block threw, or that came back to its call.
    Catch(u32),
    /// Any other exception was.
    CatchAll,
}

impl FunctionProfile {
    /// The function's graph.
    ///
    /// # Errors
    /// If blocks and edges are no graph, which [`Profile::verify`](super::Profile::verify) refuses.
    pub fn cfg(&self) -> Result<Cfg, CfgError> {
        let edges: Vec<_> = self.edges.iter().map(|edge| (edge.from, edge.to)).collect();
        Cfg::new(u32::try_from(self.blocks.len()).map_err(|_| CfgError::TooLarge)?, &edges)
    }

    /// The virtual exit.
    pub fn exit(&self) -> BlockId {
        BlockId::new(self.blocks.len())
    }

    /// Whether the counts of its edges are known.
    pub fn has_edge_counts(&self) -> bool {
        self.only_blocks.is_none()
    }

    /// How often it was called: every call returned or ended in the middle of a block. Of samples that have paths, how
    /// many of these began with a call, since other parts of it may not be in the sample. Saturates.
    pub fn calls(&self) -> u64 {
        if let Some(counts) = &self.only_blocks {
            return counts.entries;
        }
        if let Some(begun) = self.sampled_calls() {
            return begun;
        }
        let returned = self.edges.iter().filter(|edge| edge.to == self.exit()).map(|edge| edge.count);
        returned.chain(self.exits.iter().map(|exit| exit.count)).fold(0, u64::saturating_add)
    }

    fn sampled_calls(&self) -> Option<u64> {
        let is_sampled = matches!(self.kind, FigureKind::Sampled { .. } | FigureKind::Derived);
        let paths = self.paths.as_ref().filter(|_| is_sampled)?;
        Some(paths.calls(&self.path_numbering()?))
    }

    /// How often each block began: what left it, and what ended in it. Saturates.
    pub fn block_counts(&self) -> Vec<u64> {
        if let Some(counts) = &self.only_blocks {
            return counts.blocks.clone();
        }
        let mut counts = vec![0_u64; self.blocks.len()];
        let left = self.edges.iter().map(|edge| (edge.from, edge.count));
        for (block, count) in left.chain(self.exits.iter().map(|exit| (exit.block, exit.count))) {
            if let Some(sum) = counts.get_mut(block.index()) {
                *sum = sum.saturating_add(count);
            }
        }
        counts
    }

    /// The counts of the graph's edges and blocks, and of the calls, if edges were counted. Saturates.
    pub fn edge_counts(&self) -> Option<EdgeCounts> {
        let edges = self.edges.iter().map(|edge| edge.count).collect();
        let counts = || EdgeCounts { edges, blocks: self.block_counts(), entries: self.calls() };
        self.has_edge_counts().then(counts)
    }

    /// How many instructions each block executed: all of them each time it began, less those that
    /// unfinished frames did not come to. Saturates.
    pub fn block_ops(&self) -> Vec<u64> {
        let counts = self.block_counts();
        let full =
            self.blocks.iter().zip(counts).map(|(block, count)| i128::from(block.ops) * i128::from(count));
        let mut ops: Vec<i128> = full.collect();
        for exit in &self.exits {
            if let (Some(sum), Some(block)) =
                (ops.get_mut(exit.block.index()), self.blocks.get(exit.block.index()))
            {
                let missed = i128::from(block.ops) - i128::from(exit.ops_executed);
                *sum = sum.saturating_sub(missed.saturating_mul(i128::from(exit.count)));
            }
        }
        ops.into_iter().map(|sum| u64::try_from(sum.max(0)).unwrap_or(u64::MAX)).collect()
    }

    /// Instructions executed; saturates.
    pub fn ops(&self) -> u64 {
        self.block_ops().into_iter().fold(0, u64::saturating_add)
    }

    /// For each edge the share of the times control left its block that it went this way; none if it never
    /// left the block, or edges were not counted. Frames that ended in the block do not count.
    pub fn branch_probabilities(&self) -> Vec<Option<f64>> {
        let mut left = vec![0.0; self.blocks.len()];
        for edge in &self.edges {
            if let Some(sum) = left.get_mut(edge.from.index()) {
                *sum += edge.count as f64;
            }
        }
        let share = |edge: &EdgeProfile| {
            let total = left.get(edge.from.index()).copied().unwrap_or(0.0);
            (total > 0.0).then(|| edge.count as f64 / total)
        };
        self.edges.iter().map(share).collect()
    }

    /// The edges that leave a block.
    pub fn out_edges(&self, block: BlockId) -> impl Iterator<Item = (EdgeId, &EdgeProfile)> {
        let numbered = self.edges.iter().enumerate().map(|(index, edge)| (EdgeId::new(index), edge));
        numbered.filter(move |(_, edge)| edge.from == block)
    }

    /// What counting cost in this function, beside one counter per block and one per edge.
    pub fn counter_costs(&self) -> CounterCosts {
        CounterCosts {
            chords: self.cost,
            per_block: CounterCost::of(self.block_counts().into_iter()),
            per_edge: CounterCost { counters: self.edges.len() as u64, increments: self.departures() },
        }
    }

    /// How often control left a block by one of its edges: each time it began, unless its frame ended there. Saturates.
    fn departures(&self) -> u64 {
        let sum = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0, u64::saturating_add);
        match &self.only_blocks {
            None => sum(&mut self.edges.iter().map(|edge| edge.count)),
            Some(counts) => {
                let ended = sum(&mut self.exits.iter().map(|exit| exit.count));
                sum(&mut counts.blocks.iter().copied()).saturating_sub(ended)
            }
        }
    }

    /// What each placement of counters would have cost in this function; nothing if edges were not counted.
    ///
    /// # Errors
    /// If blocks and edges are no graph.
    pub fn placement_costs(&self) -> Result<PlacementCosts, CfgError> {
        let cfg = self.cfg()?;
        Ok(self
            .edge_counts()
            .map_or_else(PlacementCosts::default, |counts| PlacementCosts::new(&cfg, &counts)))
    }

    /// Sorts the exits and the paths, and adds up what is the same.
    pub(super) fn normalize(&mut self) {
        normalize_exits(&mut self.exits);
        self.paths.iter_mut().for_each(PathProfile::normalize);
    }

    /// Whether the exits stand in the order that [`normalize`](Self::normalize) makes.
    pub(super) fn is_normal(&self) -> bool {
        are_normal_exits(&self.exits)
    }
}

impl EdgeWeights {
    /// The weighting of a profile; `None` if it is that of another graph, or its edges were not counted.
    pub fn of_profile(cfg: &Cfg, profile: &FunctionProfile) -> Option<Self> {
        let same = profile.fingerprint == cfg.fingerprint() && profile.edges.len() == cfg.edge_count();
        profile.edge_counts().filter(|_| same).map(|counts| Self::measured(cfg, &counts))
    }
}
