//! The section of threads.
//!
//! A calling context tree is stored without its kind and its figures, which have sections of their own for the whole
//! program; for threads they stand beside it.

use serde::{Deserialize, Serialize};

use super::{FileError, add_context_figures};
use crate::{ContextTree, FigureKind, Metric, ThreadFunction, ThreadProfile, TimeProfile};

/// A thread in the section `THRD`.
#[derive(Serialize, Deserialize)]
pub(super) struct ThreadRow {
    number: u32,
    cpu_ns: u64,
    functions: Vec<ThreadFunction>,
    time: Option<TimeProfile>,
    contexts: Option<Contexts>,
}

#[derive(Serialize, Deserialize)]
struct Contexts {
    tree: ContextTree,
    kind: FigureKind,
    merges_sites: bool,
    metrics: Vec<Metric>,
    /// By record.
    figures: Vec<Vec<u64>>,
}

impl ThreadRow {
    pub(super) fn new(thread: &ThreadProfile) -> Self {
        let contexts = |tree: &ContextTree| Contexts {
            tree: tree.clone(),
            kind: tree.kind,
            merges_sites: tree.merges_sites,
            metrics: tree.metrics.clone(),
            figures: tree.records.iter().map(|record| record.metrics.clone()).collect(),
        };
        let ThreadProfile { number, cpu_ns, functions, time, contexts: tree } = thread;
        Self {
            number: *number,
            cpu_ns: *cpu_ns,
            functions: functions.clone(),
            time: time.clone(),
            contexts: tree.as_ref().map(contexts),
        }
    }

    pub(super) fn into_thread(self) -> Result<ThreadProfile, FileError> {
        let Self { number, cpu_ns, functions, time, contexts } = self;
        Ok(ThreadProfile {
            number,
            cpu_ns,
            functions,
            time,
            contexts: contexts.map(Contexts::tree).transpose()?,
        })
    }
}

impl Contexts {
    fn tree(self) -> Result<ContextTree, FileError> {
        let Self { mut tree, kind, merges_sites, metrics, figures } = self;
        (tree.kind, tree.merges_sites) = (kind, merges_sites);
        add_context_figures(Some(&mut tree), metrics, figures)?;
        Ok(tree)
    }
}
