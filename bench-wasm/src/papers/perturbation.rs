//! The perturbation of metrics by counting: Ammons, Ball & Larus 1997, table 2.

use anyhow::{Context, Result};
use wprof::profiler::{CacheShape, DataCache, MetricView, Profile, TraceStep};
use wprof::{Collect, Config, Metric, ProfilingConfig, Tracing};

use super::runs::profile;
use super::traces::recorded;
use super::{Runs, instructions};
use crate::programs::Program;
use crate::table::Table;

/// Makes the table: instructions of machine code, from the committed baseline, and misses of a simulated cache, with paths
/// and with contexts over those without. The misses without are those of the accesses of a trace.
pub fn of_metrics(runs: &Runs<'_>) -> Result<Table> {
    let counted = instructions::over_plain(runs, &["paths", "contexts"])?;
    let head =
        ["instructions, paths", "instructions, contexts", "misses", "misses, paths", "misses, contexts"];
    runs.each(&head, |program| {
        let row = counted.rows.iter().find(|row| row[0] == program.name);
        let mut cells = row.map_or(vec!["-".to_owned(); 2], |row| row[1..].to_vec());
        let plain = misses_of_trace(program)?;
        let ratio = |misses: u64| match plain {
            0 => "-".to_owned(),
            plain => format!("{:.3}", misses as f64 / plain as f64),
        };
        cells.extend([plain.to_string(), ratio(along_paths(program)?), ratio(in_contexts(program)?)]);
        Ok(cells)
    })
}

fn misses_of_trace(program: &Program) -> Result<u64> {
    let mut reader = recorded(program, &program.quick_args, Tracing::Best, true)?;
    let (mut cache, mut misses) = (DataCache::new(CacheShape::USUAL), 0);
    for step in reader.steps_from(0) {
        if let TraceStep::Reference(made) = step? {
            misses += cache.touch(made.access.memory.into(), made.address, made.bytes);
        }
    }
    Ok(misses)
}

fn along_paths(program: &Program) -> Result<u64> {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::Paths));
    Ok(MetricView::new(&measured(program, &mut config)?, 0, 0.0).amount())
}

fn in_contexts(program: &Program) -> Result<u64> {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Off).count_contexts(true);
    let contexts = measured(program, &mut config)?.contexts.context("contexts were counted")?;
    Ok(contexts.amounts(0).iter().sum())
}

fn measured(program: &Program, config: &mut Config) -> Result<Profile> {
    config.hash_ahead(false).measure([Metric::CacheMisses(CacheShape::USUAL)]);
    profile(program, config, &program.quick_args)
}
