//! The numbering of a function's acyclic paths.
//!
//! Input: a [`Cfg`]. Output: the number of each path, and the path of each number.
//! A **path** begins at ENTRY or at the target of a path-ending edge, and ends with the first edge that leads to EXIT
//! or ends paths. Path-ending edges are back edges, and **cuts** where there would be too many paths. Every run of a
//! function is therefore a sequence of paths, and the path counts determine all edge counts.
//! Invariant: the sums of the edges' values along paths are `0..paths()`, each exactly once. The numbering depends on
//! the graph alone, so the paths of a profile can be regenerated from the graph. Linear in edges, except for the
//! cuts.
//! Source: Ball & Larus, *Efficient Path Profiling*, MICRO 1996, as restated by Ammons, Ball & Larus 1997, section
//! 2.1. Ours: each path-ending edge keeps a pseudo edge of its own, so that a path shows where it led; a block
//! without successors gets a pseudo edge as well; cuts; prefixes.
//! Oracle: enumeration of all paths of small graphs, in `tests/it/path_numbering.rs`.
//!
//! **The view.** A path-ending edge `v -> w` becomes `v -> EXIT`, and ENTRY gets a pseudo edge to each such `w`
//! except itself. In reverse topological order N(EXIT) = 1 and N(v) is the sum of N over v's successors; the value of
//! an edge is the sum of N over the successors before it. To decode a number, a walk from ENTRY takes the last edge
//! whose value is at most the remainder.
//!
//! **Prefixes.** A frame that ends in block v has taken a prefix p of paths. No other prefix that ends in v has the
//! same sum: let m continue from v to EXIT by the first edge out of each block, whose value is 0 (every block has
//! such an m, since those without successors have a pseudo edge). Then p·m is a path with the sum of p, and paths
//! have different sums. So (v, sum) identifies p, and decoding the sum from ENTRY until v recovers it.
//!
//! Example: ENTRY branches to b1 or b2; b1 continues to b2, b2 to b3, and b3 back to b2 or to EXIT. The values are 0
//! and 2 for the branch, 0 and 1 for the two ends of b3, and 4 for the start at b2. `0 1 2 3` is path 0 or 1, `0 2 3`
//! is 2 or 3, and `2 3`, begun by the back edge, is 4 or 5.

use std::ops::Range;

use crate::{BlockId, Cfg, DepthFirst, EdgeId};

/// The maximum number of paths of a function; beyond it edges are cut.
pub const MAX_PATHS: u64 = 1 << 32;

/// The numbered paths of one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathNumbering {
    /// The acyclic view: the real edges under their own ids, then a start edge for each block other than ENTRY at
    /// which a path can begin, then an end edge for each block without successors.
    view: Cfg,
    /// Number of real edges.
    real: usize,
    /// By edge of the view: its value.
    values: Vec<u64>,
    paths: u64,
    cuts: Vec<EdgeId>,
}

/// A path, or a prefix of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    /// First block of the path.
    pub start: BlockId,
    /// Edges of the path, in order. The last edge of a whole path leads to EXIT or to the start of the next path.
    pub edges: Vec<EdgeId>,
}

impl Path {
    /// Returns the blocks of a whole path, in order.
    pub fn blocks(&self, cfg: &Cfg) -> Vec<BlockId> {
        self.blocks_along(cfg, &self.edges[..self.edges.len().saturating_sub(1)])
    }

    /// Returns the blocks of a prefix, in order.
    pub fn blocks_of_prefix(&self, cfg: &Cfg) -> Vec<BlockId> {
        self.blocks_along(cfg, &self.edges)
    }

    fn blocks_along(&self, cfg: &Cfg, edges: &[EdgeId]) -> Vec<BlockId> {
        [self.start].into_iter().chain(edges.iter().map(|&edge| cfg.edge(edge).to)).collect()
    }
}

impl PathNumbering {
    /// Numbers the paths of a graph, at most [`MAX_PATHS`].
    pub fn new(cfg: &Cfg) -> Self {
        Self::with_limit(cfg, MAX_PATHS)
    }

    /// Numbers at most `limit` paths, or as few as cuts can leave if that is more.
    pub fn with_limit(cfg: &Cfg, limit: u64) -> Self {
        Self::numbered(cfg, limit, |_| false)
    }

