//! The threads of a program.
//!
//! Input: the profile of each thread. Output: a table of what each did, which goes along when profiles are added up;
//! and on request trees that have threads at their roots.
//! Invariant: threads are ascending by number, and those with one number are one: its runs are added up. The trees of
//! the threads add up to the profile's own, and their functions to the profile's.
//! Oracle: `tests/it/threads.rs`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Profile;
use crate::contexts::MOST_THREADS;
use crate::counts::metric;
use crate::{
    CallRecord, Callee, ContextLog, ContextTree, INSTRUCTIONS, Metric, Routine, TimeLog, TimeProfile, Timed,
};

/// The figures of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadProfile {
    /// The thread's number; that of the main thread is 0, and [`Self::MOST`] stands for all threads from there on.
    pub number: u32,
    /// Its processor time, in nanoseconds, without waiting.
    pub cpu_ns: u64,
    /// The functions that it called, ascending by index.
    pub functions: Vec<ThreadFunction>,
    /// Its sampled time, if a timer has sampled it.
    pub time: Option<TimeProfile>,
    /// Its calling contexts, if they were counted, without paths: what these say of instructions is a metric.
    pub contexts: Option<ContextTree>,
}

/// The figures of a thread in a function. Their kind is that of the whole function's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadFunction {
    /// Index of the function.
    pub index: u32,
    /// Number of its calls.
    pub calls: u64,
    /// Number of instructions executed in it.
    pub ops: u64,
}

impl ThreadProfile {
    /// The number that threads share from this one on: a program may start any number of threads, one after another.
    pub const MOST: u32 = MOST_THREADS;

    /// Creates the row of a thread from its profile.
    pub fn new(number: u32, cpu_ns: u64, profile: &Profile) -> Self {
        let function = |function: &super::FunctionProfile| ThreadFunction {
            index: function.index,
            calls: function.calls(),
            ops: function.ops(),
        };
        let ran = profile.functions.iter().map(function).filter(|function| function.calls + function.ops > 0);
        Self {
            number: number.min(Self::MOST),
            cpu_ns,
            functions: ran.collect(),
            time: profile.time.clone(),
            contexts: contexts_without_paths(profile),
        }
    }

    /// Returns the time that was sampled; none if no timer sampled the thread.
    pub fn sampled(&self) -> Option<Timed> {
        self.time.as_ref().map(TimeProfile::total)
    }

    /// Returns the instructions that the thread executed, as far as they were counted; saturates.
    pub fn ops(&self) -> u64 {
        self.functions.iter().map(|function| function.ops).fold(0, u64::saturating_add)
    }

    /// Returns the calls of functions in the thread, as far as they were counted; saturates.
    pub fn calls(&self) -> u64 {
        self.functions.iter().map(|function| function.calls).fold(0, u64::saturating_add)
    }

    /// Adds the figures of the thread with this number in another run.
    fn add(&mut self, other: &Self) {
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
        self.functions.extend_from_slice(&other.functions);
        self.functions.sort_by_key(|function| function.index);
        self.functions.dedup_by(|next, kept| {
            let is_same = next.index == kept.index;
            if is_same {
                kept.calls = kept.calls.saturating_add(next.calls);
                kept.ops = kept.ops.saturating_add(next.ops);
            }
            is_same
        });
        self.time = self.time.as_ref().zip(other.time.as_ref()).map(|(ours, theirs)| ours.merged(theirs));
        let both = self.contexts.as_ref().zip(other.contexts.as_ref());
        self.contexts = both.map(|(ours, theirs)| ours.merged(theirs));
    }

    /// Reports whether the functions are in order.
    pub(super) fn is_sorted(&self) -> bool {
        self.functions.is_sorted_by(|a, b| a.index < b.index)
    }
}

/// Returns the calling contexts of a profile with the instructions of their paths as a metric.
fn contexts_without_paths(profile: &Profile) -> Option<ContextTree> {
    let mut tree = profile.contexts.clone()?;
    let instructions = profile.instructions_in_contexts().filter(|_| tree.instructions().is_none());
    for record in &mut tree.records {
        (record.paths, record.unfinished) = (Vec::new(), Vec::new());
    }
    tree.has_paths = false;
    if let Some(own) = instructions {
        let at = tree.metrics.partition_point(|metric| metric.name.as_str() < INSTRUCTIONS);
        tree.metrics.insert(at, Metric { name: INSTRUCTIONS.to_owned(), taken_off: 0 });
        tree.records.iter_mut().zip(own).for_each(|(record, ops)| record.metrics.insert(at, ops));
    }
    Some(tree)
}

