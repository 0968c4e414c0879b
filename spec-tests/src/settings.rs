//! The settings of an engine, with the choices that change how programs run, and engines that have each pair of them.
//!
//! [`Mode`](crate::mode::Mode) names the combinations that people use. Here each two choices meet in some engine, unless
//! the engine refuses to combine them ([`pairs`](crate::pairs)).

use std::collections::BTreeMap;

use wprof::profiler::{Extension, RareSites};
use wprof::{
    Collect, Config, Engine, Metric, PassSet, Policy, PoolingConfig, ProfilingConfig, Strategy, Tracing,
};

use crate::mode::{bursts, kinds, unoptimized};
use crate::pairs::{Covering, Row, covering};
use crate::rng::Rng;

/// A change of a configuration.
pub type Change = fn(&mut Config);

/// A setting, and its choices by name. The first one is the default.
#[derive(Debug)]
pub struct Setting {
    /// The name.
    pub name: &'static str,
    /// The choices.
    pub choices: &'static [(&'static str, Change)],
}

/// Leaves the default.
fn usual(_: &mut Config) {}

macro_rules! settings {
    ($($name:literal: $usual:literal $(, $choice:literal => $change:expr)+;)*) => {
        /// All settings.
        pub const SETTINGS: &[Setting] =
            &[$(Setting { name: $name, choices: &[($usual, usual) $(, ($choice, $change))+] }),*];
    };
}

settings! {
    "strategy": "tiered",
        "optimized" => |c| _ = c.strategy(Strategy::Optimized),
        "baseline" => |c| _ = c.strategy(Strategy::Baseline);
    "compilation": "in the background, ahead",
        "in the background" => |c| _ = c.speculative_compilation(false),
        "waited for" => |c| _ = c.background_compilation(false);
    "profile": "off",
        "edges" => |c| _ = c.profiling(ProfilingConfig::Exact(Collect::Edges)),
        "all edges" => |c| _ = c.profiling(ProfilingConfig::Exact(Collect::AllEdges)),
        "paths" => |c| _ = c.profiling(ProfilingConfig::Exact(Collect::Paths)),
        "blocks" => |c| _ = c.profiling(ProfilingConfig::Exact(Collect::Blocks)),
        "bursts" => |c| _ = c.profiling(bursts(7, 5, "default")),
        "unoptimized bursts" => |c| _ = c.profiling(unoptimized(bursts(211, 53, "orig"))),
        "default" => |c| _ = c.profiling(ProfilingConfig::Adaptive(wprof::Adaptive::default()));
    "reoptimization": "usual",
        "at once" => |c| _ = c.reoptimization(Some(Policy::eager())),
        "with prefetching" => |c| _ = c.reoptimization(Some(Policy {
            prefetching: true, prefetching_calls: 8, prefetching_gain: -1e12, ..Policy::eager()
        })),
        "never" => |c| _ = c.reoptimization(None);
    "promotion": "usual",
        "early" => |c| _ = c.promote_after(2);
    "parts": "of large functions",
        "of all functions" => |c| _ = c.parts_above(1),
        "of none" => |c| _ = c.parts_above(usize::MAX);
    "loops": "usual",
        "entered in common code" => |c| _ = c.loop_entries_above(0).shared_loops_above(0);
    "passes": "all",
        "none" => |c| _ = c.passes(PassSet::none());
    "values across calls": "as many as pay off",
        "none" => |c| _ = c.values_across_calls(0);
    "memories": "reserved",
        "checked" => |c| _ = c.memory_reservation(0).memory_guard_size(0);
    "guards against speculation": "yes",
        "no" => |c| _ = c.spectre_guards(false);
    "signals": "used",
        "unused" => |c| _ = c.signals_based_traps(false);
    "polls": "no",
        "yes" => |c| _ = c.interruptible(true);
    "NaNs": "any",
        "canonical" => |c| _ = c.canonical_nans(true);
    "proofs": "no",
        "yes" => |c| _ = c.verify(true);
    "stack": "the caller's",
        "own" => |c| _ = c.max_wasm_stack(Some(64 << 20));
    "frames": "as many as fit",
        "limited" => |c| _ = c.max_call_depth(Some(1 << 20));
    "pool": "none",
        "for two" => |c| _ = c.pooling(Some(PoolingConfig::for_instances(2))),
        "for two, with copies of the data" =>
            |c| _ = c.allocation_strategy(PoolingConfig::for_instances(2)).memory_init_cow(false);
    "events": "none",
        "all" => |c| _ = c.count_events(kinds()),
        "with a budget" => |c| _ = c.count_events(kinds()).budget("instructions"),
        "fuel" => |c| _ = c.consume_fuel(true);
    "contexts": "none",
        "counted" => |c| _ = c.count_contexts(true),
        "with allocations" => |c| _ = c.count_contexts(true).count_allocations([]),
        "with metrics" => |c| _ = c.count_contexts(true).measure([Metric::Cycles, Metric::Mispredictions]),
        "with paths" => |c| _ = c.count_contexts(true).flow_contexts(true),
        "by function" => |c| _ = c.count_contexts(true).merge_call_sites(true);
    "callees of indirect calls": "not counted",
        "counted" => |c| _ = c.count_call_targets(true);
    "trace": "none",
        "of branches" => |c| _ = c.trace(Tracing::Best),
        "of references" => |c| _ = c.trace(Tracing::Best).trace_references(true);
    "time": "not sampled",
        "sampled" => |c| _ = c.sample_time(Some(1000));
    "host calls": "not timed",
        "timed" => |c| _ = c.time_host_calls(true);
    "time line": "no",
        "yes" => |c| _ = c.time_line(true);
    "policy of bursts": "all that are due",
        "rare sites" => |c| _ = c.burst_policy(|| Box::new(RareSites::new(2, 10)));
    "records of bursts": "no",
        "yes" => |c| _ = c.record_bursts(true);
    "paths in bursts": "acyclic",
        "extended" => |c| _ = c.extend_paths(Some(Extension::BackEdges(2)));
    "collections": "when due",
        "at every allocation" => |c| _ = c.gc_stress(true);
}

