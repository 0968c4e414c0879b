//! Tables on the paths and calling contexts of each program, and their cost other than time.
//!
//! Source: Ammons, Ball & Larus 1997, section 6, tables 2 to 5; Vaswani 2007, sections 3.4, 4 and 5.1. Only `readings`
//! and `compile` measure times; `compare` does so better.

mod code;
mod contexts;
mod distribution;
mod paths;
mod readings;
mod runs;

use anyhow::Result;
use clap::ValueEnum;

use crate::programs::Program;
use crate::table::Table;
use runs::Runs;

/// One of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// The calling context tree: its size and shape.
    Contexts,
    /// How misses of a simulated data cache are spread over paths and functions: dense, sparse and cold ones.
    Hot,
    /// Count the paths through each block of a hot path.
    Blocks,
    /// How compactly the paths that ran are numbered among themselves, beside their numbers among all, and how many bits
    /// they take.
    Delta,
    /// Measure the machine code of each kind of profile.
    Code,
    /// Time compilation, by the placement of counters.
    Compile,
    /// Time the measuring of cycles, and the readings of the counter by themselves.
    Readings,
    /// Compute the shares of instructions on the hottest paths and on short ones.
    Distribution,
}

/// Makes some tables of some programs. All tables of one program are made before the next program's, so that it runs
/// as rarely as possible. The row of a program that fails has the reason, so that the other programs keep theirs.
pub fn build(what: &[What], bench: bool, programs: &[Program]) -> Vec<Table> {
    let mut tables: Vec<Table> = what.iter().map(|what| Table::new(what.head().iter().copied())).collect();
    for program in programs {
        eprintln!("{}", program.name);
        let runs = Runs::new(program, bench);
        for (what, table) in what.iter().zip(&mut tables) {
            table.row(&program.name, what.row(&runs).unwrap_or_else(|error| vec![format!("{error:#}")]));
        }
    }
    tables
}

impl What {
    fn head(self) -> &'static [&'static str] {
        match self {
            What::Contexts => contexts::HEAD,
            What::Hot => paths::HOT,
            What::Blocks => paths::BLOCKS,
            What::Delta => paths::DELTA,
            What::Code => code::HEAD,
            What::Compile => code::COMPILE,
            What::Readings => readings::HEAD,
            What::Distribution => distribution::HEAD,
        }
    }

    fn row(self, runs: &Runs<'_>) -> Result<Vec<String>> {
        match self {
            What::Contexts => contexts::row(runs),
            What::Hot => paths::hot(runs),
            What::Blocks => paths::blocks(runs),
            What::Delta => paths::delta(runs),
            What::Code => code::row(runs.program()),
            What::Compile => code::compile(runs.program()),
            What::Readings => readings::row(runs),
            What::Distribution => distribution::row(runs),
        }
    }
}

/// Formats a part of a whole.
fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "-".into() } else { format!("{:.1}%", 100.0 * part as f64 / whole as f64) }
}
