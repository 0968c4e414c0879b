//! The options `--profile`, `--collect` and `--budget`, which choose what is counted, and their consequences.

mod caches;
mod counted;
mod limit;
pub mod wanted;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};
use wprof::{
    Adaptive, AllocatorKind, Checks, Collect, EventModel, Interesting, Metric, ProfilingConfig, SystemEvent,
    Trigger,
};
use wprof_profiler::{BurstLengths, Overhead, Profile};

use caches::CacheArgs;
pub use counted::{Measurements, weights};
pub use limit::{Budget, Limit, Until};
pub use wanted::COLLECT_HELP;

use super::across::{Across, MAX_DEPTH};
use crate::help;
use crate::sizes;
use limit::resolve;
use wanted::{CollectParser, CollectValue, What};

/// How to profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Sample paths and calling contexts in short bursts, at almost no cost
    Adaptive,
    /// Count everything
    Exact,
    /// Run without a profile
    Off,
}

/// The options that choose the counts.
#[derive(Clone, Debug, Args)]
pub struct ProfileArgs {
    /// Count everything exactly instead of sampling; the same as `--profile exact`
    #[arg(long, conflicts_with = "mode", help_heading = help::PROFILE)]
    exact: bool,
    /// Choose how to profile [default: adaptive, or exact if --collect names something that is not sampled]
    #[arg(long = "profile", value_enum, value_name = "MODE", help_heading = help::PROFILE)]
    mode: Option<Mode>,
    /// Count exactly: edges, paths, blocks, cct, flow, allocations, callees, events=KIND,…; or measure cycles, cache, energy, branches
    ///
    /// Combine them with commas, such as `edges,cct`; give only one of edges, paths and blocks. `cycles`, `cache` and
    /// `energy` need paths, cct or sampling. See below for what each counts [default: edges with --exact, else paths and
    /// cct in bursts]
    #[arg(long, value_name = "WHAT", value_parser = CollectParser, hide_possible_values = true)]
    #[arg(help_heading = help::PROFILE)]
    collect: Vec<CollectValue>,
    /// With --collect allocations: treat this function of the module as an allocator too
    ///
    /// KIND names the C function whose arguments it has: malloc (size, …), calloc (count, size), realloc (block, size),
    /// reallocarray (block, count, size), rust_realloc (block, size, alignment, new size), aligned_alloc (alignment,
    /// size), posix_memalign (address for the block, alignment, size) or free (block, …) [default: malloc]
    #[arg(long, value_name = "NAME[=KIND]", value_parser = allocator)]
    #[arg(help_heading = help::PROFILE, hide_short_help = true)]
    allocator: Vec<(String, AllocatorKind)>,
    /// Measure events that the operating system counts, along each path and in each calling context
    ///
    /// The processor counts some of them, such as `instructions` and `cache-misses`; the system counts others, such as
    /// `page-faults` and `task-clock`. Needs paths, cct or sampling.
    #[arg(long, value_name = "EVENT,…", value_delimiter = ',', value_parser = system_event_parser())]
    #[arg(help_heading = help::PROFILE, hide_short_help = true)]
    events: Vec<SystemEvent>,
    #[command(flatten)]
    cache: CacheArgs,
    /// With --collect paths: give cheap counters to the paths of this earlier profile of the module
    #[arg(long, value_name = "PROFILE", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = help::PROFILE, hide_short_help = true)]
    interesting: Option<PathBuf>,
    /// With --collect paths: count paths across calls, through at most N nested calls
    ///
    /// If --interesting names a profile of paths, wprof inlines the calls that ran in it. If it names a profile that
    /// was taken with --depth, wprof inlines the same calls and gives its paths cheap counters. Otherwise it inlines
    /// all direct calls.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_DEPTH))]
    #[arg(help_heading = help::PROFILE, hide_short_help = true)]
    depth: Option<u32>,
    /// Put counters on the edges that ran least in this earlier profile of the module
    #[arg(long, value_name = "PROFILE", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = help::PROFILE, hide_short_help = true)]
    weights: Option<PathBuf>,
    /// Make equal runs give equal samples: compile when needed, store no code, give the same random numbers
    #[arg(long, help_heading = help::SAMPLING, hide_short_help = true)]
    deterministic: bool,
    /// Sampling only: run N checks between bursts and M checks per burst
    ///
    /// With `xK` both numbers grow up to K-fold while the program runs [default: 100000:100x10]
    #[arg(long, value_name = "N:M[xK]", help_heading = help::SAMPLING, hide_short_help = true)]
    burst: Option<BurstLengths>,
    /// Sampling only: choose where bursts can begin and end
    ///
    /// orig, EL, EC, EN, L4, L10, LN and EC+L4 are the names in Hirzel & Chilimbi's table. Further names: ECL (as EC,
    /// but no entry check in recursions that already reach a check in a loop), LT (no checks in short loops), LB (nor
    /// in loops that call something with a check in each iteration), LU (small loops are unrolled), default
    #[arg(long, value_name = "NAME", value_parser = checks_parser(), hide_possible_values = true)]
    #[arg(help_heading = help::SAMPLING, hide_short_help = true)]
    checks: Option<Checks>,
    /// Sampling only: begin bursts after a number of `checks`, or at intervals of time such as `time:1ms`
    #[arg(long, value_name = "WHAT", value_parser = trigger, default_value = "checks")]
    #[arg(help_heading = help::SAMPLING, hide_short_help = true)]
    trigger: Trigger,
    /// Limit the memory for calling contexts; beyond it, new contexts count by function only
    #[arg(long, value_name = "SIZE", value_parser = sizes::parse, default_value = "256M")]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    max_context_memory: u64,
}

