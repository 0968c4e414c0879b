//! Settings of engines.

use std::sync::Arc;

use wprof::profiler::{BurstLengths, Profile};
use wprof::{Adaptive, Collect, Config, Engine, EventModel, ProfilingConfig, Result, Strategy};

use crate::error::{Message, report, wrong};
use crate::vector::{Bytes, Owned, text};

/// Returns what is collected for a number of `wprof.h`.
fn profiling(kind: u8) -> Option<ProfilingConfig> {
    Some(match kind {
        0 => ProfilingConfig::Off,
        1 => ProfilingConfig::Adaptive(Adaptive::default()),
        2 => ProfilingConfig::Exact(Collect::Edges),
        3 => ProfilingConfig::Exact(Collect::Paths),
        4 => ProfilingConfig::Exact(Collect::Blocks),
        _ => return None,
    })
}

/// Accepts or refuses modules that need a proposal, by the name of its setting in [`Config`].
fn toggle(config: &mut Config, name: &str, enable: bool) -> Result<()> {
    let set = PROPOSALS.iter().find(|(known, _)| *known == name).map(|(_, set)| set);
    let set = set.ok_or_else(|| {
        let known = PROPOSALS.map(|(name, _)| name).join(", ");
        wrong(format_args!("no proposal is called `{name}`: there are {known}"))
    })?;
    set(config, enable);
    Ok(())
}

type Toggle = fn(&mut Config, bool) -> &mut Config;

const PROPOSALS: [(&str, Toggle); 16] = [
    ("simd", Config::wasm_simd),
    ("relaxed_simd", Config::wasm_relaxed_simd),
    ("tail_call", Config::wasm_tail_call),
    ("memory64", Config::wasm_memory64),
    ("multi_memory", Config::wasm_multi_memory),
    ("extended_const", Config::wasm_extended_const),
    ("bulk_memory", Config::wasm_bulk_memory),
    ("reference_types", Config::wasm_reference_types),
    ("multi_value", Config::wasm_multi_value),
    ("sign_extension", Config::wasm_sign_extension),
    ("saturating_float_to_int", Config::wasm_saturating_float_to_int),
    ("mutable_global", Config::wasm_mutable_global),
    ("exceptions", Config::wasm_exceptions),
    ("threads", Config::wasm_threads),
    ("function_references", Config::wasm_function_references),
    ("gc", Config::wasm_gc),
];

/// Returns the built-in kinds of events with these names.
fn events(names: &str) -> Result<Vec<EventModel>> {
    let kind = |name: &str| {
        let known = || wprof::BUILT_IN_EVENTS.join(", ");
        EventModel::built_in(name)
            .ok_or_else(|| wrong(format_args!("no kind of events is called `{name}`: there are {}", known())))
    };
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(kind).collect()
}

/// Chooses adaptive profiles with bursts of a length.
fn bursts(config: &mut Config, between: u32, in_burst: u32) -> Result<()> {
    if between == 0 || in_burst == 0 {
        return Err(wrong("bursts, and what is between them, are at least one check long"));
    }
    let lengths = BurstLengths::new(between, in_burst);
    config.profiling(ProfilingConfig::Adaptive(Adaptive { lengths, ..Adaptive::default() }));
    Ok(())
}

fn strategy(kind: u8) -> Option<Strategy> {
    [Strategy::Tiered, Strategy::Optimized, Strategy::Baseline].get(usize::from(kind)).copied()
}

export! {
    ["wasm_config_new"] fn() -> Box<Config> {
        Box::new(Config::new())
    }
    ["wasm_config_delete"] fn(config: Owned<Config>) {
        drop(config);
    }
    ["wasm_engine_new_with_config"] fn(config: Box<Config>) -> Owned<Engine> {
        Engine::new(&config).ok().map(Box::new)
    }
    ["wprof_engine_new"] fn(config: Box<Config>, error: Message<'_>) -> Owned<Engine> {
        report(Engine::new(&config).map(Box::new), error)
    }
    ["wprof_config_profiling"] fn(config: &mut Config, kind: u8, error: Message<'_>) -> bool {
        let known = profiling(kind).ok_or_else(|| wrong(format_args!("no kind of profile has number {kind}")));
        report(known.map(|profiling| config.profiling(profiling)), error).is_some()
    }
    ["wprof_config_strategy"] fn(config: &mut Config, kind: u8, error: Message<'_>) -> bool {
        let known = strategy(kind).ok_or_else(|| wrong(format_args!("no strategy has number {kind}")));
        report(known.map(|strategy| config.strategy(strategy)), error).is_some()
    }
    ["wprof_config_count_contexts"] fn(config: &mut Config, enable: bool) {
        config.count_contexts(enable);
    }
    ["wprof_config_bursts"] fn(config: &mut Config, between: u32, in_burst: u32, error: Message<'_>) -> bool {
        report(bursts(config, between, in_burst), error).is_some()
    }
    ["wprof_config_count_call_targets"] fn(config: &mut Config, enable: bool) {
        config.count_call_targets(enable);
    }
    ["wprof_config_time_host_calls"] fn(config: &mut Config, enable: bool) {
        config.time_host_calls(enable);
    }
    ["wprof_config_count_events"] fn(config: &mut Config, kinds: &Bytes, error: Message<'_>) -> bool {
        report(events(&text(kinds)).map(|kinds| config.count_events(kinds)), error).is_some()
    }
    ["wprof_config_budget"] fn(config: &mut Config, kind: &Bytes) {
        config.budget(text(kind));
    }
    ["wprof_config_profile_use"] fn(config: &mut Config, profile: &Profile) {
        config.profile_use(Arc::new(profile.clone()));
    }
    ["wprof_config_code_cache"] fn(config: &mut Config, folder: &Bytes) {
        config.code_cache(text(folder));
    }
    ["wprof_config_coredump_on_trap"] fn(config: &mut Config, enable: bool) {
        config.coredump_on_trap(enable);
    }
    ["wprof_config_sample_time"] fn(config: &mut Config, rate: u32) {
        config.sample_time(Some(rate));
    }
    ["wprof_config_interruptible"] fn(config: &mut Config, enable: bool) {
        config.interruptible(enable);
    }
    ["wprof_config_consume_fuel"] fn(config: &mut Config, enable: bool) {
        config.consume_fuel(enable);
    }
    ["wprof_config_canonical_nans"] fn(config: &mut Config, enable: bool) {
        config.canonical_nans(enable);
    }
    ["wprof_config_max_wasm_stack"] fn(config: &mut Config, bytes: usize) {
        config.max_wasm_stack((bytes > 0).then_some(bytes));
    }
    ["wprof_config_max_call_depth"] fn(config: &mut Config, frames: u32) {
        config.max_call_depth((frames > 0).then_some(frames));
    }
    ["wprof_config_proposal"] fn(config: &mut Config, name: &Bytes, enable: bool, error: Message<'_>) -> bool {
        report(toggle(config, &text(name), enable), error).is_some()
    }
    ["wprof_config_conservative"] fn() -> Box<Config> {
        Box::new(Config::conservative())
    }
}
