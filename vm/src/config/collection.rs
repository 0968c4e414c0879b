//! The data that an engine collects according to its settings, and conflicts between these.

use wprof_jit::abi::store_context::{EVENT_KINDS, METRIC_KINDS};
use wprof_jit::compile::CompilerOptions;
use wprof_jit::plan::{Checks, Collection, Counting, Instrumentation, Metric};
use wprof_profiler::TableShape;

use super::{Adaptive, Collect, Config, ProfilingConfig, Trigger};
use crate::{Error, ErrorKind, Result, Strategy};

impl Config {
    pub(crate) fn compiler_options(&self, collection: &Collection) -> CompilerOptions {
        let hot = self.compiler.hot.filter(|_| self.tiers.strategy == Strategy::Tiered);
        let positions = self.compiler.positions || self.observed.sample_rate.is_some();
        let limits_frames = self.stack.max_depth.is_some();
        let own =
            CompilerOptions { polls: self.polls, hot, positions, limits_frames, ..self.compiler.clone() };
        own.collecting(collection)
    }

    /// Returns the data to collect about all functions.
    ///
    /// # Errors
    /// Fails if there are too many event kinds, two of one name, if the budget's kind is not counted, or if settings
    /// conflict.
    #[doc(hidden)]
    pub fn collection(&self) -> Result<Collection> {
        self.check_effects()?;
        self.check_events()?;
        self.check_signals()?;
        self.check_samples()?;
        self.check_interesting()?;
        self.check_metrics()?;
        self.check_allocations()?;
        self.check_call_targets()?;
        // With bursts, contexts and metrics cover only the code in bursts.
        let is_sampled = self.checks().is_some();
        let metrics = self.observed.metrics.iter().cloned().chain(self.lengths()).filter(|_| !is_sampled);
        Ok(Collection {
            counters: self.profiling.instrumentation(),
            events: self.events.models.clone(),
            counting: self.events.counting,
            metered: self.metered(),
            checks_as_fuel: self.checks_as_fuel(),
            interesting: self.paths.interesting.clone(),
            weights: self.weights.clone(),
            tracing: self.trace.what,
            references: self.trace.references,
            contexts: self.contexts.counted && !is_sampled,
            merges_sites: self.contexts.merges_sites,
            allocations: self.observed.allocators.is_some(),
            metrics: metrics.collect(),
            flow_contexts: self.contexts.with_paths.then_some(self.paths.recorded),
            call_targets: self.contexts.call_targets && !is_sampled,
            checks: self.checks(),
            in_bursts: false,
            records_bursts: false,
        })
    }

    /// Checks that event kinds are few and uniquely named, and that the budget's kind is one of them.
    fn check_events(&self) -> Result<()> {
        let names: Vec<&str> = self.events.models.iter().map(|model| model.name.as_str()).collect();
        if names.len() > EVENT_KINDS as usize {
            return wrong(format!("{} kinds of events: at most {EVENT_KINDS} can be counted", names.len()));
        }
        if let Some(name) = twice(&names) {
            return wrong(format!("two kinds of events are called `{name}`"));
        }
        match &self.events.budget {
            Some(budget) if self.metered().is_none() => {
                wrong(format!("the budget is of `{budget}`, which is not counted: add it to the events"))
            }
            None if matches!(self.events.counting, Counting::Before(_)) => wrong(
                "events are counted to stop at an instruction, but no budget says when: set Config::budget",
            ),
            _ => Ok(()),
        }
    }

    /// Checks that nothing is needed that takes signals, if there are none.
    fn check_signals(&self) -> Result<()> {
        if !self.compiler.explicit_traps {
            return Ok(());
        }
        let is_timed =
            matches!(self.profiling, ProfilingConfig::Adaptive(Adaptive { trigger: Trigger::Time(_), .. }));
        let needs = [
            (self.trace.what.is_some(), "traces"),
            (self.events.budget.is_some() || self.events.fuel, "budgets and fuel"),
            (self.observed.sample_rate.is_some(), "samples of time"),
            (is_timed, "bursts that a timer begins"),
        ];
        match needs.iter().find(|(is_wanted, _)| *is_wanted) {
            Some((_, what)) => {
                wrong(format!("{what} need signals: leave out Config::signals_based_traps(false), or these"))
            }
            None => Ok(()),
        }
    }

