//! Call targets: the functions that an indirect call reaches.
//!
//! Source: compilation-hints, `call_targets`: pairs of a function and its percentage of the calls; the difference from
//! 100 went elsewhere. Functions of the host or of other instances have no index in the module, so their calls are part
//! of that difference. Calling contexts do not always tell how often a recursive call was made: then its site gets no
//! hint. The profile's own call targets, which bursts record, are more accurate than sampled contexts, and so take
//! precedence.

use std::collections::{BTreeMap, BTreeSet};

use wprof_profiler::{Callee, ContextTree, Profile};

use super::section::write_u32;
use super::{IndirectCalls, MetadataSection, Profiled};
use crate::CompileError;
use crate::cfg::{Call, Operators};
use crate::module::ModuleInfo;

/// Returns the section; empty if no calls are known.
pub(super) fn section(
    info: &ModuleInfo,
    profile: &Profile,
    functions: &[Profiled<'_>],
) -> Result<MetadataSection, CompileError> {
    let mut section = MetadataSection::new("metadata.code.call_targets");
    let known = KnownCalls::new(profile);
    for function in functions {
        for site in indirect_sites(info, function)? {
            let payload = known.at(function, site).map(payload).unwrap_or_default();
            if !payload.is_empty() {
                section.add(function.profile.index, site - function.start, payload);
            }
        }
    }
    Ok(section)
}

/// Returns the targets of the indirect calls of functions, as far as known.
pub(super) fn indirect_calls(
    info: &ModuleInfo,
    profile: &Profile,
    functions: &[Profiled<'_>],
) -> Result<Vec<IndirectCalls>, CompileError> {
    let (known, mut found) = (KnownCalls::new(profile), Vec::new());
    for function in functions {
        for site in indirect_sites(info, function)? {
            let Some(targets) = known.at(function, site) else { continue };
            let callees = targets.iter().filter_map(|(callee, &calls)| Some(((*callee)?, calls)));
            found.push(IndirectCalls { caller: function.profile.index, site, callees: callees.collect() });
        }
    }
    Ok(found)
}

/// The known calls of a profile, by call site.
struct KnownCalls {
    calls: BTreeMap<(u32, u32), Targets>,
    /// The sites with recursive calls that are missing here.
    incomplete: BTreeSet<(u32, u32)>,
}

impl KnownCalls {
    fn new(profile: &Profile) -> Self {
        let tree = telling_contexts(profile);
        let incomplete = tree.map(|tree| incomplete_sites(profile, tree)).unwrap_or_default();
        Self { calls: calls_by_site(profile), incomplete }
    }

    fn at(&self, function: &Profiled<'_>, site: u32) -> Option<&Targets> {
        let key = (function.profile.index, site);
        self.calls.get(&key).filter(|_| !self.incomplete.contains(&key))
    }
}

/// The number of calls of each callee; `None` for callees that are no functions of the module.
pub(crate) type Targets = BTreeMap<Option<u32>, u64>;

/// Returns the calls by caller and call site.
pub(crate) fn calls_by_site(profile: &Profile) -> BTreeMap<(u32, u32), Targets> {
    telling_contexts(profile).map_or_else(|| listed_calls(profile), |tree| calls_in_contexts(profile, tree))
}

/// Returns the contexts, if the calls are taken from them.
fn telling_contexts(profile: &Profile) -> Option<&ContextTree> {
    let contexts = profile.contexts.as_ref().filter(|_| profile.call_targets.is_empty());
    contexts.filter(|tree| !tree.merges_sites)
}

fn calls_in_contexts(profile: &Profile, tree: &ContextTree) -> BTreeMap<(u32, u32), Targets> {
    let mut sites: BTreeMap<(u32, u32), Targets> = BTreeMap::new();
    for edge in profile.call_edges().iter().filter(|edge| edge.calls > 0) {
        let Some(caller) = function(tree, edge.caller) else { continue };
        let calls = sites.entry((caller, edge.site)).or_default();
        let calls = calls.entry(function(tree, edge.callee)).or_default();
        *calls = calls.saturating_add(edge.calls);
    }
    sites
}

fn incomplete_sites(profile: &Profile, tree: &ContextTree) -> BTreeSet<(u32, u32)> {
    let edges = profile.call_edges();
    let incomplete = edges.iter().filter(|edge| !edge.is_whole);
    incomplete.filter_map(|edge| Some((function(tree, edge.caller)?, edge.site))).collect()
}

/// Returns the function of the module that a routine stands for.
fn function(tree: &ContextTree, routine: u32) -> Option<u32> {
    match tree.routines[routine as usize].callee {
        Callee::Function { index, .. } => Some(index),
        _ => None,
    }
}

fn listed_calls(profile: &Profile) -> BTreeMap<(u32, u32), Targets> {
    let mut sites: BTreeMap<(u32, u32), Targets> = BTreeMap::new();
    for target in &profile.call_targets {
        let callee = match target.callee {
            Callee::Function { index, .. } => Some(index),
            _ => None,
        };
        let calls = sites.entry((target.caller, target.site)).or_default().entry(callee).or_default();
        *calls = calls.saturating_add(target.count);
    }
    sites
}

fn indirect_sites(info: &ModuleInfo, function: &Profiled<'_>) -> Result<Vec<u32>, CompileError> {
    let mut sites = Vec::new();
    for block in &function.cfg.blocks {
        let mut operators = Operators::new(info, block.start, block.limit);
        while let Some((op, at)) = operators.next()? {
            if matches!(Call::new(&op), Some(Call::Indirect)) {
                sites.push(at);
            }
        }
    }
    Ok(sites)
}

/// Returns the functions with at least one percent of the calls, most frequent first.
fn payload(targets: &Targets) -> Vec<u8> {
    let all: u128 = targets.values().map(|&calls| u128::from(calls)).sum();
    let percent = |calls: u64| (100 * u128::from(calls)).checked_div(all).unwrap_or(0) as u32;
    let mut shares: Vec<(u32, u32)> =
        targets.iter().filter_map(|(func, &calls)| Some(((*func)?, percent(calls)))).collect();
    shares.sort_by_key(|&(_, percent)| std::cmp::Reverse(percent));
    let mut bytes = Vec::new();
    for (func, percent) in shares.into_iter().filter(|&(_, percent)| percent > 0) {
        write_u32(&mut bytes, func);
        write_u32(&mut bytes, percent);
    }
    bytes
}
