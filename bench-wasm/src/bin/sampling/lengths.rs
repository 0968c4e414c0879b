//! The paths that bursts of different lengths record, with their measured and predicted cost.
//!
//! If checking code takes t_c and burst code t_i, bursts of m checks after every n checks take (n t_c + m t_i) / (n +
//! m). Bursts themselves take time, too: see [`transitions`](super::transitions).

use std::fmt;

use anyhow::Result;
use wprof::profiler::{BurstLengths, Change, Comparison, Profile, overlap};
use wprof::{Adaptive, Collect, Config, ProfilingConfig, Strategy};
use wprof_bench::programs::Program;
use wprof_bench::runner::BURSTS;
use wprof_bench::session::Session;
use wprof_bench::stats::geometric_mean;

use super::timed::Times;
use super::transitions::{self, Point};

/// The burst lengths of a run that is a single burst.
pub const IN_ONE_BURST: &str = "1:inf";

/// The burst lengths of the paper, and the default.
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

/// The cost and the overlap of one program, or of all, at one burst length.
#[derive(Clone, Copy, Default)]
pub struct Cell {
    /// Measured time relative to plain code.
    pub measured: f64,
    /// The same ratio as predicted by the paper's equation.
    pub predicted: f64,
    /// The same with the cost of bursts that the other lengths give.
    pub with_bursts: f64,
    /// Overlap of its paths with all paths, by executions.
    pub overlap: f64,
}

impl Cell {
    /// Returns the mean over all programs.
    pub fn mean(cells: impl Iterator<Item = Cell> + Clone) -> Cell {
        let count = cells.clone().count().max(1) as f64;
        Cell {
            measured: geometric_mean(cells.clone().map(|cell| cell.measured)),
            predicted: geometric_mean(cells.clone().map(|cell| cell.predicted)),
            with_bursts: geometric_mean(cells.clone().map(|cell| cell.with_bursts)),
            overlap: cells.map(|cell| cell.overlap).sum::<f64>() / count,
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cell { measured, predicted, with_bursts, overlap } = self;
        write!(f, "{measured:.3} ({predicted:.3}, {with_bursts:.3}), {:.1}%", 100.0 * overlap)
    }
}

/// The results of one program.
pub struct Found {
    /// By length of bursts.
    pub cells: Vec<Cell>,
    /// The share of all paths that a single burst records in the space of the hot path table.
    pub kept: f64,
    /// The cost of a burst beside its checks, in nanoseconds.
    pub of_burst: f64,
}

/// Measures one program at these burst lengths, with its arguments for benches or for tests.
///
/// # Errors
/// Returns an error if the program cannot be run.
pub fn seen(program: &Program, lengths: &[&str], times: &Times, bench: bool) -> Result<Found> {
    let mut config = Config::new();
    // A short run would mostly be over before its burst code is compiled.
    config.background_compilation(bench);
    let exact = profile(program, &config, ProfilingConfig::Exact(Collect::Paths), bench)?;
    let [in_burst, measured @ ..] = &times.bursts[..] else { unreachable!("a run in one burst is timed") };
    let cell = |(lengths, &measured): (&str, &f64)| {
        let lengths: BurstLengths = lengths.parse().map_err(anyhow::Error::msg)?;
        let (n, m) = (f64::from(lengths.checking), f64::from(lengths.instrumented));
        let predicted = (n * times.checks + m * in_burst) / (n + m);
        let adaptive = Adaptive { lengths, ..Adaptive::default() };
        let some = profile(program, &config, ProfilingConfig::Adaptive(adaptive), bench)?;
        let bursts = some.bursts.unwrap_or(0) as f64;
        let overlap = overlap_of(&exact, &some);
        Ok((Cell { measured, predicted, with_bursts: predicted, overlap }, bursts))
    };
    let found = lengths.iter().copied().zip(measured).map(cell).collect::<Result<Vec<_>>>()?;
    let point =
        |(cell, bursts): &(Cell, f64)| Point { beyond: cell.measured - cell.predicted, bursts: *bursts };
    let points: Vec<Point> = found.iter().map(point).collect();
    let of_bursts = transitions::predicted(&points);
    let cells = found.into_iter().zip(of_bursts);
    let cells = cells.map(|((cell, _), more)| Cell { with_bursts: cell.predicted + more, ..cell }).collect();
    let of_burst = 1e6 * times.off_ms * transitions::cost(&points);
    let lengths = BurstLengths::new(1, BurstLengths::FOREVER);
    let adaptive = ProfilingConfig::Adaptive(Adaptive { lengths, ..Adaptive::default() });
    // Bursts do not record baseline code of rarely called functions.
    let mut config = Config::new();
    config.strategy(Strategy::Optimized).background_compilation(false);
    let kept = overlap_of(&exact, &profile(program, &config, adaptive, bench)?);
    Ok(Found { cells, kept, of_burst })
}

/// Returns the profile of a run.
fn profile(program: &Program, config: &Config, profiling: ProfilingConfig, bench: bool) -> Result<Profile> {
    Session::run(program, config.clone().profiling(profiling), bench)?.profile()
}

/// Returns the overlap of the paths of two profiles, weighted by instructions.
fn overlap_of(exact: &Profile, some: &Profile) -> f64 {
    let paths = Comparison::new(exact, some).paths();
    let instructions: Vec<Change> = paths.into_iter().map(|path| path.ops).collect();
    overlap(&instructions).unwrap_or(0.0)
}