/// Returns the threads of both lists, which are in order; those with one number are added up. Without one of the lists
/// nothing is known of the threads of both.
pub(super) fn merged(ours: &[ThreadProfile], theirs: &[ThreadProfile]) -> Vec<ThreadProfile> {
    if ours.is_empty() || theirs.is_empty() {
        return Vec::new();
    }
    let mut all: BTreeMap<u32, ThreadProfile> = BTreeMap::new();
    for thread in ours.iter().chain(theirs) {
        match all.get_mut(&thread.number) {
            Some(sum) => sum.add(thread),
            None => drop(all.insert(thread.number, thread.clone())),
        }
    }
    all.into_values().collect()
}

impl Profile {
    /// Reports whether the program ran on several threads, and the profile tells them apart.
    pub fn has_threads(&self) -> bool {
        self.threads.len() > 1
    }

    /// Returns the profile with the threads as the outermost callers in the calling contexts and in the sampled stacks;
    /// `None` if it does not tell threads apart. Without calling contexts, each thread calls the functions that it ran.
    pub fn by_thread(&self) -> Option<Self> {
        self.has_threads().then(|| Self {
            time: self.time.as_ref().map(|time| self.time_by_thread(time)),
            contexts: match &self.contexts {
                Some(contexts) => Some(self.contexts_by_thread(contexts)),
                None => self.functions_by_thread(),
            },
            ..self.clone()
        })
    }

    fn time_by_thread(&self, whole: &TimeProfile) -> TimeProfile {
        let mut log = TimeLog::new(whole.rate);
        (log.lost, log.squares) = (whole.lost, whole.squares);
        for (thread, time) in self.threads.iter().filter_map(|thread| Some((thread, thread.time.as_ref()?))) {
            let root = log.add(None, (&root_of(thread), 0, false), Timed::default());
            log.add_tree_below(Some(root), time);
        }
        log.tree()
    }

    fn contexts_by_thread(&self, whole: &ContextTree) -> ContextTree {
        let trees = self.threads.iter().filter_map(|thread| Some((thread, thread.contexts.as_ref()?)));
        let mut metrics = trees.clone().map(|(_, tree)| tree.metrics.clone());
        let first = metrics.next().unwrap_or_default();
        let mut log = ContextLog {
            metrics: metrics.fold(first, |known, more| metric::merged(&known, &more)),
            merges_sites: whole.merges_sites,
            kind: whole.kind,
            ..ContextLog::default()
        };
        log.routines.push(Routine { callee: Callee::Root, sites: Vec::new() });
        log.records.push(record(0, 0, &log.metrics));
        for (thread, tree) in trees {
            let root = log.records.len();
            log.add_tree(tree);
            // The root of the thread's tree becomes a record below the root of all.
            (log.records[root].routine, log.records[root].parent) = (log.routines.len() as u32, 0);
            log.routines.push(Routine { callee: root_of(thread), sites: Vec::new() });
        }
        log.tree()
    }

    /// Returns a tree in which each thread calls the functions that it ran, with their instructions. Which thread
    /// called the host is not known.
    fn functions_by_thread(&self) -> Option<ContextTree> {
        let first = self.functions.first()?;
        let metrics = vec![Metric { name: INSTRUCTIONS.to_owned(), taken_off: 0 }];
        let mut log = ContextLog { metrics, kind: first.kind, ..ContextLog::default() };
        log.routines.push(Routine { callee: Callee::Root, sites: Vec::new() });
        log.records.push(record(0, 0, &log.metrics));
        for thread in &self.threads {
            let root = log.records.len() as u32;
            log.records.push(record(log.routines.len() as u32, 0, &log.metrics));
            log.routines.push(Routine { callee: root_of(thread), sites: Vec::new() });
            for &ThreadFunction { index, calls, ops } in &thread.functions {
                let name = self.function(index).and_then(|function| function.name.clone());
                let routine = log.routines.len() as u32;
                log.routines.push(Routine { callee: Callee::Function { index, name }, sites: Vec::new() });
                log.records.push(CallRecord {
                    calls,
                    metrics: vec![ops],
                    ..record(routine, root, &log.metrics)
                });
            }
        }
        // A tree has counts of one kind.
        for calls in self.host_calls.iter().filter(|calls| calls.kind == first.kind) {
            let (module, name) = (calls.module.clone(), calls.name.clone());
            let routine = log.routines.len() as u32;
            log.routines.push(Routine { callee: Callee::Host { module, name }, sites: Vec::new() });
            log.records.push(CallRecord { calls: calls.count, ..record(routine, 0, &log.metrics) });
        }
        Some(log.tree())
    }
}

fn root_of(thread: &ThreadProfile) -> Callee {
    Callee::Thread { number: thread.number }
}

fn record(routine: u32, parent: u32, metrics: &[Metric]) -> CallRecord {
    CallRecord {
        routine,
        parent,
        site: 0,
        calls: 0,
        back_edges: Vec::new(),
        metrics: vec![0; metrics.len()],
        paths: Vec::new(),
        unfinished: Vec::new(),
    }
}
