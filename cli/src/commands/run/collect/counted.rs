//! The resolved choice of what is counted, and the resulting settings of engine and compiler.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, ensure};
use wprof::{AllocatorKind, Config, EventModel, Interesting, Metric, ProfilingConfig};
use wprof_jit::limits::RECORD_PATHS;
use wprof_jit::plan::Collection;
use wprof_profiler::{FunctionProfile, Profile};

use super::super::across::Across;
use super::limit::{Budget, Until};

/// The resolved choice of what is counted, without contradictions.
#[derive(Clone, Debug, Default)]
pub struct Measurements {
    /// The counts of code.
    pub profiling: ProfilingConfig,
    /// The kinds of counted events.
    pub events: Vec<EventModel>,
    /// The budget of one event kind.
    pub budget: Option<Budget>,
    /// The interesting paths.
    pub interesting: Option<Interesting>,
    /// The calls that paths lead across, if they do. It then also has the interesting paths.
    pub across: Option<Across>,
    /// Whether all measurements that depend on time are left out.
    pub deterministic: bool,
    /// The profile that decides where counters are placed.
    pub weights: Option<Arc<Profile>>,
    /// The instant at which to stop; `budget` then derives from it.
    pub until: Option<Until>,
    /// The maximum memory for call records, if calling contexts are counted.
    pub context_memory: Option<u64>,
    /// The metrics that are measured along paths and in calling contexts.
    pub metrics: Vec<Metric>,
    /// Whether paths are counted separately in each calling context.
    pub flow: bool,
    /// Whether the callees of indirect calls are counted.
    pub call_targets: bool,
    /// Whether calling contexts are told apart by functions only.
    pub merges_sites: bool,
    /// If allocations are counted: the allocators besides functions with usual names.
    pub allocators: Option<Vec<(String, AllocatorKind)>>,
}

impl Measurements {
    /// Reports whether anything is counted.
    pub fn is_on(&self) -> bool {
        self.profiling != ProfilingConfig::Off || !self.events.is_empty() || self.context_memory.is_some()
    }

    /// Applies the choice to the engine's configuration.
    pub fn configure(&self, config: &mut Config) {
        config.profiling(self.profiling).count_events(self.events.clone()).measure(self.metrics.clone());
        config.flow_contexts(self.flow).background_compilation(!self.deterministic);
        // Times differ between any two runs.
        let has_times = self.is_on() && !self.deterministic;
        config.time_host_calls(has_times).time_line(has_times);
        if self.is_on() {
            // Ctrl-C stops the program at a poll, where events are counted exactly.
            config.interruptible(true);
        }
        if let Some(interesting) = &self.interesting {
            config.interesting_paths(interesting.clone());
        }
        if let Some(weights) = &self.weights {
            config.weights(weights.clone());
        }
        if let Some(budget) = &self.budget {
            config.budget(&budget.kind);
        }
        if let Some(bytes) = self.context_memory {
            config.count_contexts(true).merge_call_sites(self.merges_sites);
            config.context_memory(usize::try_from(bytes).unwrap_or(usize::MAX));
        }
        if let Some(allocators) = &self.allocators {
            config.count_allocations(allocators.iter().cloned());
        }
        config.count_call_targets(self.call_targets);
        if let Some(until) = &self.until {
            config.event_counting(until.counting());
        }
    }

    /// Returns what the compiler collects in each function.
    pub fn collection(&self) -> Collection {
        let counters = self.profiling.instrumentation();
        let (events, weights) = (self.events.clone(), self.weights.clone());
        let interesting = self.interesting.clone();
        let metered = self.budget.as_ref().and_then(|budget| {
            let found = events.iter().position(|kind| kind.name == budget.kind);
            found.map(|index| index as u32)
        });
        let flow_contexts = self.flow.then_some(RECORD_PATHS);
        let checks = match self.profiling {
            ProfilingConfig::Adaptive(adaptive) => Some(adaptive.checks),
            _ => None,
        };
        // With bursts, contexts are those of the code in bursts.
        let contexts = self.context_memory.is_some() && checks.is_none();
        let metrics = if checks.is_some() { Vec::new() } else { self.metrics.clone() };
        Collection {
            counters,
            events,
            interesting,
            weights,
            metered,
            contexts,
            merges_sites: self.merges_sites,
            allocations: self.allocators.is_some(),
            checks,
            metrics,
            flow_contexts,
            call_targets: self.call_targets && checks.is_none(),
            ..Collection::default()
        }
    }
}

/// Reads an earlier profile, by which counters are placed.
///
/// # Errors
/// Returns an error if the profile cannot be read, or has no edge counts.
pub fn weights(path: &Path) -> Result<Arc<Profile>> {
    let profile = crate::commands::read_profile(path)?;
    ensure!(
        profile.functions.iter().any(FunctionProfile::has_edge_counts),
        "{} has no edge counts: give a profile that `wprof run --collect edges` wrote",
        path.display()
    );
    Ok(Arc::new(profile))
}
