//! The cost of calls between components and the host.
//!
//! `component_calls` prints the time of each kind of call: the median, and the least, of many batches, in time of this thread.
//! `component_calls KIND COUNT` makes so many calls and prints nothing: under `valgrind --tool=cachegrind` the difference of two counts
//! is exact.

use std::hint::black_box;

use rustix::time::{ClockId, clock_gettime};
use wprof::{Config, Engine, ProfilingConfig, Strategy};

#[path = "../component_calls.rs"]
mod component_calls;
use component_calls::{ABOUT, BY_THE_HOST, KINDS, Thing, component, component_calls};

component_calls!(Ours, wprof, |store, params, results| store, params, results; |instance, _, name| {
    instance.get_typed_func(name)
});

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn ours(profiling: ProfilingConfig) -> Result<Ours> {
    let mut config = Config::new();
    // Nothing else runs: what is compiled later would count as well.
    config.profiling(profiling).strategy(Strategy::Optimized);
    Ok(Ours::new(&Engine::new(&config)?)?)
}

/// Returns the median and the least time of a call, in nanoseconds.
fn time(bench: &mut Ours, kind: usize) -> Result<(f64, f64)> {
    const BATCHES: usize = 101;
    const CALLS: u32 = 20_000;
    bench.run(kind, CALLS)?;
    let batch = |_| {
        let before = now();
        black_box(bench.run(kind, CALLS)?);
        Ok((now() - before) / f64::from(CALLS))
    };
    let mut all = (0..BATCHES).map(batch).collect::<Result<Vec<f64>>>()?;
    all.sort_by(f64::total_cmp);
    Ok((all[BATCHES / 2], all[0]))
}

/// The processor time of this thread, in nanoseconds.
fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    if let Some(kind) = arguments.next() {
        let count = arguments.next().ok_or("how often?")?.parse()?;
        let number = KINDS.iter().position(|known| *known == kind);
        let known = || format!("no kind of call is `{kind}`: there are own, {}", KINDS.join(", "));
        let number = number.or((kind == "own").then_some(KINDS.len())).ok_or_else(known)?;
        black_box(ours(ProfilingConfig::Off)?.run(number, count)?);
        return Ok(());
    }
    let mut plain = ours(ProfilingConfig::Off)?;
    let mut adaptive = ours(ProfilingConfig::Adaptive(wprof::Adaptive::default()))?;
    println!(
        "| call of | ns, median | least | adaptive profile, median | least |\n|---|---:|---:|---:|---:|"
    );
    for (kind, about) in ABOUT.iter().chain(&[BY_THE_HOST]).enumerate() {
        let (plain, adaptive) = (time(&mut plain, kind)?, time(&mut adaptive, kind)?);
        println!("| {about} | {:.1} | {:.1} | {:.1} | {:.1} |", plain.0, plain.1, adaptive.0, adaptive.1);
    }
    Ok(())
}
