//! What bursts of different lengths see, beside what they cost and what that was predicted to be.
//!
//! With checking code in t_c and code for bursts in t_i, bursts of m checks after every n take (n t_c + m t_i) / (n +
//! m).

use std::fmt;

use anyhow::Result;
use wprof::profiler::{BurstLengths, Change, Comparison, Profile, overlap};
use wprof::{Adaptive, Collect, Config, ProfilingConfig, Strategy};
use wprof_bench::programs::Program;
use wprof_bench::runner::BURSTS;
use wprof_bench::session::Session;
use wprof_bench::stats::geometric_mean;

use super::timed::Times;

/// A run that is one burst.
pub const IN_ONE_BURST: &str = "1:inf";

/// Those of the paper, and the default.
pub const LENGTHS: [&str; 11] = [
    "20:1",
    "200:10",
    "1000:50",
    "100:1",
    "1000:10",
    "5000:50",
    "200:1",
    "2000:10",
    "10000:100",
    "30000:100",
    BURSTS,
];

/// What one program, or all, took and showed at one length.
#[derive(Clone, Copy, Default)]
pub struct Cell {
    /// Time over plain code.
    pub measured: f64,
    /// The same by the paper's equation.
    pub predicted: f64,
    /// Overlap of its paths with all paths, by executions.
    pub overlap: f64,
}

impl Cell {
    /// Of all programs.
    pub fn mean(cells: impl Iterator<Item = Cell> + Clone) -> Cell {
        let count = cells.clone().count().max(1) as f64;
        Cell {
            measured: geometric_mean(cells.clone().map(|cell| cell.measured)),
            predicted: geometric_mean(cells.clone().map(|cell| cell.predicted)),
            overlap: cells.map(|cell| cell.overlap).sum::<f64>() / count,
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} ({:.3}), {:.1}%", self.measured, self.predicted, 100.0 * self.overlap)
    }
}

/// What one program took and showed, with its arguments for benches or those for tests: at these lengths, and how much
/// of all paths is seen when the run is one burst, in what room the hot path table has.
///
/// # Errors
/// If it cannot be run.
pub fn seen(program: &Program, lengths: &[&str], times: &Times, bench: bool) -> Result<(Vec<Cell>, f64)> {
    let mut config = Config::new();
    // Of a short run most would be over before there is code for bursts.
    config.background_compilation(bench);
    let exact = profile(program, &config, ProfilingConfig::Exact(Collect::Paths), bench)?;
    let [in_burst, measured @ ..] = &times.bursts[..] else { unreachable!("a run in one burst is timed") };
    let cell = |(lengths, &measured): (&str, &f64)| {
        let lengths: BurstLengths = lengths.parse().map_err(anyhow::Error::msg)?;
        let (n, m) = (f64::from(lengths.checking), f64::from(lengths.instrumented));
        let predicted = (n * times.checks + m * in_burst) / (n + m);
        let adaptive = Adaptive { lengths, ..Adaptive::default() };
        let some = profile(program, &config, ProfilingConfig::Adaptive(adaptive), bench)?;
        Ok(Cell { measured, predicted, overlap: overlap_of(&exact, &some) })
    };
    let cells = lengths.iter().copied().zip(measured).map(cell).collect::<Result<_>>()?;
    let lengths = BurstLengths::new(1, BurstLengths::FOREVER);
    let adaptive = ProfilingConfig::Adaptive(Adaptive { lengths, ..Adaptive::default() });
    // Baseline code of what is called seldom is in no burst.
    let mut config = Config::new();
    config.strategy(Strategy::Optimized).background_compilation(false);
    Ok((cells, overlap_of(&exact, &profile(program, &config, adaptive, bench)?)))
}

/// The profile of a run.
fn profile(program: &Program, config: &Config, profiling: ProfilingConfig, bench: bool) -> Result<Profile> {
    Session::run(program, config.clone().profiling(profiling), bench)?.profile()
}

/// How much the paths of two profiles are the same, by instructions.
fn overlap_of(exact: &Profile, some: &Profile) -> f64 {
    let paths = Comparison::new(exact, some).paths();
    let instructions: Vec<Change> = paths.into_iter().map(|path| path.ops).collect();
    overlap(&instructions).unwrap_or(0.0)
}
