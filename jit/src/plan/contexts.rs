//! The calls of a function, each of which has a callee slot in each of the function's call records.
//!
//! Source: Ammons, Ball & Larus 1997, section 4.2.

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

/// The calls of one function, including tail calls, by callee slot: in bytecode order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionContexts {
    /// The calls.
    pub sites: Vec<ContextSite>,
}

impl FunctionContexts {
    /// Finds the calls of a function.
    ///
    /// # Errors
    /// Returns an error if the bytes are not those that were validated.
    pub fn new(info: &ModuleInfo, cfg: &Cfg) -> Result<FunctionContexts, BinaryReaderError> {
        Ok(FunctionContexts { sites: call_sites(info, cfg, |_| true)? })
    }

    /// Returns the offset in a call record of the end of its callee slots.
    pub fn behind(&self) -> u32 {
        call_record::slot(self.sites.len() as u32)
    }

    /// Makes the function find its call record first of all, and pass a slot before each call. A tail call passes one
    /// too: the callee's context is the function whose frame it takes over.
    pub(super) fn place(&self, to: &mut Placement) {
        to.entry().insert(0, Probe::FindRecord { sites: self.sites.len() as u32 });
        for (site, slot) in self.sites.iter().zip(0..) {
            to.around(site.block, site.offset).before.push(Probe::PassSlot(slot));
        }
    }
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
    let mut sites = Vec::new();
    for (block, index) in cfg.blocks.iter().zip(0..) {
        let mut operators = Operators::new(info, block.start, block.limit);
        while let Some((op, offset)) = operators.next()? {
            if Call::of(&op).is_some_and(&is_wanted) {
                sites.push(ContextSite { block: index, offset });
            }
        }
    }
    Ok(sites)
}
