//! The `try`s of functions that ran: how often each was entered, and the exceptions that it caught.
//!
//! Input: a module, and the profile of one of its functions. Output: the function's `try`s in which something may throw.
//! Invariant: all figures follow from the counts of blocks and edges, so they are as exact as these; an entry catches at
//! most once.

use wprof::Module;
use wprof_jit::cfg::{self, Clause, Try};
use wprof_profiler::{EdgeKind, FunctionProfile};

use crate::names;

/// A `try` with its figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The byte offset of the instruction in the module.
    pub at: u32,
    /// The number of times the `try` was entered.
    pub entered: u64,
    /// The exceptions that its handlers caught; none if edges were not counted.
    pub caught: Option<Vec<Caught>>,
}

/// The exceptions that a handler caught.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caught {
    /// The tag, as it is shown; or "all".
    pub tag: String,
    /// The number of exceptions.
    pub count: u64,
}

impl Tried {
    fn new(module: &Module, function: &FunctionProfile, found: &Try) -> Tried {
        let counts = function.block_counts();
        let begun = counts.get(found.block as usize).copied().unwrap_or(0);
        let here = function.exits.iter().filter(|exit| exit.block.0 == found.block);
        let before = here.filter(|exit| exit.ops_executed <= found.ops).map(|exit| exit.count);
        let count = |clause: &Clause| {
            let counts = clause.edges.iter().filter_map(|&edge| function.edge_count(edge));
            counts.fold(0, u64::saturating_add)
        };
        let caught = |clause: &Clause| Caught { tag: tag(module, clause.tag), count: count(clause) };
        Tried {
            at: found.at,
            entered: begun.saturating_sub(before.fold(0, u64::saturating_add)),
            caught: function.has_edge_counts().then(|| found.clauses.iter().map(caught).collect()),
        }
    }

    /// Returns how often it caught something, if that is known.
    pub fn caught_in_all(&self) -> Option<u64> {
        Some(self.caught.as_ref()?.iter().map(|caught| caught.count).fold(0, u64::saturating_add))
    }
}

/// Returns the `try`s of a function by ascending offset; none if the module's function is another one.
pub fn of_function(module: &Module, function: &FunctionProfile) -> Vec<Tried> {
    let catches = |kind: EdgeKind| matches!(kind, EdgeKind::Catch(_) | EdgeKind::CatchAll);
    if !function.edges.iter().any(|edge| catches(edge.kind)) {
        return Vec::new();
    }
    let info = module.info();
    let is_its = |cfg: &cfg::Cfg| cfg.shape().fingerprint() == function.fingerprint;
    let Some(cfg) = cfg::build(info, function.index).ok().filter(is_its) else { return Vec::new() };
    let found = cfg::tries(info, &cfg).unwrap_or_default();
    found.iter().map(|found| Tried::new(module, function, found)).collect()
}

fn tag(module: &Module, tag: Option<u32>) -> String {
    tag.map_or_else(|| "all".to_owned(), |tag| names::harmless(&module.info().tag_name(tag)))
}
