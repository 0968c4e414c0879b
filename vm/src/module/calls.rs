//! The calls that functions make, by callee slot, of the functions for which somebody wants to know.

use std::sync::{Arc, PoisonError, RwLock};

use hashbrown::HashMap;
use wprof_jit::cfg;
use wprof_jit::plan::{ContextSite, FunctionContexts};

use super::ModuleInner;

/// By function, its calls in bytecode order.
#[derive(Debug, Default)]
pub struct Calls(RwLock<HashMap<u32, Arc<[ContextSite]>>>);

impl ModuleInner {
    /// The calls that a function makes, tail calls too, in bytecode order.
    pub(crate) fn call_sites(&self, func: u32) -> Arc<[ContextSite]> {
        let known = self.calls.0.read().unwrap_or_else(PoisonError::into_inner).get(&func).cloned();
        known.unwrap_or_else(|| {
            let sites: Arc<[ContextSite]> = self.find_call_sites(func).into();
            let mut calls = self.calls.0.write().unwrap_or_else(PoisonError::into_inner);
            calls.entry(func).or_insert(sites).clone()
        })
    }

    /// None of a function that cannot be compiled, which makes none.
    fn find_call_sites(&self, func: u32) -> Vec<ContextSite> {
        let cfg = cfg::build(&self.info, func).ok();
        let contexts = cfg.and_then(|cfg| FunctionContexts::new(&self.info, &cfg).ok());
        contexts.map_or_else(Vec::new, |contexts| contexts.sites)
    }
}
