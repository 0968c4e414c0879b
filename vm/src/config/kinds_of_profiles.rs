//! Builders of profiling settings: each profile kind is a method of those that it combines with.
//!
//! Input: calls. Output: a [`Config`] with these settings. A kind that combines with one kind of profile only is not a
//! method of the other; remaining conflicts are errors when the engine is created.

use std::sync::Arc;
use std::time::Duration;

use wprof_jit::events::EventModel;
use wprof_jit::module::AllocatorKind;
use wprof_jit::plan::{Checks, Interesting, Metric, Tracing};
use wprof_jit::reoptimize::Policy;
use wprof_profiler::{
    AccessEnergy, BurstLengths, BurstPolicy, CacheShape, Extension, Overhead, Profile, TableShape,
};

use super::{Adaptive, Collect, Config, ProfilingConfig, Trigger};

/// A profile by bursts, at minimal cost: see [`ProfilingConfig::adaptive`].
#[derive(Clone, Debug)]
#[must_use = "it is for Engine::with_profiling, or becomes a Config by into()"]
pub struct AdaptiveProfile {
    adaptive: Adaptive,
    config: Config,
}

/// A profile of the whole execution: see [`ProfilingConfig::exact`].
#[derive(Clone, Debug)]
#[must_use = "it is for Engine::with_profiling, or becomes a Config by into()"]
pub struct ExactProfile {
    /// What is counted, once that was said.
    collected: Option<ProfilingConfig>,
    config: Config,
}

impl ProfilingConfig {
    /// Starts a profile by bursts, to which more kinds can be added: bursts count paths, callees and the requested
    /// kinds.
    ///
    /// ```
    /// use wprof::{Engine, ProfilingConfig};
    ///
    /// # fn main() -> wprof::Result<()> {
    /// let engine = Engine::with_profiling(ProfilingConfig::adaptive().time(1000).contexts().cycles())?;
    /// # Ok(())
    /// # }
    /// ```
    /// Kinds that only an exact profile has do not compile:
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

