//! Call targets: which functions each indirect call of a function calls.
//!
//! Input: a function. Output: its indirect calls, and two cells among the instance's counters for each: the callee of
//! the last call, as a function reference, and how often it was called since another was. Machine code counts as long
//! as the callee stays the same; the runtime is asked when it changes, and keeps the counts of all others.
//! Source: Calder, Feller & Eustace, *Value Profiling*, MICRO 1997, with a table that loses nothing.
//! Oracle: calling contexts, `vm/tests/call_targets.rs`.

use wasmparser::BinaryReaderError;

use super::contexts::{ContextSite, call_sites};
use super::{Placement, Probe};
use crate::cfg::{Call, Cfg};
use crate::module::ModuleInfo;

/// Cells of an indirect call.
pub const CELLS_PER_SITE: u32 = 2;

/// The indirect calls of one function, tail calls too, in bytecode order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionTargets {
    /// Each of them.
    pub sites: Vec<ContextSite>,
}

impl FunctionTargets {
    /// Finds the indirect calls of a function.
    ///
    /// # Errors
    /// If the bytes are not those that were validated.
    pub fn new(info: &ModuleInfo, cfg: &Cfg) -> Result<FunctionTargets, BinaryReaderError> {
        let sites = call_sites(info, cfg, |call| matches!(call, Call::Indirect))?;
        Ok(FunctionTargets { sites })
    }

    /// How many cells they have.
    pub fn cells(&self) -> u32 {
        CELLS_PER_SITE * self.sites.len() as u32
    }

    /// Counts the callee of each indirect call, in the cells from `first` on.
    pub(super) fn place(&self, first: u32, to: &mut Placement) {
        for (site, cell) in self.sites.iter().zip((first..).step_by(CELLS_PER_SITE as usize)) {
            to.around(site.block, site.offset).before.push(Probe::CountTarget(cell));
        }
    }
}
