//! The call sites of functions, by callee slot, found on demand.

use std::sync::{Arc, PoisonError, RwLock};

use hashbrown::HashMap;
use wprof_jit::cfg;
use wprof_jit::plan::{ContextSite, FunctionContexts};

use super::ModuleInner;

/// The call sites of each function, in bytecode order.
#[derive(Debug, Default)]
pub struct Calls(RwLock<HashMap<u32, Arc<[ContextSite]>>>);

impl ModuleInner {
    /// Returns the call sites of a function, including tail calls, in bytecode order.
    pub(crate) fn call_sites(&self, func: u32) -> Arc<[ContextSite]> {
        let known = self.calls.0.read().unwrap_or_else(PoisonError::into_inner).get(&func).cloned();
        known.unwrap_or_else(|| {
            let sites: Arc<[ContextSite]> = self.find_call_sites(func).into();
            let mut calls = self.calls.0.write().unwrap_or_else(PoisonError::into_inner);
            calls.entry(func).or_insert(sites).clone()
        })
    }

    /// Finds the call sites of a function; a function that cannot be compiled has none.
    fn find_call_sites(&self, func: u32) -> Vec<ContextSite> {
        let cfg = cfg::build(&self.info, func).ok();
        let contexts = cfg.and_then(|cfg| FunctionContexts::new(&self.info, &cfg).ok());
        contexts.map_or_else(Vec::new, |contexts| contexts.sites)
    }
}