/// Creates the parser of system event names.
fn system_event_parser() -> impl TypedValueParser<Value = SystemEvent> {
    PossibleValuesParser::new(SystemEvent::names())
        .map(|name| SystemEvent::named(&name).expect("the parser lets only these through"))
}

/// Creates the parser of check placements.
fn checks_parser() -> impl TypedValueParser<Value = Checks> {
    PossibleValuesParser::new(Checks::names()).try_map(|name| name.parse::<Checks>())
}

/// Parses `NAME`, or `NAME=KIND`.
fn allocator(text: &str) -> Result<(String, AllocatorKind), String> {
    let (name, kind) = text.rsplit_once('=').unwrap_or((text, "malloc"));
    let kinds = || AllocatorKind::all().collect::<Vec<_>>().join(", ");
    let found = AllocatorKind::called(kind).filter(|_| !name.is_empty());
    let kind = found.ok_or_else(|| format!("give NAME, or NAME=KIND where KIND is one of {}", kinds()))?;
    Ok((name.to_owned(), kind))
}

/// Parses `checks`, or `time:` and a duration.
fn trigger(text: &str) -> Result<Trigger, String> {
    match text.strip_prefix("time:") {
        Some(every) => crate::durations::parse(every).map(Trigger::Time),
        None if text == "checks" => Ok(Trigger::Checks),
        None => Err("give checks, or time:DURATION such as time:1ms".to_owned()),
    }
}

impl ProfileArgs {
    /// Returns what to count, including the events of the budget's kind.
    ///
    /// # Errors
    /// Returns an error if the options contradict each other.
    pub fn counted(&self, limit: Option<&Limit>, until: Option<&Until>) -> Result<Measurements> {
        let budget = limit.and_then(Limit::events);
        let overhead = match limit {
            Some(Limit::Bursts(overhead)) => Some(*overhead),
            _ => None,
        };
        let stops = budget.is_some() || until.is_some();
        let mode = self.mode(stops);
        self.check(mode, overhead, stops)?;
        let mut events = self.events()?;
        let last = until.map(Until::budget);
        let budget = last.as_ref().or(budget).map(|budget| resolve(budget, &mut events)).transpose()?;
        let (profiling, weights, context_memory) =
            (self.profiling(mode, overhead)?, self.weights()?, self.context_memory(mode));
        let across =
            self.across(&profiling, weights.is_some() || context_memory.is_some() || !events.is_empty())?;
        let interesting = if across.is_none() { self.interesting()? } else { None };
        ensure!(
            self.interesting.is_none() || profiling == ProfilingConfig::Exact(Collect::Paths),
            "--interesting needs path counts: add --collect paths"
        );
        let metrics = self.metrics();
        ensure!(
            metrics.is_empty()
                || context_memory.is_some()
                || mode == Mode::Adaptive
                || profiling == ProfilingConfig::Exact(Collect::Paths),
            "cycles, cache misses and system events are measured along paths and in calling contexts: add `paths` or `cct` to --collect"
        );
        Ok(Measurements {
            profiling,
            events,
            budget,
            interesting,
            across,
            weights,
            until: until.cloned(),
            context_memory,
            metrics,
            flow: self.has_flow(),
            call_targets: self.wanted().any(|what| matches!(what, What::Callees)),
            merges_sites: self.merges_sites(),
            allocators: self.allocators()?,
            deterministic: self.deterministic,
        })
    }

