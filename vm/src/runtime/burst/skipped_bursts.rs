//! Where bursts were due that were skipped, because there was no burst code.
//!
//! Invariant: one entry for each function of a live module at most.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::runtime::instances::loaded::LoadedModule;

/// The skipped bursts of a store.
#[derive(Debug, Default)]
pub struct Skipped {
    /// By the address of the module, and the function. A store keeps the modules whose code it runs.
    by_function: HashMap<(usize, u32), SkippedHere>,
    bursts: u64,
}

/// The skipped bursts of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkippedHere {
    /// Their number.
    pub bursts: u64,
    /// The checks that they stand for, or their number if a timer begins bursts.
    pub stands_for: u64,
}

impl Skipped {
    /// Adds a burst that was due in a function.
    pub fn add(&mut self, module: &Arc<dyn LoadedModule>, func: u32, stands_for: u64) {
        self.bursts += 1;
        let here = self.by_function.entry((address(module), func)).or_default();
        here.bursts += 1;
        here.stands_for = here.stands_for.saturating_add(stands_for);
    }

    /// Returns the number of all skipped bursts.
    pub fn bursts(&self) -> u64 {
        self.bursts
    }

    /// Returns the functions of a module in which bursts were skipped, in no order.
    pub fn of_module(&self, module: &Arc<dyn LoadedModule>) -> impl Iterator<Item = (u32, SkippedHere)> {
        let address = address(module);
        let here = self.by_function.iter().filter(move |((of, _), _)| *of == address);
        here.map(|(&(_, func), &here)| (func, here))
    }
}

fn address(module: &Arc<dyn LoadedModule>) -> usize {
    Arc::as_ptr(module).cast::<()>().addr()
}
