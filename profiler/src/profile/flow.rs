//! Paths in calling contexts: which way through a function, called from where.
//!
//! Input: a [`Profile`] whose call records have paths. Output: these, hottest first: with the chain of their callers they
//! are the program's interprocedural hot paths, as far as call records tell them apart.
//! Source: Ammons, Ball & Larus 1997, sections 1.1 and 4.3; algorithms.md, section 6.

use std::collections::HashMap;

use super::{HotPath, Profile};
use crate::{Callee, PathCount};

impl Profile {
    /// The paths that ran to their end in each call record, with its number, those with the most executed instructions
    /// first; none if they were not counted there.
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
}
