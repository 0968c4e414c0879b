//! The tree from the root down, heaviest calls first.

use super::ContextTree;

/// A record as it is met on the way down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextRow {
    /// Its number.
    pub record: u32,
    /// Records above it, the root not included.
    pub depth: u32,
    /// Its weight and that of all records below it.
    pub inclusive: u64,
}

impl ContextTree {
    /// By record: the sum of the weights of the record and of all below it; saturates. `weights` has one of each
    /// record.
    pub fn inclusive(&self, weights: &[u64]) -> Vec<u64> {
        let mut sums = weights.to_vec();
        for index in (1..self.records.len()).rev() {
            let parent = self.records[index].parent as usize;
            sums[parent] = sums[parent].saturating_add(sums[index]);
        }
        sums
    }

    /// The records whose weight, with all below them, is at least `least`, depth first, the heavier of two siblings
    /// first. `weights` has one of each record.
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
