//! The engines that generated modules run in.

use std::ops::Deref;
use std::sync::OnceLock;

use wprof::{Collect, Config, Engine, Metric, ProfilingConfig, Strategy, Tracing};
use wprof_profiler::BurstLengths;

use super::events;
use super::hot::{self, Hot};
use super::sampled::Sampled;
use super::wasm3::Wasm3;
use crate::engines::reference;
use crate::mode::{Mode, bursts, unoptimized};
use crate::oracle::cache::small_cache;

pub(super) const STRATEGIES: [Strategy; 3] = [Strategy::Baseline, Strategy::Optimized, Strategy::Tiered];

/// The engines in which modules run; each engine runs many modules.
#[derive(Debug)]
pub struct Engines {
    pub(super) reference: wasmi::Engine,
    pub(super) off: Made,
    /// Baseline code, compiled instruction by instruction: the reference for the places of traps.
    pub(super) baseline: Made,
    pub(super) exact: Made,
    pub(super) every_edge: Made,
    pub(super) every_block: Made,
    pub(super) paths: Made,
    pub(super) traced_paths: [Made; 3],
    pub(super) metered: Made,
    /// Bursts of different lengths; the next field has bursts that never end, by optimised and unoptimised code.
    pub(super) bursts: [Made; 6],
    pub(super) burst: [Made; 2],
    pub(super) traced: Made,
    /// One engine for each way of recording data references.
    pub(super) referenced: Vec<Made>,
    pub(super) contexts: Made,
    /// Bursts that never end; the next field has shorter bursts.
    pub(super) contexts_in_burst: [Made; 2],
    pub(super) contexts_in_bursts: [Made; 2],
    pub(super) contexts_traced: [Made; 3],
    /// Contexts, and paths in them, with call sites merged.
    pub(super) contexts_by_callee: Made,
    pub(super) flow_by_callee: Made,
    pub(super) flow_traced: [Made; 3],
    /// Paths in contexts without a trace, with and without path cells in call records.
    pub(super) flow: [Made; 2],
    /// Events in contexts, counted one by one; the next fields count them in other ways, and without contexts.
    pub(super) events_simply: Made,
    pub(super) events_in_contexts: Vec<Made>,
    pub(super) events_alone: Made,
    pub(super) checked: Made,
    pub(super) unguarded: Made,
    pub(super) parts: Made,
    pub(super) frame: Made,
    pub(super) default: Made,
    pub(super) eager: Made,
    pub(super) sampled: Sampled,
    pub(super) hot: Vec<Hot>,
    pub(super) wasm3: Wasm3,
}

impl Default for Engines {
    /// Creates all engines.
    ///
    /// # Panics
    /// Panics if this machine is not supported.
    fn default() -> Engines {
        let profiling = |collect| made(Config::new().profiling(ProfilingConfig::Exact(collect)));
        let forever = bursts(1, BurstLengths::FOREVER, "orig");
        Engines {
            reference: reference::engine(),
            off: made(&Mode::Off.config()),
            baseline: made(&Mode::Baseline.config()),
            exact: made(&Mode::Exact.config()),
            every_edge: profiling(Collect::AllEdges),
            every_block: profiling(Collect::AllBlocks),
            paths: tracing_paths(Strategy::Tiered, None),
            traced_paths: STRATEGIES.map(|strategy| tracing_paths(strategy, Some(Tracing::Best))),
            metered: made(&Mode::Metered.config()),
            bursts: [
                made(&Mode::Bursts.config()),
                made(&Mode::Timed.config()),
                bursty(Strategy::Optimized, bursts(1, 1, "orig")),
                bursty(Strategy::Tiered, unoptimized(bursts(1, 1, "default"))),
                bursty(Strategy::Optimized, unoptimized(bursts(7, 2, "default"))),
                bursty(Strategy::Tiered, bursts(1000, 50, "default")),
            ],
            burst: [forever, unoptimized(forever)].map(|profiling| bursty(Strategy::Optimized, profiling)),
            traced: made(Config::new().trace(Tracing::Best)),
            referenced: referenced(),
            contexts: made(tiered().count_contexts(true)),
            contexts_in_burst: [forever, unoptimized(forever)]
                .map(|profiling| contexts_in(Strategy::Optimized, profiling)),
            contexts_in_bursts: [
                contexts_in(Strategy::Tiered, unoptimized(bursts(2, 3, "orig"))),
                contexts_in(Strategy::Optimized, bursts(7, 2, "default")),
            ],
            contexts_traced: [Strategy::Tiered, Strategy::Baseline, Strategy::Optimized].map(|strategy| {
                let mut config = tiered();
                config.strategy(strategy).trace(Tracing::Best).trace_references(true).count_contexts(true);
                made(config.measure([Metric::CacheMisses(small_cache())]))
            }),
            contexts_by_callee: made(tiered().count_contexts(true).merge_call_sites(true)),
            flow_by_callee: {
                let mut config = tiered();
                config.count_contexts(true).flow_contexts(true).merge_call_sites(true);
                made(config.profiling(ProfilingConfig::Exact(Collect::Paths)))
            },
            flow_traced: [Strategy::Tiered, Strategy::Baseline, Strategy::Optimized].map(|strategy| {
                let mut config = tiered();
                config.strategy(strategy).trace(Tracing::Best).count_contexts(true).flow_contexts(true);
                made(config.profiling(ProfilingConfig::Exact(Collect::Paths)).measure([Metric::Cycles]))
            }),
            flow: [64, 0].map(|cells| {
                let mut config = Mode::Tiered.config();
                config.count_contexts(true).flow_contexts(true).record_paths(cells);
                made(config.profiling(ProfilingConfig::Exact(Collect::Paths)))
            }),
            events_simply: events::simple(),
            events_in_contexts: events::clever(),
            events_alone: events::totals(),
            checked: made(&Mode::Checked.config()),
            unguarded: made(&Mode::Unguarded.config()),
            parts: made(&Mode::Parts.config()),
            frame: made(&Mode::Frame.config()),
            default: made(&Mode::Default.config()),
            eager: made(&Mode::Eager.config()),
            sampled: Sampled::default(),
            hot: hot::ways(),
            wasm3: Wasm3::default(),
        }
    }
}

