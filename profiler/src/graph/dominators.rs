//! The dominator tree of a CFG.
//!
//! Input: a [`Cfg`] and its [`DepthFirst`] search. Output: immediate dominators, and a constant-time dominance test.
//! Invariant: O(E log V) on any graph, even irreducible ones and ladders, without recursion.
//! Source: Lengauer & Tarjan, *A Fast Algorithm for Finding Dominators in a Flowgraph*, TOPLAS 1979, the simple
//! version. It is preferred over iteration to a fixed point, which hostile code makes quadratic.
//! Oracle: petgraph's dominators, and removal of each vertex, in `tests/it/dominators.rs`.

use super::forest::Intervals;
use crate::{BlockId, Cfg, DepthFirst};

/// The dominator tree. Unreachable vertices are outside it.
#[derive(Clone, Debug)]
pub struct Dominators {
    /// Immediate dominator of each vertex; none for ENTRY and unreachable vertices.
    immediate: Vec<Option<BlockId>>,
    /// Tree intervals by preorder number of the search; `number` maps vertices to these.
    intervals: Intervals,
    number: Vec<Option<u32>>,
}

impl Dominators {
    /// Computes the dominators of every vertex that ENTRY reaches, including EXIT.
    pub fn new(cfg: &Cfg, search: &DepthFirst) -> Self {
        let immediate_numbers = Semidominators::new(search).run(cfg, search);
        let block = |number: u32| search.preorder()[number as usize];
        let mut immediate = vec![None; cfg.vertex_count()];
        let mut number = vec![None; cfg.vertex_count()];
        for (position, &vertex) in search.preorder().iter().enumerate() {
            immediate[vertex.index()] = immediate_numbers[position].map(block);
            number[vertex.index()] = Some(position as u32);
        }
        Self { immediate, intervals: Intervals::new(&immediate_numbers), number }
    }

    /// Returns the closest strict dominator; none for ENTRY and unreachable vertices.
    pub fn immediate(&self, vertex: BlockId) -> Option<BlockId> {
        self.immediate[vertex.index()]
    }

    /// Reports whether every path from ENTRY to `below` passes `above`. False if either is unreachable.
    pub fn dominates(&self, above: BlockId, below: BlockId) -> bool {
        match (self.number[above.index()], self.number[below.index()]) {
            (Some(above), Some(below)) => self.intervals.contains(above as usize, below as usize),
            _ => false,
        }
    }
}

/// The working state. All numbers are preorder numbers, of which a smaller one is earlier.
struct Semidominators {
    semi: Vec<u32>,
    /// The forest built so far, with compressed paths; `NONE` at its roots.
    ancestor: Vec<u32>,
    /// The vertex of least semidominator on the compressed path above.
    label: Vec<u32>,
    /// Vertices by semidominator, as linked lists.
    bucket: Vec<u32>,
    next_in_bucket: Vec<u32>,
    /// The path that is being compressed, kept to save allocations.
    path: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Semidominators {
    fn new(search: &DepthFirst) -> Self {
        let len = search.preorder().len();
        Self {
            semi: (0..len as u32).collect(),
            ancestor: vec![NONE; len],
            label: (0..len as u32).collect(),
            bucket: vec![NONE; len],
            next_in_bucket: vec![NONE; len],
            path: Vec::new(),
        }
    }

    fn run(mut self, cfg: &Cfg, search: &DepthFirst) -> Vec<Option<u32>> {
        let len = search.preorder().len();
        let mut immediate = vec![0; len];
        for w in (1..len).rev() {
            self.find_semidominator(w, cfg, search);
            let parent = search.parents()[w];
            self.ancestor[w] = parent;
            self.empty_bucket(parent, &mut immediate);
        }
        for w in 1..len {
            if immediate[w] != self.semi[w] {
                immediate[w] = immediate[immediate[w] as usize];
            }
        }
        immediate.iter().enumerate().map(|(w, &above)| (w > 0).then_some(above)).collect()
    }

    fn find_semidominator(&mut self, w: usize, cfg: &Cfg, search: &DepthFirst) {
        for from in cfg.predecessors(search.preorder()[w]) {
            if let Some(v) = search.number(from) {
                let u = self.least_above(v as u32);
                self.semi[w] = self.semi[w].min(self.semi[u as usize]);
            }
        }
        let bucket = &mut self.bucket[self.semi[w] as usize];
        self.next_in_bucket[w] = std::mem::replace(bucket, w as u32);
    }

    fn empty_bucket(&mut self, parent: u32, immediate: &mut [u32]) {
        let mut v = std::mem::replace(&mut self.bucket[parent as usize], NONE);
        while v != NONE {
            let u = self.least_above(v);
            let earlier = self.semi[u as usize] < self.semi[v as usize];
            immediate[v as usize] = if earlier { u } else { parent };
            v = self.next_in_bucket[v as usize];
        }
    }

    /// Returns the vertex of least semidominator on the forest path from `v` up to below its root.
    fn least_above(&mut self, v: u32) -> u32 {
        self.compress(v);
        self.label[v as usize]
    }

    fn compress(&mut self, mut v: u32) {
        debug_assert!(self.path.is_empty());
        while self.ancestor[v as usize] != NONE && self.ancestor[self.ancestor[v as usize] as usize] != NONE {
            self.path.push(v);
            v = self.ancestor[v as usize];
        }
        while let Some(v) = self.path.pop() {
            let above = self.ancestor[v as usize] as usize;
            if self.semi[self.label[above] as usize] < self.semi[self.label[v as usize] as usize] {
                self.label[v as usize] = self.label[above];
            }
            self.ancestor[v as usize] = self.ancestor[above];
        }
    }
}
