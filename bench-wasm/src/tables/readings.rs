//! The cost of measuring cycles, and the part of it that the time-stamp counter itself takes.
//!
//! A processor that reads the counter goes on with other work meanwhile, but starts the next reading only when the
//! last one is done: a path shorter than a reading takes as long as one. The cost of readings therefore cannot be
//! subtracted; but no code that reads the counter so often can be faster than its readings.

use crate::session::failure;
use anyhow::Result;
use wprof::profiler::Profile;
use wprof::{Collect, Config, Engine, Instance, Metric, Module, ProfilingConfig, Store, Strategy};

use super::runs::Runs;

/// The time of plain code; then for cycles along paths, and for cycles in contexts: the time relative to plain code,
/// the number of readings, and the time of these readings alone relative to plain code.
pub const HEAD: &[&str] = &[
    "plain, s",
    "paths, cycles",
    "million readings",
    "readings alone",
    "contexts, cycles",
    "million readings",
    "readings alone",
];

/// Returns a program's row of [`HEAD`].
pub fn row(runs: &Runs<'_>) -> Result<Vec<String>> {
    let reading = seconds_of_reading()?;
    let (plain, _) = runs.seconds(Config::new().profiling(ProfilingConfig::Off))?;
    let mut row = vec![format!("{plain:.2}")];
    let mut along_paths = Config::new();
    along_paths.profiling(ProfilingConfig::Exact(Collect::Paths)).measure([Metric::Cycles]);
    let (seconds, session) = runs.seconds(&mut along_paths)?;
    let profile = session.profile()?;
    let calls = calls(&profile);
    row.extend(cells(seconds / plain, path_ends(&profile) + calls, reading / plain));
    let mut in_contexts = Config::new();
    in_contexts.profiling(ProfilingConfig::Off).count_contexts(true).measure([Metric::Cycles]);
    let (seconds, _) = runs.seconds(&mut in_contexts)?;
    row.extend(cells(seconds / plain, 2 * calls, reading / plain));
    Ok(row)
}

fn cells(ratio: f64, readings: u64, of_one: f64) -> [String; 3] {
    let alone = readings as f64 * of_one;
    [format!("{ratio:.2}"), format!("{:.1}", readings as f64 / 1e6), format!("{alone:.2}")]
}

fn path_ends(profile: &Profile) -> u64 {
    let paths = profile.functions.iter().filter_map(|function| function.paths());
    paths.flat_map(|paths| &paths.finished).map(|path| path.count).sum()
}

/// Returns the number of readings at calls: one before each call, and one where the callee returns.
fn calls(profile: &Profile) -> u64 {
    let of_host: u64 = profile.host_calls.iter().map(|calls| calls.count).sum();
    of_host + profile.functions.iter().map(|function| function.calls()).sum::<u64>()
}

/// Returns the time of one reading in seconds, measured in a loop that does nothing else.
fn seconds_of_reading() -> Result<f64> {
    const ROUNDS: u32 = 20_000_000;
    let wat = format!(
        r#"(module (func (export "run") (local $i i32)
            (loop (br_if 0 (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const {ROUNDS}))))))"#
    );
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::Paths)).measure([Metric::Cycles]);
    let engine = Engine::new(config.strategy(Strategy::Optimized)).map_err(failure)?;
    let mut store = Store::new(&engine, ());
    let module = Module::new(&engine, wat).map_err(failure)?;
    let instance = Instance::new(&mut store, &module, &[]).map_err(failure)?;
    let run = instance.get_typed_func::<(), ()>(&mut store, "run").map_err(failure)?;
    let began = std::time::Instant::now();
    run.call(&mut store, ()).map_err(failure)?;
    Ok(began.elapsed().as_secs_f64() / f64::from(ROUNDS))
}
