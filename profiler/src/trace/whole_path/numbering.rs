//! Numbers the subpaths of functions.
//!
//! Input: a function's graph and calls. Output: what crossing an edge adds to a path's number, and the paths of the
//! numbers.

use std::collections::BTreeMap;

use super::SubpathEnd;
use crate::trace::{FunctionTable, TraceError};
use crate::{BlockId, Cfg, EdgeId, PathNumbering};

/// The numberings of all functions.
#[derive(Clone, Debug)]
pub(super) struct SubpathNumberings(BTreeMap<u32, SubpathNumbering>);

/// The numbering of one function.
#[derive(Clone, Debug)]
pub(super) struct SubpathNumbering {
    cfg: Cfg,
    numbering: PathNumbering,
    /// By block: whether it ends with a call.
    calls: Vec<bool>,
    /// By block: the initial sum of a path that begins there.
    starts: Vec<u64>,
    /// By vertex: its out-edges with their targets, ascending by target; only the first of parallel edges.
    ways: Vec<Vec<(BlockId, EdgeId)>>,
}

/// The effect of crossing an edge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crossed {
    /// The amount that it adds to the path's number.
    pub value: u64,
    /// Whether it ends the path.
    pub ends_path: bool,
}

impl SubpathNumberings {
    pub fn new(tables: &[FunctionTable]) -> Result<Self, TraceError> {
        let one = |table: &FunctionTable| Ok((table.function, SubpathNumbering::new(table)?));
        tables.iter().map(one).collect::<Result<_, _>>().map(Self)
    }

    pub fn get(&self, function: u32) -> Option<&SubpathNumbering> {
        self.0.get(&function)
    }
}

impl SubpathNumbering {
    fn new(table: &FunctionTable) -> Result<Self, TraceError> {
        let cfg = table.cfg().ok_or(TraceError::BadPlan(EdgeId(0)))?;
        let calls: Vec<bool> = table.calls.iter().map(Option::is_some).collect();
        let numbering = PathNumbering::with_ends(&cfg, |edge| calls[cfg.edge(edge).from.index()]);
        let mut starts = vec![0; cfg.block_count()];
        numbering.starts().for_each(|(edge, block)| starts[block.index()] = numbering.values()[edge.index()]);
        let ways = |vertex: usize| {
            let out = cfg.out_edges(BlockId::new(vertex)).iter();
            let mut ways: Vec<_> = out.map(|&edge| (cfg.edge(edge).to, edge)).collect();
            ways.sort_unstable();
            ways.dedup_by_key(|way| way.0);
            ways
        };
        let ways = (0..cfg.vertex_count()).map(ways).collect();
        Ok(Self { cfg, numbering, calls, starts, ways })
    }

    /// Returns what crossing from one block to another, or to EXIT, does.
    pub fn cross(&self, from: BlockId, to: Option<BlockId>) -> Option<Crossed> {
        let (ways, to) = (self.ways.get(from.index())?, to.unwrap_or(self.cfg.exit()));
        let found = ways.binary_search_by_key(&to, |way| way.0).ok()?;
        Some(self.crossed(ways[found].1))
    }

    /// Returns what leaving a block does that has only one way out.
    pub fn only_way(&self, block: BlockId) -> Option<Crossed> {
        let [(_, only)] = self.ways.get(block.index())?[..] else { return None };
        Some(self.crossed(only))
    }

    fn crossed(&self, edge: EdgeId) -> Crossed {
        let value = self.numbering.values()[edge.index()];
        Crossed { value, ends_path: self.numbering.ends_path(edge) }
    }

    /// Returns the initial sum of a path that begins at a block.
    pub fn start(&self, block: BlockId) -> u64 {
        self.starts.get(block.index()).copied().unwrap_or(0)
    }

    pub fn blocks(&self, id: u64) -> Option<Vec<BlockId>> {
        Some(self.numbering.path(id)?.blocks(&self.cfg))
    }

    pub fn blocks_of_prefix(&self, block: BlockId, prefix: u64) -> Option<Vec<BlockId>> {
        (block < self.cfg.exit()).then_some(())?;
        Some(self.numbering.prefix(block, prefix)?.blocks_of_prefix(&self.cfg))
    }

    pub fn end(&self, id: u64) -> Option<SubpathEnd> {
        let path = self.numbering.path(id)?;
        let last = self.cfg.edge(*path.edges.last()?);
        Some(match (self.calls[last.from.index()], last.to == self.cfg.exit()) {
            (true, _) => SubpathEnd::Call,
            (false, true) => SubpathEnd::Return,
            (false, false) => SubpathEnd::Loop,
        })
    }
}
