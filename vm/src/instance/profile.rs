//! Profiles of instances, as the embedder gets them.

use wprof_profiler::{CallTarget, CounterCost, Profile};

use crate::{AsContext, Instance, Result, profile};

impl Instance {
    /// What its functions have executed so far. Host calls, totals of events and calling contexts are those of the
    /// whole store.
    ///
    /// The profile's runs are left to the caller, who knows what was run. If only events or contexts are counted, it
    /// holds no functions.
    ///
    /// # Errors
    /// If the engine neither profiles nor counts events.
    pub fn profile(&self, store: impl AsContext) -> Result<Profile> {
        let store = &store.as_context().0.opaque;
        profile::with_timeline(store, store.index(self.0), true)
    }

    /// What its functions' indirect calls have called so far, by caller and call site, as far as that is counted: in
    /// bursts. The same is in its [`profile`](Self::profile), in order, which takes longer.
    pub fn call_targets(&self, store: impl AsContext) -> Vec<CallTarget> {
        let store = &store.as_context().0.opaque;
        profile::call_targets(store, store.index(self.0))
    }

    /// How often each block of each compiled function began, by function index.
    ///
    /// # Errors
    /// If the engine does not profile.
    pub fn block_counts(&self, store: impl AsContext) -> Result<Vec<(u32, Vec<u64>)>> {
        let store = &store.as_context().0.opaque;
        profile::block_counts(store, store.index(self.0))
    }

    /// How many counters its functions have, and how many increments optimised code makes for what they have counted.
    pub fn counter_cost(&self, store: impl AsContext) -> CounterCost {
        let store = &store.as_context().0.opaque;
        profile::counter_cost(store, store.index(self.0))
    }
}
