//! Path numbers as arithmetic codes.
//!
//! Input: a [`PathNumbering`]. Output: the Ball-Larus model, in which the probability of an edge is that of a path to
//! continue with it if all paths are equally likely; the code of a path under the model; the bits per path.
//! Invariant: the code of a path is its number.
//! Source: Vaswani 2007, sections 4.1 to 4.3, figures 4.1 (`computeBLModel`) and 4.3 (`pathEncoder`). Oracle: the numbers
//! of all paths of small graphs, in `tests/it/path_model.rs`.

use crate::{BlockId, DepthFirst, EdgeId, Path, PathNumbering};

/// The Ball-Larus model of a function's paths.
#[derive(Clone, Debug)]
pub struct PathModel<'a> {
    numbering: &'a PathNumbering,
    /// By vertex of the acyclic view: the number of paths from it to EXIT.
    ways: Vec<u64>,
}

/// The part of `[0, N)` that remains after a path has taken some edges.
#[derive(Clone, Copy, Debug)]
struct Interval {
    from: u64,
    to: u64,
}

impl<'a> PathModel<'a> {
    /// Creates the model of all numbered paths.
    pub fn new(numbering: &'a PathNumbering) -> Self {
        let view = numbering.view();
        let mut ways = vec![1_u64; view.vertex_count()];
        for &block in
            DepthFirst::new(view).reverse_postorder().iter().rev().filter(|&&block| block != view.exit())
        {
            ways[block.index()] =
                view.successors(block).map(|to| ways[to.index()]).fold(0, u64::saturating_add);
        }
        Self { numbering, ways }
    }

    /// Returns the range of an edge within `[0, 1)`, as two numerators and the denominator.
    pub fn range(&self, edge: EdgeId) -> (u64, u64, u64) {
        let view = self.numbering.view();
        let ends = view.edge(edge);
        let before = view.out_edges(ends.from).iter().take_while(|&&other| other != edge);
        let before: u64 = before.map(|&other| self.ways[view.edge(other).to.index()]).sum();
        (before, before + self.ways[ends.to.index()], self.ways[ends.from.index()])
    }

    /// Returns the arithmetic code of a path; `None` if the numbering has no such path.
    pub fn code(&self, path: &Path) -> Option<u64> {
        let view = self.numbering.view();
        let start = self.numbering.starts().find(|&(_, block)| block == path.start).map(|(edge, _)| edge);
        let mut interval = Interval { from: 0, to: self.ways[BlockId::ENTRY.index()] };
        let mut at = BlockId::ENTRY;
        for edge in start.into_iter().chain(path.edges.iter().copied()) {
            (edge.index() < view.edge_count() && view.edge(edge).from == at).then_some(())?;
            at = view.edge(edge).to;
            interval = interval.narrowed(self.range(edge));
        }
        (at == view.exit()).then_some(interval.from)
    }

    /// Returns the bits per path under this model: the binary logarithm of the number of paths.
    pub fn entropy(&self) -> f64 {
        (self.ways[BlockId::ENTRY.index()] as f64).log2()
    }
}

impl Interval {
    fn narrowed(self, (from, to, whole): (u64, u64, u64)) -> Self {
        let (length, whole) = (u128::from(self.to - self.from), u128::from(whole.max(1)));
        let part = |of: u64| u128::from(of) * length;
        let (from, to) = (part(from) / whole, part(to).div_ceil(whole));
        Self { from: self.from + from as u64, to: self.from + to as u64 }
    }
}

/// Returns the average bits per item under the entropy of their counts.
pub fn entropy(counts: impl Iterator<Item = u64> + Clone) -> f64 {
    let all = counts.clone().map(|count| count as f64).sum::<f64>();
    let bits = |count: u64| {
        let share = count as f64 / all;
        -share * share.log2()
    };
    counts.filter(|&count| count > 0).map(bits).sum()
}
