//! What functions and call sites have with all that they call, each event once however deep they recurse.
//!
//! Input: a tree, and a weight of each of its records. Output: [`Total`]s. A function's is what happened while it was on
//! the stack, a call site's what happened while it waited for its callee.
//! Source: Ball, *Efficiently Counting Program Events with Support for On-line Queries*, TOPLAS 1994, section 4, the
//! second problem. There a snapshot of the counter before a call is taken from one behind it, so that each level of a
//! recursion is counted again; here the events are in call records, and a record is below its function once.
//! Invariant: no total is more than there was. A call of a function that is on the way leads back to its record, so what
//! happens then is not below the caller's: [`Total::is_whole`] tells where that may be lacking. It never is without
//! recursion, nor for a function that only calls itself.
//! Oracle: `tests/it/contexts.rs`, which looks for functions and call sites in the stacks of all calls.
//!
//! Example: `main` calls `f`, which calls `g` at 20, which calls `f`, at which time 5 events happen. They are in `f`'s
//! record, so `f`'s total is whole, and that of `g` and of the call at 20 lack 5.

use std::collections::BTreeMap;

use super::ContextTree;

/// Where something is summed up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// What the routine had itself; of a call site, its callees.
    pub own: u64,
    /// The same with all that these called.
    pub inclusive: u64,
    /// Whether the inclusive sum is all; otherwise there was at least so much.
    pub is_whole: bool,
}

/// A call site, and what it calls: the caller, a position in the tree's routines; byte offset of the call, 0 if the caller
/// has no call sites; the callee, a position in the routines.
pub type CallPlace = (u32, u32, u32);

impl ContextTree {
    /// By routine. `weights` has one of each record; sums saturate.
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

    /// By call site and callee. What happens in a recursive call is in a record further up, so a site that only makes
    /// such calls has nothing, and is not whole.
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

    /// By record, the one furthest up that calls lead back to from it or from below it; itself if none do.
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
