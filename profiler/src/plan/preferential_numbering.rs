//! Numbers a few interesting paths compactly, and uniquely among themselves only.
//!
//! Input: a [`PathNumbering`] and the numbers of the interesting paths. Output: edge weights whose sums number these
//! paths from 0 on, nearly without holes. Other paths may have the same sums; the Ball-Larus number, which also
//! identifies paths here, tells them apart.
//! Invariant: interesting paths have different numbers, from 0 to less than [`PathNumbering::paths`]. O(edges of all
//! interesting paths, sorted by prefix).
//! Source: Vaswani, *Efficient Online Path Profiling*, PhD thesis 2007, section 3.3.1 and figure 3.10.
//! Oracle: all sets of paths of small graphs, random ones of others, and the thesis's examples, in
//! `tests/it/preferential_numbering.rs`.
//!
//! **Weights.** Blocks are visited in reverse topological order, and the edges out of a block in their order. A
//! prefix is a way from ENTRY to the block. The interval of an edge and a prefix spans the sums, from the block on,
//! of the interesting paths with this prefix that take the edge. An edge gets the least weight that puts each of its
//! intervals behind those of the same prefix on earlier edges. When the block is done, paths with the same prefix
//! therefore have different sums; at ENTRY these are all paths. Edges on no interesting path have weight 0.
//!
//! **Bounds.** A block's first edge gets the weight that makes its least sum 0, and later edges at least that; so no
//! sum is negative when the block is done. As an edge's weight is at most the sums before it, a block has at most as
//! many sums as its successors together, just as path numbers grow in the Ball-Larus numbering.
//!
//! Example (from the thesis): s leads to a and b, a to b or c, b to c, c to d or t, d to t. For the paths sacdt, sact
//! and sbct, the edge c -> t gets 1, b -> c -1, s -> b 2 and all others 0; the paths have the numbers 0, 1 and 2.

use std::collections::{HashMap, HashSet};

use crate::limits::{MAX_INTERESTING_PATHS, MAX_INTERESTING_STEPS};
use crate::{DepthFirst, EdgeId, PathNumbering};

/// The interesting paths of one function, with their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreferentialNumbering {
    /// By edge of the view: its weight.
    weights: Vec<i64>,
    /// The interesting paths, ascending.
    paths: Vec<InterestingPath>,
}

/// Both numbers of an interesting path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InterestingPath {
    /// Number among the interesting paths.
    pub preferential: u64,
    /// Ball-Larus number, among all paths.
    pub id: u64,
}

impl PreferentialNumbering {
    /// Numbers the paths whose ids are in `interesting`, in any order. Ids without a path are ignored, as are the
    /// last ones beyond a limit. Returns `None` if none is left.
    pub fn new(numbering: &PathNumbering, interesting: &[u64]) -> Option<Self> {
        let mut seen = HashSet::new();
        let ids = interesting.iter().copied().filter(|&id| seen.insert(id));
        let crossings = Crossings::new(numbering, ids)?;
        let view = numbering.view();
        let (mut weights, mut sums) = (vec![0; view.edge_count()], vec![0_i64; crossings.ids.len()]);
        for &block in DepthFirst::new(view).reverse_postorder().iter().rev() {
            let mut ends: HashMap<u64, i64> = HashMap::new();
            for &edge in view.out_edges(block) {
                weights[edge.index()] = weigh(&crossings.by_edge[edge.index()], &mut sums, &mut ends);
            }
        }
        let numbered = sums.iter().zip(&crossings.ids);
        let path = |(&sum, &id): (&i64, &u64)| InterestingPath { preferential: sum.cast_unsigned(), id };
        let mut paths: Vec<_> = numbered.map(path).collect();
        paths.sort_unstable();
        Some(Self { weights, paths })
    }

    /// Returns the amount that each edge of the view adds to a path's preferential number.
    pub fn weights(&self) -> &[i64] {
        &self.weights
    }

    /// Returns the interesting paths, ascending by preferential number.
    pub fn paths(&self) -> &[InterestingPath] {
        &self.paths
    }

    /// Returns one more than the greatest preferential number. The least is 0.
    pub fn range(&self) -> u64 {
        self.paths.last().map_or(0, |last| last.preferential + 1)
    }

    /// Returns the numbers used per interesting path; 1 means no holes.
    pub fn delta(&self) -> f64 {
        self.range() as f64 / self.paths.len() as f64
    }

    /// Returns the Ball-Larus numbers spanned per interesting path.
    pub fn ball_larus_delta(&self) -> f64 {
        let ids = || self.paths.iter().map(|path| path.id);
        let range = ids().max().unwrap_or(0) - ids().min().unwrap_or(0) + 1;
        range as f64 / self.paths.len() as f64
    }
}

/// The use of an edge by an interesting path.
struct PathUse {
    /// Ball-Larus sum of the prefix, which identifies it.
    prefix: u64,
    /// Position of the path in `ids`.
    path: usize,
}

/// The edges that the interesting paths use.
struct Crossings {
    ids: Vec<u64>,
    /// By edge of the view: its crossings, grouped by prefix.
    by_edge: Vec<Vec<PathUse>>,
}

impl Crossings {
    fn new(numbering: &PathNumbering, ids: impl Iterator<Item = u64>) -> Option<Self> {
        let view = numbering.view();
        let mut by_edge: Vec<Vec<PathUse>> = view.edges().map(|_| Vec::new()).collect();
        let (mut found, mut steps) = (Vec::new(), 0);
        for id in ids {
            let Some(edges) = view_edges(numbering, id) else { continue };
            steps += edges.len();
            if found.len() == MAX_INTERESTING_PATHS || steps > MAX_INTERESTING_STEPS {
                break;
            }
            let mut prefix = 0;
            for edge in edges {
                by_edge[edge.index()].push(PathUse { prefix, path: found.len() });
                prefix += numbering.values()[edge.index()];
            }
            found.push(id);
        }
        by_edge.iter_mut().for_each(|all| all.sort_unstable_by_key(|crossing| crossing.prefix));
        (!found.is_empty()).then_some(Self { ids: found, by_edge })
    }
}

/// Returns the edges of the view that a path takes, including the pseudo edge of its start.
pub(super) fn view_edges(numbering: &PathNumbering, id: u64) -> Option<Vec<EdgeId>> {
    let path = numbering.path(id)?;
    let start = numbering.starts().find(|&(_, block)| block == path.start).map(|(edge, _)| edge);
    Some(start.into_iter().chain(path.edges).collect())
}

/// Computes the weight of an edge and adds it to the sums of its paths. `ends` has, by prefix, the end of its
/// intervals on earlier edges.
fn weigh(crossings: &[PathUse], sums: &mut [i64], ends: &mut HashMap<u64, i64>) -> i64 {
    let of_prefix = || crossings.chunk_by(|a, b| a.prefix == b.prefix);
    let needed = |chunk: &[PathUse]| {
        let least = chunk.iter().map(|crossing| sums[crossing.path]).min().unwrap_or(0);
        ends.get(&chunk[0].prefix).copied().unwrap_or(0) - least
    };
    let weight = of_prefix().map(needed).max().unwrap_or(0);
    crossings.iter().for_each(|crossing| sums[crossing.path] += weight);
    for chunk in of_prefix() {
        let greatest = chunk.iter().map(|crossing| sums[crossing.path]).max().unwrap_or(0);
        ends.insert(chunk[0].prefix, greatest + 1);
    }
    weight
}
