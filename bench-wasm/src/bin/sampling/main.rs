//! `sampling`: measures the cost of checks and bursts, the paths that bursts record, and the code size; prints tables
//! in Markdown, and plots.
//!
//! Source: Hirzel & Chilimbi 2001: section 3 describes the places of checks, equation (2) predicts the cost of bursts
//! by the number of checks, and figure 7 shows the overlap with all paths.

mod code;
mod lengths;
mod table;
mod timed;
mod transitions;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Parser;
use wprof_bench::plot;
use wprof_bench::programs::{self, Program};

use code::Code;
use lengths::Cell;
use table::Table;
use timed::{Engines, Times};

/// Times programs with checks and bursts, compares what those see with exact profiles, and weighs their code.
#[derive(Parser)]
struct Options {
    /// Rounds; each runs every program once in each way, with its code in one of eight places. Of the times of one way
    /// in one place the least counts.
    #[arg(long, default_value_t = 4)]
    rounds: usize,
    /// Also the downloaded programs (`bench-wasm/download.sh`).
    #[arg(long)]
    real: bool,
    /// Only programs whose name contains this, or one of these with commas between.
    #[arg(long, default_value = "")]
    only: String,
    /// Only the default's checks and length of bursts.
    #[arg(long)]
    defaults: bool,
    /// Only what checks alone cost: no bursts.
    #[arg(long)]
    checks_alone: bool,
    /// The small inputs of the tests: a check of the benches, not a measurement.
    #[arg(long)]
    quick: bool,
    /// The inputs with which programs run for seconds.
    #[arg(long, conflicts_with = "quick")]
    long: bool,
    /// Write the tables to `sampling.md` in this folder, and plots as SVG beside it, instead of printing the tables.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// The results of one program.
struct Row {
    program: String,
    times: Times,
    /// `None` if only checks are measured.
    seen: Option<Seen>,
}

/// The paths that bursts record of a program, and its code.
struct Seen {
    /// Results by burst length.
    bursts: Vec<Cell>,
    /// Share of all paths that a single burst records.
    kept: f64,
    /// The cost of a burst beside its checks, in nanoseconds.
    of_burst: f64,
    code: Code,
}

fn main() -> Result<()> {
    let options = Options::parse();
    programs::with(options.real, &options.only, |programs, scratch| measure_all(&options, programs, scratch))
}

fn measure_all(options: &Options, programs: &[Program], scratch: &Path) -> Result<()> {
    let engines = Engines::new(options, scratch)?;
    let mut rows = Vec::new();
    for program in programs {
        eprintln!("{}", program.name);
        let times = engines.time(program, options, scratch)?;
        let seen =
            (!options.checks_alone).then(|| seen(program, &engines, &times, !options.quick)).transpose()?;
        rows.push(Row { program: program.name.clone(), times, seen });
    }
    let mut tables = vec![basic(&rows, &engines)];
    let mut plots = vec![("basic.svg", basic_plot(&rows, &engines))];
    if !options.checks_alone {
        tables.extend([bursts(&rows, engines.lengths), sizes(&rows)]);
        plots.push(("overlap.svg", overlap_plot(&rows, engines.lengths)));
        plots.push(("predicted.svg", predicted_plot(&rows, engines.lengths)));
    }
    let text = tables.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let Some(folder) = &options.out else {
        print!("{text}");
        return Ok(());
    };
    std::fs::create_dir_all(folder)?;
    for (name, text) in [("sampling.md", text)].into_iter().chain(plots) {
        let path = folder.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Measures the paths that bursts record of `program`, with its arguments for benches or for tests.
fn seen(program: &Program, engines: &Engines, times: &Times, bench: bool) -> Result<Seen> {
    let lengths::Found { cells, kept, of_burst } = lengths::seen(program, engines.lengths, times, bench)?;
    Ok(Seen { bursts: cells, kept, of_burst, code: Code::measure(program, engines)? })
}

/// Returns the table of the cost of checks alone.
fn basic(rows: &[Row], engines: &Engines) -> Table {
    let mut table = Table::new("Checks alone, over plain code", &["off ms"], &engines.basic_names());
    for Row { program, times, .. } in rows {
        table.row(program, &[times.off_ms], &times.basic);
    }
    table
}

/// Returns the table of the cost and the overlap of bursts.
fn bursts(rows: &[Row], lengths: &[&str]) -> Table {
    let title = "Bursts: time over plain code, the same as predicted by checks, and with what the others say a burst costs, \
                 and overlap of paths by instructions";
    let mut table = Table::new(
        title,
        &[],
        &["in one burst", "ns a burst"].into_iter().chain(lengths.iter().copied()).collect::<Vec<_>>(),
    );
    let text = |cells: &[Cell]| cells.iter().map(ToString::to_string).collect();
    let in_one = |time: f64, kept: f64, of_burst: f64| {
        vec![format!("{time:.3}, {:.1}%", 100.0 * kept), format!("{of_burst:.0}")]
    };
    let all: Vec<(&Row, &Seen)> = rows.iter().filter_map(|row| Some((row, row.seen.as_ref()?))).collect();
    for (Row { program, times, .. }, Seen { bursts, kept, of_burst, .. }) in &all {
        table.texts(program, &[in_one(times.bursts[0], *kept, *of_burst), text(bursts)].concat());
    }
    let in_burst = wprof_bench::stats::geometric_mean(all.iter().map(|(row, _)| row.times.bursts[0]));
    let mean =
        |of: fn(&Seen) -> f64| all.iter().map(|(_, seen)| of(seen)).sum::<f64>() / all.len().max(1) as f64;
    let (kept, of_burst) = (mean(|seen| seen.kept), mean(|seen| seen.of_burst));
    table.texts("**mean**", &[in_one(in_burst, kept, of_burst), text(&means(rows))].concat());
    table
}

/// Returns the table of code size and compile time.
fn sizes(rows: &[Row]) -> Table {
    let title =
        "Code, how long it takes to compile all, and whole processes with the small inputs, over plain code";
    let mut table = Table::new(title, code::FIGURES, code::RATIOS);
    for Row { program, seen, .. } in rows {
        seen.iter().for_each(|Seen { code, .. }| table.row(program, &code.figures, &code.ratios));
    }
    table
}

/// Returns the means of all programs, by burst length.
fn means(rows: &[Row]) -> Vec<Cell> {
    let all: Vec<&Seen> = rows.iter().filter_map(|row| row.seen.as_ref()).collect();
    let lengths = all.first().map_or(0, |seen| seen.bursts.len());
    (0..lengths).map(|at| Cell::mean(all.iter().map(|seen| seen.bursts[at]))).collect()
}

fn basic_plot(rows: &[Row], engines: &Engines) -> String {
    let means = basic(rows, engines).means();
    let bars: Vec<_> = engines.basic_names().into_iter().zip(means).collect();
    plot::bars("Checks alone: time over plain code, geometric mean", &bars)
}

fn overlap_plot(rows: &[Row], lengths: &[&str]) -> String {
    let points: Vec<_> = lengths
        .iter()
        .copied()
        .zip(means(rows))
        .map(|(name, cell)| (name, cell.measured, cell.overlap))
        .collect();
    let titles = ("time over plain code, geometric mean", "overlap of paths by instructions, mean");
    plot::points("Bursts by length", titles, &points)
}

fn predicted_plot(rows: &[Row], lengths: &[&str]) -> String {
    let points: Vec<_> = lengths
        .iter()
        .copied()
        .zip(means(rows))
        .map(|(name, cell)| (name, cell.with_bursts, cell.measured))
        .collect();
    plot::points("Time over plain code, geometric mean", ("predicted", "measured"), &points)
}
