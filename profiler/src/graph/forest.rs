//! Preorder intervals of a forest, which answer "is x below y" with two comparisons.
//!
//! Input: the parent of each node, parents before children. Output: for each node its position in a
//! preorder and the end of its subtree.
//! Invariant: subtrees are contiguous; siblings keep their order.

/// The position of each node and the end of its subtree in a preorder of the forest.
#[derive(Clone, Debug)]
pub(crate) struct Intervals {
    start: Vec<u32>,
    end: Vec<u32>,
}

impl Intervals {
    /// Numbers the forest in which node `i` has the parent `parents[i] < i`, or none.
    pub(crate) fn new(parents: &[Option<u32>]) -> Self {
        let sizes = subtree_sizes(parents);
        let (mut start, mut end) = (Vec::with_capacity(parents.len()), Vec::with_capacity(parents.len()));
        // The position of the next child of each node; the last cell serves the roots.
        let mut next = vec![0; parents.len() + 1];
        for (node, &parent) in parents.iter().enumerate() {
            let slot = &mut next[parent.map_or(parents.len(), |parent| parent as usize)];
            let position = *slot;
            *slot += sizes[node];
            next[node] = position + 1;
            start.push(position);
            end.push(position + sizes[node]);
        }
        Self { start, end }
    }

    pub(crate) fn start(&self, node: usize) -> u32 {
        self.start[node]
    }

    pub(crate) fn end(&self, node: usize) -> u32 {
        self.end[node]
    }

    /// Reports whether `below` is `above` or in its subtree.
    pub(crate) fn contains(&self, above: usize, below: usize) -> bool {
        (self.start[above]..self.end[above]).contains(&self.start[below])
    }
}

fn subtree_sizes(parents: &[Option<u32>]) -> Vec<u32> {
    let mut sizes = vec![1; parents.len()];
    for node in (0..parents.len()).rev() {
        if let Some(parent) = parents[node] {
            debug_assert!((parent as usize) < node);
            sizes[parent as usize] += sizes[node];
        }
    }
    sizes
}
