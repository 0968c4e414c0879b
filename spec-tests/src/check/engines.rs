//! The engines that generated modules run in.

use wprof::{Collect, Config, Engine, Metric, ProfilingConfig, Strategy, Tracing};
use wprof_profiler::BurstLengths;

use crate::engines::reference;
use crate::mode::{Mode, bursts, unoptimized};
use crate::oracle::cache::small_cache;

pub(super) const STRATEGIES: [Strategy; 3] = [Strategy::Baseline, Strategy::Optimized, Strategy::Tiered];

/// The engines that modules run in; each is used for many of them.
#[derive(Debug)]
pub struct Engines {
    pub(super) reference: wasmi::Engine,
    pub(super) off: Engine,
    /// Code that is compiled instruction by instruction: it says where a trap is.
    pub(super) baseline: Engine,
    pub(super) exact: Engine,
    pub(super) every_edge: Engine,
    pub(super) every_block: Engine,
    pub(super) paths: Engine,
    pub(super) traced_paths: [Engine; 3],
    pub(super) metered: Engine,
    /// Different lengths of bursts, and a burst that does not end, in code that is optimised or not.
    pub(super) bursts: [Engine; 6],
    pub(super) burst: [Engine; 2],
    pub(super) traced: Engine,
    /// Every way of recording data references.
    pub(super) referenced: Vec<Engine>,
    pub(super) contexts: Engine,
    /// A burst that does not end, and others.
    pub(super) contexts_in_burst: [Engine; 2],
    pub(super) contexts_in_bursts: [Engine; 2],
    pub(super) contexts_traced: [Engine; 3],
    pub(super) flow_traced: [Engine; 3],
    /// Likewise without a trace: records have cells for paths, or none has.
    pub(super) flow: [Engine; 2],
    pub(super) checked: Engine,
    pub(super) unguarded: Engine,
    pub(super) parts: Engine,
    pub(super) frame: Engine,
}

impl Default for Engines {
    /// All engines.
    ///
    /// # Panics
    /// If this machine is not supported.
    fn default() -> Engines {
        let profiling = |collect| {
            let engine = Engine::with_profiling(ProfilingConfig::Exact(collect));
            engine.expect("an engine for this machine")
        };
        let forever = bursts(1, BurstLengths::FOREVER, "orig");
        Engines {
            reference: reference::engine(),
            off: Mode::Off.engine(),
            baseline: Mode::Baseline.engine(),
            exact: Mode::Exact.engine(),
            every_edge: profiling(Collect::AllEdges),
            every_block: profiling(Collect::AllBlocks),
            paths: tracing_paths(Strategy::Tiered, None),
            traced_paths: STRATEGIES.map(|strategy| tracing_paths(strategy, Some(Tracing::Best))),
            metered: Mode::Metered.engine(),
            bursts: [
                Mode::Bursts.engine(),
                Mode::Timed.engine(),
                bursty(Strategy::Optimized, bursts(1, 1, "orig")),
                bursty(Strategy::Tiered, unoptimized(bursts(1, 1, "default"))),
                bursty(Strategy::Optimized, unoptimized(bursts(7, 2, "default"))),
                bursty(Strategy::Tiered, bursts(1000, 50, "default")),
            ],
            burst: [forever, unoptimized(forever)].map(|profiling| bursty(Strategy::Optimized, profiling)),
            traced: engine(Config::new().trace(Tracing::Best)),
            referenced: referenced(),
            contexts: engine(tiered().count_contexts(true)),
            contexts_in_burst: [forever, unoptimized(forever)]
                .map(|profiling| contexts_in(Strategy::Optimized, profiling)),
            contexts_in_bursts: [
                contexts_in(Strategy::Tiered, unoptimized(bursts(2, 3, "orig"))),
                contexts_in(Strategy::Optimized, bursts(7, 2, "default")),
            ],
            contexts_traced: [Strategy::Tiered, Strategy::Baseline, Strategy::Optimized].map(|strategy| {
                let mut config = tiered();
                config.strategy(strategy).trace(Tracing::Best).trace_references(true).count_contexts(true);
                engine(config.measure([Metric::CacheMisses(small_cache())]))
            }),
            flow_traced: [Strategy::Tiered, Strategy::Baseline, Strategy::Optimized].map(|strategy| {
                let mut config = tiered();
                config.strategy(strategy).trace(Tracing::Best).count_contexts(true).flow_contexts(true);
                engine(config.profiling(ProfilingConfig::Exact(Collect::Paths)).measure([Metric::Cycles]))
            }),
            flow: [64, 0].map(|cells| {
                let mut config = Mode::Tiered.config();
                config.count_contexts(true).flow_contexts(true).record_paths(cells);
                engine(config.profiling(ProfilingConfig::Exact(Collect::Paths)))
            }),
            checked: Mode::Checked.engine(),
            unguarded: Mode::Unguarded.engine(),
            parts: Mode::Parts.engine(),
            frame: Mode::Frame.engine(),
        }
    }
}

pub(super) fn tiered() -> Config {
    Mode::Tiered.config()
}

pub(super) fn engine(config: &Config) -> Engine {
    Engine::new(config).expect("an engine for this machine")
}

/// An engine that counts paths in bursts.
fn bursty(strategy: Strategy, profiling: ProfilingConfig) -> Engine {
    engine(tiered().strategy(strategy).parts_above(20).loop_entries_above(0).profiling(profiling))
}

/// An engine that counts contexts in bursts.
fn contexts_in(strategy: Strategy, profiling: ProfilingConfig) -> Engine {
    engine(tiered().strategy(strategy).loop_entries_above(0).profiling(profiling).count_contexts(true))
}

/// An engine that counts paths, and perhaps traces.
fn tracing_paths(strategy: Strategy, tracing: Option<Tracing>) -> Engine {
    let mut config = tiered();
    config.strategy(strategy).profiling(ProfilingConfig::Exact(Collect::Paths));
    if let Some(tracing) = tracing {
        config.trace(tracing).trace_references(true);
        config.measure([Metric::Cycles, Metric::CacheMisses(small_cache())]);
    }
    engine(&config)
}

/// Each tier, chunks that end everywhere, and bounds checks in the code.
fn referenced() -> Vec<Engine> {
    let strategies = [Strategy::Optimized, Strategy::Baseline, Strategy::Tiered];
    let settings = strategies.into_iter().zip([8, 64 << 10, 100]);
    let engine = |(strategy, buffer)| {
        let mut config = Config::new();
        config.trace(Tracing::Best).trace_references(true).trace_buffer(buffer);
        config.strategy(strategy).promote_after(3).background_compilation(false);
        if strategy == Strategy::Baseline {
            config.memory_reservation(1 << 16).spectre_guards(false);
        }
        Engine::new(&config).expect("an engine for this machine")
    };
    settings.map(engine).collect()
}