    /// Starts a profile of the whole execution, to which more kinds can be added. It counts edges unless another kind
    /// is requested.
    ///
    /// ```
    /// use wprof::{Engine, ProfilingConfig};
    ///
    /// # fn main() -> wprof::Result<()> {
    /// let engine = Engine::with_profiling(ProfilingConfig::exact().paths().contexts().paths_in_contexts())?;
    /// # Ok(())
    /// # }
    /// ```
    /// An exact profile has no bursts:
    ///
    /// ```compile_fail,E0599
    /// let _ = wprof::ProfilingConfig::exact().bursts(wprof::profiler::BurstLengths::new(1000, 50));
    /// ```
    pub fn exact() -> ExactProfile {
        let mut config = Config::new();
        config.profiling(ProfilingConfig::Exact(Collect::Edges));
        ExactProfile { collected: None, config }
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

/// Defines the methods of both kinds of profiles.
macro_rules! common {
    ($($profile:ident)*) => {
        $(impl $profile {
            /// Adds calling contexts: see [`Config::count_contexts`].
            pub fn contexts(mut self) -> Self {
                self.config.count_contexts(true);
                self
            }

            /// Adds calling contexts that are distinguished by functions only: see [`Config::merge_call_sites`].
            pub fn contexts_by_callee(mut self) -> Self {
                self.config.count_contexts(true).merge_call_sites(true);
                self
            }

            /// Adds sampled time, at a rate in samples per second: see [`Config::sample_time`].
            pub fn time(mut self, rate: u32) -> Self {
                self.config.sample_time(Some(rate));
                self
            }

            /// Adds cycles, along paths and in calling contexts.
            pub fn cycles(self) -> Self {
                self.measure(Metric::Cycles)
            }

            /// Adds misses of a simulated cache, along paths and in calling contexts.
            pub fn cache_misses(self, cache: CacheShape) -> Self {
                self.measure(Metric::CacheMisses(cache))
            }

            /// Adds what a second level of that cache misses.
            pub fn second_level_misses(self, cache: CacheShape) -> Self {
                self.measure(Metric::SecondLevelMisses(cache))
            }

            /// Adds the energy that accesses take by the levels of that cache, in picojoules.
            pub fn energy(self, costs: AccessEnergy) -> Self {
                self.measure(Metric::Energy(costs))
            }

            /// Adds any metric: see [`Config::measure`].
            pub fn measure(mut self, metric: Metric) -> Self {
                let mut metrics = std::mem::take(&mut self.config.observed.metrics);
                metrics.retain(|other| *other != metric);
                metrics.push(metric);
                self.config.measure(metrics);
                self
            }

            /// Adds the run time of host functions: see [`Config::time_host_calls`].
            pub fn host_time(mut self) -> Self {
                self.config.time_host_calls(true);
                self
            }

            /// Adds when and why code was compiled: see [`Config::time_line`].
            pub fn time_line(mut self) -> Self {
                self.config.time_line(true);
                self
            }

            /// Places counters by an earlier profile: see [`Config::weights`].
            pub fn weights(mut self, profile: Arc<Profile>) -> Self {
                self.config.weights(profile);
                self
            }

            /// Optimises code by an earlier profile: see [`Config::profile_use`].
            pub fn profile_use(mut self, profile: Arc<Profile>) -> Self {
                self.config.profile_use(profile);
                self
            }

            /// Changes other settings of the engine.
            pub fn with(mut self, change: impl FnOnce(&mut Config)) -> Self {
                change(&mut self.config);
                self
            }
        })*
    };
}

common! { AdaptiveProfile ExactProfile }

impl AdaptiveProfile {
    /// Sets the lengths of bursts and the intervals between them, in checks: see [`Adaptive::lengths`].
    pub fn bursts(mut self, lengths: BurstLengths) -> Self {
        self.adaptive.lengths = lengths;
        self
    }

    /// Sets where code checks whether a burst begins.
    pub fn checks(mut self, checks: Checks) -> Self {
        self.adaptive.checks = checks;
        self
    }

    /// Makes a timer begin a burst after each such period: see [`Trigger::Time`].
    pub fn every(mut self, period: Duration) -> Self {
        self.adaptive.trigger = Trigger::Time(period);
        self
    }

    /// Limits the processor time of profiling: see [`Adaptive::budget`].
    pub fn at_most(mut self, overhead: Overhead) -> Self {
        self.adaptive.budget = Some(overhead);
        self
    }

    /// Sets whether burst code is optimised: see [`Adaptive::optimized`].
    pub fn optimized(mut self, enable: bool) -> Self {
        self.adaptive.optimized = Some(enable);
        self
    }

    /// Extends paths over back edges or calls: see [`Config::extend_paths`].
    pub fn extended_paths(mut self, extension: Extension) -> Self {
        self.config.extend_paths(Some(extension));
        self
    }

    /// Sets what decides which due bursts begin: see [`Config::burst_policy`].
    pub fn policy(mut self, create: impl Fn() -> Box<dyn BurstPolicy> + Send + Sync + 'static) -> Self {
        self.config.burst_policy(create);
        self
    }

    /// Sets the table in which bursts count paths: see [`Config::path_table`].
    pub fn path_table(mut self, shape: TableShape) -> Self {
        self.config.path_table(shape);
        self
    }

    /// Allows bursts to be recorded, optionally with data references: see [`Config::record_bursts`].
    pub fn recorded(mut self, references: bool) -> Self {
        self.config.record_bursts(true).trace_references(references);
        self
    }

    /// Sets how the observations of bursts improve hot functions: see [`Config::reoptimization`].
    pub fn reoptimization(mut self, policy: Option<Policy>) -> Self {
        self.config.reoptimization(policy);
        self
    }
}

impl ExactProfile {
    /// Counts all paths; edge counts follow from them.
    pub fn paths(self) -> Self {
        self.collect(Collect::Paths)
    }

    /// Counts blocks only.
    pub fn blocks(self) -> Self {
        self.collect(Collect::Blocks)
    }

    /// Counts by the given method. Code counts by one method: with two different ones there is no engine.
    pub fn collect(self, collect: Collect) -> Self {
        self.counting(ProfilingConfig::Exact(collect))
    }

    /// Counts no edges or paths: only the other requested kinds.
    pub fn only(self) -> Self {
        self.counting(ProfilingConfig::Off)
    }

    fn counting(mut self, what: ProfilingConfig) -> Self {
        if self.collected.is_some_and(|other| other != what) {
            self.config.conflict = Some(
                "an exact profile counts edges, paths, blocks or nothing, not two of these: choose one \
                 (edge and block counts follow from paths)",
            );
        }
        self.collected = Some(what);
        self.config.profiling(what);
        self
    }

    /// Adds the callees of indirect calls: see [`Config::count_call_targets`]. An adaptive profile always has them.
    pub fn call_targets(mut self) -> Self {
        self.config.count_call_targets(true);
        self
    }

    /// Adds allocations in each calling context, also by functions with these names: see
    /// [`Config::count_allocations`]. Needs contexts.
    pub fn allocations(mut self, also: impl IntoIterator<Item = (String, AllocatorKind)>) -> Self {
        self.config.count_allocations(also);
        self
    }

    /// Adds paths in each calling context: see [`Config::flow_contexts`]. Needs paths and contexts.
    pub fn paths_in_contexts(mut self) -> Self {
        self.config.flow_contexts(true);
        self
    }

    /// Adds interesting paths: see [`Config::interesting_paths`]. Needs paths.
    pub fn interesting(mut self, interesting: Interesting) -> Self {
        self.config.interesting_paths(interesting);
        self
    }

    /// Adds totals of event kinds: see [`Config::count_events`].
    pub fn events(mut self, kinds: impl IntoIterator<Item = EventModel>) -> Self {
        self.config.count_events(kinds);
        self
    }

    /// Adds a budget of one of these kinds: see [`Config::budget`].
    pub fn budget(mut self, kind: impl Into<String>) -> Self {
        self.config.budget(kind);
        self
    }

    /// Adds a trace, optionally with data references: see [`Config::trace`].
    pub fn trace(mut self, how: Tracing, references: bool) -> Self {
        self.config.trace(how).trace_references(references);
        self
    }
}