    /// Checks that only paths, calling contexts and time are sampled, and that time triggers exclude a budget of
    /// checks.
    fn check_samples(&self) -> Result<()> {
        let has_policy = self.burst_policies.is_some();
        let ProfilingConfig::Adaptive(adaptive) = self.profiling else {
            return match has_policy {
                true => wrong("a policy of bursts, but there are no bursts: profile adaptively"),
                false => Ok(()),
            };
        };
        if let Some(what) = self.unsampled() {
            return wrong(format!("{what} not sampled: profile exactly instead, or not at all"));
        }
        match adaptive {
            Adaptive { trigger: Trigger::Time(_), .. } if has_policy => {
                wrong("a policy sets how many checks lie between bursts: not where time begins them")
            }
            Adaptive { budget: Some(_), .. } if has_policy => {
                wrong("a budget of checks is a policy of its own: give the budget or another policy")
            }
            Adaptive { trigger: Trigger::Time(_), budget: Some(_), .. } => {
                wrong("a budget sets how many checks lie between bursts: not where time begins them")
            }
            _ => Ok(()),
        }
    }

    /// Returns what is wanted of all code, and not of a sample, with its verb.
    fn unsampled(&self) -> Option<&'static str> {
        let has_others = self.events.models.iter().any(|model| !self.meters(&model.name));
        let all = [
            (self.events.fuel, "fuel (Config::consume_fuel) is"),
            (self.events.budget.is_some(), "budgets (Config::budget) are"),
            (has_others, "events (Config::count_events) are"),
            (self.trace.what.is_some(), "traces (Config::trace) are"),
        ];
        all.into_iter().find(|(is_wanted, _)| *is_wanted).map(|(_, what)| what)
    }

    /// Checks that no setting is without effect for want of another one.
    fn check_effects(&self) -> Result<()> {
        let has_bursts = self.checks().is_some();
        let without = [
            (self.conflict.is_some(), self.conflict.unwrap_or_default()),
            (
                self.observed.bursts && !has_bursts,
                "bursts are recorded (Config::record_bursts), but there are none: profile adaptively",
            ),
            (
                self.paths.extension.is_some() && !has_bursts,
                "bursts extend paths (Config::extend_paths), but there are none: profile adaptively",
            ),
            (
                self.paths.table != TableShape::USUAL && !has_bursts,
                "a table of paths is for bursts (Config::path_table), but there are none: profile adaptively",
            ),
            (
                self.trace.references && self.trace.what.is_none() && !self.observed.bursts,
                "data references are part of a trace, or of recorded bursts: set Config::trace or \
                 Config::record_bursts",
            ),
            (
                self.events.fuel_costs.is_some() && !self.events.fuel,
                "instructions have costs (Config::fuel_costs), but consume no fuel: set Config::consume_fuel",
            ),
            (
                self.contexts.merges_sites && !self.contexts.counted,
                "call sites are merged in calling contexts (Config::merge_call_sites): count these with \
                 Config::count_contexts",
            ),
        ];
        match without.iter().find(|(is_so, _)| *is_so) {
            Some((_, why)) => wrong(why),
            None => Ok(()),
        }
    }

    /// Checks that metrics have something to be measured along, and unique names.
    fn check_metrics(&self) -> Result<()> {
        let counts_paths = self.profiling == ProfilingConfig::Exact(Collect::Paths);
        let is_sampled = self.checks().is_some();
        let metrics = self.observed.metrics.len();
        if is_sampled && self.observed.metrics.contains(&Metric::Mispredictions) {
            return wrong("a simulated predictor sees all branches, not those in bursts: profile exactly");
        }
        let has_cache = self.observed.metrics.iter().any(|metric| metric.cache().is_some());
        if !has_cache && self.observed.metrics.iter().any(Metric::needs_cache) {
            return wrong(
                "a second level and energy are those of a simulated cache: measure its misses as well",
            );
        }
        if metrics > 0 && !is_sampled && !self.contexts.counted && !counts_paths {
            return wrong("metrics are measured along paths and in calling contexts: collect these");
        }
        if (metrics > 0 || self.contexts.with_paths) && self.paths.interesting.is_some() {
            return wrong("metrics, and paths in contexts, are of all paths, not of interesting ones");
        }
        let events = self.events.models.iter().map(|model| model.name.as_str());
        if let Some(name) =
            twice(&self.observed.metrics.iter().map(Metric::name).chain(events).collect::<Vec<_>>())
        {
            return wrong(format!("two metrics or kinds of events are called `{name}`"));
        }
        if metrics + self.lengths().count() > METRIC_KINDS as usize {
            return wrong(format!(
                "at most {METRIC_KINDS} metrics can be measured, kinds of events with lengths among them"
            ));
        }
        if self.contexts.with_paths && !(self.contexts.counted && counts_paths) {
            return wrong("paths in contexts: count both paths and contexts");
        }
        Ok(())
    }

    /// Checks that callees are counted in code that is counted exactly; bursts count them anyway.
    fn check_call_targets(&self) -> Result<()> {
        match self.contexts.call_targets && !matches!(self.profiling, ProfilingConfig::Exact(_)) {
            true => {
                wrong("callees of indirect calls are counted beside edges, paths or blocks: collect these")
            }
            false => Ok(()),
        }
    }

    /// Checks that allocations are counted in contexts, and exactly.
    fn check_allocations(&self) -> Result<()> {
        match self.observed.allocators.is_some() && (self.checks().is_some() || !self.contexts.counted) {
            true => {
                wrong("allocations are counted exactly, in calling contexts: count these, without bursts")
            }
            false => Ok(()),
        }
    }

    /// Returns the metrics of bulk-operation lengths that paths also need; nothing is measured along interesting
    /// paths.
    fn lengths(&self) -> impl Iterator<Item = Metric> {
        let has_them =
            self.profiling == ProfilingConfig::Exact(Collect::Paths) && self.paths.interesting.is_none();
        let kinds = self.events.models.iter().filter(move |model| has_them && model.charges_lengths());
        kinds.map(|model| Metric::Lengths(model.name.clone()))
    }

    /// Checks that interesting paths belong to an engine that counts paths, and that their profile has paths.
    fn check_interesting(&self) -> Result<()> {
        let Some(interesting) = &self.paths.interesting else { return Ok(()) };
        if self.profiling != ProfilingConfig::Exact(Collect::Paths) {
            return wrong("there are interesting paths, but paths are not counted: collect paths");
        }
        if !interesting.profile.has_paths() {
            return wrong(
                "the profile of interesting paths says nothing about paths: take it with Collect::Paths",
            );
        }
        Ok(())
    }

    /// Returns the data to collect about all functions in bursts, if there are any.
    pub(crate) fn burst_collection(&self) -> Option<Collection> {
        let (counters, weights) = (Instrumentation::Paths, self.weights.clone());
        let checks = Some(self.checks()?);
        let (call_targets, in_bursts) = (true, true);
        let records_bursts = self.observed.bursts || self.paths.extension.is_some();
        let (contexts, metrics, references) =
            (self.contexts.counted, self.observed.metrics.clone(), self.trace.references);
        Some(Collection {
            counters,
            weights,
            checks,
            contexts,
            metrics,
            references,
            call_targets,
            merges_sites: self.contexts.merges_sites,
            in_bursts,
            records_bursts,
            ..Collection::default()
        })
    }

    /// Returns where code is checked, if there are bursts.
    pub(super) fn checks(&self) -> Option<Checks> {
        match self.profiling {
            ProfilingConfig::Adaptive(adaptive) => Some(adaptive.checks),
            ProfilingConfig::Off | ProfilingConfig::Exact(_) => None,
        }
    }

    fn metered(&self) -> Option<u32> {
        let budget = self.events.budget.as_ref()?;
        self.events.models.iter().position(|model| model.name == *budget).map(|index| index as u32)
    }
}

fn wrong(message: impl std::fmt::Display) -> Result<()> {
    Err(Error::new(ErrorKind::Limit, message))
}

/// Returns a duplicate name.
fn twice<'a>(names: &[&'a str]) -> Option<&'a str> {
    (1..names.len()).find(|&i| names[..i].contains(&names[i])).map(|i| names[i])
}
