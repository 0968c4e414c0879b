//! `tables`: what paths and calling contexts of each program look like, and what they cost besides time; prints
//! tables in Markdown.
//!
//! Source: Ammons, Ball & Larus 1997, section 6, tables 2 to 5; Vaswani 2007, section 3.4. What is timed is so once,
//! for `readings`: `compare` does that better.

mod code;
mod contexts;
mod paths;
mod readings;
mod runs;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use runs::Runs;
use wprof_bench::programs::{self, Program};

/// Describes paths and calling contexts.
#[derive(Parser)]
struct Options {
    /// Which tables; all of them if none is named.
    #[arg(value_enum)]
    what: Vec<What>,
    /// Also the downloaded programs (`bench-wasm/download.sh`).
    #[arg(long)]
    real: bool,
    /// The arguments for benches instead of those for tests.
    #[arg(long)]
    bench: bool,
    /// Only programs whose name contains this, or one of these with commas between.
    #[arg(long, default_value = "")]
    only: String,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// The calling context tree: its size and shape.
    Contexts,
    /// How misses of a simulated data cache are spread over paths and functions: dense, sparse and cold ones.
    Hot,
    /// How many paths go through a hot block.
    Blocks,
    /// How compactly the paths that ran are numbered among themselves, beside their numbers among all.
    Delta,
    /// How much machine code each kind of profile takes.
    Code,
    /// What measuring cycles takes, and how much of that the readings of the counter take by themselves.
    Readings,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let tables: Vec<What> = match options.what.as_slice() {
        [] => What::value_variants().to_vec(),
        named => named.to_vec(),
    };
    programs::with(options.real, &options.only, |programs, _| print(&tables, options.bench, programs))
}

/// All programs are run before the first table is printed, each as seldom as can be.
fn print(tables: &[What], bench: bool, programs: &[Program]) -> Result<()> {
    let mut rows: Vec<Vec<String>> = vec![Vec::new(); tables.len()];
    for program in programs {
        eprintln!("{}", program.name);
        let runs = Runs::new(program, bench);
        for (&what, rows) in tables.iter().zip(&mut rows) {
            rows.push(line(program, row(what, &runs)));
        }
    }
    for (&what, rows) in tables.iter().zip(&rows) {
        let head = head(what);
        println!("| program | {} |", head.join(" | "));
        println!("|---|{}", "---:|".repeat(head.len()));
        println!("{}\n", rows.join("\n"));
    }
    Ok(())
}

/// A program that fails has a row that says why, so that the others have theirs.
fn line(program: &Program, row: Result<Vec<String>>) -> String {
    match row {
        Ok(cells) => format!("| {} | {} |", program.name, cells.join(" | ")),
        Err(error) => format!("| {} | {error:#} |", program.name),
    }
}

fn head(what: What) -> &'static [&'static str] {
    match what {
        What::Contexts => contexts::HEAD,
        What::Hot => paths::HOT,
        What::Blocks => paths::BLOCKS,
        What::Delta => paths::DELTA,
        What::Code => code::HEAD,
        What::Readings => readings::HEAD,
    }
}

fn row(what: What, runs: &Runs<'_>) -> Result<Vec<String>> {
    match what {
        What::Contexts => contexts::row(runs),
        What::Hot => paths::hot(runs),
        What::Blocks => paths::blocks(runs),
        What::Delta => paths::delta(runs),
        What::Code => code::row(runs.program()),
        What::Readings => readings::row(runs),
    }
}

/// A part of a whole.
fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "-".into() } else { format!("{:.1}%", 100.0 * part as f64 / whole as f64) }
}
