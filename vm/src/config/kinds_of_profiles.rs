//! Profiles as they are wanted, in words: each kind is a method of those that it goes with.
//!
//! Input: calls. Output: a [`Config`], whose own settings these are. What goes with one kind of profile only cannot be asked of
//! the other; what still contradicts is an error of the engine that is made.

use std::sync::Arc;
use std::time::Duration;

use wprof_jit::events::EventModel;
use wprof_jit::plan::{Checks, Interesting, Metric, Tracing};
use wprof_jit::reoptimize::Policy;
use wprof_profiler::{BurstLengths, CacheShape, Extension, Overhead, Profile};

use super::{Adaptive, Collect, Config, ProfilingConfig, Trigger};

/// A profile by bursts, at hardly any cost: see [`ProfilingConfig::adaptive`].
#[derive(Clone, Debug)]
#[must_use = "it is for Engine::with_profiling, or becomes a Config by into()"]
pub struct AdaptiveProfile {
    adaptive: Adaptive,
    config: Config,
}

/// A profile of all that runs: see [`ProfilingConfig::exact`].
#[derive(Clone, Debug)]
#[must_use = "it is for Engine::with_profiling, or becomes a Config by into()"]
pub struct ExactProfile {
    config: Config,
}

impl ProfilingConfig {
    /// A profile by bursts, to which more can be added: paths, callees and what is asked for are counted in them.
    ///
    /// ```
    /// use wprof::{Engine, ProfilingConfig};
    ///
    /// # fn main() -> wprof::Result<()> {
    /// let engine = Engine::with_profiling(ProfilingConfig::adaptive().time(1000).contexts().cycles())?;
    /// # Ok(())
    /// # }
    /// ```
    /// What only an exact profile has does not compile:
    ///
    /// ```compile_fail,E0599
    /// let _ = wprof::ProfilingConfig::adaptive().paths();
    /// ```
    /// ```compile_fail,E0599
    /// let _ = wprof::ProfilingConfig::adaptive().events([]);
    /// ```
    pub fn adaptive() -> AdaptiveProfile {
        AdaptiveProfile { adaptive: Adaptive::default(), config: Config::new() }
    }

    /// A profile of all that runs, to which more can be added. It has the counts of edges, unless another kind is asked for.
    ///
    /// ```
    /// use wprof::{Engine, ProfilingConfig};
    ///
    /// # fn main() -> wprof::Result<()> {
    /// let engine = Engine::with_profiling(ProfilingConfig::exact().paths().contexts().paths_in_contexts())?;
    /// # Ok(())
    /// # }
    /// ```
    /// There are no bursts in it:
    ///
    /// ```compile_fail,E0599
    /// let _ = wprof::ProfilingConfig::exact().bursts(wprof::profiler::BurstLengths::new(1000, 50));
    /// ```
    pub fn exact() -> ExactProfile {
        let mut config = Config::new();
        config.profiling(ProfilingConfig::Exact(Collect::Edges));
        ExactProfile { config }
    }
}

impl From<AdaptiveProfile> for Config {
    fn from(profile: AdaptiveProfile) -> Config {
        let AdaptiveProfile { adaptive, mut config } = profile;
        config.profiling(ProfilingConfig::Adaptive(adaptive));
        config
    }
}

impl From<ExactProfile> for Config {
    fn from(profile: ExactProfile) -> Config {
        profile.config
    }
}

impl From<ProfilingConfig> for Config {
    fn from(profiling: ProfilingConfig) -> Config {
        let mut config = Config::new();
        config.profiling(profiling);
        config
    }
}

