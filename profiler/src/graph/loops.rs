//! The loop nesting forest of a CFG.
//!
//! Input: a [`Cfg`] and its [`DepthFirst`] search. Output: one loop per header, with its blocks, parent, depth and
//! exit edges.
//! Invariant: loops with the same header are one loop; two loops are disjoint or nested. Loops are numbered in a
//! preorder of the forest, so that a loop and all loops inside it are contiguous. Near-linear time on reducible
//! graphs; each irreducible entry costs one more step per loop that it enters.
//! Source: natural loops of Ball & Larus 1994, section 5. Their nesting property fails on irreducible graphs, so we
//! use the definition of Havlak (*Nesting of Reducible and Irreducible Loops*, TOPLAS 1997): the blocks below the
//! header in the depth-first tree that reach one of its back edges from there. In reducible graphs the two
//! definitions agree.
//! Oracle: natural loops by exhaustive search, in `tests/it/loops.rs`.

mod nesting;

use super::forest::Intervals;
use crate::{BlockId, Cfg, DepthFirst, EdgeId, LoopId};

/// One loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The block that the loop's back edges enter.
    pub header: BlockId,
    /// The innermost loop around this one.
    pub parent: Option<LoopId>,
    /// Nesting depth; 1 for an outermost loop.
    pub depth: u32,
    /// Whether control can enter the loop other than through the header.
    pub irreducible: bool,
    /// One past the last loop nested in this one.
    end: LoopId,
    /// An outer loop, for climbing in logarithmic time; the loop itself if outermost.
    jump: LoopId,
}

/// All loops of a CFG, outer loops before the loops inside them.
#[derive(Clone, Debug)]
pub struct Loops {
    loops: Vec<Loop>,
    /// Innermost loop of each vertex.
    innermost: Vec<Option<LoopId>>,
    /// Blocks sorted by innermost loop, then in reverse postorder; blocks outside of loops are left out.
    blocks: Vec<BlockId>,
    /// The position in `blocks` at which each loop begins, and one past the end.
    starts: Vec<u32>,
}

impl Loops {
    /// Finds the loops that ENTRY reaches.
    pub fn new(cfg: &Cfg, search: &DepthFirst) -> Self {
        let nesting = nesting::Nesting::new(cfg, search);
        let intervals = Intervals::new(&nesting.parents);
        let id = |found: u32| LoopId(intervals.start(found as usize));
        let mut order: Vec<usize> = (0..nesting.headers.len()).collect();
        order.sort_unstable_by_key(|&found| intervals.start(found));

        let mut loops: Vec<Loop> = Vec::with_capacity(order.len());
        for found in order {
            let parent = nesting.parents[found].map(id);
            let (depth, jump) = climb_plan(&loops, parent);
            let end = LoopId(intervals.end(found));
            let (header, irreducible) = (nesting.headers[found], nesting.irreducible[found]);
            loops.push(Loop { header, parent, depth, irreducible, end, jump });
        }
        let innermost: Vec<_> = nesting.innermost.iter().map(|found| found.map(id)).collect();
        let (blocks, starts) = sort_blocks(search, &innermost, loops.len());
        Self { loops, innermost, blocks, starts }
    }

    /// Returns the number of loops.
    pub fn len(&self) -> usize {
        self.loops.len()
    }

    /// Reports whether the graph has no cycle.
    pub fn is_empty(&self) -> bool {
        self.loops.is_empty()
    }

