//! The settings under which every test of the suite runs.
//!
//! In most of them the program waits for each version, so that the same input runs the same code. The last three are
//! what users get: other threads compile, and timing decides which code runs when.

use std::path::Path;
use std::time::Duration;

use wprof::profiler::BurstLengths;
use wprof::{
    Adaptive, BUILT_IN_EVENTS, Checks, Collect, Config, Engine, EventModel, Policy, ProfilingConfig,
    Strategy, Trigger,
};

/// A configuration of the engine that changes the generated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Optimised code with guard pages and Spectre guards, without a profile.
    Off,
    /// Baseline code.
    Baseline,
    /// Baseline code, then optimised code as early as possible.
    Tiered,
    /// As `Tiered`, with a function part of its own for every block that can be one.
    Parts,
    /// Baseline and optimised code with an exact edge profile, and therefore with polls, with counts of all kinds of
    /// events and with calling contexts.
    Exact,
    /// Baseline and optimised code with counts of all kinds of events, and an inexhaustible budget of instructions. (A
    /// single 64-bit length can use up a budget of fuel.)
    Metered,
    /// Tiered code in parts with checks everywhere, and bursts so frequent that programs enter and leave them all the
    /// time.
    Bursts,
    /// Tiered code with checks everywhere, one check per burst and one check between two bursts.
    Samples,
    /// Tiered code with bursts as long and as far apart as in Hirzel & Chilimbi's table, and checks at their default
    /// places.
    Seldom,
    /// Tiered code with checks everywhere, and bursts that a timer starts.
    Timed,
    /// Tiered code with frequent bursts, and reoptimization of whatever they record, at once.
    Reoptimized,
    /// As `Reoptimized`, with no values but vectors in registers across calls in optimised code.
    Frame,
    /// As `Reoptimized`, with a proof for each function that the passes preserved its behaviour.
    Proven,
    /// Optimised code that compares every memory access with the size, in memories that every growth moves.
    Checked,
    /// As `Checked`, without Spectre guards: a failed comparison branches to the trap.
    Unguarded,
    /// Baseline code, then optimised code as early as possible, none of which faults.
    Unsignalled,
    /// Plain Cranelift: [`Config::conservative`].
    Conservative,
    /// The behaviour of `wprof run`: default bursts, and background compilation, also of functions that may be called.
    Default,
    /// As `Default`, with thresholds of 1, so that small programs go through in moments what others go through in
    /// minutes.
    Eager,
    /// As `Default`, with the code cache of an earlier run: see [`Mode::engines`].
    Cached,
}

impl Mode {
    /// All modes.
    pub const ALL: [Mode; 20] = [
        Mode::Off,
        Mode::Baseline,
        Mode::Tiered,
        Mode::Parts,
        Mode::Exact,
        Mode::Metered,
        Mode::Bursts,
        Mode::Samples,
        Mode::Seldom,
        Mode::Timed,
        Mode::Reoptimized,
        Mode::Frame,
        Mode::Proven,
        Mode::Checked,
        Mode::Unguarded,
        Mode::Unsignalled,
        Mode::Conservative,
        Mode::Default,
        Mode::Eager,
        Mode::Cached,
    ];

    /// Returns the modes for a slow test: in builds with assertions, only those in which the program waits for each
    /// version. Users have neither builds with assertions nor these configurations.
    pub fn all_or_waiting() -> impl Iterator<Item = Mode> {
        let is_released = |mode: &Mode| matches!(mode, Mode::Default | Mode::Eager | Mode::Cached);
        Mode::ALL.into_iter().filter(move |mode| !cfg!(debug_assertions) || !is_released(mode))
    }

