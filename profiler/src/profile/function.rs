//! The profile of one function.
//!
//! Input: the function's blocks and edges, what was counted of them, and the frames that ended in mid-block. Output:
//! calls, block counts, executed instructions, branch probabilities.
//! Invariant: what can be derived is not stored, but for the edges that paths cross. Where only blocks were counted,
//! there are no edge counts. All functions are total: on contradictory counts the derived figures saturate instead of panicking.
//! Source: Ball & Larus 1994, section 3.2. Oracle: `tests/it/profile.rs`.

use serde::{Deserialize, Serialize};

use super::FunctionCounts;
use crate::counts::path_counts::{are_normal_exits, normalize_exits};
use crate::{
    BlockId, Cfg, CfgError, CounterCost, CounterCosts, EdgeCounts, EdgeId, EdgeWeights, FigureKind,
    PathProfile, PlacementCosts, UnfinishedExit,
};

/// The profile of a function that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionProfile {
    /// Index in the module.
    pub index: u32,
    /// Name of the function, if the module has one.
    pub name: Option<String>,
    /// Range of the function's code.
    pub code: CodeRange,
    /// [`Cfg::fingerprint`] of the function's graph.
    pub fingerprint: u64,
    /// How all counts of the function were obtained.
    pub kind: FigureKind,
    /// The basic blocks; the position is the [`BlockId`].
    pub blocks: Vec<BlockProfile>,
    /// The edges of the graph; the position is the [`EdgeId`].
    pub edges: Vec<EdgeProfile>,
    /// Frames that ended in the middle of a block, or were there when the profile was taken; ascending by block,
    /// offset and ops.
    pub exits: Vec<UnfinishedExit>,
    /// Counters placed in the function, and how often they were incremented.
    pub cost: CounterCost,
    /// The counts.
    pub counts: FunctionCounts,
}

/// One basic block. Its count follows from the edge counts, if there are any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockProfile {
    /// Range of the block's code.
    pub code: CodeRange,
    /// Number of instructions.
    pub ops: u32,
}

/// One edge. Its count, if it is known, stands in [`FunctionCounts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeProfile {
    /// The block that control leaves.
    pub from: BlockId,
    /// The block that control enters; one past the last block for EXIT.
    pub to: BlockId,
    /// Why control takes the edge.
    pub kind: EdgeKind,
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
    /// The only successor.
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
    /// An exception with this tag was caught. The block threw it, or it was propagated to the block's call.
    Catch(u32),
    /// An exception of any other tag was caught.
    CatchAll,
}

impl FunctionProfile {
    /// Builds the function's graph.
    ///
    /// # Errors
    /// Returns an error if blocks and edges do not form a graph, which [`Profile::verify`](super::Profile::verify)
    /// rejects.
    pub fn cfg(&self) -> Result<Cfg, CfgError> {
        let edges: Vec<_> = self.edges.iter().map(|edge| (edge.from, edge.to)).collect();
        Cfg::new(u32::try_from(self.blocks.len()).map_err(|_| CfgError::TooLarge)?, &edges)
    }

    /// Returns the virtual exit.
    pub fn exit(&self) -> BlockId {
        BlockId::new(self.blocks.len())
    }

    /// Reports whether the edge counts are known.
    pub fn has_edge_counts(&self) -> bool {
        self.counts.edges().is_some()
    }

    /// Returns how often control took an edge; `None` if edges were not counted, or there is no such edge.
    pub fn edge_count(&self, edge: EdgeId) -> Option<u64> {
        self.counts.edges()?.get(edge.index()).copied()
    }

    /// Iterates over the edges with their counts; over none if edges were not counted.
    pub fn counted_edges(&self) -> impl Iterator<Item = (&EdgeProfile, u64)> + Clone {
        self.edges.iter().zip(self.counts.edges().unwrap_or(&[]).iter().copied())
    }

    /// Returns the paths, if they were counted.
    pub fn paths(&self) -> Option<&PathProfile> {
        self.counts.paths()
    }

    /// Returns the number of calls: every call returned or ended in the middle of a block. For samples with paths,
    /// returns the number of paths that began with a call, since other parts of the call may be outside the sample.
    /// Saturates.
    pub fn calls(&self) -> u64 {
        if let FunctionCounts::Blocks(counts) = &self.counts {
            return counts.entries;
        }
        if let Some(begun) = self.sampled_calls() {
            return begun;
        }
        let returned =
            self.counted_edges().filter(|(edge, _)| edge.to == self.exit()).map(|(_, count)| count);
        returned.chain(self.exits.iter().map(|exit| exit.count)).fold(0, u64::saturating_add)
    }

    fn sampled_calls(&self) -> Option<u64> {
        let is_sampled = matches!(self.kind, FigureKind::Sampled { .. } | FigureKind::Derived);
        let paths = self.paths().filter(|_| is_sampled)?;
        Some(paths.calls(&self.path_numbering()?))
    }

