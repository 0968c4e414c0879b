//! Compilation ahead of the first call, on the guess that who calls a function calls those soon that it calls.
//!
//! The code is placed, and published when the function is called. A guess that fails costs the time of another core.

use std::sync::Arc;

use wprof_jit::cfg::Cfg;
use wprof_jit::compile::Tier;

use super::ModuleInner;
use crate::background::{Job, Task};
use crate::{Module, Result};

impl Module {
    /// How many functions were compiled ahead of their first call, and how many were compiled but not called so far. Only
    /// the first are among those of [`Module::compiled`].
    pub fn compiled_ahead(&self) -> (usize, usize) {
        self.inner().code.first.ahead()
    }
}

impl ModuleInner {
    /// The functions that one with this graph is likely to call; none if nothing is compiled ahead.
    pub(super) fn likely_callees(&self, cfg: &Cfg) -> Vec<u32> {
        if self.engine.speculation().is_none() {
            return Vec::new();
        }
        let mut callees = cfg.likely_callees();
        callees.retain(|&callee| !self.info.is_imported_func(callee));
        callees
    }

    /// Has functions compiled ahead, the first first. `near`: whether a function that was called calls them.
    pub(super) fn order_ahead(self: &Arc<Self>, funcs: &[u32], near: bool) {
        let Some(background) = self.engine.speculation() else { return };
        let wanted = funcs.iter().rev().filter(|&&func| self.code.address(func).is_none());
        let job = |&func: &u32| Job { module: Arc::downgrade(self), func, task: Task::Ahead { near } };
        let jobs: Vec<Job> = wanted.map(job).collect();
        if !jobs.is_empty() {
            background.order(jobs);
        }
    }

    /// Compiles a function that nobody has called yet, if it is still worth it.
    ///
    /// # Errors
    /// As [`ModuleInner::code_of`]; whoever calls the function will see it.
    pub(crate) fn compile_ahead(self: &Arc<Self>, func: u32) -> Result<()> {
        let called = self.code.called();
        let is_known = || self.code.address(func).is_some();
        let Some(claim) = self.code.first.claim_ahead(func, is_known, called) else { return Ok(()) };
        let compiled = self.first_version(&claim, Tier::Baseline, false)?;
        claim.keep_ahead(compiled);
        Ok(())
    }
}
