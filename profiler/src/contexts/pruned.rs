//! Prunes records without counts. Sampled contexts have records of the frames that were on the stack when a burst
//! began; they matter only where something was counted in or below them.
//!
//! Invariant: no count is lost, and the tree stays canonical.
//! Oracle: `tests/it/contexts.rs`.

use super::{BackEdge, CallRecord, ContextLog, ContextTree};
use crate::ContextLink;

impl ContextTree {
    /// Returns the tree without the records in and below which nothing was counted.
    #[must_use]
    pub fn pruned(&self) -> Self {
        let is_kept = self.is_counted();
        // A dropped record has no kept descendant, so the parent of a kept record is kept.
        let mut number = vec![Self::ROOT; self.records.len()];
        let (mut records, mut links): (Vec<CallRecord>, Vec<ContextLink>) = (Vec::new(), Vec::new());
        for (index, record) in self.records.iter().enumerate().filter(|(index, _)| is_kept[*index]) {
            let from = records.len() as u32;
            number[index] = from;
            let link = |edge: &BackEdge| ContextLink { from, site: edge.site, to: number[edge.to as usize] };
            links.extend(record.back_edges.iter().map(link));
            let parent = number[record.parent as usize];
            records.push(CallRecord { parent, back_edges: Vec::new(), ..record.clone() });
        }
        let (routines, metrics) = (self.routines.clone(), self.metrics.clone());
        let (has_paths, merges_sites, kind) = (self.has_paths, self.merges_sites, self.kind);
        ContextLog { routines, records, links, metrics, has_paths, merges_sites, kind }.tree()
    }

    /// Returns by record whether anything was counted in or below it; always true for the root.
    fn is_counted(&self) -> Vec<bool> {
        let own = |record: &CallRecord| {
            let measured = record.metrics.iter().any(|&figure| figure > 0);
            record.calls > 0 || measured || !record.paths.is_empty()
        };
        let mut is_counted: Vec<bool> = self.records.iter().map(own).collect();
        for (index, record) in self.records.iter().enumerate().rev() {
            if is_counted[index] {
                is_counted[record.parent as usize] = true;
            }
        }
        is_counted[Self::ROOT as usize] = true;
        is_counted
    }
}