    /// Numbers the paths that additionally end at the edges that `ends_too` selects.
    pub fn with_ends(cfg: &Cfg, ends_too: impl Fn(EdgeId) -> bool) -> Self {
        Self::numbered(cfg, MAX_PATHS, ends_too)
    }

    fn numbered(cfg: &Cfg, limit: u64, ends_too: impl Fn(EdgeId) -> bool) -> Self {
        let search = DepthFirst::new(cfg);
        let Ends { ends, cuts } = Ends::new(cfg, &search, limit, ends_too);
        let view = view(cfg, &search, &ends);
        let (values, paths) = values(&view, &search);
        Self { view, real: cfg.edge_count(), values, paths, cuts }
    }

    /// Returns the number of paths. Some that end in a block without successors are never finished.
    pub fn paths(&self) -> u64 {
        self.paths
    }

    /// Returns the path-ending edges that are not back edges, ascending.
    pub fn cuts(&self) -> &[EdgeId] {
        &self.cuts
    }

    /// Returns the acyclic view; real edges have the ids of the graph.
    pub fn view(&self) -> &Cfg {
        &self.view
    }

    /// Returns the amount that each edge of the view adds to a path's number; the closing edge, with 0, comes last.
    pub fn values(&self) -> &[u64] {
        &self.values
    }

    /// Iterates over the pseudo edges from ENTRY, each with the block at which a path can begin.
    pub fn starts(&self) -> impl Iterator<Item = (EdgeId, BlockId)> {
        let pseudo = self.view.edges().skip(self.real).map(|edge| (edge, self.view.edge(edge).to));
        pseudo.filter(|&(_, to)| to != self.view.exit())
    }

    /// Returns the number of paths that begin at ENTRY, which have the lowest numbers. The sums of prefixes from
    /// ENTRY are below it too.
    pub fn paths_from_entry(&self) -> u64 {
        self.starts().map(|(edge, _)| self.values[edge.index()]).min().unwrap_or(self.paths)
    }

    /// Reports whether crossing a real edge ends a path.
    pub fn ends_path(&self, edge: EdgeId) -> bool {
        edge.index() < self.real && self.view.edge(edge).to == self.view.exit()
    }

    /// Returns the path with this number; `None` if there is none, or it cannot be finished.
    pub fn path(&self, id: u64) -> Option<Path> {
        self.walk(id, self.view.exit())
    }

    /// Returns the prefix that ends in a block and has this sum; `None` if there is none.
    pub fn prefix(&self, block: BlockId, sum: u64) -> Option<Path> {
        self.walk(sum, block).filter(|_| block != self.view.exit())
    }

    /// Returns the numbers of the paths that begin with the prefix that ends in `block` and has this sum.
    pub fn ids_from(&self, block: BlockId, sum: u64) -> Range<u64> {
        let (mut at, mut last) = (block, sum);
        while let Some(edge) = self.view.out_edges(at).iter().rfind(|edge| self.goes_on(**edge)) {
            last += self.values[edge.index()];
            at = self.view.edge(*edge).to;
        }
        sum..last + 1
    }

    /// Reports whether an edge of the view continues a path from its block; the pseudo edges from ENTRY to other
    /// starts do not.
    pub(crate) fn goes_on(&self, edge: EdgeId) -> bool {
        edge.index() < self.real || self.view.edge(edge).to == self.view.exit()
    }

    fn walk(&self, mut rest: u64, stop: BlockId) -> Option<Path> {
        let mut path = Path { start: BlockId::ENTRY, edges: Vec::new() };
        let mut at = BlockId::ENTRY;
        while at != stop {
            let out = self.view.out_edges(at);
            let above = out.partition_point(|edge| self.values[edge.index()] <= rest);
            let edge = *out.get(above.checked_sub(1)?)?;
            rest -= self.values[edge.index()];
            at = self.view.edge(edge).to;
            match edge.index() < self.real {
                true => path.edges.push(edge),
                // The pseudo edge of a block without successors, which control never crosses.
                false if at == self.view.exit() => return None,
                false => path.start = at,
            }
        }
        (rest == 0).then_some(path)
    }
}

/// The edges that end paths.
struct Ends {
    /// By real edge: whether it ends paths, apart from leading to EXIT.
    ends: Vec<bool>,
    cuts: Vec<EdgeId>,
}