    /// Iterates over the loops, outer before inner.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (LoopId, &Loop)> {
        self.loops.iter().enumerate().map(|(index, found)| (LoopId::new(index), found))
    }

    /// Returns one loop.
    pub fn get(&self, id: LoopId) -> &Loop {
        &self.loops[id.index()]
    }

    /// Returns the innermost loop around a vertex.
    pub fn innermost(&self, vertex: BlockId) -> Option<LoopId> {
        self.innermost[vertex.index()]
    }

    /// Returns the number of loops around a vertex.
    pub fn depth(&self, vertex: BlockId) -> u32 {
        self.innermost(vertex).map_or(0, |id| self.get(id).depth)
    }

    /// Returns the loop whose header is the vertex.
    pub fn headed_by(&self, vertex: BlockId) -> Option<LoopId> {
        self.innermost(vertex).filter(|&id| self.get(id).header == vertex)
    }

    /// Reports whether no loop is nested in this one.
    pub fn is_innermost(&self, id: LoopId) -> bool {
        self.get(id).end.index() == id.index() + 1
    }

    /// Reports whether a vertex is in a loop or in one of the loops nested in it.
    pub fn contains(&self, id: LoopId, vertex: BlockId) -> bool {
        self.innermost(vertex).is_some_and(|inner| id <= inner && inner < self.get(id).end)
    }

    /// Returns the blocks of a loop, including those of inner loops; the header first.
    pub fn blocks(&self, id: LoopId) -> &[BlockId] {
        let end = self.get(id).end.index();
        &self.blocks[self.starts[id.index()] as usize..self.starts[end] as usize]
    }

    /// Returns the edges from a block of the loop to a vertex outside it.
    pub fn exit_edges(&self, cfg: &Cfg, id: LoopId) -> Vec<EdgeId> {
        let leaves = |&edge: &EdgeId| !self.contains(id, cfg.edge(edge).to);
        self.blocks(id)
            .iter()
            .flat_map(|&block| cfg.out_edges(block).iter().copied().filter(leaves))
            .collect()
    }

    /// Returns the back edges of the loop: from a block of the loop to its header.
    pub fn back_edges(&self, cfg: &Cfg, id: LoopId) -> Vec<EdgeId> {
        let header = self.get(id).header;
        let into = cfg.in_edges(header).iter().copied();
        into.filter(|&edge| self.contains(id, cfg.edge(edge).from)).collect()
    }

    /// Returns the outermost loop that an edge leaves, in logarithmic time.
    pub fn outermost_exited(&self, cfg: &Cfg, edge: EdgeId) -> Option<LoopId> {
        let edge = cfg.edge(edge);
        let exited = |id: LoopId| !self.contains(id, edge.to);
        let mut id = self.innermost(edge.from).filter(|&id| exited(id))?;
        loop {
            let found = self.get(id);
            match found.parent {
                Some(_) if exited(found.jump) => id = found.jump,
                Some(parent) if exited(parent) => id = parent,
                _ => return Some(id),
            }
        }
    }

    /// Returns the number of exit edges of each loop, in near-linear time however deep the nesting.
    pub fn exit_counts(&self, cfg: &Cfg) -> Vec<u32> {
        // An edge counts for each loop between the innermost and the outermost one that it leaves: +1 at the
        // innermost, -1 above the outermost, summed up the forest.
        let mut counts = vec![0_u32; self.len()];
        for edge in cfg.edges() {
            if let Some(last) = self.outermost_exited(cfg, edge) {
                let first = self.innermost(cfg.edge(edge).from).expect("an exited loop is around the source");
                counts[first.index()] = counts[first.index()].wrapping_add(1);
                if let Some(above) = self.get(last).parent {
                    counts[above.index()] = counts[above.index()].wrapping_sub(1);
                }
            }
        }
        for (inner, found) in self.loops.iter().enumerate().rev() {
            if let Some(parent) = found.parent {
                counts[parent.index()] = counts[parent.index()].wrapping_add(counts[inner]);
            }
        }
        counts
    }

    /// Checks numbering, nesting and bodies.
    ///
    /// # Panics
    /// Panics if an invariant is broken, which is a bug in this crate.
    pub fn verify(&self, cfg: &Cfg) {
        for (id, found) in self.iter() {
            let is_parent = self.iter().any(|(_, other)| other.parent == Some(id));
            assert_eq!(self.is_innermost(id), !is_parent);
            assert!(id < found.end && self.headed_by(found.header) == Some(id));
            assert_eq!(self.blocks(id).first(), Some(&found.header));
            assert!(self.blocks(id).iter().all(|&block| self.contains(id, block)));
            assert!(!self.back_edges(cfg, id).is_empty());
            let outer = found.parent.map(|parent| self.get(parent));
            assert_eq!(found.depth, outer.map_or(1, |outer| outer.depth + 1));
            assert!(outer.is_none_or(|outer| found.end <= outer.end));
        }
    }
}

/// Returns the depth and jump of the next loop. A jump spans as far as the two jumps before it together if those two
/// span equally far (Myers, *An Applicative Random-Access Stack*, IPL 1983).
fn climb_plan(loops: &[Loop], parent: Option<LoopId>) -> (u32, LoopId) {
    let Some(parent) = parent else { return (1, LoopId::new(loops.len())) };
    let above = &loops[parent.index()];
    let first = &loops[above.jump.index()];
    let further = first.jump;
    let equal = above.depth - first.depth == first.depth - loops[further.index()].depth;
    (above.depth + 1, if equal { further } else { parent })
}

/// Returns the blocks in loops, by innermost loop and then in reverse postorder, and where each loop begins.
fn sort_blocks(search: &DepthFirst, innermost: &[Option<LoopId>], loops: usize) -> (Vec<BlockId>, Vec<u32>) {
    let mut starts = vec![0; loops + 1];
    let order = search.reverse_postorder().iter().copied();
    let mut keyed: Vec<_> = order.filter_map(|block| Some((innermost[block.index()]?, block))).collect();
    keyed.sort_by_key(|&(id, _)| id);
    for (id, _) in &keyed {
        starts[id.index() + 1] += 1;
    }
    for id in 0..loops {
        starts[id + 1] += starts[id];
    }
    (keyed.into_iter().map(|(_, block)| block).collect(), starts)
}
