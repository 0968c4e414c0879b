//! Call targets: which functions an indirect call calls.
//!
//! Source: compilation-hints, `call_targets`: pairs of a function and the percentage of the calls that it gets; what is
//! lacking from 100 went elsewhere. Calls of the host or of other instances have no index in the module, so they are among
//! what lacks. Of calling contexts it is not known how often each recursive call was made: sites with any get no hint.
//! The profile's own call targets, which bursts have, tell more than sampled contexts, and so come first.

use std::collections::{BTreeMap, BTreeSet};

use wasmparser::Operator;
use wprof_profiler::{Callee, ContextTree, Profile};

use super::section::write_u32;
use super::{IndirectCalls, MetadataSection, Profiled};
use crate::CompileError;
use crate::cfg::Operators;
use crate::module::ModuleInfo;

/// The section; empty if no calls are known.
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

/// What the indirect calls of functions called, as far as that is known.
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

/// The calls that a profile knows of by call site.
struct KnownCalls {
    calls: BTreeMap<(u32, u32), Targets>,
    recursive: BTreeSet<(u32, u32)>,
}

impl KnownCalls {
    fn new(profile: &Profile) -> Self {
        let recursive = telling_contexts(profile).map(recursive_sites).unwrap_or_default();
        Self { calls: calls_by_site(profile), recursive }
    }

    fn at(&self, function: &Profiled<'_>, site: u32) -> Option<&Targets> {
        let key = (function.profile.index, site);
        self.calls.get(&key).filter(|_| !self.recursive.contains(&key))
    }
}

/// Calls by callee; `None` for what is no function of the module.
pub(crate) type Targets = BTreeMap<Option<u32>, u64>;

/// By caller and call site.
pub(crate) fn calls_by_site(profile: &Profile) -> BTreeMap<(u32, u32), Targets> {
    telling_contexts(profile).map_or_else(|| listed_calls(profile), calls_in_contexts)
}

/// The contexts, if the calls are taken from them.
fn telling_contexts(profile: &Profile) -> Option<&ContextTree> {
    profile.contexts.as_ref().filter(|_| profile.call_targets.is_empty())
}

fn calls_in_contexts(tree: &ContextTree) -> BTreeMap<(u32, u32), Targets> {
    let mut sites: BTreeMap<(u32, u32), Targets> = BTreeMap::new();
    for (record, index) in tree.records.iter().zip(0..).skip(1) {
        let Callee::Function { index: caller, .. } = tree.callee(record.parent) else { continue };
        let callee = match tree.callee(index) {
            Callee::Function { index, .. } => Some(*index),
            _ => None,
        };
        let calls = sites.entry((*caller, record.site)).or_default().entry(callee).or_default();
        *calls = calls.saturating_add(record.calls);
    }
    sites
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

fn recursive_sites(tree: &ContextTree) -> BTreeSet<(u32, u32)> {
    let sites = |index: u32| match tree.callee(index) {
        Callee::Function { index: caller, .. } => {
            tree.records[index as usize].back_edges.iter().map(|edge| (*caller, edge.site)).collect()
        }
        _ => Vec::new(),
    };
    (0..tree.records.len() as u32).flat_map(sites).collect()
}

fn indirect_sites(info: &ModuleInfo, function: &Profiled<'_>) -> Result<Vec<u32>, CompileError> {
    let mut sites = Vec::new();
    for block in &function.cfg.blocks {
        let mut operators = Operators::new(info, block.start, block.limit);
        while let Some((op, at)) = operators.next()? {
            if matches!(op, Operator::CallIndirect { .. } | Operator::ReturnCallIndirect { .. }) {
                sites.push(at);
            }
        }
    }
    Ok(sites)
}

/// The functions with at least one percent of the calls, those with most first.
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
