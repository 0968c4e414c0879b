//! The calling context tree: the number of calls of each function, by the chain of its callers.
//!
//! Input: the call records of a run, in any order that has parents first. Output: a canonical tree that can be merged,
//! verified, measured, and walked from either end.
//! Invariant: [`ContextTree::verify`]. A function occurs once on each path from the root: a call of a function that is
//! already on the path leads back to its record, so the depth is at most the number of functions. Two trees with the
//! same contexts and counts are equal.
//! Source: Ammons, Ball & Larus 1997, section 4, with call sites distinguished, or merged (section 4.1) to save space:
//! then the tree is [`ContextTree::with_sites_merged`] of the other. A tail call is a call like any other:
//! its callee is a child of the record whose frame it replaces, since control came from there.
//! Oracle: `tests/it/contexts.rs`, and against traces of whole runs `spec-tests/tests/contexts.rs`.
//!
//! Example: `main` calls `f` at 10 and at 20, and `f` itself at 30, once each time:
//!
//! ```text
//! root
//!   main            1 call
//!     f (at 10)     2 calls, and a back edge from 30 to this record
//!     f (at 20)     2 calls, and a back edge from 30 to this record
//! ```

mod build;
mod call_edges;
mod callers;
mod pruned;
mod stacks;
mod stats;
mod totals;
mod verify;
mod walk;

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::counts::metric;
use crate::{FigureKind, INSTRUCTIONS, Metric, PathCount, UnfinishedPath};
pub use build::{ContextLink, ContextLog};
pub use call_edges::CallEdge;
pub use callers::CallerRow;
pub use stacks::{Stack, Stacks};
pub use stats::{CALLEE_SLOT_BYTES, ContextStats, RECORD_HEAD_BYTES};
pub use totals::{CallPlace, Total};
pub use verify::InvalidContexts;
pub use walk::ContextRow;

/// The number that threads share from this one on: a program may start any number of threads, one after another.
pub(crate) const MOST_THREADS: u32 = 256;

/// A calling context tree with its counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextTree {
    /// The called routines, ascending; the first is [`Callee::Root`].
    pub routines: Vec<Routine>,
    /// The root, then the other records in depth-first order, siblings by call site and routine.
    pub records: Vec<CallRecord>,
    /// The measured metrics, ascending by name: the columns of the records' figures. Stored separately.
    #[serde(skip)]
    pub metrics: Vec<Metric>,
    /// Whether each context counted its paths separately.
    #[serde(skip)]
    pub has_paths: bool,
    /// Whether a record has the calls of one callee from all call sites of its caller. Then no call has a site (the
    /// sites of records and recursive calls are 0), and a routine's sites are the first call of each callee slot.
    /// Stored separately.
    #[serde(skip)]
    pub merges_sites: bool,
    /// The kind of the figures: exact, sampled, or other. Sampled trees count the calls that began in a burst, in the
    /// context of that moment. Stored separately.
    #[serde(skip)]
    pub kind: FigureKind,
}

/// A callable entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Routine {
    /// The callee.
    pub callee: Callee,
    /// Byte offset in its module of each call that it may make, ascending; empty for host functions.
    pub sites: Vec<u32>,
}

/// The subject of a call record.
///
/// Stored by position: append only.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Callee {
    /// No function: the host's entry into the program.
    Root,
    /// A function of the profile's module, in the profiled instance.
    Function {
        /// Its index.
        index: u32,
        /// Its name, if the module has one for it.
        name: Option<String>,
    },
    /// A function of another instance in the same store.
    Elsewhere {
        /// Number of the instance in its store.
        instance: u32,
        /// Index of the function in that instance's module.
        index: u32,
        /// Its name.
        name: Option<String>,
    },
    /// A function of the host; with empty names if it has none.
    Host {
        /// Module it was imported from.
        module: String,
        /// Name it was imported by.
        name: String,
    },
    /// No function: the parent, one per function, of the records of calls in contexts for which memory ran out, and of
    /// sampled calls below more frames than a burst could inspect. In sampled time also the callers that were left out of
    /// the middle of a deep stack.
    Beyond,
    /// The engine itself, such as its compiler while the program waits for code; only in sampled time.
    Engine,
    /// A source function whose code is inlined into its caller; only in trees from
    /// [`Profile::with_inlined`](crate::Profile::with_inlined).
    Inlined {
        /// Its name in the debug information.
        name: String,
    },
    /// A thread of the program, which calls what it runs; only in trees from
    /// [`Profile::by_thread`](crate::Profile::by_thread).
    Thread {
        /// Its number; that of the main thread is 0.
        number: u32,
    },
    /// The garbage collector, while the program waits for it; only in sampled time.
    Collector,
}

