//! Compares the call targets of two profiles of one module.
//!
//! Input: two profiles, each with calling contexts, from which all call targets follow, or with a list of the targets
//! of indirect calls, which takes precedence. Output: the calls by call site and callee. If a profile has a list,
//! only the call sites in the list are compared.

use std::collections::{BTreeMap, BTreeSet};

use super::Change;
use crate::{CallTarget, Callee, ContextTree, Profile};

/// The calls of one callee from one call site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallTargetChange {
    /// The caller.
    pub caller: Callee,
    /// Byte offset of the call instruction in the caller's module.
    pub site: u32,
    /// The callee.
    pub callee: Callee,
    /// Number of calls.
    pub calls: Change,
}

/// Caller, call site and callee.
type Key = (Callee, u32, Callee);

/// Returns the calls by call site and callee, largest change first.
pub(super) fn changes(before: &Profile, after: &Profile) -> Vec<CallTargetChange> {
    let mut sums: BTreeMap<Key, Change> = BTreeMap::new();
    for (key, calls) in calls(before) {
        let sum = &mut sums.entry(key).or_default().before;
        *sum = sum.saturating_add(calls);
    }
    for (key, calls) in calls(after) {
        let sum = &mut sums.entry(key).or_default().after;
        *sum = sum.saturating_add(calls);
    }
    if let Some(sites) = compared_sites(before, after) {
        sums.retain(|(caller, site, _), _| sites.contains(&(caller.clone(), *site)));
    }
    let change =
        |((caller, site, callee), calls): (Key, Change)| CallTargetChange { caller, site, callee, calls };
    let mut changes: Vec<CallTargetChange> = sums.into_iter().map(change).collect();
    changes.sort_by_key(|change| change.calls.rank());
    changes
}

/// Returns the call sites that both profiles cover; `None` if both cover all.
fn compared_sites(before: &Profile, after: &Profile) -> Option<BTreeSet<(Callee, u32)>> {
    let narrow = [before, after].into_iter().filter(|profile| contexts(profile).is_none());
    let sites = narrow.map(|profile| calls(profile).into_iter().map(|((caller, site, _), _)| (caller, site)));
    sites.map(Iterator::collect).reduce(|all: BTreeSet<_>, more| &all | &more)
}

fn calls(profile: &Profile) -> Vec<(Key, u64)> {
    match contexts(profile) {
        Some(tree) => calls_in(tree),
        None => profile.call_targets.iter().map(|target| listed(profile, target)).collect(),
    }
}

/// Returns the calling contexts, if the profile has no list of call targets.
fn contexts(profile: &Profile) -> Option<&ContextTree> {
    profile.contexts.as_ref().filter(|_| profile.call_targets.is_empty())
}

fn calls_in(tree: &ContextTree) -> Vec<(Key, u64)> {
    let records = tree.records.iter().zip(0..).skip(1);
    let key = |parent: u32, site, index| (tree.callee(parent).clone(), site, tree.callee(index).clone());
    records.map(|(record, index)| (key(record.parent, record.site, index), record.calls)).collect()
}

fn listed(profile: &Profile, target: &CallTarget) -> (Key, u64) {
    let name = profile.function(target.caller).and_then(|function| function.name.clone());
    let caller = Callee::Function { index: target.caller, name };
    ((caller, target.site, target.callee.clone()), target.count)
}
