//! Call targets: the functions that each indirect call of a function reaches.
//!
//! Input: a function. Output: its indirect calls, and two cells among the instance's counters for each: the callee of
//! the last call, as a function reference, and the number of consecutive calls of it. Machine code counts as long as
//! the callee stays the same; when it changes, the runtime is called, which keeps the counts of all others.
//! Source: Calder, Feller & Eustace, *Value Profiling*, MICRO 1997, with a table that loses nothing. Oracle: calling
//! contexts, `vm/tests/profiles/call_targets.rs`.

use wasmparser::BinaryReaderError;

use super::contexts::{ContextSite, call_sites};
use super::{Placement, Probe};
use crate::cfg::{Call, Cfg};
use crate::module::ModuleInfo;

/// The number of cells of an indirect call.
pub const CELLS_PER_SITE: u32 = 2;

/// The indirect calls of one function, including tail calls, in bytecode order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionTargets {
    /// The calls.
    pub sites: Vec<ContextSite>,
}

impl FunctionTargets {
    /// Finds the indirect calls of a function.
    ///
    /// # Errors
    /// Returns an error if the bytes are not those that were validated.
    pub fn new(info: &ModuleInfo, cfg: &Cfg) -> Result<FunctionTargets, BinaryReaderError> {
        let sites = call_sites(info, cfg, |call| matches!(call, Call::Indirect))?;
        Ok(FunctionTargets { sites })
    }

    /// Returns the number of cells of the calls.
    pub fn cells(&self) -> u32 {
        CELLS_PER_SITE * self.sites.len() as u32
    }

    /// Counts the callees of each indirect call, in the cells from `first` on.
    pub(super) fn place(&self, first: u32, to: &mut Placement) {
        for (site, cell) in self.sites.iter().zip((first..).step_by(CELLS_PER_SITE as usize)) {
            to.around(site.block, site.offset).before.push(Probe::CountTarget(cell));
        }
    }
}
