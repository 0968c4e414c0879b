//! Paths in calling contexts: which path through a function ran, and from which callers.
//!
//! Input: a [`Profile`] whose call records have paths. Output: these paths, hottest first: with the chain of their
//! callers they are the program's interprocedural hot paths, as far as call records distinguish them; the
//! instructions of each record; and the call sites that a single path reaches, whose callees' records hence tell
//! the caller's path as well.
//! Source: Ammons, Ball & Larus 1997, sections 1.1, 4.3 and 6.3. Oracle: `vm/tests/profiles/call_sites.rs`, by hand.

use std::collections::{BTreeSet, HashMap};

use super::{FunctionProfile, HotPath, Profile};
use crate::limits::MAX_PATH_STEPS;
use crate::{CallRecord, Callee, Cfg, ContextTree, PathCount, PathNumbering, UnfinishedExit, UnfinishedPath};

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

    /// Returns the number of call sites, over all call records, at which calls were made and that exactly one path of
    /// the record reached, where the path of a frame that did not finish is one of its own; `None` without paths in
    /// contexts, if call sites are merged, or if the paths together are too long to follow.
    pub fn one_path_sites(&self) -> Option<u64> {
        let tree = self.contexts.as_ref().filter(|tree| tree.has_paths && !tree.merges_sites)?;
        let (used, mut graphs) = (used_sites(tree), HashMap::new());
        let (mut found, mut steps) = (0, MAX_PATH_STEPS);
        for (number, record) in (0..).zip(&tree.records) {
            let &Callee::Function { index, .. } = tree.callee(number) else { continue };
            let Some(function) = self.function(index) else { continue };
            let graph =
                graphs.entry(index).or_insert_with(|| function.path_numbering().zip(function.cfg().ok()));
            let Some((numbering, cfg)) = graph else { continue };
            let sites: Vec<u32> =
                used.range((number, 0)..=(number, u32::MAX)).map(|(_, site)| *site).collect();
            let paths = function.paths_to_sites(record, &sites, (numbering, cfg), &mut steps)?;
            found += paths.iter().filter(|&&paths| paths == 1).count() as u64;
        }
        Some(found)
    }
}

/// Returns the call sites at which calls were made, each with its record.
fn used_sites(tree: &ContextTree) -> BTreeSet<(u32, u32)> {
    let called = tree.records.iter().skip(1).map(|record| (record.parent, record.site));
    let back = |(from, record): (u32, &'_ CallRecord)| {
        let sites: Vec<u32> = record.back_edges.iter().map(|edge| edge.site).collect();
        sites.into_iter().map(move |site| (from, site))
    };
    called.chain((0..).zip(&tree.records).flat_map(back)).collect()
}

impl FunctionProfile {
    /// Returns the number of paths in a record that reached each of these call sites, and subtracts the blocks on them
    /// from `steps`; `None` if there are more.
    fn paths_to_sites(
        &self,
        record: &CallRecord,
        sites: &[u32],
        (numbering, cfg): (&PathNumbering, &Cfg),
        steps: &mut usize,
    ) -> Option<Vec<u64>> {
        let block = |site: &u32| {
            self.blocks.iter().position(|block| (block.code.start..block.code.end).contains(site))
        };
        let blocks: Vec<Option<usize>> = sites.iter().map(block).collect();
        let mut paths = vec![0; sites.len()];
        // The sites of the last block of an unfinished path are reached up to where it stopped.
        let ways =
            record.paths.iter().filter_map(|path| Some((numbering.path(path.id)?.blocks(cfg), u32::MAX)));
        let stopped = record.unfinished.iter().filter_map(|UnfinishedPath { exit, prefix, .. }| {
            Some((numbering.prefix(exit.block, *prefix)?.blocks_of_prefix(cfg), exit.offset))
        });
        for (way, end) in ways.chain(stopped) {
            *steps = steps.checked_sub(way.len())?;
            let last = way.last().filter(|_| end != u32::MAX).map(|block| block.index());
            let through: BTreeSet<usize> = way.iter().map(|block| block.index()).collect();
            for ((site, block), paths) in sites.iter().zip(&blocks).zip(&mut paths) {
                let is_reached = block.is_some_and(|block| through.contains(&block));
                *paths += u64::from(is_reached && (*block != last || *site <= end));
            }
        }
        Some(paths)
    }

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