    /// Returns how often each block began: the sum of what left it and what ended in it. Saturates.
    pub fn block_counts(&self) -> Vec<u64> {
        if let FunctionCounts::Blocks(counts) = &self.counts {
            return counts.blocks.clone();
        }
        let mut counts = vec![0_u64; self.blocks.len()];
        let left = self.counted_edges().map(|(edge, count)| (edge.from, count));
        for (block, count) in left.chain(self.exits.iter().map(|exit| (exit.block, exit.count))) {
            if let Some(sum) = counts.get_mut(block.index()) {
                *sum = sum.saturating_add(count);
            }
        }
        counts
    }

    /// Returns the counts of edges, blocks and calls, if edges were counted. Saturates.
    pub fn edge_counts(&self) -> Option<EdgeCounts> {
        let edges = self.counts.edges()?.to_vec();
        Some(EdgeCounts { edges, blocks: self.block_counts(), entries: self.calls() })
    }

    /// Returns the executed instructions of each block: all of the block's instructions each time it began, minus
    /// those that unfinished frames did not reach. Saturates.
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

    /// Returns the executed instructions; saturates.
    pub fn ops(&self) -> u64 {
        self.block_ops().into_iter().fold(0, u64::saturating_add)
    }

    /// Returns the probability of each edge: its share of the times that control left its block; `None` if control
    /// never left the block, or edges were not counted. Frames that ended in the block do not count.
    pub fn branch_probabilities(&self) -> Vec<Option<f64>> {
        let mut left = vec![0.0; self.blocks.len()];
        for (edge, count) in self.counted_edges() {
            if let Some(sum) = left.get_mut(edge.from.index()) {
                *sum += count as f64;
            }
        }
        let share = |(edge, count): (&EdgeProfile, u64)| {
            let total = left.get(edge.from.index()).copied().unwrap_or(0.0);
            (total > 0.0).then(|| count as f64 / total)
        };
        let mut shares: Vec<_> = self.counted_edges().map(share).collect();
        shares.resize(self.edges.len(), None);
        shares
    }

    /// Iterates over the edges that leave a block.
    pub fn out_edges(&self, block: BlockId) -> impl Iterator<Item = (EdgeId, &EdgeProfile)> {
        let numbered = self.edges.iter().enumerate().map(|(index, edge)| (EdgeId::new(index), edge));
        numbered.filter(move |(_, edge)| edge.from == block)
    }

    /// Returns the cost of counting in this function, and the costs of one counter per block and one per edge.
    pub fn counter_costs(&self) -> CounterCosts {
        CounterCosts {
            chords: self.cost,
            per_block: CounterCost::new(self.block_counts().into_iter()),
            per_edge: CounterCost { counters: self.edges.len() as u64, increments: self.departures() },
        }
    }

    /// Returns how often control left a block by one of its edges: each time it began, unless its frame ended there.
    /// Saturates.
    fn departures(&self) -> u64 {
        let sum = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0, u64::saturating_add);
        match &self.counts {
            FunctionCounts::Edges(edges) | FunctionCounts::Paths(edges, _) => sum(&mut edges.iter().copied()),
            FunctionCounts::Blocks(counts) => {
                let ended = sum(&mut self.exits.iter().map(|exit| exit.count));
                sum(&mut counts.blocks.iter().copied()).saturating_sub(ended)
            }
        }
    }

    /// Returns the blocks without instructions, but for ENTRY: blocks whose counts no figure needs.
    pub fn silent_blocks(&self) -> Vec<BlockId> {
        let silent = (0..).zip(&self.blocks).skip(1).filter(|(_, block)| block.ops == 0);
        silent.map(|(index, _)| BlockId(index)).collect()
    }

    /// Returns the cost of each placement of counters in this function; all are 0 if edges were not counted.
    ///
    /// # Errors
    /// Returns an error if blocks and edges do not form a graph.
    pub fn placement_costs(&self) -> Result<PlacementCosts, CfgError> {
        let cfg = self.cfg()?;
        Ok(self.edge_counts().map_or_else(PlacementCosts::default, |counts| {
            PlacementCosts::new(&cfg, &counts, &self.silent_blocks())
        }))
    }

    /// Sorts the exits and the paths, and merges duplicates.
    pub(super) fn normalize(&mut self) {
        normalize_exits(&mut self.exits);
        self.counts.paths_mut().into_iter().for_each(PathProfile::normalize);
    }

    /// Reports whether the exits are sorted and merged as [`normalize`](Self::normalize) leaves them.
    pub(super) fn is_normal(&self) -> bool {
        are_normal_exits(&self.exits)
    }
}

impl EdgeWeights {
    /// Takes the weights from a profile; returns `None` if the profile is of another graph, or its edges were not
    /// counted.
    pub fn of_profile(cfg: &Cfg, profile: &FunctionProfile) -> Option<Self> {
        let same = profile.fingerprint == cfg.fingerprint() && profile.edges.len() == cfg.edge_count();
        profile.edge_counts().filter(|_| same).map(|counts| Self::measured(cfg, &counts))
    }
}
