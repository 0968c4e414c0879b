//! Walks the tree from the root down, heaviest calls first.

use super::ContextTree;

/// A row of the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextRow {
    /// Number of the record.
    pub record: u32,
    /// Number of records above it, without the root.
    pub depth: u32,
    /// Weight of the record and all its descendants.
    pub inclusive: u64,
}

impl ContextTree {
    /// Returns by record the sum of its weight and its descendants' weights, which saturates. `weights` has one entry
    /// per record.
    pub fn inclusive(&self, weights: &[u64]) -> Vec<u64> {
        let mut sums = weights.to_vec();
        for index in (1..self.records.len()).rev() {
            let parent = self.records[index].parent as usize;
            sums[parent] = sums[parent].saturating_add(sums[index]);
        }
        sums
    }

    /// Returns the records whose inclusive weight is at least `least`, depth first, heavier siblings first. `weights`
    /// has one entry per record.
    pub fn heaviest_first(&self, weights: &[u64], least: u64) -> Vec<ContextRow> {
        let inclusive = self.inclusive(weights);
        let mut children = vec![Vec::new(); self.records.len()];
        for (record, index) in self.records.iter().zip(0..).skip(1) {
            if inclusive[index as usize] >= least {
                children[record.parent as usize].push(index);
            }
        }
        let mut rows = Vec::new();
        let mut pending = Vec::new();
        let mut push = |pending: &mut Vec<ContextRow>, parent: u32, depth: u32| {
            let mut below = std::mem::take(&mut children[parent as usize]);
            below.sort_by_key(|&child: &u32| (inclusive[child as usize], std::cmp::Reverse(child)));
            pending.extend(below.into_iter().map(|record| ContextRow {
                record,
                depth,
                inclusive: inclusive[record as usize],
            }));
        };
        push(&mut pending, Self::ROOT, 0);
        while let Some(row) = pending.pop() {
            rows.push(row);
            push(&mut pending, row.record, row.depth + 1);
        }
        rows
    }
}
