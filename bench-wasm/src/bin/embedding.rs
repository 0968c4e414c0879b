//! The costs of embedding: calls between host and wasm, instances, calls that wait.
//!
//! `embedding` prints the time of each operation without and with an adaptive profile: the least of many batches, in time of this
//! thread, since a machine that is shared makes batches longer, never shorter. `embedding OPERATION COUNT` does one of them so often
//! and prints nothing: under `valgrind --tool=cachegrind` the difference of two counts is exact. Beside Wasmtime: `calls` of
//! `wprof-peers`.

use std::hint::black_box;

use wprof::{Config, Engine, PoolingConfig, ProfilingConfig, Strategy};

#[path = "../embedding_calls.rs"]
mod embedding_calls;
use embedding_calls::{
    HOST_CALLS, OPERATIONS, Once, batch, embedding_calls, finish, now, our_embedding_calls, program,
};

our_embedding_calls!();

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn ours(profiling: ProfilingConfig) -> Result<Ours> {
    let mut config = Config::new();
    // Nothing else runs: what is compiled later would count as well.
    config.profiling(profiling).strategy(Strategy::Optimized);
    Ok(Ours::new(Engine::new(config.pooling(Some(PoolingConfig::for_instances(4))))?)?)
}

/// Returns the nanoseconds of one operation: the least of many batches.
fn least(bench: &mut Ours, operation: usize) -> Result<f64> {
    const BATCHES: usize = 300;
    let mut least = f64::INFINITY;
    for _ in 0..BATCHES {
        least = least.min(bench.time(operation)?);
    }
    Ok(least)
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    if let Some(operation) = arguments.next() {
        let count = arguments.next().ok_or("how often?")?.parse()?;
        let number = OPERATIONS.iter().position(|known| *known == operation);
        let known = || format!("no operation is called `{operation}`: there are {}", OPERATIONS.join("; "));
        return Ok(ours(ProfilingConfig::Off)?.run(number.ok_or_else(known)?, count)?);
    }
    let mut plain = ours(ProfilingConfig::Off)?;
    let mut adaptive = ours(ProfilingConfig::Adaptive(wprof::Adaptive::default()))?;
    println!("| operation | ns | ns with an adaptive profile |\n|---|---:|---:|");
    for (operation, about) in OPERATIONS.iter().enumerate() {
        let (plain, adaptive) = (least(&mut plain, operation)?, least(&mut adaptive, operation)?);
        println!("| {about} | {plain:.1} | {adaptive:.1} |");
    }
    Ok(())
}
