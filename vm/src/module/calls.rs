//! The call sites of functions, by callee slot, found on demand.

use std::sync::{Arc, PoisonError, RwLock};

use hashbrown::HashMap;
use wprof_jit::cfg;
use wprof_jit::plan::FunctionContexts;

use super::ModuleInner;

/// The call sites of each function, in bytecode order.
#[derive(Debug, Default)]
pub struct Calls(RwLock<HashMap<u32, Arc<FunctionContexts>>>);

impl ModuleInner {
    /// Returns the call sites of a function, including tail calls, in bytecode order, and their callee slots.
    pub(crate) fn call_sites(&self, func: u32) -> Arc<FunctionContexts> {
        let known = self.calls.0.read().unwrap_or_else(PoisonError::into_inner).get(&func).cloned();
        known.unwrap_or_else(|| {
            let sites = Arc::new(self.find_call_sites(func));
            let mut calls = self.calls.0.write().unwrap_or_else(PoisonError::into_inner);
            calls.entry(func).or_insert(sites).clone()
        })
    }

    /// Finds the call sites of a function; a function that cannot be compiled has none.
    fn find_call_sites(&self, func: u32) -> FunctionContexts {
        let cfg = cfg::build(&self.info, func).ok();
        let merges_sites = self.engine.core().counted().merges_sites;
        let contexts = cfg.and_then(|cfg| FunctionContexts::new(&self.info, &cfg, merges_sites).ok());
        contexts.unwrap_or_default()
    }
}
