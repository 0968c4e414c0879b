//! Sampled stacks as a calling context tree, for whoever shows contexts.
//!
//! Invariant: the time of all records is all time. A call of what is already on the way leads back to its record, as in
//! all context trees; so what is between a function and its recursive call is without the time of that.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::TimeProfile;
use crate::{CallRecord, Callee, ContextLink, ContextLog, ContextTree, Metric, Routine};

/// What the only metric of such a tree is called; it is in nanoseconds.
const METRIC: &str = "time";

impl TimeProfile {
    /// The contexts, with the time in each as their only metric; how often they were called is not known, and 0.
    pub fn contexts(&self) -> ContextTree {
        let mut log = ContextLog {
            metrics: vec![Metric { name: METRIC.to_owned(), taken_off: 0 }],
            ..Default::default()
        };
        log.routines = self.routines_with_sites();
        log.records.push(record(0, 0, 0));
        let mut of_node: Vec<u32> = Vec::with_capacity(self.nodes.len());
        let mut known: HashMap<(u32, u32, u32), u32> = HashMap::new();
        for node in &self.nodes {
            let routine = node.callee + 1;
            let is_inlined = matches!(self.callees[node.callee as usize], Callee::Inlined { .. });
            let (parent, site) = match node.caller {
                // What is inlined is one context, whichever of its instructions was seen.
                Some(caller) if is_inlined => (of_node[caller as usize], 0),
                Some(caller) => (of_node[caller as usize], self.site(caller)),
                None => (0, 0),
            };
            let found = match on_the_way(&log.records, parent, routine) {
                Some(to) => {
                    log.links.push(ContextLink { from: parent, site, to });
                    to
                }
                None => *known.entry((parent, site, routine)).or_insert_with(|| {
                    log.records.push(record(routine, parent, site));
                    log.records.len() as u32 - 1
                }),
            };
            let time = &mut log.records[found as usize].metrics[0];
            *time = time.saturating_add(node.own.time_ns);
            of_node.push(found);
        }
        log.tree()
    }

    /// Where a node calls; 0 if it has no call sites.
    fn site(&self, caller: u32) -> u32 {
        if has_code(self.callee(caller as usize)) { self.nodes[caller as usize].offset } else { 0 }
    }

    /// The root, then what runs, each with the places where it calls.
    fn routines_with_sites(&self) -> Vec<Routine> {
        let mut sites: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for caller in self.nodes.iter().filter_map(|node| node.caller) {
            let caller = &self.nodes[caller as usize];
            sites.entry(caller.callee).or_default().insert(caller.offset);
        }
        let routine = |(callee, number): (&Callee, u32)| {
            let sites = sites.remove(&number).filter(|_| has_code(callee)).unwrap_or_default();
            Routine { callee: callee.clone(), sites: sites.into_iter().collect() }
        };
        let root = Routine { callee: Callee::Root, sites: Vec::new() };
        std::iter::once(root).chain(self.callees.iter().zip(0..).map(routine)).collect()
    }
}

/// Whether it is a function with call sites.
fn has_code(callee: &Callee) -> bool {
    matches!(callee, Callee::Function { .. } | Callee::Elsewhere { .. } | Callee::Inlined { .. })
}

fn record(routine: u32, parent: u32, site: u32) -> CallRecord {
    let (paths, unfinished, back_edges) = (Vec::new(), Vec::new(), Vec::new());
    CallRecord { routine, parent, site, calls: 0, back_edges, metrics: vec![0], paths, unfinished }
}

/// The record of a routine among a record and those above it.
fn on_the_way(records: &[CallRecord], mut at: u32, routine: u32) -> Option<u32> {
    while at != 0 {
        if records[at as usize].routine == routine {
            return Some(at);
        }
        at = records[at as usize].parent;
    }
    None
}
