//! The settings under which every test of the suite runs.
//!
//! Most have the program wait for each version, so that the same input goes through the same code. The last three have
//! what people get: other threads compile, and what runs when depends on time.

use std::path::Path;
use std::time::Duration;

use wprof::profiler::BurstLengths;
use wprof::{
    Adaptive, BUILT_IN_EVENTS, Checks, Collect, Config, Engine, EventModel, Policy, ProfilingConfig,
    Strategy, Trigger,
};

/// A way to set up the engine that changes what code is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Optimised code: guard pages, Spectre guards, no profile.
    Off,
    /// Code that is compiled fast.
    Baseline,
    /// The one, then the other, as early as can be.
    Tiered,
    /// The same, and every block of a function that can be a part of its own is one.
    Parts,
    /// The first two with an exact edge profile, and so with polls, with counts of all kinds of events and with
    /// calling contexts.
    Exact,
    /// The first two with counts of all kinds of events, and a budget of instructions that never ends. (One of fuel
    /// can be used up by a single 64-bit length.)
    Metered,
    /// The first three with checks everywhere, and so many bursts that programs are in and out of them all the time.
    Bursts,
    /// The same, and each burst is one check, as is the time between two of them.
    Samples,
    /// The same with bursts as long, and as far apart, as in Hirzel & Chilimbi's table, and checks where they are by
    /// default.
    Seldom,
    /// As `Bursts`, but a timer begins them.
    Timed,
    /// As `Bursts`, and whatever bursts see is reoptimized at once.
    Reoptimized,
    /// The same, and in optimised code no value but vectors is in a register across a call.
    Frame,
    /// As `Reoptimized`, and of each function it must be proven that the passes left what it does as it was.
    Proven,
    /// Optimised code in which every memory access is compared with the size, and every growth moves the memory.
    Checked,
    /// Like `Checked`, without Spectre guards: a failed comparison branches to the trap.
    Unguarded,
    /// Plain Cranelift: [`Config::conservative`].
    Conservative,
    /// What `wprof run` does: bursts as by default, and compilation in the background, also of what may be called.
    Default,
    /// The same with thresholds of 1, so that small programs go through what others go through in minutes.
    Eager,
    /// As `Default`, with the code of an earlier run: see [`Mode::engines`].
    Cached,
}

impl Mode {
    /// All modes.
    pub const ALL: [Mode; 19] = [
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
        Mode::Conservative,
        Mode::Default,
        Mode::Eager,
        Mode::Cached,
    ];

    /// The modes for a test that takes long: with assertions only those in which the program waits for each version.
    /// What people get is neither built with assertions nor set up like these.
    pub fn all_or_waiting() -> impl Iterator<Item = Mode> {
        let is_released = |mode: &Mode| matches!(mode, Mode::Default | Mode::Eager | Mode::Cached);
        Mode::ALL.into_iter().filter(move |mode| !cfg!(debug_assertions) || !is_released(mode))
    }

    /// Its name in test names and in reports.
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
            Mode::Conservative => "conservative",
            Mode::Default => "default",
            Mode::Eager => "eager",
            Mode::Cached => "cached",
        }
    }

    /// The settings.
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
                // As often as can be.
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
            Mode::Conservative => {
                config = Config::conservative();
                &mut config
            }
            Mode::Default | Mode::Eager | Mode::Cached => unreachable!("they are not set up like these"),
        };
        config
    }

    /// The settings of `wprof run`, perhaps with other thresholds.
    fn released(self) -> Config {
        let mut config = Config::new();
        config.profiling(ProfilingConfig::Adaptive(Adaptive::default()));
        if self == Mode::Eager {
            config.promote_after(1).profiling(bursts(100, 10, "default"));
            // A trial of three calls is over before such programs are.
            config.reoptimization(Some(Policy { trial_calls: 3, ..Policy::eager() }));
        }
        config
    }

    /// The engines in which something is to run, one after the other: one, or with a code cache in `folder` a first
    /// that fills it ([`Module::update_code_cache`](wprof::Module::update_code_cache)) and a second that finds it full.
    ///
    /// # Panics
    /// If the machine is not supported.
    pub fn engines(self, folder: &Path) -> impl Iterator<Item = Engine> {
        let mut config = self.config();
        if self == Mode::Cached {
            config.code_cache(folder.join("code"));
        }
        // Kept code is for modules whose slots lie where those of the first engine did, so that must be gone.
        let times = if self == Mode::Cached { 2 } else { 1 };
        (0..times).map(move |_| Engine::new(&config).expect("an engine for this machine"))
    }

    /// An engine of its own.
    ///
    /// # Panics
    /// If the machine is not supported.
    pub fn engine(self) -> Engine {
        Engine::new(&self.config()).expect("an engine for this machine")
    }
}

/// A profile by bursts.
///
/// # Panics
/// If there are no checks of this name.
pub fn bursts(checking: u32, instrumented: u32, checks: &str) -> ProfilingConfig {
    ProfilingConfig::Adaptive(counted(checking, instrumented, checks))
}

/// The same, by code for bursts that is not optimised.
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

/// All kinds of events that are built in.
pub fn kinds() -> impl Iterator<Item = EventModel> {
    BUILT_IN_EVENTS.iter().filter_map(|name| EventModel::built_in(name))
}
