//! Policies of bursts that the embedder provides.

use std::fmt;
use std::sync::Arc;

use wprof_profiler::BurstPolicy;

use super::Config;

/// Makes the policy of each store.
#[derive(Clone)]
pub(crate) struct BurstPolicies(Arc<dyn Fn() -> Box<dyn BurstPolicy> + Send + Sync>);

impl BurstPolicies {
    pub(crate) fn create(&self) -> Box<dyn BurstPolicy> {
        (self.0)()
    }
}

impl fmt::Debug for BurstPolicies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BurstPolicies").finish_non_exhaustive()
    }
}

impl Config {
    /// Sets what decides which due bursts begin, and how many checks lie between them (default: bursts have the lengths
    /// of the adaptive profile, or keep its budget): `create` is called for each store. Whatever is left out, profiles
    /// account for. It needs an adaptive profile whose bursts are begun by checks, without a budget of checks.
    ///
    /// ```
    /// # use wprof::*;
    /// use wprof::profiler::RareSites;
    ///
    /// let mut config = Config::new();
    /// config.profiling(ProfilingConfig::Adaptive(Adaptive::default()));
    /// config.burst_policy(|| Box::new(RareSites::default()));
    /// let engine = Engine::new(&config)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn burst_policy(
        &mut self,
        create: impl Fn() -> Box<dyn BurstPolicy> + Send + Sync + 'static,
    ) -> &mut Self {
        self.burst_policies = Some(BurstPolicies(Arc::new(create)));
        self
    }
}
