//! `instructions`: counts the instructions that the machine code of each program executes, and compares them with the
//! committed baseline; prints a table in Markdown.

use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Parser;
use wprof_bench::baseline::{Baseline, processor};
use wprof_bench::instructions::{FILE, HEAD, KINDS, TOLERANCE, WORK, has_valgrind, of_work};
use wprof_bench::programs::is_among;
use wprof_bench::runner::beside_this_program;

/// Counts instructions under valgrind.
#[derive(Parser)]
struct Options {
    /// Only programs whose name contains this, or one of these with commas between.
    #[arg(long, default_value = "")]
    only: String,
    /// Write the counts into the baseline, where they change what was there.
    #[arg(long)]
    write: bool,
}

fn main() -> Result<ExitCode> {
    let options = Options::parse();
    ensure!(has_valgrind(), "valgrind is missing: `scripts/setup` installs it");
    let own = beside_this_program("wprof-run")?;
    let baseline = Baseline::committed(FILE).unwrap_or_default();
    let mut found = Baseline { processor: processor(), ..Baseline::default() };
    println!("| program | {} |", KINDS.map(|(kind, _)| kind).join(" | "));
    println!("|---|{}", "---:|".repeat(KINDS.len()));
    for work in WORK.into_iter().filter(|(program, ..)| is_among(program, &options.only)) {
        let mut cells = Vec::new();
        for (kind, arguments) in KINDS {
            let count = of_work(&own, work, arguments)?;
            cells.push(cell(count, baseline.ratio(work.0, kind, count)));
            found.counts.insert((work.0.to_owned(), kind.to_owned()), count);
        }
        println!("| {} | {} |", work.0, cells.join(" | "));
    }
    if options.write {
        let counts = baseline.counts.into_iter().chain(found.counts).collect();
        Baseline { counts, ..found }.commit(FILE, HEAD)?;
        return Ok(ExitCode::SUCCESS);
    }
    let worse = |count: (&(String, String), &u64)| {
        baseline.ratio(&count.0.0, &count.0.1, *count.1).is_some_and(|ratio| ratio > 1.0 + TOLERANCE)
    };
    let is_worse = found.counts.iter().any(worse);
    if baseline.processor != found.processor {
        println!(
            "\nThe baseline is of another processor: {}; this one: {}.",
            baseline.processor, found.processor
        );
    }
    Ok(if is_worse { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Formats thousands of instructions, with the ratio to the baseline where they differ.
fn cell(count: u64, ratio: Option<f64>) -> String {
    match ratio {
        Some(ratio) if (ratio - 1.0).abs() >= 0.001 => format!("{} ({ratio:.3})", count / 1000),
        _ => (count / 1000).to_string(),
    }
}
