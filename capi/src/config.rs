//! Settings of engines.

use wprof::{Adaptive, Collect, Config, Engine, ProfilingConfig, Strategy};

use crate::error::{Message, report, wrong};
use crate::vector::Owned;

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
    ["wprof_config_conservative"] fn() -> Box<Config> {
        Box::new(Config::conservative())
    }
}
