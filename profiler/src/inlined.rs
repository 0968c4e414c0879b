//! Adds frames for inlined source functions.
//!
//! Input: a profile, and the inlined functions at each code offset, innermost first. Output: the same profile, whose
//! contexts and sampled stacks have an [`Inlined`](Callee::Inlined) frame between a function and what is called, or
//! executed, in code that was inlined into it.
//! Invariant: totals are unchanged, and so are the inclusive figures of frames that are not inlined. How often an
//! inlined function was entered is unknown, so it has no calls. An inlined function that is already on the path is
//! not repeated.

use std::collections::HashMap;

use crate::{BackEdge, CallRecord, Callee, ContextLink, ContextLog, ContextTree, Routine};
use crate::{Profile, TimeLog, TimeProfile, Timed};

impl Profile {
    /// Returns the profile with frames for inlined functions. `inlined` returns the inlined functions at an offset,
    /// innermost first, without the function that contains the code.
    #[must_use]
    pub fn with_inlined(&self, mut inlined: impl FnMut(u32) -> Vec<String>) -> Self {
        let contexts = self.contexts.as_ref().map(|tree| tree.with_inlined(&mut inlined));
        let time = self.time.as_ref().map(|time| time.with_inlined(&mut inlined));
        Self { contexts, time, ..self.clone() }
    }
}

impl TimeProfile {
    fn with_inlined(&self, inlined: &mut impl FnMut(u32) -> Vec<String>) -> Self {
        let mut log = TimeLog::new(self.rate);
        (log.lost, log.squares) = (self.lost, self.squares);
        let mut innermost: Vec<u32> = Vec::with_capacity(self.nodes.len());
        for (at, node) in self.nodes.iter().enumerate() {
            let callee = self.callee(at);
            let names = if is_ours(callee) { inlined(node.offset) } else { Vec::new() };
            let caller = node.caller.map(|caller| innermost[caller as usize]);
            let mut found = log.add(caller, (callee, node.offset, node.is_inlined), Timed::default());
            for name in names.into_iter().rev() {
                found =
                    log.add(Some(found), (&Callee::Inlined { name }, node.offset, true), Timed::default());
            }
            log.add_time(found, node.own);
            innermost.push(found);
        }
        log.tree()
    }
}

impl ContextTree {
    /// Without call sites nothing tells where in its caller a call was inlined: the tree stays.
    fn with_inlined(&self, inlined: &mut impl FnMut(u32) -> Vec<String>) -> Self {
        if self.merges_sites {
            return self.clone();
        }
        let log = ContextLog {
            routines: self.routines.clone(),
            metrics: self.metrics.clone(),
            has_paths: self.has_paths,
            kind: self.kind,
            ..ContextLog::default()
        };
        let mut builder = Builder { log, numbers: HashMap::new() };
        let mut number: Vec<u32> = Vec::with_capacity(self.records.len());
        for (index, record) in (0..).zip(&self.records) {
            let mut parent = number.get(record.parent as usize).copied().unwrap_or(0);
            if index != Self::ROOT && is_ours(self.callee(record.parent)) {
                for name in inlined(record.site).into_iter().rev() {
                    parent = builder.inlined(parent, record.site, name);
                }
            }
            number.push(builder.log.records.len() as u32);
            builder.log.records.push(CallRecord { parent, back_edges: Vec::new(), ..record.clone() });
        }
        for (record, &from) in self.records.iter().zip(&number) {
            let link = |edge: &BackEdge| ContextLink { from, site: edge.site, to: number[edge.to as usize] };
            builder.log.links.extend(record.back_edges.iter().map(link));
        }
        builder.log.tree()
    }
}

struct Builder {
    log: ContextLog,
    /// By name: the routine of the inlined function.
    numbers: HashMap<String, u32>,
}

impl Builder {
    /// Returns the record of an inlined function within a record's code, and adds a call site to its routine.
    fn inlined(&mut self, parent: u32, site: u32, name: String) -> u32 {
        let routines = &mut self.log.routines;
        let routine = *self.numbers.entry(name).or_insert_with_key(|name| {
            routines.push(Routine { callee: Callee::Inlined { name: name.clone() }, sites: Vec::new() });
            routines.len() as u32 - 1
        });
        let mut at = parent;
        while at != ContextTree::ROOT {
            if self.log.records[at as usize].routine == routine {
                return parent;
            }
            at = self.log.records[at as usize].parent;
        }
        self.log.routines[routine as usize].sites.push(site);
        let metrics = vec![0; self.log.metrics.len()];
        let (back_edges, paths, unfinished) = (Vec::new(), Vec::new(), Vec::new());
        let record =
            CallRecord { routine, parent, site: 0, calls: 0, back_edges, metrics, paths, unfinished };
        self.log.records.push(record);
        self.log.records.len() as u32 - 1
    }
}

fn is_ours(callee: &Callee) -> bool {
    matches!(callee, Callee::Function { .. })
}
