//! What bursts could not count, because there was no burst code: where they were due, and which functions they came to.
//!
//! Invariant: one entry for each function of a live module at most.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::runtime::instances::loaded::LoadedModule;

/// What the bursts of a store could not count.
#[derive(Debug, Default)]
pub struct Skipped {
    /// By the address of the module, and the function. A store keeps the modules whose code it runs.
    by_function: HashMap<(usize, u32), SkippedHere>,
    bursts: u64,
}

/// What bursts could not count in one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkippedHere {
    /// Number of bursts that were due in it, and skipped.
    pub bursts: u64,
    /// The checks that they stand for, or their number if a timer begins bursts.
    pub stands_for: u64,
    /// Number of the function's checks in bursts that found no code for bursts.
    pub missed: u64,
    /// The checks of the bursts in which burst code has called the function when it had no code for bursts.
    pub uncounted: u64,
    /// The last of these bursts, by its number.
    last: u64,
}

impl Skipped {
    /// Adds a burst that was due in a function.
    pub fn add(&mut self, module: &Arc<dyn LoadedModule>, func: u32, stands_for: u64) {
        self.bursts += 1;
        let here = self.here(module, func);
        here.bursts += 1;
        here.stands_for = here.stands_for.saturating_add(stands_for);
    }

    /// Adds checks of a burst that found no code for bursts.
    pub fn miss(&mut self, module: &Arc<dyn LoadedModule>, func: u32, checks: u64) {
        let here = self.here(module, func);
        here.missed = here.missed.saturating_add(checks);
    }

    /// Adds an uncounted call of a function in burst number `burst`, which is to have `checks` checks. Only the first call in
    /// a burst is told: how many follow is unknown.
    pub fn add_uncounted(&mut self, module: &Arc<dyn LoadedModule>, func: u32, (burst, checks): (u64, u64)) {
        let here = self.here(module, func);
        if here.last != burst {
            here.last = burst;
            here.uncounted = here.uncounted.saturating_add(checks);
        }
    }

    fn here(&mut self, module: &Arc<dyn LoadedModule>, func: u32) -> &mut SkippedHere {
        self.by_function.entry((address(module), func)).or_default()
    }

    /// Returns the number of all skipped bursts.
    pub fn bursts(&self) -> u64 {
        self.bursts
    }

    /// Returns the functions of a module in which bursts could not count, in no order.
    pub fn of_module(&self, module: &Arc<dyn LoadedModule>) -> impl Iterator<Item = (u32, SkippedHere)> {
        let address = address(module);
        let here = self.by_function.iter().filter(move |((of, _), _)| *of == address);
        here.map(|(&(_, func), &here)| (func, here))
    }
}

fn address(module: &Arc<dyn LoadedModule>) -> usize {
    Arc::as_ptr(module).cast::<()>().addr()
}