    /// Returns its name in test names and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Off => "off",
            Mode::Baseline => "baseline",
            Mode::Tiered => "tiered",
            Mode::Parts => "parts",
            Mode::Exact => "exact",
            Mode::Metered => "metered",
            Mode::Bursts => "bursts",
            Mode::Samples => "samples",
            Mode::Seldom => "seldom",
            Mode::Timed => "timed",
            Mode::Reoptimized => "reoptimized",
            Mode::Frame => "frame",
            Mode::Proven => "proven",
            Mode::Checked => "checked",
            Mode::Unguarded => "unguarded",
            Mode::Unsignalled => "unsignalled",
            Mode::Conservative => "conservative",
            Mode::Default => "default",
            Mode::Eager => "eager",
            Mode::Cached => "cached",
        }
    }

    /// Returns its configuration.
    pub fn config(self) -> Config {
        if matches!(self, Mode::Default | Mode::Eager | Mode::Cached) {
            return self.released();
        }
        let mut config = Config::new();
        config.strategy(Strategy::Optimized).background_compilation(false).promote_after(2);
        match self {
            Mode::Off => &mut config,
            Mode::Baseline => config.strategy(Strategy::Baseline),
            Mode::Tiered => config.strategy(Strategy::Tiered).shared_loops_above(0),
            Mode::Parts => config.strategy(Strategy::Tiered).parts_above(1).promote_after(10),
            Mode::Exact => {
                let profiling = ProfilingConfig::Exact(Collect::Edges);
                config
                    .strategy(Strategy::Tiered)
                    .profiling(profiling)
                    .count_events(kinds())
                    .count_contexts(true)
            }
            Mode::Metered => config.strategy(Strategy::Tiered).count_events(kinds()).budget("instructions"),
            Mode::Bursts => {
                let profiling = unoptimized(bursts(2, 3, "orig"));
                config.strategy(Strategy::Tiered).parts_above(1).loop_entries_above(0).profiling(profiling)
            }
            Mode::Samples => {
                config.strategy(Strategy::Tiered).loop_entries_above(0).profiling(bursts(1, 1, "orig"))
            }
            Mode::Seldom => {
                let profiling = bursts(1000, 50, "default");
                config.strategy(Strategy::Tiered).shared_loops_above(0).profiling(profiling)
            }
            Mode::Timed => {
                // The timer fires as often as possible.
                let trigger = Trigger::Time(Duration::ZERO);
                let profiling = ProfilingConfig::Adaptive(Adaptive { trigger, ..counted(1, 3, "orig") });
                config.strategy(Strategy::Tiered).shared_loops_above(0).profiling(profiling)
            }
            Mode::Reoptimized | Mode::Frame | Mode::Proven => {
                let profiling = bursts(3, 5, "default");
                if self == Mode::Frame {
                    config.values_across_calls(0);
                }
                config.verify(self == Mode::Proven);
                config
                    .strategy(Strategy::Tiered)
                    .loop_entries_above(0)
                    .shared_loops_above(0)
                    .profiling(profiling);
                config.reoptimization(Some(Policy::eager()))
            }
            Mode::Checked => config.memory_reservation(0).memory_guard_size(0),
            Mode::Unguarded => config.memory_reservation(0).memory_guard_size(0).spectre_guards(false),
            Mode::Unsignalled => config.strategy(Strategy::Tiered).signals_based_traps(false),
            Mode::Conservative => {
                config = Config::conservative();
                &mut config
            }
            Mode::Default | Mode::Eager | Mode::Cached => unreachable!("they are not set up like these"),
        };
        config
    }

    /// Returns the configuration of `wprof run`, perhaps with other thresholds.
    fn released(self) -> Config {
        let mut config = Config::new();
        config.profiling(ProfilingConfig::Adaptive(Adaptive::default()));
        if self == Mode::Eager {
            config.promote_after(1).profiling(bursts(100, 10, "default"));
            // A trial of three calls ends before such programs do.
            let prefetching = Policy { prefetching: true, prefetching_calls: 8, ..Policy::eager() };
            config.reoptimization(Some(Policy { trial_calls: 3, prefetching_gain: -1e12, ..prefetching }));
        }
        config
    }

    /// Returns the engines that run a test in order: one engine, or with a code cache in `folder` a first engine that
    /// fills it ([`Module::update_code_cache`](wprof::Module::update_code_cache)) and a second one that finds it full.
    ///
    /// # Panics
    /// Panics if the machine is not supported.
    pub fn engines(self, folder: &Path) -> impl Iterator<Item = Engine> {
        let mut config = self.config();
        if self == Mode::Cached {
            config.code_cache(folder.join("code"));
        }
        // Cached code fits only modules whose slots have the addresses of the first engine's, so the first engine must
        // be gone.
        let times = if self == Mode::Cached { 2 } else { 1 };
        (0..times).map(move |_| Engine::new(&config).expect("an engine for this machine"))
    }

    /// Returns a new engine.
    ///
    /// # Panics
    /// Panics if the machine is not supported.
    pub fn engine(self) -> Engine {
        Engine::new(&self.config()).expect("an engine for this machine")
    }
}

/// Returns the configuration of a profile by bursts.
///
/// # Panics
/// Panics if there are no checks of this name.
pub fn bursts(checking: u32, instrumented: u32, checks: &str) -> ProfilingConfig {
    ProfilingConfig::Adaptive(counted(checking, instrumented, checks))
}

/// Returns the same profile by code for bursts that is not optimised.
pub fn unoptimized(profiling: ProfilingConfig) -> ProfilingConfig {
    match profiling {
        ProfilingConfig::Adaptive(adaptive) => {
            ProfilingConfig::Adaptive(Adaptive { optimized: Some(false), ..adaptive })
        }
        other => other,
    }
}

fn counted(checking: u32, instrumented: u32, checks: &str) -> Adaptive {
    let checks: Checks = checks.parse().expect("a name");
    let lengths = BurstLengths::new(checking, instrumented);
    Adaptive { lengths, checks, ..Adaptive::default() }
}

/// Returns all built-in kinds of events.
pub fn kinds() -> impl Iterator<Item = EventModel> {
    BUILT_IN_EVENTS.iter().filter_map(|name| EventModel::built_in(name))
}