impl Ends {
    /// Collects the back edges, the requested edges and, where too many paths lead on from a block, its edges with
    /// several paths.
    fn new(cfg: &Cfg, search: &DepthFirst, limit: u64, ends_too: impl Fn(EdgeId) -> bool) -> Self {
        let is_back = |edge| search.is_back_edge(cfg, edge);
        let asked = |&edge: &EdgeId| ends_too(edge) && !is_back(edge) && cfg.edge(edge).to != cfg.exit();
        let cuts: Vec<EdgeId> = cfg.edges().filter(asked).collect();
        let mut ends: Vec<bool> = cfg.edges().map(is_back).collect();
        cuts.iter().for_each(|edge| ends[edge.index()] = true);
        let mut most = limit;
        loop {
            let mut found = Self { ends: ends.clone(), cuts: cuts.clone() };
            // All paths together may be too many although no block has too many; then the limit per block is halved.
            if found.cut(cfg, search, most) <= limit || most == 0 {
                found.cuts.sort_unstable();
                return found;
            }
            most /= 2;
        }
    }

    /// Cuts all edges with several paths of each block from which more than `most` would lead on; returns the number of
    /// paths. If only as many were cut as necessary, the blocks before would have too many again: there would be a cut at
    /// each of them.
    fn cut(&mut self, cfg: &Cfg, search: &DepthFirst, most: u64) -> u64 {
        let mut ways = vec![1_u64; cfg.vertex_count()];
        for &block in search.reverse_postorder().iter().rev().filter(|&&block| block != cfg.exit()) {
            let on = |ends: &[bool], edge: EdgeId| match ends[edge.index()] {
                true => 1,
                false => ways[cfg.edge(edge).to.index()],
            };
            let out = cfg.out_edges(block);
            let mut sum = out.iter().map(|&edge| on(&self.ends, edge)).fold(0, u64::saturating_add).max(1);
            if sum > most {
                for &edge in out.iter().filter(|&&edge| on(&self.ends, edge) > 1).collect::<Vec<_>>() {
                    self.ends[edge.index()] = true;
                    self.cuts.push(edge);
                }
                sum = out.len().max(1) as u64;
            }
            ways[block.index()] = sum;
        }
        let starts = starts(cfg, search, &self.ends);
        [BlockId::ENTRY].iter().chain(&starts).map(|start| ways[start.index()]).fold(0, u64::saturating_add)
    }
}

/// Returns the blocks other than ENTRY at which a path can begin, ascending.
fn starts(cfg: &Cfg, search: &DepthFirst, ends: &[bool]) -> Vec<BlockId> {
    let ending = cfg.edges().filter(|edge| ends[edge.index()]).map(|edge| cfg.edge(edge));
    let reached = ending.filter(|edge| search.is_reachable(edge.from));
    let mut starts: Vec<_> = reached.map(|edge| edge.to).filter(|&to| to != BlockId::ENTRY).collect();
    starts.sort_unstable();
    starts.dedup();
    starts
}

fn view(cfg: &Cfg, search: &DepthFirst, ends: &[bool]) -> Cfg {
    let exit = cfg.exit();
    let real = cfg.edges().map(|edge| {
        let ends_here = ends[edge.index()];
        let edge = cfg.edge(edge);
        (edge.from, if ends_here { exit } else { edge.to })
    });
    let starts = starts(cfg, search, ends).into_iter().map(|start| (BlockId::ENTRY, start));
    let dead_ends = cfg.blocks().filter(|&block| cfg.out_edges(block).is_empty()).map(|block| (block, exit));
    Cfg::assemble(exit.0, &real.chain(starts).chain(dead_ends).collect::<Vec<_>>())
}

/// Computes the values of the view's edges, the closing edge last, and the number of paths. The graph's reverse
/// postorder also sorts the view topologically, as a pseudo edge leaves ENTRY or enters EXIT.
fn values(view: &Cfg, search: &DepthFirst) -> (Vec<u64>, u64) {
    let mut ways = vec![1_u64; view.vertex_count()];
    let mut values = vec![0; view.edge_count() + 1];
    for &block in search.reverse_postorder().iter().rev().filter(|&&block| block != view.exit()) {
        let mut sum = 0_u64;
        for &edge in view.out_edges(block) {
            values[edge.index()] = sum;
            sum = sum.saturating_add(ways[view.edge(edge).to.index()]);
        }
        ways[block.index()] = sum;
    }
    (values, ways[BlockId::ENTRY.index()])
}