/// Writes the stored name of the callee; a description in angle brackets replaces a missing name.
impl fmt::Display for Callee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("<the host>"),
            Self::Function { index, name } => f.write_str(&function_name(*index, name.as_deref())),
            Self::Elsewhere { instance, index, name } => {
                write!(f, "{} of instance {instance}", function_name(*index, name.as_deref()))
            }
            Self::Host { module, name } if module.is_empty() && name.is_empty() => {
                f.write_str("<host function>")
            }
            Self::Host { module, name } => write!(f, "{module}::{name}"),
            Self::Beyond => f.write_str("<unknown callers>"),
            Self::Engine => f.write_str("<wprof itself>"),
            Self::Inlined { name } => f.write_str(name),
            Self::Thread { number: 0 } => f.write_str("<main thread>"),
            Self::Thread { number: MOST_THREADS } => write!(f, "<threads from {MOST_THREADS} on>"),
            Self::Thread { number } => write!(f, "<thread {number}>"),
            Self::Collector => f.write_str("<garbage collector>"),
        }
    }
}

/// Returns the name of a function, or the name that browsers give to a function without one.
pub(crate) fn function_name(index: u32, name: Option<&str>) -> Cow<'_, str> {
    name.map_or_else(|| format!("wasm-function[{index}]").into(), Cow::from)
}

/// The counts of one function in one context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The called routine, an index into the routines.
    pub routine: u32,
    /// The caller's record; the root's own is 0.
    pub parent: u32,
    /// Byte offset of the call in the caller's module; 0 if the caller has no call sites.
    pub site: u32,
    /// Number of calls in this context, including recursive calls that lead back here.
    pub calls: u64,
    /// Calls of functions on the path from the root to this record, ascending.
    pub back_edges: Vec<BackEdge>,
    /// The function's own measurements, without its callees, by metric of the tree. Stored separately.
    #[serde(skip)]
    pub metrics: Vec<u64>,
    /// The finished paths in this context, ascending by number, if counted; their figures are
    /// by metric of the profile. Stored separately.
    #[serde(skip)]
    pub paths: Vec<PathCount>,
    /// The unfinished paths, ascending by place and prefix of the exit. Stored separately.
    #[serde(skip)]
    pub unfinished: Vec<UnfinishedPath>,
}

/// A recursive call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BackEdge {
    /// Byte offset of the call; 0 if the caller has no call sites.
    pub site: u32,
    /// The record that the call leads to: the caller's own or an ancestor.
    pub to: u32,
}

impl ContextTree {
    /// The root's number.
    pub const ROOT: u32 = 0;

    /// Returns the callee of a record.
    ///
    /// # Panics
    /// Panics if there is no such record.
    pub fn callee(&self, record: u32) -> &Callee {
        &self.routines[self.records[record as usize].routine as usize].callee
    }

    /// Returns the number of calls by record.
    pub fn calls(&self) -> Vec<u64> {
        self.records.iter().map(|record| record.calls).collect()
    }

    /// Returns the figures of one metric by record.
    pub fn amounts(&self, column: usize) -> Vec<u64> {
        self.records.iter().map(|record| record.metrics.get(column).copied().unwrap_or(0)).collect()
    }

    /// Returns the counted instructions by record, if counted: in bursts, or as events.
    pub fn instructions(&self) -> Option<Vec<u64>> {
        let column = self.metrics.iter().position(|metric| metric.name == INSTRUCTIONS)?;
        Some(self.amounts(column))
    }

    /// Reports whether the callers of some calls are unknown: see [`Callee::Beyond`].
    pub fn is_cut(&self) -> bool {
        self.routines.iter().any(|routine| routine.callee == Callee::Beyond)
    }

    /// Returns the tree in which the calls of one callee from all call sites of its caller are one record. The call
    /// sites of routines stay.
    #[must_use]
    pub fn with_sites_merged(&self) -> Self {
        let mut log = ContextLog { metrics: self.metrics.clone(), ..ContextLog::default() };
        (log.has_paths, log.kind, log.merges_sites) = (self.has_paths, self.kind, true);
        log.add_tree(self);
        log.tree()
    }

    /// Returns the sum of two trees of one module, with the metrics that both have; counts saturate. If only one of
    /// them has call sites merged, the sum has too.
    #[must_use]
    pub fn merged(&self, other: &Self) -> Self {
        let mut log =
            ContextLog { metrics: metric::merged(&self.metrics, &other.metrics), ..ContextLog::default() };
        log.has_paths = self.has_paths && other.has_paths;
        log.merges_sites = self.merges_sites || other.merges_sites;
        log.kind = self.kind.merged(other.kind);
        log.add_tree(self);
        log.add_tree(other);
        log.tree()
    }
}
