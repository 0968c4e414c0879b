//! Converts sampled stacks to a calling context tree, for tools that show contexts.
//!
//! Invariant: the times of all records add up to the total time. A call of a routine that is already on the path
//! leads back to its record, as in all calling context trees; records between a function and its recursive call
//! therefore exclude that call's time.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::TimeProfile;
use crate::{CallRecord, Callee, ContextLink, ContextLog, ContextTree, Metric, Routine};

/// Name of the only metric of the tree, which is in nanoseconds.
const METRIC: &str = "time";

impl TimeProfile {
    /// Returns the contexts with the time in each as their only metric. How often they were called is unknown, and
    /// given as 0.
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
                // An inlined function is one context, whichever of its instructions was sampled.
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

    /// Returns the call site of a node; 0 if it has none.
    fn site(&self, caller: u32) -> u32 {
        if has_code(self.callee(caller as usize)) { self.nodes[caller as usize].offset } else { 0 }
    }

    /// Returns the root, then the routines that run, each with its call sites.
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

/// Reports whether a routine is a function with call sites.
fn has_code(callee: &Callee) -> bool {
    matches!(callee, Callee::Function { .. } | Callee::Elsewhere { .. } | Callee::Inlined { .. })
}

fn record(routine: u32, parent: u32, site: u32) -> CallRecord {
    let (paths, unfinished, back_edges) = (Vec::new(), Vec::new(), Vec::new());
    CallRecord { routine, parent, site, calls: 0, back_edges, metrics: vec![0], paths, unfinished }
}

/// Returns the record of a routine on the path from a record up to the root.
fn on_the_way(records: &[CallRecord], mut at: u32, routine: u32) -> Option<u32> {
    while at != 0 {
        if records[at as usize].routine == routine {
            return Some(at);
        }
        at = records[at as usize].parent;
    }
    None
}