/// Defines what both kinds of profiles can have.
macro_rules! common {
    ($($profile:ident)*) => {
        $(impl $profile {
            /// Calling contexts: see [`Config::count_contexts`].
            pub fn contexts(mut self) -> Self {
                self.config.count_contexts(true);
                self
            }

            /// Where the time goes, looked at so often a second: see [`Config::sample_time`].
            pub fn time(mut self, rate: u32) -> Self {
                self.config.sample_time(Some(rate));
                self
            }

            /// Cycles, along paths and in calling contexts.
            pub fn cycles(self) -> Self {
                self.measure(Metric::Cycles)
            }

            /// What misses a simulated cache, along paths and in calling contexts.
            pub fn cache_misses(self, cache: CacheShape) -> Self {
                self.measure(Metric::CacheMisses(cache))
            }

            /// Anything that can be measured, besides what is already: see [`Config::measure`].
            pub fn measure(mut self, metric: Metric) -> Self {
                let mut metrics = std::mem::take(&mut self.config.metrics);
                metrics.retain(|other| *other != metric);
                metrics.push(metric);
                self.config.measure(metrics);
                self
            }

            /// How long functions of the host take: see [`Config::time_host_calls`].
            pub fn host_time(mut self) -> Self {
                self.config.time_host_calls(true);
                self
            }

            /// When which code was made, and why: see [`Config::time_line`].
            pub fn time_line(mut self) -> Self {
                self.config.time_line(true);
                self
            }

            /// By an earlier profile counters are placed: see [`Config::weights`].
            pub fn weights(mut self, profile: Arc<Profile>) -> Self {
                self.config.weights(profile);
                self
            }

            /// An earlier profile makes code better: see [`Config::profile_use`].
            pub fn profile_use(mut self, profile: Arc<Profile>) -> Self {
                self.config.profile_use(profile);
                self
            }

            /// Other settings of the engine.
            pub fn with(mut self, change: impl FnOnce(&mut Config)) -> Self {
                change(&mut self.config);
                self
            }
        })*
    };
}

common! { AdaptiveProfile ExactProfile }

impl AdaptiveProfile {
    /// How long bursts are, and the time between them, in checks: see [`Adaptive::lengths`].
    pub fn bursts(mut self, lengths: BurstLengths) -> Self {
        self.adaptive.lengths = lengths;
        self
    }

    /// Where code checks whether a burst begins.
    pub fn checks(mut self, checks: Checks) -> Self {
        self.adaptive.checks = checks;
        self
    }

    /// A timer begins a burst each time that this long has passed: see [`Trigger::Time`].
    pub fn every(mut self, period: Duration) -> Self {
        self.adaptive.trigger = Trigger::Time(period);
        self
    }

    /// How much of the processor time profiling may take: see [`Adaptive::budget`].
    pub fn at_most(mut self, overhead: Overhead) -> Self {
        self.adaptive.budget = Some(overhead);
        self
    }

    /// Whether code for bursts is optimised: see [`Adaptive::optimized`].
    pub fn optimized(mut self, enable: bool) -> Self {
        self.adaptive.optimized = Some(enable);
        self
    }

    /// Paths over back edges or calls: see [`Config::extend_paths`].
    pub fn extended_paths(mut self, extension: Extension) -> Self {
        self.config.extend_paths(Some(extension));
        self
    }

    /// Bursts can be recorded, with data references if wanted: see [`Config::record_bursts`].
    pub fn recorded(mut self, references: bool) -> Self {
        self.config.record_bursts(true).trace_references(references);
        self
    }

    /// How what bursts tell makes hot functions better: see [`Config::reoptimization`].
    pub fn reoptimization(mut self, policy: Option<Policy>) -> Self {
        self.config.reoptimization(policy);
        self
    }
}

impl ExactProfile {
    /// Counts of all paths; edges follow from them.
    pub fn paths(self) -> Self {
        self.collect(Collect::Paths)
    }

    /// Counts of blocks only.
    pub fn blocks(self) -> Self {
        self.collect(Collect::Blocks)
    }

    /// Counts of something, in one way or another.
    pub fn collect(mut self, collect: Collect) -> Self {
        self.config.profiling(ProfilingConfig::Exact(collect));
        self
    }

    /// No counts of edges or paths: only what else is asked for.
    pub fn only(mut self) -> Self {
        self.config.profiling(ProfilingConfig::Off);
        self
    }

    /// Paths in each calling context: see [`Config::flow_contexts`]. Needs paths and contexts.
    pub fn paths_in_contexts(mut self) -> Self {
        self.config.flow_contexts(true);
        self
    }

    /// Interesting paths: see [`Config::interesting_paths`]. Needs paths.
    pub fn interesting(mut self, interesting: Interesting) -> Self {
        self.config.interesting_paths(interesting);
        self
    }

    /// Totals of kinds of events: see [`Config::count_events`].
    pub fn events(mut self, kinds: impl IntoIterator<Item = EventModel>) -> Self {
        self.config.count_events(kinds);
        self
    }

    /// A budget of one of these: see [`Config::budget`].
    pub fn budget(mut self, kind: impl Into<String>) -> Self {
        self.config.budget(kind);
        self
    }

    /// A trace, with data references if wanted: see [`Config::trace`].
    pub fn trace(mut self, how: Tracing, references: bool) -> Self {
        self.config.trace(how).trace_references(references);
        self
    }
}