    /// Returns the options with exact counts, unless another mode is requested.
    pub fn exact_unless_told(&self) -> ProfileArgs {
        ProfileArgs { mode: self.mode.or(Some(Mode::Exact)), ..self.clone() }
    }

    /// Returns the profiling mode; `stops` says whether events are counted to stop at one. A request for what bursts
    /// cannot count, or for the placement of counters, implies exact counts.
    fn mode(&self, stops: bool) -> Mode {
        let is_exact = self.exact || stops || self.weights.is_some() || !self.wanted().all(is_measured);
        self.mode.unwrap_or(if is_exact { Mode::Exact } else { Mode::Adaptive })
    }

    /// Checks that the options contradict neither each other nor a budget of bursts, nor the counting of events to stop
    /// at one.
    fn check(&self, mode: Mode, overhead: Option<Overhead>, stops: bool) -> Result<()> {
        ensure!(
            mode != Mode::Off || self.collect.is_empty(),
            "--profile off counts nothing: leave out --collect, or --profile off"
        );
        let has = |is: fn(&What) -> bool| self.wanted().any(is);
        self.cache
            .check(has(|what| matches!(what, What::Cache)), has(|what| matches!(what, What::Energy)))?;
        let has_counters = mode == Mode::Exact
            && (stops
                || self.collect.is_empty()
                || has(|what| !is_measured(what) && !matches!(what, What::Contexts { .. })));
        ensure!(
            self.weights.is_none() || has_counters,
            "--weights places counters, but nothing is counted exactly: add --collect edges, or leave out --weights"
        );
        let is_adaptive = mode == Mode::Adaptive;
        let is_timed = self.trigger != Trigger::Checks;
        let is_of_bursts = self.burst.is_some() || self.checks.is_some() || overhead.is_some() || is_timed;
        ensure!(
            is_adaptive || !is_of_bursts,
            "--burst, --checks, --trigger and --budget SHARE need sampling, but this profile is exact: add --profile adaptive, or leave them out"
        );
        ensure!(
            !self.deterministic || !is_timed && overhead.is_none(),
            "--trigger time and --budget SHARE depend on time, but --deterministic excludes time: leave out one of them"
        );
        ensure!(
            !is_adaptive || self.collects_in_bursts() && !stops,
            "--profile adaptive can collect only cct, cycles, cache and energy, and cannot stop the program at an event: leave out --profile adaptive, or everything else in --collect and what stops the program at an event"
        );
        Ok(())
    }

    fn metrics(&self) -> Vec<Metric> {
        let measured = |what: &What| match what {
            What::Cycles => vec![Metric::Cycles],
            What::Cache => self.cache.misses().collect(),
            What::Energy => self.cache.energy().collect(),
            What::Branches => vec![Metric::Mispredictions],
            What::Code(_) | What::Events(_) | What::Contexts { .. } | What::Flow => Vec::new(),
            What::Allocations | What::Callees => Vec::new(),
        };
        let of_system = self.events.iter().map(|event| Metric::System(*event));
        let mut metrics: Vec<Metric> = self.wanted().flat_map(measured).chain(of_system).collect();
        metrics.sort();
        metrics.dedup();
        metrics
    }

    /// Reports whether everything requested can be collected in bursts.
    fn collects_in_bursts(&self) -> bool {
        self.wanted().all(|what| is_measured(what) || matches!(what, What::Contexts { .. }))
    }

    fn wanted(&self) -> impl Iterator<Item = &What> {
        self.collect.iter().flat_map(|wanted| &wanted.0)
    }

