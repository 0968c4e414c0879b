//! The accuracy of a module's branch hints.

use wprof_profiler::Profile;

use super::branches::ways;
use super::profiled;
use crate::CompileError;
use crate::module::ModuleInfo;

/// Hints compared with a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HintAccuracy {
    /// The number of hinted branches in functions that ran.
    pub hinted: u64,
    /// How often these branches were executed; saturates.
    pub reached: u64,
    /// How often they went as hinted; saturates.
    pub as_hinted: u64,
    /// How often all branches, hinted or not, were executed; saturates.
    pub all_reached: u64,
}

impl HintAccuracy {
    /// Compares the hints of a module with a profile of it.
    ///
    /// # Errors
    /// Returns an error if a function exceeds a limit of the compiler.
    pub fn new(info: &ModuleInfo, profile: &Profile) -> Result<HintAccuracy, CompileError> {
        let mut found = HintAccuracy::default();
        for function in profiled(info, profile)?.iter().filter(|function| function.profile.has_edge_counts())
        {
            for (block, index) in function.cfg.blocks.iter().zip(0..) {
                if let Some(ways) = ways(function, index) {
                    found.add(ways, info.branch_hints.at(function.profile.index, block.end));
                }
            }
        }
        Ok(found)
    }

    fn add(&mut self, (held, failed): (u64, u64), hint: Option<bool>) {
        let reached = held.saturating_add(failed);
        self.all_reached = self.all_reached.saturating_add(reached);
        let Some(holds) = hint else { return };
        self.hinted += 1;
        self.reached = self.reached.saturating_add(reached);
        self.as_hinted = self.as_hinted.saturating_add(if holds { held } else { failed });
    }
}
