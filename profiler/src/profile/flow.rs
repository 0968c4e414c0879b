//! Paths in calling contexts: which path through a function ran, and from which callers.
//!
//! Input: a [`Profile`] whose call records have paths. Output: these paths, hottest first: with the chain of their
//! callers they are the program's interprocedural hot paths, as far as call records distinguish them; and the
//! instructions of each record.
//! Source: Ammons, Ball & Larus 1997, sections 1.1 and 4.3.

use std::collections::HashMap;

use super::{FunctionProfile, HotPath, Profile};
use crate::{Callee, PathCount, UnfinishedExit, UnfinishedPath};

impl Profile {
    /// Returns the finished paths in each call record, with the record's number, those with the most executed
    /// instructions first; empty if paths were not counted there.
    pub fn hottest_paths_in_contexts(&self) -> Vec<(u32, HotPath)> {
        let Some(contexts) = self.contexts.as_ref().filter(|contexts| contexts.has_paths) else {
            return Vec::new();
        };
        let each = |path: HotPath| Some(((path.function, path.id), path.ops.checked_div(path.count)?));
        let ops: HashMap<(u32, u64), u64> = self.hottest_paths().into_iter().filter_map(each).collect();
        let mut list = Vec::new();
        for (record, number) in contexts.records.iter().zip(0..) {
            let &Callee::Function { index: function, .. } = contexts.callee(number) else { continue };
            let hot = |PathCount { id, count, metrics }: &PathCount| {
                let ops = ops.get(&(function, *id)).copied().unwrap_or(0).saturating_mul(*count);
                (number, HotPath { function, id: *id, count: *count, ops, metrics: metrics.clone() })
            };
            list.extend(record.paths.iter().map(hot));
        }
        list.sort_by_key(|(_, hot)| std::cmp::Reverse(hot.ops));
        list
    }

    /// Returns the instructions that the function of each call record executed in that context, without callees; `None`
    /// if neither instructions nor paths were counted there, or if records do not account for all of them. Saturates.
    pub fn instructions_in_contexts(&self) -> Option<Vec<u64>> {
        let contexts = self.contexts.as_ref()?;
        let counted = contexts.instructions();
        if counted.is_some() || !contexts.has_paths {
            return counted;
        }
        let mut own = vec![0_u64; contexts.records.len()];
        let mut add = |record: u32, ops: u64| {
            let sum = &mut own[record as usize];
            *sum = sum.saturating_add(ops);
        };
        self.hottest_paths_in_contexts().iter().for_each(|(record, path)| add(*record, path.ops));
        for (record, number) in contexts.records.iter().zip(0..) {
            if let &Callee::Function { index, .. } = contexts.callee(number)
                && let Some(function) = self.function(index).filter(|_| !record.unfinished.is_empty())
            {
                add(number, function.ops_of_unfinished(&record.unfinished));
            }
        }
        let sum = own.iter().copied().fold(0, u64::saturating_add);
        (sum == self.ops()).then_some(own)
    }
}

impl FunctionProfile {
    /// Returns the instructions executed on unfinished paths; saturates.
    fn ops_of_unfinished(&self, paths: &[UnfinishedPath]) -> u64 {
        let (Some(numbering), Ok(cfg)) = (self.path_numbering(), self.cfg()) else { return 0 };
        let ops = |path: &UnfinishedPath| {
            let UnfinishedExit { block, ops_executed, count, .. } = path.exit;
            let blocks = numbering.prefix(block, path.prefix)?.blocks_of_prefix(&cfg);
            let whole = blocks.iter().rev().skip(1).map(|block| u64::from(self.blocks[block.index()].ops));
            Some((whole.sum::<u64>() + u64::from(ops_executed)).saturating_mul(count))
        };
        paths.iter().filter_map(ops).fold(0, u64::saturating_add)
    }
}
