//! Profiles of instances for the embedder.

use wprof_profiler::{CallTarget, CounterCost, Profile};

use crate::{AsContext, Instance, Module, Result, profile};

impl Module {
    /// Returns the sum of the [profiles](Instance::profile) of all its instances in a store; `None` if it has none. An
    /// instance whose start function runs or has failed counts, too. Contexts name functions of the newest instance as
    /// their own, and those of others with the number of the instance.
    pub fn profile(&self, store: impl AsContext) -> Option<Result<Profile>> {
        profile::of_module(&store.as_context().0.opaque, &self.loaded())
    }
}

impl Instance {
    /// Returns the counts of what its functions have executed so far. Host calls, totals of events and calling
    /// contexts are those of the whole store.
    ///
    /// The caller fills in the profile's runs, because it knows what was run: [`Run::lasting`](wprof_profiler::Run::lasting)
    /// when that was, so that exports have a time; a [`ProfileExporter`](wprof_profiler::export::ProfileExporter) does so by
    /// itself. If only events or contexts are counted, the profile contains no functions.
    ///
    /// It takes time in proportion to the code that has run, and to the calling contexts. Nothing is reset: the counts go on. The profile is plain data, which
    /// any thread may use while the store runs on; of one store, only one thread at a time can take one, while no wasm code of
    /// it runs, or in a host function that it has called.
    ///
    /// # Errors
    /// Returns an error if the engine neither profiles nor counts events.
    pub fn profile(&self, store: impl AsContext) -> Result<Profile> {
        let store = &store.as_context().0.opaque;
        profile::with_timeline(store, store.items.index(self.0), true)
    }

    /// Returns the callees of its functions' indirect calls so far, by caller and call site. They are counted in bursts,
    /// and exactly with [`Config::count_call_targets`](crate::Config::count_call_targets); otherwise there are none. The
    /// [`profile`](Self::profile) contains them too, sorted, but takes longer.
    pub fn call_targets(&self, store: impl AsContext) -> Vec<CallTarget> {
        let store = &store.as_context().0.opaque;
        profile::call_targets(store, store.items.index(self.0))
    }

    /// Returns how often each block of each compiled function was entered, by function index.
    ///
    /// # Errors
    /// Returns an error if the engine does not profile.
    pub fn block_counts(&self, store: impl AsContext) -> Result<Vec<(u32, Vec<u64>)>> {
        let store = &store.as_context().0.opaque;
        profile::block_counts(store, store.items.index(self.0))
    }

    /// Returns the number of counters of its functions, and the number of increments that optimised code makes
    /// for their counts.
    pub fn counter_cost(&self, store: impl AsContext) -> CounterCost {
        let store = &store.as_context().0.opaque;
        profile::counter_cost(store, store.items.index(self.0))
    }
}
