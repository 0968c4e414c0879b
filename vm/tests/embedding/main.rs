//! The features that an embedding product needs: modules that are instantiated many times, limits, deadlines, hooks,
//! fuel.

mod api;
mod artifacts;
mod async_calls;
mod call_depth;
mod call_hooks;
mod core_dumps;
mod deadlines;
mod engines;
mod example;
mod fuel;
mod funcs;
#[cfg(feature = "exporters")]
mod guest_profiler;
mod instance_pre;
mod instances;
mod items;
mod limiters;
mod limiters_async;
mod linkers;
mod pooling;
mod profiles;
mod raw_values;
mod stacks;
mod stores;
mod toggles;
mod unwinding;

use wprof::{Collect, Config, Engine, ProfilingConfig, Result, Strategy};

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Returns engines with different kinds of code, which can be stopped anywhere.
fn engines() -> Result<Vec<Engine>> {
    let exact = ProfilingConfig::Exact;
    let adaptive = ProfilingConfig::Adaptive(wprof::Adaptive::default());
    let profiles = [ProfilingConfig::Off, exact(Collect::Edges), exact(Collect::Paths), adaptive];
    let all = profiles.into_iter().flat_map(|p| [Strategy::Baseline, Strategy::Optimized].map(|s| (p, s)));
    all.map(|(profiling, strategy)| {
        let mut config = Config::new();
        Engine::new(config.profiling(profiling).strategy(strategy).interruptible(true))
    })
    .collect()
}
