//! Compilation ahead of the first call, on the guess that who calls a function calls those soon that it calls, and
//! that who comes to a part of one goes on in the parts that it leads to.
//!
//! The code is placed, and published when it is called. A guess that fails costs the time of another core.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use wprof_jit::compile::Tier;
use wprof_jit::plan::FunctionPlan;

use super::ModuleInner;
use super::first_compilation::Ahead;
use super::parts::PartedFunction;
use crate::background::{Job, Task};
use crate::{Module, Result};

impl Module {
    /// How many functions, and parts of large ones, were compiled ahead of their first call, and how many were
    /// compiled but not called so far. [`Module::compiled`] knows the functions among the first, and no others.
    pub fn compiled_ahead(&self) -> (usize, usize) {
        self.inner().code.first.ahead()
    }
}

impl ModuleInner {
    /// The rows of code slots that control is likely to come to from a function, or from its first part; none if
    /// nothing is compiled ahead.
    pub(super) fn likely_next(&self, plan: &FunctionPlan, parted: Option<&PartedFunction>) -> Vec<u32> {
        if self.engine.speculation().is_none() {
            return Vec::new();
        }
        match parted {
            Some(of) => of.parts.likely_next(&plan.cfg, 0).to_vec(),
            None => plan.cfg.likely_callees(),
        }
    }

    /// Has the code behind some rows compiled ahead, the first first. `near`: whether code that was called leads to it.
    pub(super) fn order_ahead(self: &Arc<Self>, rows: &[u32], near: bool) {
        let Some(background) = self.engine.speculation() else { return };
        let is_new = |&&row: &&u32| !self.info.is_imported_func(row) && self.address_of(row).is_none();
        let wanted = rows.iter().rev().filter(is_new);
        let job = |&row: &u32| Job::new(self, row, Task::Ahead { near });
        let jobs: Vec<Job> = wanted.map(job).collect();
        if !jobs.is_empty() {
            background.order(jobs);
        }
    }

    /// Does for the compiler thread what it would do next, if that is to compile ahead: whoever calls a function that
    /// is being compiled has nothing better to do. Gives whether there was anything.
    pub(super) fn help(&self) -> bool {
        let Some(background) = self.engine.speculation() else { return false };
        let Some(job) = background.next_ahead() else { return false };
        // A program that is to stop must not be busy with what takes long.
        if job.module.upgrade().is_some_and(|module| module.takes_long(job.func)) {
            background.order([job]);
            return false;
        }
        job.run();
        true
    }

    /// Compiles what is behind a row and nobody has called yet, if it is still worth it.
    ///
    /// # Errors
    /// As [`ModuleInner::code_of`]; whoever calls it will see it.
    pub(crate) fn compile_ahead(self: &Arc<Self>, row: u32) -> Result<()> {
        let called = self.code.called() + self.code.called_parts.load(Ordering::Relaxed);
        let is_known = || self.address_of(row).is_some();
        let Some(claim) = self.code.first.claim_ahead(row, is_known, called) else { return Ok(()) };
        let ahead = match self.is_part(row) {
            true => Ahead::Part(self.compile_part(row, false)?),
            false => Ahead::Function(Box::new(self.first_version(&claim, Tier::Baseline, false)?)),
        };
        claim.keep_ahead(ahead);
        Ok(())
    }

    /// The address of the code behind a row, if that has been called.
    fn address_of(&self, row: u32) -> Option<usize> {
        if self.is_part(row) { self.address_of_part(row) } else { self.code.address(row) }
    }
}
