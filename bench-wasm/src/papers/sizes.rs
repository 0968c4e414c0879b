//! The size of the machine code for profiles: Ball & Larus 1994, table 1; Vaswani 2007, table 3.4.

use std::sync::Arc;

use anyhow::{Result, ensure};
use wprof::{Collect, Config, Engine, Interesting, Module, ProfilingConfig};

use super::Runs;
use super::runs::exact_paths;
use crate::programs::Program;
use crate::session::failure;
use crate::table::Table;

/// Size limit of modules. Larger modules run few of their functions, and compiling all of them takes minutes each
/// time.
const LARGEST: u64 = 2 << 20;

/// Makes the table for plain code, and for counters in each block, on each edge, and on chords.
pub fn of_edges(runs: &Runs<'_>) -> Result<Table> {
    let head = ["plain, KiB", "a counter in each block", "on each edge", "on chords"];
    runs.each(&head, |program| {
        over_plain(program, [Collect::AllBlocks, Collect::AllEdges, Collect::Edges].map(counting))
    })
}

/// Makes the table for all paths, and for the paths of a run as the interesting ones.
pub fn of_paths(runs: &Runs<'_>) -> Result<Table> {
    runs.each(&["plain, KiB", "Ball-Larus", "preferential"], |program| {
        let interesting = Interesting::new(Arc::new(exact_paths(program, &program.quick_args)?));
        let mut preferential = counting(Collect::Paths);
        preferential.interesting_paths(interesting);
        over_plain(program, [counting(Collect::Paths), preferential])
    })
}

fn counting(collect: Collect) -> Config {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(collect));
    config
}

fn over_plain<const N: usize>(program: &Program, kinds: [Config; N]) -> Result<Vec<String>> {
    let size = std::fs::metadata(&program.file)?.len();
    ensure!(size <= LARGEST, "left out: {} KiB of wasm", size >> 10);
    let plain = bytes(program, &Config::new())? as f64;
    let ratios = kinds.iter().map(|config| Ok(format!("{:.2}", bytes(program, config)? as f64 / plain)));
    std::iter::once(Ok(format!("{:.0}", plain / 1024.0))).chain(ratios).collect()
}

fn bytes(program: &Program, config: &Config) -> Result<usize> {
    let engine = Engine::new(config).map_err(failure)?;
    let module = Module::from_file(&engine, &program.file).map_err(failure)?;
    module.compile_all().map_err(failure)?;
    Ok(module.code_bytes())
}
