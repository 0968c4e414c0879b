//! Hot code: loops with their trip counts, and the hottest blocks and loops.
//!
//! Input: a [`Profile`]. Output: lists, hottest first.
//! Invariant: equal figures are ordered by place, so lists are the same in every run.
//! Oracle: `tests/it/profile.rs`.

use super::{FunctionProfile, Profile};
use crate::{BlockId, DepthFirst, LoopId, Loops};

/// The profile of one loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopProfile {
    /// Number of the loop in the function, outer loops before inner ones.
    pub id: LoopId,
    /// The block that the back edges enter.
    pub header: BlockId,
    /// Nesting depth; 1 for an outermost loop.
    pub depth: u32,
    /// The blocks of the loop, including those of inner loops.
    pub blocks: Vec<BlockId>,
    /// The number of times control entered the header from outside the loop; none if edges were not counted.
    pub entries: Option<u64>,
    /// The number of times the header began.
    pub iterations: u64,
    /// Instructions executed in the loop's blocks, without called functions; saturates.
    pub ops: u64,
}

impl LoopProfile {
    /// Returns the iterations per entry; none if the loop was never entered, or its entries are unknown.
    pub fn average_trips(&self) -> Option<f64> {
        let entries = self.entries.filter(|&entries| entries > 0)?;
        Some(self.iterations as f64 / entries as f64)
    }
}

/// A block and its cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HotBlock {
    /// Index of the function in the module.
    pub function: u32,
    /// The block.
    pub block: BlockId,
    /// The number of times the block began.
    pub count: u64,
    /// Instructions executed in the block.
    pub ops: u64,
    /// Number of different finished paths through the block, if paths were counted.
    pub paths: Option<u64>,
}

/// A loop and its function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HotLoop {
    /// Index of the function in the module.
    pub function: u32,
    /// The loop.
    pub found: LoopProfile,
}

impl FunctionProfile {
    /// Returns the function's loops, outer before inner; none if the function has no valid graph.
    pub fn loops(&self) -> Vec<LoopProfile> {
        let Ok(cfg) = self.cfg() else { return Vec::new() };
        let loops = Loops::new(&cfg, &DepthFirst::new(&cfg));
        let (counts, ops) = (self.block_counts(), self.block_ops());
        let sum = |values: &mut dyn Iterator<Item = u64>| values.fold(0, u64::saturating_add);
        let profile = |(id, found): (LoopId, &crate::Loop)| {
            let blocks = loops.blocks(id).to_vec();
            let iterations = counts[found.header.index()];
            let back = loops.back_edges(&cfg, id);
            let back = sum(&mut back.iter().map(|edge| self.edge_count(*edge).unwrap_or(0)));
            let ops = sum(&mut blocks.iter().map(|block| ops[block.index()]));
            let (header, depth) = (found.header, found.depth);
            LoopProfile {
                id,
                header,
                depth,
                blocks,
                entries: self.has_edge_counts().then(|| iterations.saturating_sub(back)),
                iterations,
                ops,
            }
        };
        loops.iter().map(profile).collect()
    }
}

impl Profile {
    /// Returns the functions by executed instructions, hottest first.
    pub fn functions_by_ops(&self) -> Vec<(&FunctionProfile, u64)> {
        self.functions_by(FunctionProfile::ops)
    }

    /// Returns the functions by calls, most called first.
    pub fn functions_by_calls(&self) -> Vec<(&FunctionProfile, u64)> {
        self.functions_by(FunctionProfile::calls)
    }

    fn functions_by(&self, figure: impl Fn(&FunctionProfile) -> u64) -> Vec<(&FunctionProfile, u64)> {
        let mut list: Vec<_> = self.functions.iter().map(|function| (function, figure(function))).collect();
        list.sort_by_key(|&(_, figure)| std::cmp::Reverse(figure));
        list
    }

    /// Returns the blocks with the most executed instructions, at most `limit`.
    pub fn hottest_blocks(&self, limit: usize) -> Vec<HotBlock> {
        let mut list: Vec<HotBlock> = self.functions.iter().flat_map(blocks_of).collect();
        list.sort_by_key(|hot| std::cmp::Reverse(hot.ops));
        list.truncate(limit);
        for hot in &mut list {
            let through = |function: &FunctionProfile| Some(function.paths_through()?[hot.block.index()]);
            hot.paths = self.function(hot.function).and_then(through);
        }
        list
    }

    /// Returns the loops with the most executed instructions, at most `limit`.
    pub fn hottest_loops(&self, limit: usize) -> Vec<HotLoop> {
        let of = |function: &FunctionProfile| {
            let index = function.index;
            function.loops().into_iter().map(move |found| HotLoop { function: index, found })
        };
        let mut list: Vec<HotLoop> = self.functions.iter().flat_map(of).collect();
        list.retain(|hot| hot.found.iterations > 0);
        list.sort_by_key(|hot| std::cmp::Reverse(hot.found.ops));
        list.truncate(limit);
        list
    }
}

/// Returns the blocks of a function that ran, as hot blocks.
fn blocks_of(function: &FunctionProfile) -> impl Iterator<Item = HotBlock> {
    let (counts, index) = (function.block_counts(), function.index);
    let figures = counts.into_iter().zip(function.block_ops()).enumerate();
    let all = figures.map(move |(block, (count, ops))| HotBlock {
        function: index,
        block: BlockId::new(block),
        count,
        ops,
        paths: None,
    });
    all.filter(|hot| hot.count > 0)
}
