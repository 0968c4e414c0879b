//! Speculative compilation: a function is compiled ahead of its first call, on the guess that a caller soon calls
//! its likely callees, and that a function that reaches a part continues in the parts that follow it.
//!
//! The code is placed at once, and published when it is called. A wrong guess costs time on another core.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use wprof_jit::compile::Tier;
use wprof_jit::plan::FunctionPlan;

use super::ModuleInner;
use super::first_compilation::CompiledAhead;
use super::parts::PartedFunction;
use crate::background::{Job, Task};
use crate::{Module, Result};

impl Module {
    /// Returns how many functions, and parts of large functions, were compiled ahead and called since, and how
    /// many were compiled ahead but not called so far. Of these, [`Module::compiled`] counts only the functions
    /// among the first.
    pub fn compiled_ahead(&self) -> (usize, usize) {
        self.inner().code.first.compiled_ahead()
    }
}

impl ModuleInner {
    /// Returns the rows of code slots that control is likely to reach from a function, or from its first part;
    /// empty if nothing is compiled ahead.
    pub(super) fn likely_next(&self, plan: &FunctionPlan, parted: Option<&PartedFunction>) -> Vec<u32> {
        if self.engine.speculation().is_none() {
            return Vec::new();
        }
        match parted {
            Some(of) => of.parts.likely_next(&plan.cfg, 0).to_vec(),
            None => plan.cfg.likely_callees(),
        }
    }

    /// Orders the compilation of the code behind `rows` ahead of time, the first row first. `near` tells whether
    /// code that was called leads to it.
    pub(super) fn order_ahead(self: &Arc<Self>, rows: &[u32], near: bool) {
        let Some(background) = self.engine.speculation() else { return };
        let is_new = |&&row: &&u32| !self.info.is_imported_func(row) && self.address_of(row).is_none();
        let wanted = rows.iter().rev().filter(is_new);
        let job = |&row: &u32| Job::new(self, row, Task::CompiledAhead { near });
        let jobs: Vec<Job> = wanted.map(job).collect();
        if !jobs.is_empty() {
            background.order(jobs);
        }
    }

    /// Does the compiler thread's next job, if that is a speculative compilation, because a thread that waits for
    /// another's compilation has nothing better to do. Returns whether there was such a job.
    pub(super) fn help(&self) -> bool {
        let Some(background) = self.engine.speculation() else { return false };
        let Some(job) = background.next_ahead() else { return false };
        // A program that is to stop must not be busy with a long compilation.
        if job.module.upgrade().is_some_and(|module| module.takes_long(job.func)) {
            background.order([job]);
            return false;
        }
        job.run();
        true
    }

    /// Compiles the code behind a row that nobody has called yet, if that is still worth it.
    ///
    /// # Errors
    /// Returns an error as [`ModuleInner::code_of`] does; the first caller will see the error again.
    pub(crate) fn compile_ahead(self: &Arc<Self>, row: u32) -> Result<()> {
        let called = self.code.called() + self.code.called_parts.load(Ordering::Relaxed);
        let is_known = || self.address_of(row).is_some();
        let Some(claim) = self.code.first.claim_ahead(row, is_known, called) else { return Ok(()) };
        let ahead = match self.is_part(row) {
            true => CompiledAhead::Part(self.compile_part(row, false)?),
            false => CompiledAhead::Function(Box::new(self.first_version(&claim, Tier::Baseline, false)?)),
        };
        claim.keep_ahead(ahead);
        Ok(())
    }

    /// Returns the address of the code behind a row, if it has been called.
    fn address_of(&self, row: u32) -> Option<usize> {
        if self.is_part(row) { self.address_of_part(row) } else { self.code.address(row) }
    }
}