    /// Returns the additional allocators, if allocations are counted.
    fn allocators(&self) -> Result<Option<Vec<(String, AllocatorKind)>>> {
        let is_counted = self.wanted().any(|what| matches!(what, What::Allocations));
        ensure!(
            is_counted || self.allocator.is_empty(),
            "--allocator names an allocator, but allocations are not counted: add --collect allocations"
        );
        Ok(is_counted.then(|| self.allocator.clone()))
    }

    fn has_flow(&self) -> bool {
        self.wanted().any(|what| matches!(what, What::Flow))
    }

    fn merges_sites(&self) -> bool {
        self.wanted().any(|what| matches!(what, What::Contexts { merges_sites: true }))
    }

    fn context_memory(&self, mode: Mode) -> Option<u64> {
        let counts_contexts =
            |what: &What| matches!(what, What::Contexts { .. } | What::Flow | What::Allocations);
        // Branch prediction without another request is measured in contexts.
        let predicts = self.wanted().any(|what| matches!(what, What::Branches));
        let has_paths = self.wanted().any(|what| matches!(what, What::Code(Collect::Paths)));
        let wants_contexts =
            mode == Mode::Adaptive || predicts && !has_paths || self.wanted().any(counts_contexts);
        wants_contexts.then_some(self.max_context_memory)
    }

    fn events(&self) -> Result<Vec<EventModel>> {
        let mut events: Vec<EventModel> = Vec::new();
        for what in self.wanted() {
            let What::Events(kinds) = what else { continue };
            for kind in kinds {
                let is_new = events.iter().all(|known| known.name != kind.name);
                ensure!(is_new, "the event kind `{}` is given twice: give it once", kind.name);
                events.push(kind.clone());
            }
        }
        Ok(events)
    }

    fn weights(&self) -> Result<Option<Arc<Profile>>> {
        self.weights.as_deref().map(weights).transpose()
    }

    fn interesting(&self) -> Result<Option<Interesting>> {
        let profile = self.interesting.as_deref().map(crate::commands::read_paths).transpose()?;
        Ok(profile.map(|profile| Interesting::new(Arc::new(profile))))
    }

    /// Returns which calls paths lead across; `has_more` says whether anything besides is counted.
    fn across(&self, profiling: &ProfilingConfig, has_more: bool) -> Result<Option<Across>> {
        let Some(depth) = self.depth else { return Ok(None) };
        ensure!(
            *profiling == ProfilingConfig::Exact(Collect::Paths),
            "--depth counts paths across calls: add --collect paths"
        );
        ensure!(
            !has_more && self.metrics().is_empty(),
            "nothing else can be counted with paths across calls: leave out --depth, or --weights, --budget and everything else in --collect"
        );
        Across::new(depth, self.interesting.as_deref()).map(Some)
    }

    fn adaptive(&self, budget: Option<Overhead>) -> Adaptive {
        let (lengths, checks) = (self.burst.unwrap_or_default(), self.checks.unwrap_or_default());
        Adaptive { lengths, checks, trigger: self.trigger, budget, optimized: None }
    }

    fn profiling(&self, mode: Mode, overhead: Option<Overhead>) -> Result<ProfilingConfig> {
        let code = self.wanted().filter_map(|what| match what {
            What::Code(collect) => Some(*collect),
            What::Flow => Some(Collect::Paths),
            What::Events(_) | What::Contexts { .. } | What::Cycles | What::Cache | What::Energy => None,
            What::Branches | What::Allocations | What::Callees => None,
        });
        let has_callees = self.wanted().any(|what| matches!(what, What::Callees));
        let mut code: Vec<Collect> = code.collect();
        if self.has_flow() {
            code.dedup();
        }
        match code[..] {
            _ if mode == Mode::Off => Ok(ProfilingConfig::Off),
            _ if mode == Mode::Adaptive => Ok(ProfilingConfig::Adaptive(self.adaptive(overhead))),
            [] if self.collect.is_empty() || has_callees => Ok(ProfilingConfig::Exact(Collect::Edges)),
            [] => Ok(ProfilingConfig::Off),
            [only] => Ok(ProfilingConfig::Exact(only)),
            _ => {
                bail!(
                    "edges, paths and blocks cannot be counted together: give one of edges, paths and blocks (edges include blocks, paths include both)"
                )
            }
        }
    }
}

