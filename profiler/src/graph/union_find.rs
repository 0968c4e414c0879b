//! Disjoint sets of dense numbers.
//!
//! Invariant: near-constant amortised time, by path halving and, for [`UnionFind::unite`], union by size.
//! Source: Tarjan & van Leeuwen, *Worst-Case Analysis of Set Union Algorithms*, JACM 1984.

/// A partition of `0..n`.
#[derive(Clone, Debug)]
pub(crate) struct UnionFind {
    parent: Vec<u32>,
    size: Vec<u32>,
}

impl UnionFind {
    /// Creates a partition of singletons.
    pub(crate) fn new(len: usize) -> Self {
        let len = u32::try_from(len).expect("dense ids fit 32 bits");
        Self { parent: (0..len).collect(), size: vec![1; len as usize] }
    }

    /// Returns the representative of `x`'s set.
    pub(crate) fn find(&mut self, mut x: usize) -> usize {
        while self.parent[x] as usize != x {
            self.parent[x] = self.parent[self.parent[x] as usize];
            x = self.parent[x] as usize;
        }
        x
    }

    /// Unites two sets; returns false if they were already one.
    pub(crate) fn unite(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return false;
        }
        let (small, large) = if self.size[a] < self.size[b] { (a, b) } else { (b, a) };
        self.parent[small] = large as u32;
        self.size[large] += self.size[small];
        true
    }

    /// Merges the set that `x` represents into the set of `root`, which stays the representative.
    pub(crate) fn absorb(&mut self, root: usize, x: usize) {
        debug_assert!(self.parent[x] as usize == x && self.parent[root] as usize == root);
        self.parent[x] = root as u32;
        self.size[root] += self.size[x];
    }
}