/// Returns the configuration of a row of choices.
pub fn config(row: &[usize]) -> Config {
    let mut config = Config::new();
    row.iter().zip(SETTINGS).for_each(|(&choice, setting)| setting.choices[choice].1(&mut config));
    config
}

/// Returns the choices of a row that are not defaults.
pub fn describe(row: &[usize]) -> String {
    let changed = row.iter().zip(SETTINGS).filter(|&(&choice, _)| choice > 0);
    let named = changed.map(|(&choice, setting)| format!("{}: {}", setting.name, setting.choices[choice].0));
    named.collect::<Vec<_>>().join("; ")
}

/// Returns rows in which each two choices meet that engines combine.
pub fn rows() -> Covering {
    let sizes: Vec<usize> = SETTINGS.iter().map(|setting| setting.choices.len()).collect();
    covering(&sizes, |row| Engine::new(&config(row)).is_ok())
}

/// Settings that decide which compiler runs and when; without a change of these, short programs end in baseline code.
const DECISIVE: [&str; 5] = ["strategy", "compilation", "profile", "reoptimization", "promotion"];

/// The probabilities, in percent, that a decisive setting and another one are not at their default.
const CHANGED: [usize; 2] = [70, 15];

/// Returns a row of choices that an engine combines.
pub fn random_row(rng: &mut Rng) -> Row {
    let mut row: Row = vec![0; SETTINGS.len()];
    let mut left: Vec<usize> = (0..SETTINGS.len()).collect();
    while !left.is_empty() {
        let at = left.swap_remove(rng.below(left.len()));
        let Setting { name, choices } = &SETTINGS[at];
        if rng.chance(CHANGED[usize::from(!DECISIVE.contains(name))]) {
            row[at] = 1 + rng.below(choices.len() - 1);
            if Engine::new(&config(&row)).is_err() {
                row[at] = 0;
            }
        }
    }
    row
}

/// Returns why engines refuse each pair of choices that they do not combine.
///
/// # Panics
/// Panics if an engine combines the two after all.
pub fn refusals(covering: &Covering) -> BTreeMap<String, String> {
    let refusal = |pair: &[(usize, usize); 2]| {
        let mut row: Row = vec![0; SETTINGS.len()];
        pair.iter().for_each(|&(setting, choice)| row[setting] = choice);
        let error = Engine::new(&config(&row)).expect_err("it was refused");
        (describe(&row), error.to_string())
    };
    covering.excluded.iter().map(refusal).collect()
}
