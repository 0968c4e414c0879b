//! `tables`: what paths and calling contexts of each program look like, and what they cost besides time; prints tables in
//! Markdown.
//!
//! Source: Ammons, Ball & Larus 1997, section 6, tables 2 to 5; Vaswani 2007, section 3.4. But for ticks nothing is timed:
//! `compare` does that.

mod code;
mod contexts;
mod paths;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use wprof_bench::programs::{self, Program};

/// Describes paths and calling contexts.
#[derive(Parser)]
struct Options {
    /// Which table.
    #[arg(value_enum)]
    what: What,
    /// Also the downloaded programs (`bench-wasm/download.sh`).
    #[arg(long)]
    real: bool,
    /// The arguments for benches instead of those for tests.
    #[arg(long)]
    bench: bool,
    /// Only programs whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
}

#[derive(Clone, Copy, ValueEnum)]
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
    /// What measuring cycles adds to cycles.
    Perturbation,
}

fn main() -> Result<()> {
    let options = Options::parse();
    programs::with(options.real, &options.only, |programs, _| print(&options, programs))
}

/// A program that fails has a row that says why, so that the others have theirs.
fn print(options: &Options, programs: &[Program]) -> Result<()> {
    let head = head(options.what);
    println!("| program | {} |", head.join(" | "));
    println!("|---|{}", "---:|".repeat(head.len()));
    for program in programs {
        match row(options.what, program, options.bench) {
            Ok(cells) => println!("| {} | {} |", program.name, cells.join(" | ")),
            Err(error) => println!("| {} | {error:#} |", program.name),
        }
    }
    Ok(())
}

fn head(what: What) -> &'static [&'static str] {
    match what {
        What::Contexts => contexts::HEAD,
        What::Hot => paths::HOT,
        What::Blocks => paths::BLOCKS,
        What::Delta => paths::DELTA,
        What::Code => code::HEAD,
        What::Perturbation => paths::PERTURBATION,
    }
}

fn row(what: What, program: &Program, bench: bool) -> Result<Vec<String>> {
    match what {
        What::Contexts => contexts::row(program, bench),
        What::Hot => paths::hot(program, bench),
        What::Blocks => paths::blocks(program, bench),
        What::Delta => paths::delta(program, bench),
        What::Code => code::row(program),
        What::Perturbation => paths::perturbation(program, bench),
    }
}

/// A part of a whole.
fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "-".into() } else { format!("{:.1}%", 100.0 * part as f64 / whole as f64) }
}
