//! The settings under which every test of the suite runs.

use wprof::{Collect, Config, Engine, ProfilingConfig};

/// A way to set up the engine that changes what code is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// The defaults: guard pages, Spectre guards, no profile.
    Off,
    /// The same with an exact edge profile, and so with polls.
    Exact,
    /// Every memory access is compared with the size, and every growth moves the memory.
    Checked,
    /// Like `Checked`, without Spectre guards: a failed comparison branches to the trap.
    Unguarded,
}

impl Mode {
    /// All modes.
    pub const ALL: [Mode; 4] = [Mode::Off, Mode::Exact, Mode::Checked, Mode::Unguarded];

    /// Its name in test names and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Off => "off",
            Mode::Exact => "exact",
            Mode::Checked => "checked",
            Mode::Unguarded => "unguarded",
        }
    }

    /// The settings.
    pub fn config(self) -> Config {
        let mut config = Config::new();
        match self {
            Mode::Off => {}
            Mode::Exact => {
                config.profiling(ProfilingConfig::Exact(Collect::Edges));
            }
            Mode::Checked => {
                config.memory_reservation(0).memory_guard_size(0);
            }
            Mode::Unguarded => {
                config.memory_reservation(0).memory_guard_size(0).spectre_guards(false);
            }
        }
        config
    }

    /// An engine of its own.
    ///
    /// # Panics
    /// If the machine is not supported.
    pub fn engine(self) -> Engine {
        Engine::new(&self.config()).expect("an engine for this machine")
    }
}