/// Reports whether `what` is measured along paths and in contexts, if these are counted.
fn is_measured(what: &What) -> bool {
    matches!(what, What::Cycles | What::Cache | What::Energy)
}

#[cfg(test)]
mod tests {
    use super::wanted::wanted;
    use super::*;

    fn none() -> ProfileArgs {
        ProfileArgs {
            mode: None,
            exact: false,
            burst: None,
            checks: None,
            trigger: Trigger::Checks,
            deterministic: false,
            collect: Vec::new(),
            cache: CacheArgs::default(),
            allocator: Vec::new(),
            events: Vec::new(),
            max_context_memory: 0,
            interesting: None,
            depth: None,
            weights: None,
        }
    }

    #[test]
    fn bursts_are_of_adaptive_profiles_only() {
        let lengths = BurstLengths::new(7, 2);
        let burst = Some(lengths);
        let adaptive = ProfileArgs { burst, ..none() };
        let expected = Adaptive { lengths, ..Adaptive::default() };
        let found = adaptive.counted(None, None).unwrap();
        assert_eq!(found.profiling, ProfilingConfig::Adaptive(expected));
        assert!(ProfileArgs { exact: true, burst, ..none() }.counted(None, None).is_err());
        let collect = vec![CollectValue(vec![What::Code(Collect::Edges)])];
        assert!(ProfileArgs { collect: collect.clone(), burst, ..none() }.counted(None, None).is_err());
        let adaptive = ProfileArgs { mode: Some(Mode::Adaptive), collect, ..none() };
        assert!(adaptive.counted(None, None).is_err());
        let collect = vec![CollectValue(vec![What::Cycles])];
        let measured = ProfileArgs { collect, ..none() }.counted(None, None).unwrap();
        assert_eq!((measured.metrics, measured.context_memory), (vec![Metric::Cycles], Some(0)));
    }

    #[test]
    fn bursts_may_follow_the_clock_unless_each_run_is_to_be_the_same() {
        let trigger = trigger("time:1ms").unwrap();
        assert_eq!(trigger, Trigger::Time(std::time::Duration::from_millis(1)));
        let limit = Limit::parse("2%").unwrap();
        let args = |mode, trigger, deterministic| {
            let mode = Some(mode);
            ProfileArgs { mode, trigger, deterministic, ..none() }
        };
        let timed = args(Mode::Adaptive, trigger, false).counted(None, None).unwrap().profiling;
        assert_eq!(timed, ProfilingConfig::Adaptive(Adaptive { trigger, ..Adaptive::default() }));
        let kept =
            args(Mode::Adaptive, Trigger::Checks, false).counted(Some(&limit), None).unwrap().profiling;
        let budget = Some(Overhead { millionths: 20_000 });
        assert_eq!(kept, ProfilingConfig::Adaptive(Adaptive { budget, ..Adaptive::default() }));
        assert!(args(Mode::Adaptive, trigger, true).counted(None, None).is_err());
        assert!(args(Mode::Exact, trigger, false).counted(None, None).is_err());
        assert!(args(Mode::Adaptive, Trigger::Checks, true).counted(Some(&limit), None).is_err());
        assert!(args(Mode::Exact, Trigger::Checks, false).counted(Some(&limit), None).is_err());
        assert!(["time", "time:", "check", "time:0s"].iter().all(|text| super::trigger(text).is_err()));
    }

    fn counted(collect: &[&str], budget: Option<&str>) -> Result<Measurements> {
        let collect = collect.iter().map(|text| wanted(text).unwrap()).collect();
        let args = ProfileArgs { collect, max_context_memory: 7, ..none() };
        args.counted(budget.map(|text| Limit::parse(text).unwrap()).as_ref(), None)
    }

