//! Calls that are in calling contexts, but on no path: those of frames in burst code that a trap or an exit has ended, or
//! that are live when a profile is taken.
//!
//! Input: the calls in contexts, which are counted when they begin, and those on paths, which are counted when a path ends.
//! Output: the difference, as frames that stopped at the entry. How far they came is unknown, as frames in burst code do
//! not say whether they count. Invariant: a function has as many calls in its own table as in contexts, or more.
//! Oracle: runs that end in the middle of a burst, in `vm/tests/profiles/burst_contexts.rs`.

use std::sync::Arc;

use hashbrown::HashMap;
use wprof_jit::compile::Origin;
use wprof_jit::plan::FunctionPlan;
use wprof_profiler::{FigureKind, FunctionProfile};

use super::Exits;
use super::columns::Columns;
use super::paths::InContexts;
use crate::Result;
use crate::runtime::counts::call_records::Called;
use crate::runtime::counts::unfinished::{Stop, Stopped};
use crate::runtime::instances::store_opaque::StoreOpaque;

/// A function that was called, with its plan.
type Version = (u32, Arc<FunctionPlan>);

/// Adds the calls that only contexts have to the functions of instance `index`, and to `exits` as frames that stopped.
///
/// # Errors
/// Returns an error if counts contradict a function's graph.
pub fn add(
    store: &StoreOpaque,
    index: u32,
    (versions, exits, in_contexts): (&[Version], &mut HashMap<u32, Exits>, &InContexts),
    functions: &mut Vec<FunctionProfile>,
    (kind, columns): (FigureKind, &mut Columns<'_>),
) -> Result<()> {
    let instance = store.items.instance(index);
    let begun = calls_in_contexts(store, index);
    for (func, version) in versions {
        let found = functions.binary_search_by_key(func, |function| function.index);
        let counted = found.map_or(0, |at| functions[at].calls());
        let beyond = begun.get(func).map_or(0, |calls| calls.saturating_sub(counted));
        if beyond == 0 || version.plan.paths().is_none() {
            continue;
        }
        let exits = exits.entry(*func).or_default();
        exits.add(entry_of(version), Stopped { count: beyond, ..Stopped::default() });
        let stopped = (Some(&*exits), in_contexts);
        let Some(function) = super::function(instance, (*func, version), stopped, (kind, columns))? else {
            continue;
        };
        match found {
            Ok(at) => functions[at] = function,
            Err(at) => functions.insert(at, function),
        }
    }
    Ok(())
}

/// Returns the calls in contexts of the functions of an instance; none if contexts are not counted.
fn calls_in_contexts(store: &StoreOpaque, index: u32) -> HashMap<u32, u64> {
    let mut calls: HashMap<u32, u64> = HashMap::new();
    let Some(records) = store.observed.records() else { return calls };
    for record in records.all() {
        if let Called::Wasm(instance, func) = records.routines()[record.routine as usize]
            && instance == index
        {
            let sum = calls.entry(func).or_default();
            *sum = sum.saturating_add(record.calls);
        }
    }
    calls
}

/// Returns the place of a frame that stopped before its first instruction.
fn entry_of(version: &FunctionPlan) -> Stop {
    let offset = version.cfg.blocks[0].start - 1;
    let origin = Origin { func: version.cfg.func, frame: 0, block: 0, rounds: 0, path: None, offset };
    Stop { origin, path: None, record: None }
}
