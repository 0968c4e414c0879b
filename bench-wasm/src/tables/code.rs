//! The size of the optimised machine code of all functions of a program, by what is counted, relative to plain code,
//! and how long compiling it takes.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use wprof::profiler::CacheShape;
use wprof::{Collect, Config, Engine, Metric, Module, ProfilingConfig};

use crate::programs::Program;
use crate::session::failure;

/// Size limit of modules. Larger modules run few of their functions, and compiling all of them takes minutes each
/// time.
const LARGEST: u64 = 2 << 20;

/// The columns.
pub const HEAD: &[&str] = &[
    "off, KiB",
    "edges",
    "paths",
    "paths and cycles",
    "paths and cache",
    "contexts",
    "contexts and cycles",
    "paths in contexts",
];

/// Returns a program's row.
pub fn row(program: &Program) -> Result<Vec<String>> {
    let size = std::fs::metadata(&program.file)?.len();
    ensure!(size <= LARGEST, "left out: {} KiB of wasm", size >> 10);
    let off = bytes(program, &Config::new())?;
    let kinds = kinds();
    let ratios = kinds.iter().map(|config| Ok(format!("{:.2}", bytes(program, config)? as f64 / off as f64)));
    let first = format!("{:.0}", off as f64 / 1024.0);
    std::iter::once(Ok(first)).chain(ratios).collect()
}

fn kinds() -> [Config; 7] {
    let counting = |collect: Option<Collect>, contexts: bool, metric: Option<Metric>| {
        let mut config = Config::new();
        config.profiling(collect.map_or(ProfilingConfig::Off, ProfilingConfig::Exact));
        config.count_contexts(contexts).flow_contexts(collect.is_some() && contexts).measure(metric);
        config
    };
    let cache = Metric::CacheMisses(CacheShape::USUAL);
    [
        counting(Some(Collect::Edges), false, None),
        counting(Some(Collect::Paths), false, None),
        counting(Some(Collect::Paths), false, Some(Metric::Cycles)),
        counting(Some(Collect::Paths), false, Some(cache)),
        counting(None, true, None),
        counting(None, true, Some(Metric::Cycles)),
        counting(Some(Collect::Paths), true, None),
    ]
}

/// The columns of the time that compiling all functions takes: of plain code, and of code with counters over that.
pub const COMPILE: &[&str] = &["off, ms", "all blocks", "all edges", "edges", "paths"];

/// The number of times that a program is compiled with each kind of counters; the fastest counts.
const ROUNDS: usize = 5;

/// Returns a program's row of [`COMPILE`].
pub fn compile(program: &Program) -> Result<Vec<String>> {
    let size = std::fs::metadata(&program.file)?.len();
    ensure!(size <= LARGEST, "left out: {} KiB of wasm", size >> 10);
    let kinds =
        [Collect::AllBlocks, Collect::AllEdges, Collect::Edges, Collect::Paths].map(ProfilingConfig::Exact);
    let kinds = [ProfilingConfig::Off].into_iter().chain(kinds);
    let configs: Vec<Config> = kinds.map(|kind| Config::new().profiling(kind).clone()).collect();
    let mut least = vec![f64::INFINITY; configs.len()];
    // In turn, so that what else the machine does is no difference between them.
    for _ in 0..ROUNDS {
        for (config, least) in configs.iter().zip(&mut least) {
            *least = least.min(compiled(program, config)?.1.as_secs_f64());
        }
    }
    let ratios = least[1..].iter().map(|time| format!("{:.2}", time / least[0]));
    Ok(std::iter::once(format!("{:.1}", 1e3 * least[0])).chain(ratios).collect())
}

fn bytes(program: &Program, config: &Config) -> Result<usize> {
    Ok(compiled(program, config)?.0)
}

/// Returns the size of the code of all functions, and how long it took to compile it.
fn compiled(program: &Program, config: &Config) -> Result<(usize, Duration)> {
    let engine = Engine::new(config).map_err(failure)?;
    let module = Module::from_file(&engine, &program.file).map_err(failure)?;
    let start = Instant::now();
    module.compile_all().map_err(failure)?;
    Ok((module.code_bytes(), start.elapsed()))
}