pub(super) fn tiered() -> Config {
    Mode::Tiered.config()
}

pub(super) fn engine(config: &Config) -> Engine {
    try_engine(config).expect("an engine for this machine")
}

/// The environment variable that says which passes all engines have, so that the one at fault can be found.
const PASSES: &str = "WPROF_PASSES";

/// Creates an engine with these settings, and the passes of the environment if it names any.
pub(super) fn try_engine(config: &Config) -> wprof::Result<Engine> {
    let Ok(passes) = std::env::var(PASSES) else { return Engine::new(config) };
    let passes = passes.parse().unwrap_or_else(|e| panic!("{PASSES}: {e}"));
    Engine::new(config.clone().passes(passes))
}

/// An engine that is created on first use, since most checks use few engines.
#[derive(Debug)]
pub struct Made {
    config: Config,
    engine: OnceLock<Engine>,
}

/// Returns an engine with this configuration.
pub(super) fn made(config: &Config) -> Made {
    Made { config: config.clone(), engine: OnceLock::new() }
}

impl Deref for Made {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        self.engine.get_or_init(|| engine(&self.config))
    }
}

/// Returns an engine that counts paths in bursts.
fn bursty(strategy: Strategy, profiling: ProfilingConfig) -> Made {
    made(tiered().strategy(strategy).parts_above(20).loop_entries_above(0).profiling(profiling))
}

/// Returns an engine that counts contexts in bursts.
fn contexts_in(strategy: Strategy, profiling: ProfilingConfig) -> Made {
    made(tiered().strategy(strategy).loop_entries_above(0).profiling(profiling).count_contexts(true))
}

/// Returns an engine that counts paths, and traces if `tracing` is given.
fn tracing_paths(strategy: Strategy, tracing: Option<Tracing>) -> Made {
    let mut config = tiered();
    config.strategy(strategy).profiling(ProfilingConfig::Exact(Collect::Paths));
    if let Some(tracing) = tracing {
        config.trace(tracing).trace_references(true);
        config.measure([Metric::Cycles, Metric::CacheMisses(small_cache())]);
    }
    made(&config)
}

/// Returns engines for each tier, for chunks that end everywhere, and for explicit bounds checks.
fn referenced() -> Vec<Made> {
    let strategies = [Strategy::Optimized, Strategy::Baseline, Strategy::Tiered];
    let settings = strategies.into_iter().zip([8, 64 << 10, 100]);
    let engine = |(strategy, buffer)| {
        let mut config = Config::new();
        config.trace(Tracing::Best).trace_references(true).trace_buffer(buffer);
        config.strategy(strategy).promote_after(3).background_compilation(false);
        if strategy == Strategy::Baseline {
            config.memory_reservation(1 << 16).spectre_guards(false);
        }
        made(&config)
    };
    settings.map(engine).collect()
}
