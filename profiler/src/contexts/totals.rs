//! Inclusive totals of functions and call sites, with each event counted once however deep they recurse.
//!
//! Input: a tree, and a weight of each of its records. Output: [`Total`]s. A function's total covers the time that it
//! was on the stack, a call site's total the time that it waited for its callee.
//! Source: Ball, *Efficiently Counting Program Events with Support for On-line Queries*, TOPLAS 1994, section 4, the
//! second problem. The paper subtracts a snapshot of the counter before a call from one behind it, so that each level
//! of a recursion is counted again; here the events are in call records, and a record is below its function once.
//! Invariant: no total exceeds the actual sum. A recursive call leads back to the function's record, so its events are
//! not below the caller's record: [`Total::is_whole`] is false where they may be missing. They are never missing
//! without recursion, nor for a function that only calls itself.
//! Oracle: `tests/it/contexts.rs`, which searches the stacks of all calls for functions and call sites.
//!
//! Example: `main` calls `f`, which calls `g` at 20, which calls `f`, in which 5 events happen. They are in `f`'s
//! record, so `f`'s total is whole, and the totals of `g` and of the call at 20 lack 5.

use std::collections::BTreeMap;

use super::ContextTree;

/// A sum over a function or call site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// The routine's own sum; for a call site, that of its callees.
    pub own: u64,
    /// The own sum and that of all descendants.
    pub inclusive: u64,
    /// Whether the inclusive sum is complete; otherwise it is a lower bound.
    pub is_whole: bool,
}

/// A call site and callee: the caller, a position in the tree's routines; the byte offset of the call, 0 if the caller
/// has no call sites; the callee, a position in the routines.
pub type CallPlace = (u32, u32, u32);

impl ContextTree {
    /// Returns the totals by routine. `weights` has one entry per record; sums saturate.
    pub fn totals(&self, weights: &[u64]) -> Vec<Total> {
        let nothing = Total { is_whole: !self.is_cut(), ..Total::default() };
        let mut totals = vec![nothing; self.routines.len()];
        let inclusive = self.inclusive(weights);
        let reaches = self.reaches();
        for (number, record) in self.records.iter().enumerate() {
            let sum = &mut totals[record.routine as usize];
            sum.add(weights[number], inclusive[number]);
            sum.is_whole &= reaches[number] as usize >= number;
        }
        totals
    }

    /// Returns the totals by call site and callee. The events of a recursive call are in a record further up, so a site
    /// that only makes such calls has no events and is not whole.
    pub fn site_totals(&self, weights: &[u64]) -> BTreeMap<CallPlace, Total> {
        let mut totals: BTreeMap<CallPlace, Total> = BTreeMap::new();
        let nothing = Total { is_whole: !self.is_cut(), ..Total::default() };
        let inclusive = self.inclusive(weights);
        let reaches = self.reaches();
        let routine = |record: u32| self.records[record as usize].routine;
        for (number, record) in self.records.iter().enumerate().skip(1) {
            let place = (routine(record.parent), record.site, record.routine);
            let sum = totals.entry(place).or_insert(nothing);
            sum.add(weights[number], inclusive[number]);
            sum.is_whole &= reaches[number] as usize >= number;
        }
        for (record, edge) in
            self.records.iter().flat_map(|from| from.back_edges.iter().map(move |e| (from, e)))
        {
            totals.entry((record.routine, edge.site, routine(edge.to))).or_insert(nothing).is_whole = false;
        }
        totals
    }

    /// Returns, by record, the topmost record that calls from it or from below it lead back to; itself if there are
    /// none.
    fn reaches(&self) -> Vec<u32> {
        let mut reaches: Vec<u32> = (0..self.records.len() as u32).collect();
        for (number, record) in self.records.iter().enumerate().rev() {
            let back = record.back_edges.iter().map(|edge| edge.to).min();
            reaches[number] = reaches[number].min(back.unwrap_or(u32::MAX));
            // The root is its own parent.
            let parent = record.parent as usize;
            reaches[parent] = reaches[parent].min(if number > 0 { reaches[number] } else { u32::MAX });
        }
        reaches
    }
}

impl Total {
    fn add(&mut self, own: u64, inclusive: u64) {
        self.own = self.own.saturating_add(own);
        self.inclusive = self.inclusive.saturating_add(inclusive);
    }
}
