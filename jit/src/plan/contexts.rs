//! The calls of a function, each of which has a callee slot in each of the function's call records.
//!
//! Where call sites are merged, all direct calls of one function share a slot, and so do all indirect calls.
//!
//! Source: Ammons, Ball & Larus 1997, sections 4.1 and 4.2.

use std::collections::HashMap;

use wasmparser::BinaryReaderError;

use super::{Placement, Probe};
use crate::abi::call_record;
use crate::cfg::{Call, Cfg, Operators};
use crate::module::ModuleInfo;

/// A call instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextSite {
    /// The block that contains the call.
    pub block: u32,
    /// The byte offset in the module.
    pub offset: u32,
}

/// The calls of one function, including tail calls, in bytecode order, and their callee slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionContexts {
    /// The calls.
    pub sites: Vec<ContextSite>,
    /// The slot of each call; slots are numbered by their first call.
    pub slots: Vec<u32>,
}

impl FunctionContexts {
    /// Finds the calls of a function.
    ///
    /// # Errors
    /// Returns an error if the bytes are not those that were validated.
    pub fn new(
        info: &ModuleInfo,
        cfg: &Cfg,
        merges_sites: bool,
    ) -> Result<FunctionContexts, BinaryReaderError> {
        let calls = calls(info, cfg)?;
        let slots = if merges_sites { slots_by_callee(&calls) } else { (0..calls.len() as u32).collect() };
        Ok(FunctionContexts { sites: calls.into_iter().map(|(site, _)| site).collect(), slots })
    }

    /// Returns the number of callee slots.
    pub fn slot_count(&self) -> u32 {
        self.slots.iter().max().map_or(0, |last| last + 1)
    }

    /// Returns the callee slot of the call at a byte offset.
    pub fn slot_at(&self, offset: u32) -> Option<u32> {
        let site = self.sites.binary_search_by_key(&offset, |site| site.offset).ok()?;
        Some(self.slots[site])
    }

    /// Returns the byte offset of the first call of each slot, ascending.
    pub fn first_calls(&self) -> impl Iterator<Item = u32> {
        let mut next = 0;
        self.sites.iter().zip(&self.slots).filter_map(move |(site, &slot)| {
            let is_first = slot == next;
            next += u32::from(is_first);
            is_first.then_some(site.offset)
        })
    }

    /// Returns the offset in a call record of the end of its callee slots.
    pub fn behind(&self) -> u32 {
        call_record::slot(self.slot_count())
    }

    /// Makes the function find its call record first of all, and pass a slot before each call. A tail call passes one
    /// too: the callee's context is the function whose frame it takes over.
    pub(super) fn place(&self, to: &mut Placement) {
        to.entry().insert(0, Probe::FindRecord { sites: self.slot_count() });
        for (site, &slot) in self.sites.iter().zip(&self.slots) {
            to.around(site.block, site.offset).before.push(Probe::PassSlot(slot));
        }
    }
}

/// Numbers the slots of calls where those of one callee share one.
fn slots_by_callee(calls: &[(ContextSite, Call)]) -> Vec<u32> {
    let mut slot_of: HashMap<Call, u32> = HashMap::new();
    let mut slot = |call| {
        let next = slot_of.len() as u32;
        *slot_of.entry(call).or_insert(next)
    };
    calls.iter().map(|(_, call)| slot(*call)).collect()
}

/// Returns the wanted calls of a function, including tail calls, in bytecode order.
///
/// # Errors
/// Returns an error if the bytes are not those that were validated.
pub(super) fn call_sites(
    info: &ModuleInfo,
    cfg: &Cfg,
    is_wanted: impl Fn(Call) -> bool,
) -> Result<Vec<ContextSite>, BinaryReaderError> {
    let wanted = calls(info, cfg)?.into_iter().filter(|(_, call)| is_wanted(*call));
    Ok(wanted.map(|(site, _)| site).collect())
}

/// Returns the calls of a function, including tail calls, in bytecode order, and what they call.
fn calls(info: &ModuleInfo, cfg: &Cfg) -> Result<Vec<(ContextSite, Call)>, BinaryReaderError> {
    let mut calls = Vec::new();
    for (block, index) in cfg.blocks.iter().zip(0..) {
        let mut operators = Operators::new(info, block.start, block.limit);
        while let Some((op, offset)) = operators.next()? {
            if let Some(call) = Call::new(&op) {
                calls.push((ContextSite { block: index, offset }, call));
            }
        }
    }
    Ok(calls)
}
