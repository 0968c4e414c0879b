//! The CFG with its blocks split at calls: the graph on which events are counted and traces are recorded.
//!
//! A block with n calls becomes n + 1 *parts*, with an edge for each call from the part that ends with it to the part
//! behind its return; throws count as calls of the runtime, which return to handlers only. Tail calls end blocks
//! anyway. Control crosses the edge of a call before the call can trap, and before the callee runs.

use wasmparser::BinaryReaderError;
use wprof_profiler::{self as profiler, BlockId, EdgeCounts, EdgeId};

use crate::cfg::{Cfg, Operators, Target, is_left_at};
use crate::module::ModuleInfo;

/// A stretch of a block whose only call may be its last instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The block.
    pub block: u32,
    /// The byte offset in the module of the first instruction.
    pub start: u32,
    /// The byte offset of the call that ends the part; `None` for the last part of a block.
    pub call: Option<u32>,
}

/// The place for the code of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On an edge of a block, by its number there.
    Edge {
        /// The block.
        block: u32,
        /// The number of the edge there.
        edge: u32,
    },
    /// Before a call, the instruction at byte `call`.
    Call {
        /// The block.
        block: u32,
        /// The byte offset of the call.
        call: u32,
    },
}

/// A CFG split at calls.
#[derive(Clone, Debug)]
pub struct SplitCfg {
    /// The graph. Vertices are parts, in bytecode order.
    pub shape: profiler::Cfg,
    /// The part of each vertex.
    pub parts: Vec<Part>,
    /// The place of each edge.
    pub places: Vec<Place>,
    /// The first part of each block.
    pub first_part: Vec<u32>,
}

impl SplitCfg {
    /// Splits the blocks of `cfg`.
    ///
    /// # Errors
    /// Returns an error if the bytes are not those that were validated.
    pub fn new(info: &ModuleInfo, cfg: &Cfg) -> Result<SplitCfg, BinaryReaderError> {
        let mut parts = Vec::with_capacity(cfg.blocks.len());
        let mut first_part = Vec::with_capacity(cfg.blocks.len());
        for (block, index) in cfg.blocks.iter().zip(0..) {
            first_part.push(parts.len() as u32);
            let mut part = Part { block: index, start: block.start, call: None };
            let mut operators = Operators::new(info, block.start, block.limit);
            let mut next = operators.next()?;
            while let Some((op, at)) = next {
                next = operators.next()?;
                if is_left_at(&op) {
                    let behind = next.as_ref().map_or(block.limit, |&(_, at)| at);
                    parts.push(Part { call: Some(at), ..part });
                    part.start = behind;
                }
            }
            parts.push(part);
        }
        let (pairs, places) = edges(cfg, &parts, &first_part);
        let shape =
            profiler::Cfg::from_pairs(parts.len() as u32, &pairs).expect("edges lead to parts or the exit");
        Ok(SplitCfg { shape, parts, places, first_part })
    }

    /// Returns the edge that corresponds to an edge of a block, by its number there.
    ///
    /// # Panics
    /// Panics if the block has no such edge.
    pub fn edge_of(&self, (block, edge): (u32, u32)) -> EdgeId {
        // A block's edges leave its last part.
        let behind = self.first_part.get(block as usize + 1).copied().unwrap_or(self.parts.len() as u32);
        let found = self.shape.out_edges(BlockId(behind - 1))[edge as usize];
        debug_assert_eq!(self.places[found.index()], Place::Edge { block, edge });
        found
    }

    /// Returns the edges that correspond to these edges of the CFG, both ascending.
    pub fn edges_of(&self, edges: &[EdgeId]) -> Vec<EdgeId> {
        if edges.is_empty() {
            return Vec::new();
        }
        let own = self.places.iter().zip((0..).map(EdgeId));
        let of_blocks: Vec<EdgeId> =
            own.filter(|(place, _)| matches!(place, Place::Edge { .. })).map(|(_, edge)| edge).collect();
        edges.iter().map(|edge| of_blocks[edge.index()]).collect()
    }

    /// Returns the block and byte offset of each call.
    pub fn calls(&self) -> impl Iterator<Item = (u32, u32)> {
        self.parts.iter().filter_map(|part| Some((part.block, part.call?)))
    }

    /// Converts counts of the CFG to counts of this graph: each part, and each call, ran as often as its block. Where
    /// frames ended in the middle of a block that is too many, which does not matter for weights.
    pub fn counts(&self, counts: &EdgeCounts) -> EdgeCounts {
        let of_block = |block: u32| counts.blocks.get(block as usize).copied().unwrap_or(0);
        let mut edges = counts.edges.iter().copied();
        let edges = self.places.iter().map(|place| match place {
            Place::Edge { .. } => edges.next().unwrap_or(0),
            Place::Call { block, .. } => of_block(*block),
        });
        let edges = edges.collect();
        let blocks = self.parts.iter().map(|part| of_block(part.block)).collect();
        EdgeCounts { edges, blocks, entries: counts.entries }
    }

    /// Returns the position of a frame that stopped at the instruction at byte `offset` of `block`: its part, whose
    /// instructions up to `offset` were begun. A frame at a call has crossed the call's edge, so that nothing of the
    /// next part was begun. An offset before the block means that nothing of the block was begun.
    pub fn position(&self, block: u32, offset: u32) -> Position {
        let mut part = self.first_part[block as usize];
        while let Some(call) = self.parts[part as usize].call
            && call <= offset
        {
            part += 1;
            if call == offset {
                return Position { part, at_call: true };
            }
        }
        Position { part, at_call: false }
    }
}

/// The position of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The part of the frame.
    pub part: u32,
    /// Whether the frame is in the call before the part.
    pub at_call: bool,
}

/// Returns the ends and places of all edges. Edges of the blocks keep their order.
fn edges(cfg: &Cfg, parts: &[Part], first_part: &[u32]) -> (Vec<(u32, u32)>, Vec<Place>) {
    let exit = parts.len() as u32;
    let (mut pairs, mut places) = (Vec::new(), Vec::new());
    for (part, index) in parts.iter().zip(0..) {
        if let Some(call) = part.call {
            pairs.push((index, index + 1));
            places.push(Place::Call { block: part.block, call });
            continue;
        }
        for (edge, number) in cfg.blocks[part.block as usize].edges.iter().zip(0..) {
            let to = match edge.target {
                Target::Block(to) => first_part[to as usize],
                Target::Exit => exit,
            };
            pairs.push((index, to));
            places.push(Place::Edge { block: part.block, edge: number });
        }
    }
    (pairs, places)
}