    #[test]
    fn what_bursts_do_not_count_is_counted_exactly() {
        let sampled = ProfilingConfig::Adaptive(Adaptive::default());
        let edges = ProfilingConfig::Exact(Collect::Edges);
        let of = |args: ProfileArgs| args.counted(None, None).unwrap();
        assert_eq!((of(none()).profiling, of(none()).context_memory), (sampled, Some(0)));
        assert_eq!(of(ProfileArgs { exact: true, ..none() }).profiling, edges);
        assert_eq!(of(none().exact_unless_told()).profiling, edges);
        assert_eq!(counted(&["cycles,cache"], None).unwrap().profiling, sampled);
        assert_eq!(counted(&[], Some("instructions=7")).unwrap().profiling, edges);
        let until = none().counted(None, Some(&Until::Instruction(7))).unwrap();
        assert_eq!((until.profiling, until.context_memory), (edges, None));
    }

    #[test]
    fn edges_are_counted_unless_only_events_are_asked_for() {
        let profiling = |collect: &[&str]| counted(collect, None).unwrap().profiling;
        let edges = ProfilingConfig::Exact(Collect::Edges);
        assert_eq!([&["edges"][..], &["edges", "events=fuel"]].map(profiling), [edges; 2]);
        assert_eq!(profiling(&["events=fuel", "events=loads"]), ProfilingConfig::Off);
        assert_eq!(profiling(&["events=fuel", "blocks"]), ProfilingConfig::Exact(Collect::Blocks));
        assert_eq!(profiling(&["cct"]), ProfilingConfig::Off);
        assert_eq!(profiling(&["cct=by-callee"]), ProfilingConfig::Off);
    }

    #[test]
    fn several_things_can_be_asked_for_at_once() {
        let both = counted(&["edges,cct,events=loads,fuel"], None).unwrap();
        assert_eq!(both.profiling, ProfilingConfig::Exact(Collect::Edges));
        assert_eq!((both.context_memory, both.events.len()), (Some(7), 2));
        assert_eq!(counted(&["edges"], None).unwrap().context_memory, None);
        let merges_sites = |what: &str| counted(&[what], None).unwrap().merges_sites;
        assert_eq!(["flow,cct=by-callee", "flow,cct"].map(merges_sites), [true, false]);
    }

    #[test]
    fn metrics_are_measured_along_paths() {
        let metrics = |collect: &[&str]| counted(collect, None).map(|counted| counted.metrics).ok();
        let both = [Metric::Cycles].into_iter().chain(CacheArgs::default().misses()).collect();
        assert_eq!(metrics(&["paths,cache,cycles", "cycles"]), Some(both));
        assert_eq!(metrics(&["paths"]), Some(Vec::new()));
        assert_eq!(metrics(&["cct,cycles"]), Some(vec![Metric::Cycles]));
        let flow = counted(&["paths,cct,flow,cycles"], None).unwrap();
        assert!(flow.flow && flow.context_memory.is_some());
        assert_eq!(flow.profiling, ProfilingConfig::Exact(Collect::Paths));
        assert_eq!(metrics(&["edges,cache"]), None);
        let energy = CacheArgs::default().energy().collect();
        assert_eq!(metrics(&["paths,energy"]), Some(energy));
        assert_eq!(metrics(&["paths,energy,cache"]).map(|all| all.len()), Some(2));
    }

    #[test]
    fn a_budget_counts_its_kind_once() {
        let names = |collect: &[&str], budget| {
            let events = counted(collect, Some(budget)).unwrap().events;
            events.into_iter().map(|kind| kind.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&[], "fuel=7"), ["fuel"]);
        assert_eq!(names(&["events=loads,fuel"], "fuel=7"), ["loads", "fuel"]);
        assert!(counted(&[], Some("fule=7")).is_err() && counted(&[], Some("fuel,loads=7")).is_err());
    }

    #[test]
    fn contradictions_are_refused() {
        for collect in [&["edges", "blocks"][..], &["edges", "paths"], &["events=fuel", "events=loads,fuel"]]
        {
            assert!(counted(collect, None).is_err(), "{collect:?}");
        }
        for text in [
            "edge",
            "events",
            "events=",
            "events=fule",
            "",
            "edges,",
            ",cct",
            "events=fuel,cct",
            "cct=by-site",
        ] {
            assert!(wanted(text).is_err(), "{text}");
        }
        let collect = vec![CollectValue(vec![What::Code(Collect::Edges)])];
        let off = ProfileArgs { mode: Some(Mode::Off), collect, ..none() };
        assert!(off.counted(None, None).is_err());
    }
}
