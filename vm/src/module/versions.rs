//! The versions of a module's functions that were compiled, when, and why.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use wprof_jit::compile::MachineCode;
use wprof_jit::reoptimize::Decision;
use wprof_profiler::CodeTier;

use super::ModuleInner;
use crate::Result;

/// A version of a function that was compiled.
#[derive(Clone, Debug)]
pub struct CompiledVersion {
    /// Function index.
    pub func: u32,
    /// The kind of code.
    pub tier: CodeTier,
    /// When the compiler began, and how long it took.
    pub began: Instant,
    pub took: Duration,
    /// Bytes of machine code, and those of the replaced version, if known.
    pub bytes: usize,
    pub bytes_before: Option<usize>,
    /// The decisions behind the version, if a profile guided it.
    pub decisions: Option<Vec<Decision>>,
}

impl CompiledVersion {
    /// Creates the record of a version that was begun at `began` and is ready now.
    pub fn new(func: u32, tier: CodeTier, began: Instant, bytes: usize) -> Self {
        let took = began.elapsed();
        Self { func, tier, began, took, bytes, bytes_before: None, decisions: None }
    }

    /// Adds the decisions that a profile led to; with decisions the version counts as reoptimized.
    pub fn by(self, decisions: Option<Vec<Decision>>) -> Self {
        let tier = if decisions.is_some() { CodeTier::Reoptimized } else { self.tier };
        Self { tier, decisions, ..self }
    }
}

impl ModuleInner {
    /// Places the code of a version, records the version, begun at `began`, and returns its address.
    pub(super) fn place_code(
        self: &Arc<Self>,
        func: u32,
        code: MachineCode,
        tier: CodeTier,
        began: Instant,
    ) -> Result<usize> {
        let bytes = code.bytes.len();
        let address = self.place(func, code)?;
        self.note(CompiledVersion::new(func, tier, began, bytes));
        Ok(address)
    }

    /// Records a version.
    pub(super) fn note(&self, version: CompiledVersion) {
        self.code.versions.lock().unwrap_or_else(PoisonError::into_inner).push(version);
    }

    /// Returns the compiled versions, in the order in which they became ready.
    pub(crate) fn versions(&self) -> Vec<CompiledVersion> {
        self.code.versions.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
