//! Adjacency in compressed sparse rows: for each vertex, the edges that touch it.
//!
//! Input: (vertex, edge) incidences. Output: one slice of edges per vertex.
//! Invariant: within a vertex the edges keep the order in which they were given.

use crate::{BlockId, EdgeId};

/// Rows of edge ids, one row per vertex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Adjacency {
    /// Row `v` is `edges[starts[v]..starts[v + 1]]`.
    starts: Vec<u32>,
    edges: Vec<EdgeId>,
}

impl Adjacency {
    /// Builds the rows by one counting sort. There must be fewer than 2^32 incidences.
    pub(crate) fn new(vertices: usize, incidences: impl Iterator<Item = (BlockId, EdgeId)> + Clone) -> Self {
        let mut starts = vec![0; vertices + 1];
        for (vertex, _) in incidences.clone() {
            starts[vertex.index() + 1] += 1;
        }
        for vertex in 0..vertices {
            starts[vertex + 1] += starts[vertex];
        }
        let mut cursors = starts.clone();
        let mut edges = vec![EdgeId(0); starts[vertices] as usize];
        for (vertex, edge) in incidences {
            let cursor = &mut cursors[vertex.index()];
            edges[*cursor as usize] = edge;
            *cursor += 1;
        }
        Self { starts, edges }
    }

    /// Returns the edges of one vertex.
    pub(crate) fn row(&self, vertex: BlockId) -> &[EdgeId] {
        &self.edges[self.starts[vertex.index()] as usize..self.starts[vertex.index() + 1] as usize]
    }
}
