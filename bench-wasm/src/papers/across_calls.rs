//! Paths across calls, by supergraphs: Vaswani 2007, tables 3.2 and 3.5, figures 3.19 and 3.20.
//!
//! As in the thesis the calls that ran with the arguments for tests are inlined, one into another at most, and paths of
//! that run are the tested or interesting ones; longer runs are the field.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use wprof::profiler::{FunctionProfile, Profile};
use wprof::{Collect, Config, Engine, Interesting, Module, ProfilingConfig};
use wprof_instrument::{Marks, Supergraphs};

use super::compactness::{self, Figures};
use super::runs::{exact_paths, profile_of_module};
use super::{Runs, untested};
use crate::programs::Program;
use crate::session::failure;
use crate::table::Table;

/// The number of calls that may be inlined into one another.
const DEPTH: u32 = 1;
/// Size limit of modules, as for other tables of code.
const LARGEST: usize = 2 << 20;
/// The maximum number of paths of a function for which each has a counter; the table of paths has those of others.
const DENSE: u64 = 1 << 14;

/// A program with the calls inlined that its tests make.
struct Across {
    graphs: Supergraphs,
    /// The paths across calls of the tests.
    tests: Profile,
}

impl Across {
    fn new(program: &Program) -> Result<Across> {
        let bytes = std::fs::read(&program.file)?;
        ensure!(bytes.len() <= LARGEST, "left out: {} KiB of wasm", bytes.len() >> 10);
        let ran = exact_paths(program, &program.quick_args)?;
        let graphs = Supergraphs::new(&bytes, Marks::Ran(DEPTH, &ran)).map_err(|e| anyhow::anyhow!("{e}"))?;
        let tests = across(&graphs, program, &program.quick_args)?;
        Ok(Across { graphs, tests })
    }

    fn field(&self, runs: &Runs<'_>, program: &Program) -> Result<Profile> {
        across(&self.graphs, program, &runs.args_of(program))
    }
}

/// Returns the paths across calls of a run, with the supergraphs as functions.
fn across(graphs: &Supergraphs, program: &Program, args: &[String]) -> Result<Profile> {
    let lower = profile_of_module(program, graphs.module(), &counting(), args)?;
    let restored = graphs.restored(&lower).map_err(|e| anyhow::anyhow!("{e}"))?;
    restored.across_calls().context("paths across calls were counted")
}

fn counting() -> Config {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::Paths)).hash_ahead(false);
    config
}

/// Makes table 3.2.
pub fn untested_paths(runs: &Runs<'_>) -> Result<Table> {
    runs.each(&untested::HEAD, |program| {
        let across = Across::new(program)?;
        let field = across.field(runs, program)?;
        Ok(untested::row(&field, &field.residual(&across.tests)?))
    })
}

/// Makes figure 3.20.
pub fn by_paths(runs: &Runs<'_>) -> Result<Table> {
    let small = |program: &Program| std::fs::metadata(&program.file).is_ok_and(|m| m.len() <= LARGEST as u64);
    let found = runs.functions(
        |program| match small(program) {
            true => Ok(Across::new(program)?.tests),
            false => Ok(Profile::default()),
        },
        Figures::new,
    )?;
    Ok(compactness::table(&found))
}

/// Makes table 3.5: machine code over plain code.
pub fn code(runs: &Runs<'_>) -> Result<Table> {
    let head = ["plain, KiB", "paths of functions", "calls inlined", "paths across calls", "preferential"];
    runs.each(&head, |program| {
        let across = Across::new(program)?;
        let bytes = std::fs::read(&program.file)?;
        let plain = compiled(&bytes, &Config::new())? as f64;
        let mut preferential = counting();
        let lowered = across.graphs.lowered(&restored(&across)?).context("of these supergraphs")?;
        preferential.interesting_paths(Interesting::new(Arc::new(lowered)));
        let sizes = [
            compiled(&bytes, &counting())?,
            compiled(across.graphs.module(), &counting())?,
            compiled(across.graphs.module(), &preferential)?,
        ];
        let mut row = vec![format!("{:.0}", plain / 1024.0), format!("{:.2}", sizes[0] as f64 / plain)];
        row.push(across.graphs.calls().to_string());
        row.extend(sizes[1..].iter().map(|&size| format!("{:.2}", size as f64 / plain)));
        Ok(row)
    })
}

/// Returns a profile that `Supergraphs::lowered` takes.
fn restored(across: &Across) -> Result<Profile> {
    ensure!(across.tests.supergraphs.is_some(), "the tests have paths across calls");
    Ok(across.tests.clone())
}

fn compiled(wasm: &[u8], config: &Config) -> Result<usize> {
    let engine = Engine::new(config).map_err(failure)?;
    let module = Module::new(&engine, wasm).map_err(failure)?;
    module.compile_all().map_err(failure)?;
    Ok(module.code_bytes())
}

/// Makes the counted side of figure 3.19: the executions of paths that have no counter of their own, so that each takes
/// a search in a table.
pub fn searched(runs: &Runs<'_>) -> Result<Table> {
    let head = ["paths of functions", "paths across calls", "preferential, of the tests' paths"];
    runs.each(&head, |program| {
        let across = Across::new(program)?;
        let (own, field) = (exact_paths(program, &runs.args_of(program))?, across.field(runs, program)?);
        let all = |_: &FunctionProfile, _: u64| true;
        let others = |function: &FunctionProfile, id: u64| {
            across.tests.function(function.index).is_none_or(|tests| tests.path_count(id) == 0)
        };
        Ok(vec![in_table(&own, all), in_table(&field, all), in_table(&field, others)])
    })
}

/// Returns the share of the executions of paths that are in functions with very many paths, and that `counts` selects.
fn in_table(profile: &Profile, counts: impl Fn(&FunctionProfile, u64) -> bool) -> String {
    let (mut sum, mut all) = (0, 0);
    for function in &profile.functions {
        let Some(paths) = function.paths() else { continue };
        for path in &paths.finished {
            all += path.count;
            sum += if paths.possible > DENSE && counts(function, path.id) { path.count } else { 0 };
        }
    }
    untested::percent(sum, all)
}
