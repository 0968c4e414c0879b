//! Builds canonical trees from call records in any order.
//!
//! Invariant: the records of one routine, called at one site of one parent record, become one record. A log of
//! several trees is therefore their sum, whichever order they are added in.

use std::collections::{BTreeMap, HashMap};

use super::{BackEdge, CallRecord, Callee, ContextTree, Routine};
use crate::counts::metric;
use crate::counts::path_counts::{normalize_paths, normalize_unfinished};
use crate::{FigureKind, Metric};

/// Call records in the order in which they are collected. Numbers are positions in the lists.
#[derive(Clone, Debug, Default)]
pub struct ContextLog {
    /// The routines; one may be listed several times.
    pub routines: Vec<Routine>,
    /// The records, parents before children. A record that is its own parent is a root, and its routine is ignored.
    /// Back edges are given as links.
    pub records: Vec<CallRecord>,
    /// The recursive calls.
    pub links: Vec<ContextLink>,
    /// The metrics that the records have figures for.
    pub metrics: Vec<Metric>,
    /// Whether the records have paths.
    pub has_paths: bool,
    /// Whether the call sites of each caller are merged: see [`ContextTree::merges_sites`].
    pub merges_sites: bool,
    /// The kind of the figures: exact, sampled, or other.
    pub kind: FigureKind,
}

/// A recursive call in a [`ContextLog`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextLink {
    /// Record of the caller.
    pub from: u32,
    /// Byte offset of the call instruction.
    pub site: u32,
    /// Record of the callee, which is on the path from the root to `from`.
    pub to: u32,
}

impl ContextLog {
    /// Appends all records of a tree, whose metrics include the log's.
    pub fn add_tree(&mut self, tree: &ContextTree) {
        let columns = metric::columns(&tree.metrics, &self.metrics);
        let [routines, records] = [self.routines.len(), self.records.len()].map(|len| len as u32);
        self.routines.extend_from_slice(&tree.routines);
        for (record, from) in tree.records.iter().zip(records..) {
            let links = record.back_edges.iter().map(|edge| ContextLink {
                from,
                site: edge.site,
                to: edge.to + records,
            });
            self.links.extend(links);
            self.records.push(CallRecord {
                routine: record.routine + routines,
                parent: record.parent + records,
                back_edges: Vec::new(),
                metrics: columns.iter().map(|&column| record.metrics[column]).collect(),
                paths: if self.has_paths { record.paths.clone() } else { Vec::new() },
                unfinished: if self.has_paths { record.unfinished.clone() } else { Vec::new() },
                ..*record
            });
        }
    }

    /// Builds the tree of all records.
    ///
    /// # Panics
    /// Panics if a number is out of range, or a child comes before its parent.
    pub fn tree(&self) -> ContextTree {
        let (routines, new_routine) = self.sorted_routines();
        let (nodes, of_record) = self.nodes(&new_routine);
        let (order, new_number) = depth_first(&nodes);
        let record = |&old: &usize| CallRecord {
            parent: new_number[nodes[old].parent as usize],
            back_edges: Vec::new(),
            metrics: nodes[old].metrics.clone(),
            paths: nodes[old].paths.clone(),
            unfinished: nodes[old].unfinished.clone(),
            ..nodes[old]
        };
        let mut records: Vec<CallRecord> = order.iter().map(record).collect();
        let number = |record: u32| new_number[of_record[record as usize]];
        for link in &self.links {
            let edge = BackEdge { site: self.site(link.site), to: number(link.to) };
            records[number(link.from) as usize].back_edges.push(edge);
        }
        for record in &mut records {
            record.back_edges.sort_unstable();
            record.back_edges.dedup();
        }
        let (metrics, has_paths, kind) = (self.metrics.clone(), self.has_paths, self.kind);
        ContextTree { routines, records, metrics, has_paths, merges_sites: self.merges_sites, kind }
    }

    /// Returns the call site that distinguishes a call at `site`.
    fn site(&self, site: u32) -> u32 {
        if self.merges_sites { 0 } else { site }
    }

    /// Returns the root and the routines that have records, ascending and without duplicates, and the new number of
    /// each routine.
    fn sorted_routines(&self) -> (Vec<Routine>, Vec<u32>) {
        let mut is_used = vec![false; self.routines.len()];
        for (record, index) in self.records.iter().zip(0..) {
            if record.parent != index {
                is_used[record.routine as usize] = true;
            }
        }
        let mut sites: BTreeMap<&Callee, Vec<u32>> = BTreeMap::from([(&Callee::Root, Vec::new())]);
        for (routine, _) in self.routines.iter().zip(&is_used).filter(|(_, is_used)| **is_used) {
            sites.entry(&routine.callee).or_default().extend_from_slice(&routine.sites);
        }
        let numbers: HashMap<&Callee, u32> = sites.keys().copied().zip(0..).collect();
        let number = |routine: &Routine| numbers.get(&routine.callee).copied().unwrap_or(0);
        let new_number = self.routines.iter().map(number).collect();
        let sorted = sites.into_iter().map(|(callee, mut sites)| {
            sites.sort_unstable();
            sites.dedup();
            Routine { callee: callee.clone(), sites }
        });
        (sorted.collect(), new_number)
    }

    /// Merges records with the same context and sums their calls. Also returns the node that each record became.
    fn nodes(&self, new_routine: &[u32]) -> (Vec<CallRecord>, Vec<usize>) {
        let empty = |routine, parent, site| CallRecord {
            routine,
            parent,
            site,
            calls: 0,
            back_edges: Vec::new(),
            metrics: vec![0; self.metrics.len()],
            paths: Vec::new(),
            unfinished: Vec::new(),
        };
        let root = empty(0, 0, 0);
        let (mut nodes, mut of_record) = (vec![root], Vec::with_capacity(self.records.len()));
        let mut known: HashMap<(u32, u32, u32), usize> = HashMap::new();
        for (record, index) in self.records.iter().zip(0..) {
            if record.parent == index {
                of_record.push(0);
                continue;
            }
            let parent = of_record[record.parent as usize] as u32;
            let routine = new_routine[record.routine as usize];
            let site = self.site(record.site);
            let node = *known.entry((parent, site, routine)).or_insert_with(|| {
                nodes.push(empty(routine, parent, site));
                nodes.len() - 1
            });
            nodes[node].calls = nodes[node].calls.saturating_add(record.calls);
            metric::add(&mut nodes[node].metrics, &record.metrics);
            nodes[node].paths.extend_from_slice(&record.paths);
            normalize_paths(&mut nodes[node].paths);
            nodes[node].unfinished.extend_from_slice(&record.unfinished);
            normalize_unfinished(&mut nodes[node].unfinished);
            of_record.push(node);
        }
        (nodes, of_record)
    }
}

/// Returns the nodes in depth-first order, siblings by site and routine, and the position of each node.
fn depth_first(nodes: &[CallRecord]) -> (Vec<usize>, Vec<u32>) {
    let mut children = vec![Vec::new(); nodes.len()];
    for (index, node) in nodes.iter().enumerate().skip(1) {
        children[node.parent as usize].push(index);
    }
    let (mut order, mut position) = (Vec::with_capacity(nodes.len()), vec![0; nodes.len()]);
    let mut pending = vec![0];
    while let Some(next) = pending.pop() {
        position[next] = order.len() as u32;
        order.push(next);
        let mut below = std::mem::take(&mut children[next]);
        below.sort_unstable_by_key(|&child| std::cmp::Reverse((nodes[child].site, nodes[child].routine)));
        pending.append(&mut below);
    }
    (order, position)
}
