//! The size of the optimised machine code of all functions of a program, by what is counted, relative to plain code.

use crate::programs::Program;
use crate::session::failure;
use anyhow::{Result, ensure};
use wprof::profiler::CacheShape;
use wprof::{Collect, Config, Engine, Metric, Module, ProfilingConfig};

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

fn bytes(program: &Program, config: &Config) -> Result<usize> {
    let engine = Engine::new(config).map_err(failure)?;
    let module = Module::from_file(&engine, &program.file).map_err(failure)?;
    module.compile_all().map_err(failure)?;
    Ok(module.code_bytes())
}
