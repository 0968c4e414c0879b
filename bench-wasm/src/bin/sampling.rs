//! `sampling`: what bursts of different lengths cost and what they see; prints a table in Markdown, and plots it.
//!
//! Source: Hirzel & Chilimbi 2001, equation (2): with checking code in t_c and code for bursts in t_i, bursts of m checks after
//! every n take (n t_c + m t_i) / (n + m). Their figure 7 is the overlap at these lengths.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;
use wprof::profiler::{BurstLengths, Change, Comparison, Profile, overlap};
use wprof::{Adaptive, Collect, Config, ProfilingConfig};
use wprof_bench::plot;
use wprof_bench::programs::{self, Program};
use wprof_bench::runner::{Engine, beside_this_program};
use wprof_bench::session::Session;
use wprof_bench::stats::{Spread, geometric_mean};

/// Times programs with bursts of different lengths, and compares what those see with exact profiles.
#[derive(Parser)]
struct Options {
    /// Rounds; each runs every program once at each length.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Also the downloaded programs (`bench-wasm/download.sh`).
    #[arg(long)]
    real: bool,
    /// Only programs whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// The small inputs of the tests: a check of the benches, not a measurement.
    #[arg(long)]
    quick: bool,
    /// Also plot overlap against time, as SVG.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Those of the paper, and the default.
const LENGTHS: [&str; 9] =
    ["20:1", "200:10", "1000:50", "100:1", "1000:10", "5000:50", "200:1", "2000:10", "10000:100"];

/// What one program, or all, took and showed at one length.
#[derive(Clone, Copy, Default)]
struct Cell {
    /// Time over plain code.
    measured: f64,
    /// The same by the paper's equation.
    predicted: f64,
    /// Overlap of its paths with all paths.
    overlap: f64,
}

fn main() -> Result<()> {
    let options = Options::parse();
    programs::with(options.real, &options.only, |programs, _| measure_all(&options, programs))
}

fn measure_all(options: &Options, programs: &[Program]) -> Result<()> {
    println!("Time over plain code, the same as predicted, and overlap of paths.\n");
    println!("| program | {} |", LENGTHS.join(" | "));
    println!("|---|{}", "---|".repeat(LENGTHS.len()));
    let mut rows = Vec::new();
    for program in programs {
        let row = measure(options, program)?;
        print_row(&program.name, &row);
        rows.push(row);
    }
    let means: Vec<Cell> = (0..LENGTHS.len()).map(|at| mean(rows.iter().map(|row| row[at]))).collect();
    print_row("mean", &means);
    let Some(path) = &options.svg else { return Ok(()) };
    let points: Vec<_> = LENGTHS.iter().zip(&means).map(|(name, c)| (*name, c.measured, c.overlap)).collect();
    let titles = ("time over plain code, geometric mean", "overlap of paths, mean");
    let svg = plot::points("Bursts by length", titles, &points);
    std::fs::write(path, svg).with_context(|| format!("cannot write {}", path.display()))
}

/// One program at all lengths.
fn measure(options: &Options, program: &Program) -> Result<Vec<Cell>> {
    let args = if options.quick { &program.quick_args } else { &program.args };
    let runner = beside_this_program("own")?;
    let with = |options: Vec<&'static str>| Engine { name: "own", runner: runner.clone(), options };
    let of_lengths = |lengths| with(vec!["--eager", "--contexts", "--without", "all", "--burst", lengths]);
    let others = [with(vec!["--eager"]), of_lengths("inf:1"), of_lengths("1:inf")];
    let engines: Vec<Engine> = others.into_iter().chain(LENGTHS.map(of_lengths)).collect();
    let mut times = vec![Vec::new(); engines.len()];
    for _ in 0..options.rounds {
        for (engine, times) in engines.iter().zip(&mut times) {
            times.push(engine.run(program, &program.file, args)?.run);
        }
    }
    let ratios: Vec<f64> = times.iter().map(|taken| Spread::of_ratios(taken, &times[0]).median).collect();
    let exact = profile(options, program, ProfilingConfig::Exact(Collect::Paths))?;
    let cell = |(lengths, &measured): (&str, &f64)| {
        let lengths: BurstLengths = lengths.parse().map_err(anyhow::Error::msg)?;
        let (n, m) = (f64::from(lengths.checking), f64::from(lengths.instrumented));
        let predicted = (n * ratios[1] + m * ratios[2]) / (n + m);
        let adaptive = Adaptive { lengths, ..Adaptive::default() };
        let some = profile(options, program, ProfilingConfig::Adaptive(adaptive))?;
        Ok(Cell { measured, predicted, overlap: overlap_of(&exact, &some) })
    };
    LENGTHS.into_iter().zip(&ratios[3..]).map(cell).collect()
}

/// The profile of a run.
fn profile(options: &Options, program: &Program, profiling: ProfilingConfig) -> Result<Profile> {
    let mut config = Config::new();
    Session::run(program, config.profiling(profiling), !options.quick)?.profile()
}

/// How much the paths of two profiles are the same, by executions.
fn overlap_of(exact: &Profile, some: &Profile) -> f64 {
    let paths = Comparison::new(exact, some).paths();
    let counts: Vec<Change> = paths.into_iter().map(|path| path.count).collect();
    overlap(&counts).unwrap_or(0.0)
}

fn mean(cells: impl Iterator<Item = Cell> + Clone) -> Cell {
    let count = cells.clone().count().max(1) as f64;
    Cell {
        measured: geometric_mean(cells.clone().map(|cell| cell.measured)),
        predicted: geometric_mean(cells.clone().map(|cell| cell.predicted)),
        overlap: cells.map(|cell| cell.overlap).sum::<f64>() / count,
    }
}

fn print_row(name: &str, row: &[Cell]) {
    let cell =
        |cell: &Cell| format!("{:.3} ({:.3}), {:.1}%", cell.measured, cell.predicted, 100.0 * cell.overlap);
    println!("| {name} | {} |", row.iter().map(cell).collect::<Vec<_>>().join(" | "));
}
